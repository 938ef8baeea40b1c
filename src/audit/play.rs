//! A protocol, run over what a client has said: whether these are its words, and what it made of the answers.
//!
//! The protocol asks for the time and for replies; both are known from the trace. What it writes has another token or
//! another fraction of a second in it than what the client wrote: the two are paired, and each answer is handed to the
//! protocol with its own words in the place of the client's. Only the clocks of the clients are not known. The protocol is
//! handed the server's, and another one where only that explains what the client did next.

mod clock;
mod operation;

use std::time::Duration;

use self::clock::Span;
use self::operation::Operation;
use super::alike::{Alike, SPEAKER};
use super::kinds::Kind;
use super::said::Said;
use crate::legacy::{Clock, Moment};
use crate::lock::{Acquired, Extended, Hold, Lease, Locker, Refusal, Released};
use crate::wire::{Command, Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// How far a client has come, if it speaks a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// In the middle of a try.
    Asking,
    /// It holds.
    Won,
    /// Its try was in vain.
    Refused(Refusal),
    /// It is giving back what it holds.
    Leaving,
    /// It has given it back, or found that it cannot.
    Left(Released),
}

/// How far a client has come, and since which line it is at this try.
#[derive(Clone, Copy, Debug)]
pub(super) struct Come {
    pub(super) stage: Stage,
    pub(super) since: usize,
}

/// How far a client of this kind has come who has said this; `None` if no such client says this.
pub(super) fn play(kind: &Kind, key: &Key, said: &[Said]) -> Option<Come> {
    let met = said.iter().find(|said| said.is_script()).and_then(Said::reads);
    leases(kind, said).into_iter().find_map(|lease| {
        let locker = kind.locker(key.clone(), lease, met);
        Play { kind, locker: &*locker, said }.tries(0, Alike::default())
    })
}

/// For how long the client may have asked to hold: by a time to live that it gave, by its stamp.
fn leases(kind: &Kind, said: &[Said]) -> Vec<Lease> {
    let given = said.iter().find_map(Said::ttl_ms).and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
    let told = said.iter().find(|said| said.is_script()).into_iter().flat_map(Said::told_lengths);
    let stamped = kind.dialect().and_then(|dialect| {
        let stamp = &dialect.form.stamp;
        if stamp.moment == Moment::Acquisition {
            return None;
        }
        said.iter().find_map(|said| {
            let ends = stamp.moment_of(dialect.form.read(said.writes()?)?);
            Some(ends.saturating_since(said.at.saturating_add(stamp.margin)))
        })
    });
    // The line comes a little later than the clock was read of which its stamp was made, and most leases are whole seconds.
    let whole = stamped.map(|length| Duration::from_secs(length.as_secs() + u64::from(length.subsec_nanos() > 0)));
    let found = given.into_iter().chain(told).chain(stamped).chain(whole).chain(outlasted(kind, said));
    let found = found.filter_map(|length| Lease::new(length).ok());
    let mut leases: Vec<Lease> = found.collect();
    if leases.is_empty() {
        leases.extend(Lease::new(Duration::from_secs(10)).ok());
    }
    leases
}

/// For how long a lock was held at most, by whoever took it: where the stamp says when it was taken, nothing else says more.
fn outlasted(kind: &Kind, said: &[Said]) -> Option<Duration> {
    let dialect = kind.dialect().filter(|dialect| dialect.form.stamp.moment == Moment::Acquisition)?;
    let takes = |pair: &&[Said]| pair[0].is("GET") && pair[1].writes().is_some() && !pair[1].is("SETNX");
    let taken = said.windows(2).find(takes)?;
    let since = dialect.form.stamp.moment_of(dialect.form.read(taken[0].reads()?)?);
    Some(Duration::from_secs(taken[1].at.saturating_since(since).as_secs()))
}

struct Play<'a> {
    kind: &'a Kind,
    locker: &'a dyn Locker,
    said: &'a [Said],
}

/// How an operation went along with what was said.
enum Went<T> {
    /// To its end, before the line at this place.
    Through(T, usize, Alike),
    /// It waits for a reply to this command, which was not sent yet.
    Waits(Command),
}

/// A hold, since the line with which its try began.
struct Held<'a> {
    hold: &'a Hold,
    since: usize,
}

impl Play<'_> {
    /// A try that begins at this line, and whatever follows it.
    fn tries(&self, from: usize, alike: Alike) -> Option<Come> {
        let acquire = |redis: &mut Transcript| self.locker.acquire(&SPEAKER, redis);
        let come = |stage| Some(Come { stage, since: from });
        self.go(&acquire, Operation::at(from, alike), &mut |went| match went {
            Went::Waits(command) => come(self.stage_if_answered(&command)),
            Went::Through(Acquired::Won(hold), next, alike) => {
                self.holds(&Held { hold: &hold, since: from }, next, alike)
            }
            Went::Through(Acquired::Held(held), next, alike) => {
                // No pool of connections remembers a command that changes nothing: an operation without one said nothing.
                if next == from {
                    None
                } else if next == self.said.len() {
                    come(Stage::Refused(held.reason))
                } else {
                    self.tries(next, alike.clone()).or_else(|| self.withdraws(held.reason, next, alike))
                }
            }
        })
    }

    /// What somebody says from this line on who was refused for this reason and stops waiting, and whatever follows it.
    fn withdraws(&self, reason: Refusal, from: usize, alike: Alike) -> Option<Come> {
        let refused = || Some(Come { stage: Stage::Refused(reason), since: from });
        let withdraw = |redis: &mut Transcript| self.locker.withdraw(&SPEAKER, redis);
        self.go(&withdraw, Operation::at(from, alike), &mut |went| match went {
            Went::Waits(_) => refused(),
            Went::Through((), next, _) if next == from => None,
            Went::Through((), next, _) if next == self.said.len() => refused(),
            Went::Through((), next, alike) => self.tries(next, alike),
        })
    }

    /// What a holder says from this line on.
    fn holds(&self, held: &Held<'_>, from: usize, alike: Alike) -> Option<Come> {
        let Held { hold, since } = *held;
        let come = |stage| Some(Come { stage, since });
        if from == self.said.len() {
            return come(Stage::Won);
        }
        let extended = self.go(
            &|redis: &mut Transcript| self.locker.extend(hold, redis),
            self.by_holder(hold, from, alike.clone()),
            &mut |went| match went {
                Went::Waits(_) => come(Stage::Won),
                Went::Through(_, next, _) if next == from => None,
                Went::Through(Extended::Until(hold) | Extended::Intruded(hold), next, alike) => {
                    self.holds(&Held { hold: &hold, since }, next, alike)
                }
                Went::Through(Extended::Lost | Extended::Unsupported, next, alike) => self.holds(held, next, alike),
            },
        );
        let released = || {
            let release = |redis: &mut Transcript| self.locker.release(hold, redis);
            self.go(&release, self.by_holder(hold, from, alike), &mut |went| match went {
                Went::Waits(_) => come(Stage::Leaving),
                Went::Through(released, next, _) if next == self.said.len() => come(Stage::Left(released)),
                // Some give back without a word once their lease is over.
                Went::Through(_, next, alike) => self.tries(next, alike),
            })
        };
        // What begins like both is the end of the work rather than its middle.
        released().or(extended)
    }

    /// An operation of a holder that begins at this line.
    fn by_holder(&self, hold: &Hold, from: usize, alike: Alike) -> Operation {
        let mut along = Operation::at(from, alike);
        along.own = self.moment(&hold.value);
        along
    }

    /// When a lock of this value is over.
    fn moment(&self, value: &[u8]) -> Option<UnixTime> {
        let form = self.kind.form()?;
        Some(form.stamp.moment_of(form.read(value)?))
    }

    /// A try that waits for the reply to a TTL command has won already, unless it is one that those send who are refused;
    /// any other is still open.
    fn stage_if_answered(&self, command: &Command) -> Stage {
        let gives_ttl = ["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"].iter().any(|name| command.is(name));
        let is_refused = self.said.last().is_some_and(|said| said.reply == Reply::Int(0));
        if gives_ttl && !is_refused { Stage::Won } else { Stage::Asking }
    }

    /// Lets an operation go along with what was said; where clocks leave a choice, the first way on which `then` finds
    /// sense.
    fn go<T>(
        &self,
        operation: &dyn Fn(&mut Transcript) -> Turn<T>,
        mut along: Operation,
        then: &mut dyn FnMut(Went<T>) -> Option<Come>,
    ) -> Option<Come> {
        loop {
            match operation(along.transcript.rewind()) {
                Ok(outcome) => return then(Went::Through(outcome, along.next, along.alike)),
                // A trace is of one server: a round to several is in several traces.
                Err(Pending::Fault(_) | Pending::Round(_)) => return None,
                Err(Pending::Clock) => {
                    let stamp = along.judged(self.said).and_then(|read| self.moment(read)).or(along.own);
                    let shown = along.ahead.shown(self.span(along.next), stamp, self.stamped(along.next));
                    return shown.into_iter().find_map(|shown| {
                        let told = along.told(shown, self.reading(along.next, shown.wall));
                        self.go(operation, told, then)
                    });
                }
                // It names no key, so that no lock has heard it.
                Err(Pending::Send(command)) if command.is("TIME") && self.said.iter().any(|said| said.asks_time) => {
                    along.transcript.record_reply(server_time(self.span(along.next).until));
                }
                Err(Pending::Send(command)) => match self.said.get(along.next) {
                    None => return then(Went::Waits(command)),
                    Some(_) => along.hear(self.kind, &command, self.said)?,
                },
            }
        }
    }

    /// What the clock showed of which the stamp in this line was made, for this lease.
    fn stamped(&self, next: usize) -> Option<UnixTime> {
        let stamp = &self.kind.dialect()?.form.stamp;
        let length = self.locker.lease().length() + stamp.margin;
        let length = i64::try_from(length.as_nanos()).ok().filter(|_| stamp.moment == Moment::Expiry)?;
        let made = self.moment(self.said.get(next)?.writes()?)?;
        Some(UnixTime::from_nanos(made.as_nanos().saturating_sub(length)))
    }

    /// The time between the line before this one and this one.
    fn span(&self, next: usize) -> Span {
        let before = next.checked_sub(1).map(|last| self.said[last].at);
        let until = self.said.get(next).map(|said| said.at).or(before).unwrap_or(UnixTime::from_nanos(0));
        Span { from: before.unwrap_or(until), until }
    }

    /// The clocks at this line, if the client's wall clock shows this.
    fn reading(&self, next: usize, wall: UnixTime) -> Reading {
        let at = self.span(next).until;
        let since = self.start_of_machine().map_or(at.as_nanos(), |start_ns| at.as_nanos().saturating_sub(start_ns));
        let since = Duration::from_nanos(u64::try_from(since).unwrap_or(0));
        Reading { wall, mono: MonoTime::since_origin(since) }
    }

    /// When the client's machine was started, for those who write how long ago that was: by the first that it wrote.
    fn start_of_machine(&self) -> Option<i64> {
        self.kind.dialect().filter(|dialect| dialect.clock == Clock::Uptime)?;
        let (wrote, value) = self.said.iter().find_map(|said| Some((said.at, said.writes()?)))?;
        let lease_ns = i64::try_from(self.locker.lease().length().as_nanos()).ok()?;
        let uptime_ns = self.moment(value)?.as_nanos().saturating_sub(lease_ns);
        Some(wrote.as_nanos().saturating_sub(uptime_ns))
    }
}

/// What TIME answers at this moment.
fn server_time(at: UnixTime) -> Reply {
    let micros = at.as_nanos().rem_euclid(1_000_000_000) / 1_000;
    Reply::Array([at.as_secs(), micros].map(|part| Reply::bulk(part.to_string())).to_vec())
}
