//! SET with all its options, SETEX, PSETEX.

use super::call::{Answer, Call, Row, bulk_or_nil};
use super::flavour::Flavour;
use super::number;
use super::refusal::Refusal;
use super::value::Value;
use crate::wire::{CommandWord, Key, Reply};

pub(super) const ROWS: &[Row] =
    &[Row::writes("set", -3, set), Row::writes("setex", 4, setex), Row::writes("psetex", 4, psetex)];

/// The unit of an expiry, and whether it counts from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpiryClock {
    Ex,
    Px,
    ExAt,
    PxAt,
}

/// What the key must hold to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare<'a> {
    /// Never satisfied by a missing key.
    Equal(&'a [u8]),
    /// Always satisfied by a missing key.
    Different(&'a [u8]),
}

/// What follows key and value.
#[derive(Clone, Copy, Debug, Default)]
struct SetOptions<'a> {
    if_missing: bool,
    if_existing: bool,
    compare: Option<Compare<'a>>,
    get: bool,
    keep_ttl: bool,
    expiry: Option<(ExpiryClock, &'a [u8])>,
}

fn set(call: &mut Call<'_>) -> Answer {
    let words = call.words;
    let options = parse(&words[3..], call.state.flavour)?;
    let deadline_ms = match options.expiry {
        None => None,
        Some((clock, amount)) => Some(deadline_ms(call, clock, amount)?),
    };
    let key = call.key(0);
    let old = if options.get { Some(bulk_or_nil(call.read::<Vec<u8>>(&key)?)) } else { None };
    let allowed = options.allow(call, &key)?;
    if allowed {
        let kept_ms = call.entry(&key).filter(|_| options.keep_ttl).and_then(|entry| entry.deadline_ms);
        put(call, key, &words[2], deadline_ms.or(kept_ms));
    }
    Ok(old.unwrap_or_else(|| if allowed { Reply::ok() } else { Reply::Nil }))
}

impl SetOptions<'_> {
    fn allow(&self, call: &Call<'_>, key: &Key) -> Result<bool, Refusal> {
        let exists = call.entry(key).is_some();
        if (self.if_missing && exists) || (self.if_existing && !exists) {
            return Ok(false);
        }
        let Some(compare) = self.compare else { return Ok(true) };
        let current = call.read::<Vec<u8>>(key)?;
        Ok(match compare {
            Compare::Equal(value) => current.is_some_and(|current| current == value),
            Compare::Different(value) => current.is_none_or(|current| current != value),
        })
    }
}

/// A deadline in the past is written all the same, but for Valkey, which removes the key instead.
fn put(call: &mut Call<'_>, key: Key, value: &[u8], deadline_ms: Option<i64>) {
    let over = deadline_ms.is_some_and(|deadline_ms| deadline_ms <= call.now.as_millis());
    if over && call.state.flavour == Flavour::Valkey9 {
        call.remove(&key);
    } else {
        call.write(key, Value::Text(value.to_vec()), deadline_ms);
    }
}

fn setex(call: &mut Call<'_>) -> Answer {
    set_for(call, ExpiryClock::Ex)
}

fn psetex(call: &mut Call<'_>) -> Answer {
    set_for(call, ExpiryClock::Px)
}

fn set_for(call: &mut Call<'_>, clock: ExpiryClock) -> Answer {
    let words = call.words;
    let deadline_ms = deadline_ms(call, clock, &words[2])?;
    put(call, call.key(0), &words[3], Some(deadline_ms));
    Ok(Reply::ok())
}

/// No option's name is longer.
const LONGEST_OPTION: usize = "KEEPTTL".len();

/// Options may come in any order and be repeated, but not contradict each other.
fn parse(words: &[CommandWord], flavour: Flavour) -> Result<SetOptions<'_>, Refusal> {
    // Redis refuses IFEQ after NX, but not NX after IFEQ; Valkey refuses both.
    let joins = |compare: Option<_>| compare.is_none() || flavour == Flavour::Redis84;
    let alone = |options: &SetOptions<'_>| !options.if_missing && !options.if_existing && options.compare.is_none();
    let mut options = SetOptions::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut name = [0; LONGEST_OPTION];
        let name = name.get_mut(..word.len()).ok_or(Refusal::Syntax)?;
        name.copy_from_slice(word);
        name.make_ascii_uppercase();
        match &*name {
            b"NX" if !options.if_existing && joins(options.compare) => options.if_missing = true,
            b"XX" if !options.if_missing && joins(options.compare) => options.if_existing = true,
            b"IFEQ" if flavour.sets_if_equal() && alone(&options) => {
                options.compare = Some(Compare::Equal(words.next().ok_or(Refusal::Syntax)?));
            }
            b"IFNE" if flavour == Flavour::Redis84 && alone(&options) => {
                options.compare = Some(Compare::Different(words.next().ok_or(Refusal::Syntax)?));
            }
            b"GET" => options.get = true,
            b"KEEPTTL" if options.expiry.is_none() => options.keep_ttl = true,
            name => {
                let clock = clock(name).ok_or(Refusal::Syntax)?;
                let same_clock = options.expiry.is_none_or(|(earlier, _)| earlier == clock);
                if options.keep_ttl || !same_clock {
                    return Err(Refusal::Syntax);
                }
                options.expiry = Some((clock, words.next().ok_or(Refusal::Syntax)?));
            }
        }
    }
    Ok(options)
}

fn clock(name: &[u8]) -> Option<ExpiryClock> {
    Some(match name {
        b"EX" => ExpiryClock::Ex,
        b"PX" => ExpiryClock::Px,
        b"EXAT" => ExpiryClock::ExAt,
        b"PXAT" => ExpiryClock::PxAt,
        _ => return None,
    })
}

fn deadline_ms(call: &Call<'_>, clock: ExpiryClock, amount: &[u8]) -> Result<i64, Refusal> {
    let amount = number::integer(amount).ok_or(Refusal::NotAnInteger)?;
    let millis = match clock {
        ExpiryClock::Ex | ExpiryClock::ExAt => amount.checked_mul(1000),
        ExpiryClock::Px | ExpiryClock::PxAt => Some(amount),
    };
    let from = match clock {
        ExpiryClock::Ex | ExpiryClock::Px => call.now.as_millis(),
        ExpiryClock::ExAt | ExpiryClock::PxAt => 0,
    };
    let deadline = millis.filter(|millis| *millis > 0).and_then(|millis| millis.checked_add(from));
    deadline.filter(|deadline| *deadline > 0).ok_or(Refusal::ExpireTime(call.name))
}
