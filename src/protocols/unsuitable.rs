//! What was written is no protocol, and what was perhaps meant.

use thiserror::Error;

use super::setting::Setting;
use crate::bridge::Unbridgeable;

/// What was written is no protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unsuitable {
    /// No protocol has this name.
    #[error("there is no protocol `{name}`{}", hint(*.nearest))]
    Unknown {
        /// The name.
        name: String,
        /// A name that it resembles.
        nearest: Option<&'static str>,
    },
    /// The protocol has no such option, or the option no such value.
    #[error("`{protocol}` has no option `{written}`{}", choices(.known))]
    Option {
        /// The protocol's name.
        protocol: &'static str,
        /// The option as written.
        written: String,
        /// What may be said about it.
        known: Vec<Setting>,
    },
    /// A fleet that no bridge can keep out.
    #[error("cannot bridge `{name}`: {because}{}", way_out(because))]
    Unbridgeable {
        /// The bridge as written.
        name: String,
        /// Why.
        because: Unbridgeable,
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
