//! HTML pages in files: one in a file, or several in a directory, each by its name.

use std::path::Path;

use super::exit::{Exit, Failure};
use super::{file, os_error};

/// Where pages go.
pub(super) enum HtmlPages<'a> {
    /// The one page.
    File(&'a Path),
    /// Each by its name.
    Directory(&'a Path),
}

impl<'a> HtmlPages<'a> {
    /// What was typed: a directory is there already, or ends with a slash and is made.
    pub(super) fn at(path: &'a Path) -> Result<Self, Failure> {
        let names_a_directory = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if !names_a_directory {
            return Ok(Self::File(path));
        }
        let made = std::fs::create_dir_all(path);
        made.map_err(|error| {
            Failure::new(Exit::Unusable, format_args!("{}: {}", path.display(), os_error::sentence(&error)))
        })?;
        Ok(Self::Directory(path))
    }

    /// The file or the directory.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Directory(path) => path,
        }
    }

    /// Writes a page.
    pub(super) fn write(&self, name: &str, page: &str) -> Result<(), Failure> {
        match self {
            Self::File(path) => file::write(path, page),
            Self::Directory(path) => file::write(&path.join(format!("{name}.html")), page),
        }
    }
}
