//! One protocol of the catalogue, and the catalogue.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::maker::Maker;
use super::spec::Spec;
use super::token;
use super::unsuitable::Unsuitable;
use crate::legacy::{self, Dialect};

/// One lock protocol: an implementation that exists, or one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol(Row);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Legacy(&'static Dialect),
    Token,
}

/// To which world a protocol belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// A stamp in the key, judged by whoever reads it.
    Legacy,
    /// An owner in the key, and a TTL that Redis keeps.
    Modern,
    /// Both at once.
    Bridge,
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
            Self::Bridge => "bridge",
        })
    }
}

/// Every protocol: the old dialects first.
pub fn catalogue() -> impl Iterator<Item = Protocol> {
    legacy::catalogue::catalogue().map(Row::Legacy).chain([Row::Token]).map(Protocol)
}

/// The protocol of this name, or of one of its other names.
///
/// # Errors
/// [`Unsuitable::Unknown`], with the name that was perhaps meant.
pub fn find(name: &str) -> Result<Protocol, Unsuitable> {
    catalogue()
        .find(|protocol| protocol.name() == name)
        .or_else(|| catalogue().find(|protocol| protocol.also().contains(&name)))
        .ok_or_else(|| Unsuitable::Unknown { name: name.to_owned(), nearest: nearest(name) })
}

impl Protocol {
    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self.0 {
            Row::Legacy(dialect) => dialect.name,
            Row::Token => "token",
        }
    }

    /// Other names it goes by.
    pub fn also(self) -> &'static [&'static str] {
        match self.0 {
            Row::Legacy(dialect) => dialect.also,
            Row::Token => &[],
        }
    }

    /// To which world it belongs.
    pub fn generation(self) -> Generation {
        match self.0 {
            Row::Legacy(_) => Generation::Legacy,
            Row::Token => Generation::Modern,
        }
    }

    /// Where it comes from: article or repository, file, versions.
    pub fn source(self) -> &'static str {
        match self.0 {
            Row::Legacy(dialect) => dialect.source,
            Row::Token => token::SOURCE,
        }
    }

    /// The row of the catalogue of old dialects that it is, if it is one.
    pub fn dialect(self) -> Option<&'static Dialect> {
        match self.0 {
            Row::Legacy(dialect) => Some(dialect),
            Row::Token => None,
        }
    }

    /// What it writes into the key.
    pub fn encoding(self) -> Cow<'static, str> {
        match self.0 {
            Row::Legacy(dialect) => dialect.family.to_string().into(),
            Row::Token => token::ENCODING.into(),
        }
    }

    /// What may stand behind its name: `expiry=px|ex|pxat|exat`.
    pub fn options(self) -> Vec<String> {
        match self.0 {
            Row::Legacy(_) => Vec::new(),
            Row::Token => token::options(),
        }
    }

    pub(super) fn maker(self, spec: &Spec) -> Result<Maker, Unsuitable> {
        let refuse = |(name, value): (&str, &str)| Unsuitable::Option {
            protocol: self.name(),
            written: if value.is_empty() { name.to_owned() } else { format!("{name}={value}") },
            known: self.options(),
        };
        match self.0 {
            Row::Legacy(dialect) => match spec.options().next() {
                Some(option) => Err(refuse(option)),
                None => Ok(Arc::new(move |key, lease| Arc::new(legacy::Lock::new(dialect, key, lease)))),
            },
            Row::Token => token::maker(spec.options()).map_err(refuse),
        }
    }
}

/// The name that was perhaps meant.
fn nearest(name: &str) -> Option<&'static str> {
    const RESEMBLING: f64 = 0.75;
    let score = |known: &str| strsim::jaro_winkler(&name.to_lowercase(), known);
    let names = catalogue().flat_map(|protocol| [protocol.name()].into_iter().chain(protocol.also().iter().copied()));
    let (best, known) = names.map(|known| (score(known), known)).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best >= RESEMBLING).then_some(known)
}
