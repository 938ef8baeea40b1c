//! What a key can hold.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use super::ranking::Ranking;
use crate::wire::Printable;

/// A hash: fields and their values.
pub(super) type Hash = BTreeMap<Vec<u8>, Vec<u8>>;
/// A set of members.
pub(super) type Set = BTreeSet<Vec<u8>>;
/// A list, head first.
pub(super) type List = VecDeque<Vec<u8>>;

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A string of any bytes.
    Text(Vec<u8>),
    /// A hash: fields and their values.
    Hash(BTreeMap<Vec<u8>, Vec<u8>>),
    /// A set of members.
    Set(BTreeSet<Vec<u8>>),
    /// A sorted set: members and their scores.
    Ranking(Ranking),
    /// A list, head first.
    List(VecDeque<Vec<u8>>),
}

impl Value {
    /// The name that TYPE answers.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::Ranking(_) => "zset",
            Self::List(_) => "list",
        }
    }
}

impl fmt::Display for Value {
    /// The value on one line: a string as it is, `{field: value}`, `{member}`, `{member: score}`, `[item]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(bytes) => Printable(bytes).fmt(f),
            Self::Hash(hash) => {
                let pairs = hash.iter().map(|(field, value)| format!("{}: {}", Printable(field), Printable(value)));
                write!(f, "{{{}}}", join(pairs))
            }
            Self::Set(set) => write!(f, "{{{}}}", join(set.iter().map(|member| Printable(member).to_string()))),
            Self::Ranking(ranking) => {
                let pairs =
                    ranking.by_rank().into_iter().map(|(member, score)| format!("{}: {score}", Printable(member)));
                write!(f, "{{{}}}", join(pairs))
            }
            Self::List(list) => write!(f, "[{}]", join(list.iter().map(|item| Printable(item).to_string()))),
        }
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// One of the shapes that a [`Value`] can have; a command works on one of them.
pub(super) trait Shape: Default {
    /// The value, if it has this shape.
    fn of(value: &Value) -> Option<&Self>;
    /// The value, to be changed, if it has this shape.
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    /// This, as what a key holds.
    fn into_value(self) -> Value;
    /// Whether Redis removes a key that holds this.
    fn is_nothing(&self) -> bool;
}

macro_rules! shape {
    ($variant:ident, $shape:ty, $is_nothing:expr) => {
        impl Shape for $shape {
            fn of(value: &Value) -> Option<&Self> {
                if let Value::$variant(shape) = value { Some(shape) } else { None }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                if let Value::$variant(shape) = value { Some(shape) } else { None }
            }

            fn into_value(self) -> Value {
                Value::$variant(self)
            }

            fn is_nothing(&self) -> bool {
                let is_nothing: fn(&Self) -> bool = $is_nothing;
                is_nothing(self)
            }
        }
    };
}

shape!(Text, Vec<u8>, |_| false);
shape!(Hash, Hash, BTreeMap::is_empty);
shape!(Set, Set, BTreeSet::is_empty);
shape!(Ranking, Ranking, Ranking::is_empty);
shape!(List, List, VecDeque::is_empty);
