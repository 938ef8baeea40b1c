//! Why a specification does not name a protocol, with the most similar name.

use thiserror::Error;

use super::setting::Setting;
use crate::bridge::Unbridgeable;
use crate::guard::Unguardable;

/// Why a specification does not name a protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unsuitable {
    /// No protocol has this name.
    #[error("there is no protocol `{name}`{}", hint(*.nearest))]
    Unknown {
        /// The name.
        name: String,
        /// The most similar known name.
        nearest: Option<&'static str>,
    },
    /// A bridge is named by old dialects, and this is another protocol.
    #[error("cannot bridge `{name}`: a bridge is named by the old dialects beside it, as `bridge:php-getset`")]
    NoOldDialect {
        /// The protocol's name.
        name: &'static str,
    },
    /// Unknown option, or invalid value of an option.
    #[error("`{protocol}` has no option `{written}`{}", choices(.known))]
    Option {
        /// The protocol's name.
        protocol: &'static str,
        /// The option as written.
        written: String,
        /// The options of the protocol.
        known: Vec<Setting>,
    },
    /// The fleet cannot be bridged.
    #[error("cannot bridge `{name}`: {because}{}", way_out(because))]
    Unbridgeable {
        /// The bridge as written.
        name: String,
        /// The reason.
        because: Unbridgeable,
    },
    /// The client cannot be guarded.
    #[error("cannot guard `{name}`: {because}")]
    Unguardable {
        /// The client's protocol as written.
        name: String,
        /// The reason.
        because: Unguardable,
    },
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(": did you mean `{name}`?"))
}

fn way_out(because: &Unbridgeable) -> &'static str {
    match because {
        Unbridgeable::NotExclusive(_) => "; give each a key of its own, or accept double holds with `,fleet=any`",
        _ => "",
    }
}

fn choices(known: &[Setting]) -> String {
    let known: Vec<_> = known.iter().map(ToString::to_string).collect();
    if known.is_empty() { ": it has none".to_owned() } else { format!(": it has {}", known.join(", ")) }
}
