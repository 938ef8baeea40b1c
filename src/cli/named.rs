//! Arguments that name something of a catalogue: refused with a hint, and known to the completions of a shell.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::inspect::Member;
use crate::protocols::{Choice, catalogue};

/// An argument that names something.
#[derive(Clone)]
pub(super) struct ByName<T> {
    parse: fn(&str) -> Result<T, String>,
    names: fn() -> Vec<&'static str>,
}

impl<T> ByName<T> {
    /// What is understood by `parse`; `names` are those that a shell completes.
    pub(super) const fn new(parse: fn(&str) -> Result<T, String>, names: fn() -> Vec<&'static str>) -> Self {
        Self { parse, names }
    }
}

/// A protocol with its options.
pub(super) const fn protocol() -> ByName<Choice> {
    ByName::new(|typed| typed.parse().map_err(|error: crate::protocols::Unsuitable| error.to_string()), protocol_names)
}

/// Several protocols, each with its name as it was typed.
#[derive(Clone, Debug)]
pub(super) struct FleetArg(Vec<(String, Choice)>);

impl FleetArg {
    /// The members of all that were given.
    pub(super) fn members(given: &[Self]) -> Vec<Choice> {
        given.iter().flat_map(|fleet| fleet.0.iter().map(|(_, choice)| choice.clone())).collect()
    }

    /// The same under the names that were typed.
    pub(super) fn by_name(given: &[Self]) -> Vec<Member> {
        given.iter().flat_map(|fleet| fleet.0.iter().map(|(typed, choice)| Member::named(typed, choice))).collect()
    }
}

/// Protocols between commas, each with the options that follow it: `token,announce=publish,php-getset` are two.
pub(super) const fn fleet() -> ByName<FleetArg> {
    let parse = |typed: &str| {
        let member = |name: String| name.parse().map(|choice| (name.trim().to_owned(), choice));
        let protocols = split(typed).into_iter().map(member).collect::<Result<_, crate::protocols::Unsuitable>>();
        protocols.map(FleetArg).map_err(|error| error.to_string())
    };
    ByName::new(parse, protocol_names)
}

/// Splits at each comma but those before options.
fn split(typed: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in typed.split(',') {
        match names.last_mut() {
            Some(name) if word.contains('=') => *name = format!("{name},{word}"),
            Some(_) | None => names.push(word.to_owned()),
        }
    }
    names
}

/// The names of all protocols.
pub(super) fn protocol_names() -> Vec<&'static str> {
    catalogue().map(|protocol| protocol.name()).collect()
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for ByName<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, typed: &OsStr) -> Result<T, Error> {
        let parse = self.parse;
        StringValueParser::new().try_map(move |typed| parse(&typed)).parse_ref(command, arg, typed)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}
