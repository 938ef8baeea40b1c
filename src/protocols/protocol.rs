//! One protocol of the catalogue, and the catalogue.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::bridge;
use super::maker::Maker;
use super::modern::{self, Holder, Modern, Options};
use super::setting::Setting;
use super::unsuitable::Unsuitable;
use crate::legacy::{self, Dialect, KeyName};

/// One lock protocol: an implementation that exists, or one of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol(Row);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Legacy(&'static Dialect),
    Modern(&'static Modern),
    Bridge,
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

/// Every protocol: the old dialects first, then the modern locks, then one bridge for all that can be named.
pub fn catalogue() -> impl Iterator<Item = Protocol> {
    let legacy = legacy::catalogue::catalogue().map(Row::Legacy);
    legacy.chain(modern::ROWS.iter().map(Row::Modern)).chain([Row::Bridge]).map(Protocol)
}

/// The protocol of this name, or of one of its other names. All bridges are one protocol.
///
/// # Errors
/// [`Unsuitable::Unknown`], with the name that was perhaps meant.
pub fn find(name: &str) -> Result<Protocol, Unsuitable> {
    if bridge::names_one(name) {
        return Ok(Protocol(Row::Bridge));
    }
    catalogue()
        .find(|protocol| protocol.name() == name)
        .or_else(|| catalogue().find(|protocol| protocol.also().contains(&name)))
        .ok_or_else(|| unknown(name))
}

impl Protocol {
    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self.0 {
            Row::Legacy(dialect) => dialect.name,
            Row::Modern(modern) => modern.name,
            Row::Bridge => bridge::NAME,
        }
    }

    /// Other names it goes by.
    pub fn also(self) -> &'static [&'static str] {
        match self.0 {
            Row::Legacy(dialect) => dialect.also,
            Row::Modern(_) | Row::Bridge => &[],
        }
    }

    /// To which world it belongs.
    pub fn generation(self) -> Generation {
        match self.0 {
            Row::Legacy(_) => Generation::Legacy,
            Row::Modern(_) => Generation::Modern,
            Row::Bridge => Generation::Bridge,
        }
    }

    /// Where it comes from: article or repository, file, versions.
    pub fn source(self) -> &'static str {
        match self.0 {
            Row::Legacy(dialect) => dialect.source,
            Row::Modern(modern) => modern.source,
            Row::Bridge => bridge::SOURCE,
        }
    }

    /// What it writes into the key.
    pub fn encoding(self) -> Cow<'static, str> {
        match self.0 {
            Row::Legacy(dialect) => dialect.encoding().into(),
            Row::Modern(modern) => modern.encoding.into(),
            Row::Bridge => bridge::ENCODING.into(),
        }
    }

    /// How it makes a key of the name that its caller gives. That of a bridge follows from its dialects:
    /// [`Choice::key_names`](super::Choice::key_names).
    pub fn key_name(self) -> KeyName {
        match self.0 {
            Row::Legacy(dialect) => dialect.key,
            Row::Modern(_) | Row::Bridge => KeyName::PLAIN,
        }
    }

    /// How it goes about it, an axis each; for modern locks, what may be said behind the name: `expiry=px|ex|pxat|exat`.
    pub fn options(self) -> Vec<String> {
        match self.0 {
            Row::Legacy(dialect) => dialect.options(),
            Row::Modern(_) | Row::Bridge => self.settings().iter().map(ToString::to_string).collect(),
        }
    }

    /// What may be said about it behind its name. A dialect is what it is.
    pub fn settings(self) -> &'static [Setting] {
        match self.0 {
            Row::Legacy(_) => &[],
            Row::Modern(modern) => modern.settings,
            Row::Bridge => bridge::SETTINGS,
        }
    }

    /// The row of the catalogue of old dialects that it is, if it is one.
    pub fn dialect(self) -> Option<&'static Dialect> {
        match self.0 {
            Row::Legacy(dialect) => Some(dialect),
            Row::Modern(_) | Row::Bridge => None,
        }
    }

    /// Whether it could have written this string, at whatever time and for whatever owner.
    pub fn could_write(self, value: &[u8]) -> bool {
        match self.0 {
            Row::Legacy(dialect) => dialect.form.matches(value),
            Row::Modern(modern) => modern.could_write(value),
            Row::Bridge => bridge::could_write(value),
        }
    }

    /// Who holds, if it could have written this hash; nobody where the hash does not say.
    pub fn holders(self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<Holder>> {
        match self.0 {
            Row::Modern(modern) => modern.holders(fields),
            Row::Legacy(_) | Row::Bridge => None,
        }
    }

    /// Whether its value names the owner, so that it cannot be anything but a lock's.
    pub fn names_owner(self) -> bool {
        match self.0 {
            Row::Legacy(dialect) => dialect.form.names_token(),
            Row::Modern(modern) => modern.names_owner(),
            // In the new key; in the old one stands what its fleet writes.
            Row::Bridge => true,
        }
    }

    /// Whether what it keeps in its key is a hash.
    pub fn keeps_hash(self) -> bool {
        match self.0 {
            Row::Legacy(_) | Row::Bridge => false,
            Row::Modern(modern) => modern.keeps_hash(),
        }
    }

    /// What it makes under this name, with these words said about it, all of them known to its settings.
    ///
    /// # Errors
    /// [`Unsuitable::Unbridgeable`], and [`Unsuitable::Unknown`] for a dialect that a bridge names.
    pub(super) fn maker(self, name: &str, said: &[(String, String)]) -> Result<Maker, Unsuitable> {
        match self.0 {
            Row::Legacy(dialect) => Ok(Arc::new(move |key, lease| Arc::new(legacy::Lock::new(dialect, key, lease)))),
            Row::Modern(modern) => Ok((modern.maker)(&Options::given(said))),
            Row::Bridge => bridge::maker(name, said, unknown),
        }
    }
}

/// There is no such protocol.
fn unknown(name: &str) -> Unsuitable {
    Unsuitable::Unknown { name: name.to_owned(), nearest: nearest(name) }
}

/// The name that was perhaps meant.
fn nearest(name: &str) -> Option<&'static str> {
    const RESEMBLING: f64 = 0.75;
    let score = |known: &str| strsim::jaro_winkler(&name.to_lowercase(), known);
    let names = catalogue().flat_map(|protocol| [protocol.name()].into_iter().chain(protocol.also().iter().copied()));
    let (best, known) = names.map(|known| (score(known), known)).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best >= RESEMBLING).then_some(known)
}
