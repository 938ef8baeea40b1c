//! `--config`: the options of the guard in a TOML file, by the names that they have on the command line.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};

use super::guard_spec::GuardSpec;
use super::mode::GuardMode;
use super::socket_mode::SocketMode;
use crate::cli::exit::{Exit, Failure};
use crate::cli::server_options::read;
use crate::proxy::ProxyAddress;

/// What a file names.
#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct ConfigFile {
    #[serde(deserialize_with = "parsed")]
    pub(super) listen: Option<ProxyAddress>,
    #[serde(deserialize_with = "parsed")]
    pub(super) listen_mode: Option<SocketMode>,
    pub(super) listen_tls_cert: Option<PathBuf>,
    pub(super) listen_tls_key: Option<PathBuf>,
    pub(super) listen_tls_client_ca: Option<PathBuf>,
    pub(super) guard: Vec<GuardSpec>,
    pub(super) mode: Option<GuardMode>,
    pub(super) no_ttl: bool,
    #[serde(deserialize_with = "parsed")]
    pub(super) renew: Option<humantime::Duration>,
    pub(super) admin: Option<String>,
    pub(super) events: Option<PathBuf>,
    pub(super) redis: Option<String>,
    pub(super) tls_ca: Option<PathBuf>,
    pub(super) tls_cert: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
}

impl ConfigFile {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let invalid = |because: &dyn Display| {
            Failure::new(Exit::Usage, format_args!("cannot use `{}`: {because}", path.display()))
        };
        let text = String::from_utf8(read(path)?).map_err(|error| invalid(&error))?;
        toml::from_str(&text).map_err(|error| invalid(&error.to_string().trim_end()))
    }
}

/// A value that is written as on the command line.
fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<Option<T>, D::Error> {
    String::deserialize(from)?.parse().map(Some).map_err(D::Error::custom)
}
