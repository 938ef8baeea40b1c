//! The locks that keep their expiry in a JSON text, in PHP and in Ruby, and what these languages make of a member
//! that has another type. JSON is RFC 8259; the comments that Ruby tolerates are not read.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::str;

use serde_json::value::RawValue;

use super::{Comparison, Number, decimal, php, ruby};

/// What PHP has in its hand when it comes to `< time()`.
pub(super) enum Php {
    /// `null` or `false`.
    Falsy,
    /// `true`.
    True,
    /// An integer or a float.
    Number(Number),
    /// A string.
    Text(Vec<u8>),
    /// Greater than everything.
    Array,
}

/// PHP 8: `json_decode($value, true)['expire']`; `None` if the value is not JSON or is `null` (the lock then goes back to
/// SETNX), and if it is a string, which has no offset `'expire'`.
pub(super) fn php8_expire(value: &[u8]) -> Option<Php> {
    match Json::parse(str::from_utf8(value).ok()?)? {
        Json::Null | Json::Text(_) => None,
        Json::Map(mut members) => Some(members.remove("expire").map_or(Php::Falsy, Php::from)),
        Json::Bool(_) | Json::Number(_) | Json::List(_) => Some(Php::Falsy),
    }
}

/// PHP 7: the same, but the offset `'expire'` of a string is its first byte.
pub(super) fn php7_expire(value: &[u8]) -> Option<Php> {
    match Json::parse(str::from_utf8(value).ok()?)? {
        Json::Text(text) => Some(Php::first_byte(text)),
        _ => php8_expire(value),
    }
}

/// `json_decode($value, true)[0]`, where what cannot be decoded is `null`.
pub(super) fn php_first(value: &[u8]) -> Php {
    match str::from_utf8(value).ok().and_then(Json::parse) {
        Some(Json::List(mut items)) if !items.is_empty() => Php::from(items.swap_remove(0)),
        Some(Json::Map(mut members)) => members.remove("0").map_or(Php::Falsy, Php::from),
        Some(Json::Text(text)) => Php::first_byte(text),
        Some(Json::List(_) | Json::Null | Json::Bool(_) | Json::Number(_)) | None => Php::Falsy,
    }
}

/// `JSON.parse(value)['expire_at'].to_f`; `None` where that raises.
pub(super) fn ruby_expire_at(value: &[u8]) -> Option<Number> {
    let text = String::from_utf8_lossy(value);
    let member = match Json::parse(&text)? {
        Json::Map(members) => members.get("expire_at").map_or(Some(Json::Null), |member| Json::parse(member.get()))?,
        // A substring of itself, or nil: neither is a number.
        Json::Text(_) => Json::Null,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::List(_) => return None,
    };
    match member {
        Json::Null => Some(Number::Float(0.0)),
        Json::Number(number) => Some(Number::Float(decimal::float(number.as_bytes()))),
        Json::Text(text) => ruby::to_f(text.as_bytes()),
        Json::Bool(_) | Json::List(_) | Json::Map(_) => None,
    }
}

impl Php {
    /// The number, if it is one or if `of_text` finds one in the string.
    pub(super) fn number(self, of_text: fn(&[u8]) -> Option<Number>) -> Option<Number> {
        match self {
            Self::Number(number) => Some(number),
            Self::Text(text) => of_text(&text),
            Self::Falsy | Self::True | Self::Array => None,
        }
    }

    /// How it compares with a number if it is not one. Beside a boolean or `null`, now becomes a boolean too.
    pub(super) fn beside_number(self, now: Number) -> Comparison {
        let now_as_bool = now.as_f64() != 0.0;
        match self {
            Self::Falsy => false.cmp(&now_as_bool).into(),
            Self::True => true.cmp(&now_as_bool).into(),
            Self::Number(number) => number.promoted(now),
            Self::Text(text) => php::as_text(&text, now),
            Self::Array => Comparison::Greater,
        }
    }

    fn first_byte(text: String) -> Self {
        Self::Text(text.into_bytes().into_iter().take(1).collect())
    }
}

impl From<&RawValue> for Php {
    fn from(member: &RawValue) -> Self {
        match Json::parse(member.get()) {
            Some(Json::Number(number)) => Self::Number(php_number(&number)),
            Some(Json::Text(text)) => Self::Text(text.into_bytes()),
            Some(Json::Bool(true)) => Self::True,
            Some(Json::List(_) | Json::Map(_)) => Self::Array,
            Some(Json::Null | Json::Bool(false)) | None => Self::Falsy,
        }
    }
}

/// An integer if it is written as one and 64 bits hold it.
fn php_number(text: &str) -> Number {
    match decimal::int64(text.as_bytes()) {
        Some(int) => Number::Int(i128::from(int)),
        None => Number::Float(decimal::float(text.as_bytes())),
    }
}

/// A JSON text, decoded one level deep. Numbers stay text, because the languages disagree about them.
enum Json<'a> {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<&'a RawValue>),
    Map(BTreeMap<String, &'a RawValue>),
}

impl<'a> Json<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        match raw.get().as_bytes().first()? {
            b'n' => Some(Self::Null),
            b't' => Some(Self::Bool(true)),
            b'f' => Some(Self::Bool(false)),
            b'"' => serde_json::from_str(raw.get()).ok().map(Self::Text),
            b'[' => serde_json::from_str(raw.get()).ok().map(Self::List),
            b'{' => serde_json::from_str(raw.get()).ok().map(Self::Map),
            _ => Some(Self::Number(raw.get().to_owned())),
        }
    }
}
