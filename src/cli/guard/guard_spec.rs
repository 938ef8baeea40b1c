//! `--guard`: the keys to guard, and the protocols of their clients.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::mode::GuardMode;
use crate::cli::exit::{Exit, Failure};
use crate::guard::{Lifetime, Rule};
use crate::protocols;
use crate::proxy::Treatment;

/// Keys to guard, and the protocols of their clients.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(try_from = "String")]
pub(super) struct GuardSpec {
    pattern: String,
    protocols: Vec<protocols::Protocol>,
}

impl FromStr for GuardSpec {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let (pattern, names) = written.rsplit_once('=').ok_or("expected PATTERN=PROTOCOL, as in lock:*=php-getset")?;
        let found = names.split(',').map(|name| protocols::find(name).map_err(|error| error.to_string()));
        Ok(Self { pattern: pattern.to_owned(), protocols: found.collect::<Result<_, _>>()? })
    }
}

impl TryFrom<String> for GuardSpec {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        written.parse()
    }
}

impl fmt::Display for GuardSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.protocols.iter().map(|protocol| protocol.name()).collect();
        write!(f, "{}={}", self.pattern, names.join(","))
    }
}

impl GuardSpec {
    /// What the proxy does with commands on its keys.
    pub(super) fn treatment(&self, mode: GuardMode, lifetime: Lifetime) -> Result<(Vec<u8>, Treatment), Failure> {
        let pattern = self.pattern.clone().into_bytes();
        if mode == GuardMode::Observe {
            return Ok((pattern, Treatment::Observe));
        }
        let refused =
            |because: &dyn fmt::Display| Failure::new(Exit::Usage, format_args!("cannot guard {self}: {because}"));
        let dialects: Vec<_> = self
            .protocols
            .iter()
            .map(|protocol| {
                protocol.dialect().ok_or_else(|| refused(&format_args!("{} is not an old dialect", protocol.name())))
            })
            .collect::<Result<_, _>>()?;
        let rule = Rule::new(&dialects, lifetime).and_then(|rule| match mode {
            GuardMode::Observe | GuardMode::Protect => Ok(rule),
            GuardMode::Bridge => rule.bridged(),
        });
        let rule = rule.map_err(|because| refused(&because))?;
        Ok((pattern, Treatment::Decide(Arc::new(rule))))
    }
}
