//! SET with all its options, SETEX, PSETEX.

use super::call::{Answer, Call, bulk_or_nil};
use super::number;
use super::refusal::Refusal;
use super::table::Row;
use super::value::Value;
use crate::wire::Reply;

pub(super) const ROWS: &[Row] = &[Row::new("set", -3, set), Row::new("setex", 4, setex), Row::new("psetex", 4, psetex)];

/// The unit of an expiry, and whether it counts from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Ex,
    Px,
    ExAt,
    PxAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Only {
    IfMissing,
    IfExists,
}

/// What follows key and value.
#[derive(Clone, Copy, Debug, Default)]
struct Options<'a> {
    only: Option<Only>,
    get: bool,
    keep_ttl: bool,
    expiry: Option<(Clock, &'a [u8])>,
}

fn set(call: &mut Call<'_>) -> Answer {
    let words = call.words;
    let options = parse(&words[3..])?;
    let deadline_ms = match options.expiry {
        None => None,
        Some((clock, amount)) => Some(deadline_ms(call, clock, amount)?),
    };
    let key = call.key(0);
    let old = if options.get { Some(bulk_or_nil(call.read::<Vec<u8>>(&key)?)) } else { None };
    let exists = call.entry(&key).is_some();
    let allowed = match options.only {
        None => true,
        Some(Only::IfMissing) => !exists,
        Some(Only::IfExists) => exists,
    };
    if allowed {
        let kept_ms = call.entry(&key).filter(|_| options.keep_ttl).and_then(|entry| entry.deadline_ms);
        call.write(key, Value::Text(words[2].clone()), deadline_ms.or(kept_ms));
    }
    Ok(old.unwrap_or_else(|| if allowed { Reply::ok() } else { Reply::Nil }))
}

fn setex(call: &mut Call<'_>) -> Answer {
    set_for(call, Clock::Ex)
}

fn psetex(call: &mut Call<'_>) -> Answer {
    set_for(call, Clock::Px)
}

fn set_for(call: &mut Call<'_>, clock: Clock) -> Answer {
    let words = call.words;
    let deadline_ms = deadline_ms(call, clock, &words[2])?;
    call.write(call.key(0), Value::Text(words[3].clone()), Some(deadline_ms));
    Ok(Reply::ok())
}

/// Options may come in any order and be repeated, but not contradict each other.
fn parse(words: &[Vec<u8>]) -> Result<Options<'_>, Refusal> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_ascii_uppercase().as_slice() {
            b"NX" if options.only != Some(Only::IfExists) => options.only = Some(Only::IfMissing),
            b"XX" if options.only != Some(Only::IfMissing) => options.only = Some(Only::IfExists),
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

fn clock(name: &[u8]) -> Option<Clock> {
    Some(match name {
        b"EX" => Clock::Ex,
        b"PX" => Clock::Px,
        b"EXAT" => Clock::ExAt,
        b"PXAT" => Clock::PxAt,
        _ => return None,
    })
}

fn deadline_ms(call: &Call<'_>, clock: Clock, amount: &[u8]) -> Result<i64, Refusal> {
    let amount = number::integer(amount).ok_or(Refusal::NotAnInteger)?;
    let millis = match clock {
        Clock::Ex | Clock::ExAt => amount.checked_mul(1000),
        Clock::Px | Clock::PxAt => Some(amount),
    };
    let from = match clock {
        Clock::Ex | Clock::Px => call.now.as_millis(),
        Clock::ExAt | Clock::PxAt => 0,
    };
    let deadline = millis.filter(|millis| *millis > 0).and_then(|millis| millis.checked_add(from));
    deadline.filter(|deadline| *deadline > 0).ok_or(Refusal::ExpireTime(call.row.name))
}
