//! The files of this repository.

use std::fs;
use std::path::{Path, PathBuf};

/// One file, with its path from the repository's root.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Source {
    /// The file at this path.
    pub(super) fn read(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_owned();
        let text = fs::read_to_string(root().join(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, text }
    }

    /// Its name, without folder and extension.
    pub(super) fn stem(&self) -> String {
        self.path.file_stem().expect("a file has a name").to_string_lossy().into_owned()
    }
}

/// The repository's root.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file.
pub(super) fn all_sources() -> Vec<Source> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    all_files().into_iter().filter(is_rust).map(Source::read).collect()
}

/// Every file of the project: all but what git, cargo and editors keep for themselves.
pub(super) fn all_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the repository can be read") {
            let path = entry.expect("the repository can be read").path();
            let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
            let is_ours = name != "target" && name != ".git";
            match path.is_dir() {
                true if is_ours => folders.push(path),
                false if is_ours => found.push(path.strip_prefix(root()).expect("it is below the root").to_owned()),
                true | false => {}
            }
        }
    }
    found.sort();
    found
}
