//! The command with which a protocol begins. Most protocols are ruled out by the first command of a conversation, and
//! need not be run over it.

use std::sync::LazyLock;
use std::time::Duration;

use crate::audit::command_name::NamedCommand;
use crate::audit::correspondence::{OWNER, is_comparable};
use crate::audit::exchange::LockExchange;
use crate::audit::variants::Variant;
use crate::lock::{Lease, Locker};
use crate::wire::{Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// Whether a conversation in the protocol at this index can begin with this.
pub(in crate::audit) fn may_begin(variant: usize, first: &LockExchange) -> bool {
    let is_of_guard = first.script_of_guard().is_some();
    match &openings()[variant] {
        Some(openings) => !is_of_guard && openings.may_be(first),
        None => is_of_guard && Variant::all()[variant].is_spoken(),
    }
}

/// Whether an attempt to acquire this lock can begin with this.
pub(super) fn begins_attempt(locker: &dyn Locker, exchange: &LockExchange) -> bool {
    let attempt = first_command(|redis| locker.acquire(&OWNER, redis), SOME_TIME);
    attempt.is_none_or(|attempt| is_comparable(&attempt, &exchange.command))
}

/// Those of all variants, in their order; `None` for a client behind a guard, whose guard begins with a script of its own.
fn openings() -> &'static [Option<Openings>] {
    static ALL: LazyLock<Vec<Option<Openings>>> = LazyLock::new(|| {
        let lease = Lease::new(Duration::from_secs(10)).expect("neither too short nor too long");
        let of = |variant: &Variant| Openings::of(&*variant.locker(Key::from("lock"), lease, None));
        Variant::all().iter().map(|variant| (!variant.is_guarded()).then(|| of(variant))).collect()
    });
    &ALL
}

/// The commands with which a client that speaks a protocol may begin. Their names and, but for scripts, their numbers of
/// words are the same for all keys, leases and clocks.
#[derive(Clone, Debug)]
struct Openings {
    /// That of an attempt; `None` if an attempt may send nothing, or asks several servers.
    attempt: Option<NamedCommand>,
    /// That of a refused client which stops waiting, if it sends something.
    withdrawal: Option<NamedCommand>,
}

impl Openings {
    /// Those of this lock.
    fn of(locker: &dyn Locker) -> Self {
        Self {
            attempt: first_command(|redis| locker.acquire(&OWNER, redis), SOME_TIME),
            withdrawal: first_command(|redis| locker.withdraw(&OWNER, redis), SOME_TIME),
        }
    }

    /// Whether a conversation can begin with this.
    fn may_be(&self, first: &LockExchange) -> bool {
        let Some(attempt) = &self.attempt else { return true };
        let is_like =
            |opening: &NamedCommand| opening.is_script() && first.is_script() || is_comparable(opening, &first.command);
        // A call of an unknown script may stand for a command that does everything at once.
        first.within.is_some() || is_like(attempt) || self.withdrawal.as_ref().is_some_and(is_like)
    }
}

/// What TIME answers at this moment.
pub(super) fn server_time(at: UnixTime) -> Reply {
    let micros = at.as_nanos().rem_euclid(1_000_000_000) / 1_000;
    Reply::Array([at.as_secs(), micros].map(|part| Reply::bulk(part.to_string())).to_vec())
}

const SOME_TIME: UnixTime = UnixTime::from_nanos(1_700_000_000_000_000_000);

/// The first command that an operation sends at this time; `None` if it sends none, or asks several servers.
fn first_command<T>(operation: impl Fn(&mut Transcript) -> Turn<T>, wall: UnixTime) -> Option<NamedCommand> {
    let mut transcript = Transcript::default();
    loop {
        match operation(transcript.rewind()) {
            Err(Pending::Clock) => {
                transcript.record_clock(Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) });
            }
            // It names no key, so no lock observes it.
            Err(Pending::Send(command)) if command.is("TIME") => transcript.record_reply(server_time(wall)),
            Err(Pending::Send(command)) => return Some(command.into()),
            Ok(_) | Err(Pending::Fault(_) | Pending::Round(_)) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recognise;
    use super::*;
    use crate::audit::event::LockEvent;
    use crate::audit::scripts::scripts;
    use crate::wire::Command;

    #[test]
    fn neither_key_nor_lease_nor_time_nor_what_was_met_makes_a_difference() {
        let keys = ["k", "{order:1}:lock", "a key"].map(Key::from);
        let lengths = [1, 999, 1_000, 1_500, 86_400_000, 3_000_000_000_000].map(Duration::from_millis);
        let times = [SOME_TIME, UnixTime::from_nanos(1), UnixTime::from_nanos(4_000_000_000_987_654_321)];
        let met = [None, Some(&b"1700000000"[..]), Some(b"1700000000123"), Some(b"1700000000.25")];
        for (variant, expected) in Variant::all().iter().zip(openings()) {
            let Some(expected) = expected else { continue };
            for (key, length) in keys.iter().flat_map(|key| lengths.map(|length| (key, length))) {
                let lease = Lease::new(length).expect("neither too short nor too long");
                for (time, met) in times.iter().flat_map(|time| met.map(|met| (*time, met))) {
                    let locker = variant.locker(key.clone(), lease, met);
                    let attempt = first_command(|redis| locker.acquire(&OWNER, redis), time);
                    let withdrawal = first_command(|redis| locker.withdraw(&OWNER, redis), time);
                    for (found, expected) in [(attempt, &expected.attempt), (withdrawal, &expected.withdrawal)] {
                        assert_eq!(found.is_some(), expected.is_some(), "{}", variant.name());
                        let both = found.as_ref().zip(expected.as_ref());
                        let is_like = both.is_none_or(|(one, other)| {
                            one.is_script() && other.is_script()
                                || is_comparable(one, other) && is_comparable(other, one)
                        });
                        assert!(is_like, "{}: {found:?} and {expected:?}", variant.name());
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_guard_sends_first_is_a_script_of_its_own() {
        let mut spoken = 0;
        for variant in Variant::all().iter().filter(|variant| variant.is_guarded() && variant.is_spoken()) {
            for length in [999, 1_500, 86_400_000].map(Duration::from_millis) {
                let lease = Lease::new(length).expect("neither too short nor too long");
                let locker = variant.locker("k".into(), lease, None);
                let attempt = first_command(|redis| locker.acquire(&OWNER, redis), SOME_TIME).expect("it asks");
                let script = scripts().get(attempt.args()[0].as_slice()).and_then(|script| script.of_guard);
                assert!(script.is_some(), "{}: {attempt:?}", variant.name());
                assert!(first_command(|redis| locker.withdraw(&OWNER, redis), SOME_TIME).is_none());
            }
            spoken += 1;
        }
        assert!(spoken > 60, "{spoken}");
    }

    #[test]
    fn what_is_ruled_out_would_not_have_been_recognised() {
        let key = Key::from("lock");
        let all = openings().iter().flatten().cloned().flat_map(|it| [it.attempt, it.withdrawal]).flatten();
        let more = ["GET", "DEL", "EXISTS"].map(|name| Command::new(name).arg(&key).into());
        let mut ruled_out = 0;
        for command in all.chain(more) {
            for reply in [Reply::Nil, Reply::Int(0), Reply::Int(1), Reply::ok()] {
                let event = LockEvent::new("client".into(), (*command).clone(), SOME_TIME, 1);
                let exchange = LockExchange::new(event, reply);
                // A client behind a guard takes longer to run, and what its guard sends first depends on no reply. What cannot be
                // guarded is never run.
                let is_run =
                    |variant: &Variant| !variant.is_guarded() || variant.is_spoken() && exchange.reply == Reply::Int(1);
                let variants = Variant::all().iter().enumerate().filter(|(_, variant)| is_run(variant));
                for (_, variant) in variants.filter(|(index, _)| !may_begin(*index, &exchange)) {
                    let reached = recognise(variant, &key, std::slice::from_ref(&exchange));
                    assert!(reached.is_none(), "{} begins with {command:?}", variant.name());
                    ruled_out += 1;
                }
            }
        }
        assert!(ruled_out > 10_000, "{ruled_out}");
    }
}
