//! What of a command and its reply can make a difference to any protocol: two that agree in this need not be judged
//! twice.
//!
//! Tokens, keys and the digits of stamps are left out; which of them are the same, which stamps have expired, and which of two
//! numbers is the larger are kept. Whatever is not understood here is kept byte for byte.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use smallvec::SmallVec;

use super::command_name::CommandName;
use super::exchange::{LockExchange, found_by};
use super::script_args::keys_of_script;
use super::stamp::{self, DatedValue};
use crate::wire::{Key, Reply, UnixTime};

/// What the command at the end of a conversation adds to it, as far as that can matter.
pub(super) fn feature(key: &Key, exchanges: &[LockExchange]) -> u64 {
    let mut hasher = FxHasher::default();
    let Some((exchange, before)) = exchanges.split_last() else { return hasher.finish() };
    let context = Context {
        key: key.as_bytes(),
        exchange,
        last: ExchangedValues::of(exchange),
        before: before.iter().map(ExchangedValues::of).collect(),
    };
    (exchange.within.is_some(), exchange.asks_time).hash(&mut hasher);
    if let (Some(script), Some(earlier)) = (exchange.within, before.last()) {
        (earlier.within == Some(script)).hash(&mut hasher);
    }
    match exchange.command.name() {
        CommandName::Other => stamp::capitals(&exchange.command.words()[0], &mut hasher),
        name => name.hash(&mut hasher),
    }
    let keys = if exchange.is_script() { keys_of_script(exchange.command.args()).unwrap_or(0) } else { 0 };
    let ttl_at = exchange.script_of_guard().and_then(|script| Some(2 + keys + script.ttl_at()?));
    for (place, word) in exchange.command.args().iter().enumerate() {
        match place {
            // A guard gives what is left of a lease, to the millisecond.
            _ if ttl_at == Some(place) => word.len().hash(&mut hasher),
            // The SHA-1 of a script has the form of a token, and tells one script from another.
            0 if exchange.is_script() => word.hash(&mut hasher),
            2.. if place - 2 < keys => context.key(word, &mut hasher),
            _ if word == context.key => b'k'.hash(&mut hasher),
            _ => context.word(context.dated(word), &mut hasher),
        }
    }
    context.length(&mut hasher);
    context.reply(&exchange.reply, &mut hasher);
    context.clock(&mut hasher);
    // Some holders look at their own stamp before they release the lock.
    if let Some(own) = context.own() {
        own.beside(exchange.at).hash(&mut hasher);
    }
    hasher.finish()
}

/// By so much two moments may differ and be the same to a client that counts in seconds.
const ROUNDING_NS: i64 = 1_001_000_000;

struct Context<'a> {
    key: &'a [u8],
    exchange: &'a LockExchange,
    last: ExchangedValues<'a>,
    /// Looked up once: every word is compared with each.
    before: SmallVec<[ExchangedValues<'a>; 8]>,
}

/// The values in an exchange, and its time.
#[derive(Clone, Copy)]
struct ExchangedValues<'a> {
    at: UnixTime,
    written: Option<DatedValue<'a>>,
    read: Option<DatedValue<'a>>,
}

impl<'a> ExchangedValues<'a> {
    fn of(exchange: &'a LockExchange) -> Self {
        Self { at: exchange.at, written: exchange.dated_write(), read: exchange.dated_read() }
    }
}

/// Whether this is the value.
fn is(value: Option<DatedValue<'_>>, word: &[u8]) -> bool {
    value.is_some_and(|value| value.bytes == word)
}

impl<'a> Context<'a> {
    /// A key that a script receives: most are made of that of the lock.
    fn key(&self, word: &'a [u8], hasher: &mut FxHasher) {
        let own = self.key;
        match word.windows(own.len().max(1)).position(|part| part == own) {
            Some(place) => (b's', &word[..place], &word[place + own.len()..]).hash(hasher),
            None => self.word(self.dated(word), hasher),
        }
    }

    /// This word of the last exchange, with the moment that it names.
    fn dated(&self, word: &'a [u8]) -> DatedValue<'a> {
        let known = [self.last.written, self.last.read].into_iter().flatten();
        known.into_iter().find(|value| std::ptr::eq(value.bytes, word)).unwrap_or_else(|| DatedValue::of(word))
    }

    fn word(&self, value: DatedValue<'_>, hasher: &mut FxHasher) {
        let word = value.bytes;
        if word == self.key {
            b'k'.hash(hasher);
            return;
        }
        self.before.iter().position(|values| is(values.written, word)).hash(hasher);
        self.before.iter().position(|values| is(values.read, word)).hash(hasher);
        if let Some(uuid) = stamp::uuid(word) {
            let names = |value: Option<DatedValue<'_>>| value.is_some_and(|value| value.bytes.starts_with(uuid));
            self.before.iter().position(|values| names(values.written) || names(values.read)).hash(hasher);
        }
        stamp::shape(word, self.last.at, hasher);
        value.beside(self.last.at).hash(hasher);
    }

    /// The first value that the client wrote.
    fn own(&self) -> Option<DatedValue<'a>> {
        self.before.iter().find_map(|values| values.written).or(self.last.written)
    }

    /// How the time to live goes with the stamp: as long, a thousand times as long, a moment instead of a length.
    fn length(&self, hasher: &mut FxHasher) {
        let Some(ttl_ms) = self.exchange.ttl_ms() else { return };
        (ttl_ms % 1000 == 0).hash(hasher);
        let first = self.before.iter().chain([&self.last]).find_map(|values| Some((values.at, values.written?)));
        let lease_ms = first.and_then(|(at, own)| Some(own.moment?.saturating_since(at).as_millis()));
        lease_ms
            .map(|lease_ms| {
                (u128::from(ttl_ms.unsigned_abs()) * 30 / (lease_ms + 1))
                    .min(1 << 20)
                    .checked_ilog2()
                    .map(|log| log / 3)
            })
            .hash(hasher);
    }

    /// What the client has read until now, judged by the time that it is now and by the one that it was before; and whether
    /// one and the same clock can have shown one stamp as expired and the other not.
    fn clock(&self, hasher: &mut FxHasher) {
        let Some(previous) = self.before.last() else { return };
        let mut read = self.before.iter().rev().filter_map(|values| Some((values.read?, values.at)));
        let Some((value, at)) = read.next() else { return };
        value.over(self.last.at).hash(hasher);
        value.over(previous.at).hash(hasher);
        let ahead = |value: DatedValue<'_>, at: UnixTime| Some(value.moment?.as_nanos().saturating_sub(at.as_nanos()));
        let now = ahead(value, self.last.at);
        for (value, at) in [(value, at)].into_iter().chain(read).take(3) {
            let apart = now.zip(ahead(value, at)).map(|(now, then)| now.saturating_sub(then));
            apart.map(|apart| (apart > 2 * ROUNDING_NS, apart < -2 * ROUNDING_NS)).hash(hasher);
        }
    }

    fn reply(&self, reply: &'a Reply, hasher: &mut FxHasher) {
        std::mem::discriminant(reply).hash(hasher);
        match reply {
            Reply::Nil => {}
            Reply::Int(number) => number.clamp(&-3, &3).hash(hasher),
            Reply::Status(text) => text.hash(hasher),
            Reply::Error(text) => text.split(' ').next().hash(hasher),
            Reply::Array(items) => {
                found_by(self.exchange, items).iter().for_each(|item| self.reply(item, hasher));
            }
            Reply::Bulk(value) => {
                let value = self.dated(value);
                self.word(value, hasher);
                // Some judge by the clock that they read at the beginning of the try.
                let wrote = self.before.iter().rev().find(|values| values.written.is_some());
                wrote.or(self.before.first()).map(|began| value.beside(began.at)).hash(hasher);
                self.last.written.map(|own| value.order(own)).hash(hasher);
                let one_hand = |own: DatedValue<'_>| stamp::is_of_one_hand(value.bytes, own.bytes);
                self.own().map(|own| (value.order(own), one_hand(own))).hash(hasher);
                let read = self.before.iter().rev().find_map(|values| values.read);
                read.map(|read| value.order(read)).hash(hasher);
            }
        }
    }
}

#[test]
fn one_script_is_not_taken_for_another() {
    use crate::audit::event::LockEvent;
    use crate::wire::Command;
    let of = |sha1: &str| {
        let command = Command::new("EVALSHA").arg(sha1).arg("1").arg("k").arg("3600");
        let event = LockEvent::new("client".into(), command, UnixTime::from_nanos(0), 1);
        feature(&"k".into(), &[LockExchange::new(event, Reply::Int(1))])
    };
    let (write, read) = ("2c61639e746ab347a6b7751eb161337186092f80", "2272986c81463d71fdd621ddc18a4c2cedc0456d");
    assert_ne!(of(write), of(read));
}

#[test]
fn a_fraction_that_ends_in_zero_is_not_taken_for_another() {
    use crate::audit::event::LockEvent;
    use crate::wire::Command;
    let of = |value: &str| {
        let command = Command::new("SETNX").arg("lock").arg(value);
        let event = LockEvent::new("client".into(), command, UnixTime::from_nanos(1_700_000_000_000_000_000), 1);
        feature(&"lock".into(), &[LockExchange::new(event, Reply::Int(1))])
    };
    assert_eq!(of("1700000030.21"), of("1700000030.22"));
    assert_ne!(of("1700000030.20"), of("1700000030.21"));
    assert_ne!(of("1700000030.0"), of("1700000030.2"));
}

#[test]
fn what_the_lock_is_called_makes_no_difference() {
    use crate::audit::event::LockEvent;
    use crate::wire::Command;
    let of = |key: &str, beside: &str| {
        let command = Command::new("EVALSHA").arg("0badc0de").arg("2").arg(beside).arg(key).arg("1700000000");
        let event = LockEvent::new("client".into(), command, UnixTime::from_nanos(0), 1);
        feature(&key.into(), &[LockExchange::new(event, Reply::Int(1))])
    };
    assert_eq!(of("order:1", "{order:1}:token"), of("cart:4711", "{cart:4711}:token"));
    assert_ne!(of("order:1", "{order:1}:token"), of("order:1", "{order:1}:queue"));
    assert_ne!(of("order:1", "{order:1}:token"), of("order:1", "{order:2}:token"));
}
