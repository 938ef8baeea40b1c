//! `--listen-mode`: who may connect to a Unix socket.

use std::str::FromStr;

/// The permissions of the file of a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SocketMode(pub(super) u32);

impl FromStr for SocketMode {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        match u32::from_str_radix(written, 8) {
            Ok(mode) if mode <= 0o777 => Ok(Self(mode)),
            _ => Err("expected permissions in octal, as in 0660".to_owned()),
        }
    }
}
