//! The bridge lock by its name: `bridge:` and the old dialects that it keeps out, `bridge:php-getset+java-getset`.

use std::sync::Arc;
use std::time::Duration;

use super::maker::Maker;
use super::setting::{Setting, Values};
use super::unsuitable::Unsuitable;
use crate::bridge::{BEYOND_EVERY_LEASE, Bridge, marked_forms};
use crate::legacy::{Dialect, Digits, Form, KeyName, Number, catalogue, find};
use crate::lock::Lease;
use crate::wire::{Key, UnixTime};

/// The prefix of every bridge's name.
const PREFIX: &str = "bridge:";

/// The catalogue entry that stands for all bridges.
pub(super) const NAME: &str = "bridge:php-getset";
pub(super) const SOURCE: &str = "lockshift: a stamp for the old clients and a token for the new, held at once";
pub(super) const ENCODING: &str = "a stamp of the named dialects; <hex>:<that stamp> in {key}:token";
pub(super) const SETTINGS: &[Setting] = &[
    Setting::of("fence", &["no", "yes"]),
    // Whether its dialects must exclude each other.
    Setting::of("fleet", &["exclusive", "any"]),
    SKEW,
];

/// By how many seconds the clocks of old clients may differ from a bridge's.
const SKEW: Setting = Setting { name: "skew", values: Values::UpTo(3600) };

/// The forms of the stamps by which a bridge knows its own among those of old clients.
pub(crate) fn stamp_forms() -> impl Iterator<Item = Form> {
    marked_forms().filter(Form::is_stamped)
}

/// The end of the lease by a stamp of a bridge that lies beyond every lease: how it knows its own among those of old clients that
/// cannot read a mark. The number of units is moved, not the moment: moments end with the year 2262, and a number beyond it, as
/// any eight letters are, would come out within the reach of leases.
pub(crate) fn end_of_far_stamp(value: &[u8]) -> Option<UnixTime> {
    let dialects =
        catalogue().filter(|dialect| matches!(dialect.form.stamp.digits, Digits::BigEndian | Digits::DateTime));
    let mut ends = dialects.filter_map(|dialect| {
        let (form, stamp) = (dialect.form, dialect.form.stamp);
        let units = i128::try_from(BEYOND_EVERY_LEASE.as_nanos() / stamp.unit.length().as_nanos()).ok()?;
        match form.read(value)? {
            Number::Int(number) => Some(stamp.moment_of(Number::Int(number.saturating_sub(units)))),
            Number::Float(_) => None,
        }
    });
    ends.next()
}

/// Whether this is the name of a bridge.
pub(super) fn names_one(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// A function that creates the bridge of this name; `no_old_dialect` makes the error for a name that is not a dialect.
///
/// # Errors
/// `no_old_dialect`, [`Unsuitable::Unbridgeable`].
pub(super) fn maker(
    name: &str,
    options: &[(String, String)],
    no_old_dialect: impl Fn(&str) -> Unsuitable,
) -> Result<Maker, Unsuitable> {
    let dialects = name.strip_prefix(PREFIX).unwrap_or(name).split('+');
    let fleet: Vec<_> =
        dialects.map(|name| find(name).ok_or_else(|| no_old_dialect(name))).collect::<Result<_, _>>()?;
    let is_fenced = options.iter().any(|(name, word)| name == "fence" && word == "yes");
    let accepts_any = options.iter().any(|(name, word)| name == "fleet" && word == "any");
    let bridge = if accepts_any { Bridge::accepting_double_holds } else { Bridge::new };
    let skew = options.iter().find(|(name, _)| name == SKEW.name).and_then(|(_, word)| word.parse().ok());
    let skew = Duration::from_secs(skew.unwrap_or(0));
    let make = move |key: Key, lease: Lease| {
        let bridge = bridge(&fleet, key, lease)?.tolerating_skew(skew)?;
        Ok(if is_fenced { bridge.fenced() } else { bridge })
    };
    for lease in EXTREMES.into_iter().filter_map(|length| Lease::new(length).ok()) {
        make("k".into(), lease).map_err(|because| Unsuitable::Unbridgeable { name: name.to_owned(), because })?;
    }
    Ok(Arc::new(move |key, lease| Arc::new(make(key, lease).expect("what bridges the extremes bridges all between"))))
}

/// The dialects of the bridge that is written so, with or without options.
pub(super) fn dialects(written: &str) -> Vec<&'static Dialect> {
    let (name, _options) = written.split_once(',').unwrap_or((written, ""));
    name.strip_prefix(PREFIX).unwrap_or(name).split('+').filter_map(find).collect()
}

/// The difference of clocks that the bridge that is written so tolerates.
pub(super) fn skew(written: &str) -> Duration {
    let word = written.split(',').filter_map(|option| option.split_once('=')).find(|(name, _)| *name == SKEW.name);
    Duration::from_secs(word.and_then(|(_, secs)| secs.parse().ok()).unwrap_or(0))
}

/// How the dialects of the bridge of this name derive a key from a name: each rule once.
pub(super) fn key_names(name: &str) -> Vec<KeyName> {
    let mut rules = Vec::new();
    for dialect in dialects(name) {
        if !rules.contains(&dialect.key) {
            rules.push(dialect.key);
        }
    }
    rules
}

/// Whether a fleet can be bridged follows from its dialects. A test tries other leases and finds no difference.
const EXTREMES: [Duration; 2] = [Lease::MIN, Lease::MAX];

/// Whether a bridge could have written this string into a new key. The value in an old key is in a dialect's form.
pub(super) fn could_write(value: &[u8]) -> bool {
    let is_hex = |bytes: &[u8]| bytes.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    value.split_at_checked(32).is_some_and(|(token, stamp)| is_hex(token) && stamp.first() == Some(&b':'))
}
