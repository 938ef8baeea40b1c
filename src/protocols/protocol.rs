//! One protocol of the catalogue, and the catalogue.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::bridge;
use super::looked_into::LookedInto;
use super::maker::Maker;
use super::modern::{self, Holder, KeyType, Modern, Options};
use super::setting::Setting;
use super::unsuitable::Unsuitable;
use crate::legacy::{self, Dialect, KeyName};

/// One lock protocol: an existing implementation, or a lock of this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol(Row);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Legacy(&'static Dialect),
    Modern(&'static Modern),
    Bridge,
}

/// The family of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// A stamp in the key, judged by the clients that read it.
    Legacy,
    /// An owner in the key, and a TTL that Redis keeps.
    Modern,
    /// Both families at once.
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

/// Every protocol: the old dialects first, then the modern locks, then one bridge that stands for all bridges.
pub fn catalogue() -> impl Iterator<Item = Protocol> {
    let legacy = legacy::catalogue::catalogue().map(Row::Legacy);
    legacy.chain(modern::ROWS.iter().map(Row::Modern)).chain([Row::Bridge]).map(Protocol)
}

/// The protocol of this name, or with one of its aliases. All bridges are one protocol.
///
/// # Errors
/// [`Unsuitable::Unknown`] if no protocol has the name, with the most similar name.
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

    /// Its aliases.
    pub fn also(self) -> &'static [&'static str] {
        match self.0 {
            Row::Legacy(dialect) => dialect.also,
            Row::Modern(_) | Row::Bridge => &[],
        }
    }

    /// Its family.
    pub fn generation(self) -> Generation {
        match self.0 {
            Row::Legacy(_) => Generation::Legacy,
            Row::Modern(_) => Generation::Modern,
            Row::Bridge => Generation::Bridge,
        }
    }

    /// Its source: article or repository, file, versions.
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

    /// How it derives a key from the caller's name. That of a bridge follows from its dialects:
    /// [`Choice::key_names`](super::Choice::key_names).
    pub fn key_name(self) -> KeyName {
        match self.0 {
            Row::Legacy(dialect) => dialect.key,
            Row::Modern(_) | Row::Bridge => KeyName::PLAIN,
        }
    }

    /// Its properties, one per axis of the catalogue; for modern locks, its options: `expiry=px|ex|pxat|exat|none`.
    pub fn options(self) -> Vec<String> {
        match self.0 {
            Row::Legacy(dialect) => dialect.options(),
            Row::Modern(_) | Row::Bridge => self.settings().iter().map(ToString::to_string).collect(),
        }
    }

    /// The options that may follow its name. Old dialects have no options.
    pub fn settings(self) -> &'static [Setting] {
        match self.0 {
            Row::Legacy(_) => &[],
            Row::Modern(modern) => modern.settings,
            Row::Bridge => bridge::SETTINGS,
        }
    }

    /// Its row in the catalogue of old dialects, if it is an old dialect.
    pub fn dialect(self) -> Option<&'static Dialect> {
        match self.0 {
            Row::Legacy(dialect) => Some(dialect),
            Row::Modern(_) | Row::Bridge => None,
        }
    }

    /// Whether it could have written this string, at any time and for any owner.
    pub fn could_write(self, value: &[u8]) -> bool {
        match self.0 {
            Row::Legacy(dialect) => dialect.form.matches(value),
            Row::Modern(modern) => modern.could_write(value),
            Row::Bridge => bridge::could_write(value),
        }
    }

    /// The holders, if it could have written a key of its [type](Self::key_type) with these fields, or members with their scores;
    /// empty if they do not name them.
    pub fn holders(self, fields: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<Holder>> {
        match self.0 {
            Row::Modern(modern) => modern.holders(fields),
            Row::Legacy(_) | Row::Bridge => None,
        }
    }

    /// Whether its value names the owner, so that it can only be a lock.
    pub fn names_owner(self) -> bool {
        match self.0 {
            Row::Legacy(dialect) => dialect.form.names_token(),
            Row::Modern(modern) => modern.names_owner(),
            // In the new key; the old key holds a stamp of its fleet.
            Row::Bridge => true,
        }
    }

    /// The type of its key.
    pub fn key_type(self) -> KeyType {
        match self.0 {
            Row::Legacy(_) | Row::Bridge => KeyType::String,
            Row::Modern(modern) => modern.key_type(),
        }
    }

    /// The key or keys that its clients look into, with its default options.
    pub(crate) fn keys(self) -> LookedInto {
        match self.0 {
            Row::Legacy(_) => LookedInto::Old,
            Row::Modern(_) => LookedInto::Named,
            Row::Bridge => LookedInto::Both,
        }
    }

    /// Whether it acquires on a key of another type, with these options.
    pub(super) fn mistakes_types(self, options: &[(String, String)]) -> bool {
        match self.0 {
            Row::Legacy(dialect) => dialect.mistakes_types(),
            Row::Modern(modern) => modern.mistakes_types(&Options::given(options)),
            Row::Bridge => false,
        }
    }

    /// Whether it has a reading and a writing side.
    pub fn has_sides(self) -> bool {
        self.settings().contains(&modern::SIDE)
    }

    /// Whether several holders may share it: as readers, or with a permit each.
    pub fn may_be_shared(self) -> bool {
        self.has_sides() || self.settings().contains(&modern::PERMITS)
    }

    /// A function that creates its locks, under this name and with these options, all of which its settings allow.
    ///
    /// # Errors
    /// [`Unsuitable::Unbridgeable`], and [`Unsuitable::Unknown`] or [`Unsuitable::NoOldDialect`] for the name of a bridge that has
    /// another than those of old dialects.
    pub(super) fn maker(self, name: &str, options: &[(String, String)]) -> Result<Maker, Unsuitable> {
        match self.0 {
            Row::Legacy(dialect) => Ok(Arc::new(move |key, lease| Arc::new(legacy::Lock::new(dialect, key, lease)))),
            Row::Modern(modern) => Ok((modern.maker)(&Options::given(options))),
            Row::Bridge => bridge::maker(name, options, no_old_dialect),
        }
    }
}

/// The error for an unknown protocol.
fn unknown(name: &str) -> Unsuitable {
    Unsuitable::Unknown { name: name.to_owned(), nearest: nearest(name) }
}

/// The error for what is not an old dialect in the name of a bridge.
fn no_old_dialect(name: &str) -> Unsuitable {
    find(name).map_or_else(|unknown| unknown, |protocol| Unsuitable::NoOldDialect { name: protocol.name() })
}

/// The most similar known name.
fn nearest(name: &str) -> Option<&'static str> {
    const RESEMBLING: f64 = 0.75;
    let score = |known: &str| strsim::jaro_winkler(&name.to_lowercase(), known);
    let names = catalogue().flat_map(|protocol| [protocol.name()].into_iter().chain(protocol.also().iter().copied()));
    let (best, known) = names.map(|known| (score(known), known)).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best >= RESEMBLING).then_some(known)
}
