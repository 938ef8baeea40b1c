//! A protocol, run over what a client has said: whether these are its words, and what it made of the answers.
//!
//! The protocol asks for the time and for replies; both are known from the trace. What it writes has another token or
//! another fraction of a second in it than what the client wrote: the two are paired, and each answer is handed to the
//! protocol with its own words in the place of the client's. Only the clocks of the clients are not known. The protocol is
//! handed the server's, and another one where only that explains what the client did next.

use std::time::Duration;

use super::alike::{Alike, SPEAKER};
use super::kinds::Kind;
use super::said::Said;
use crate::lock::{Acquired, Extended, Hold, Lease, Locker, Released, Why};
use crate::wire::{Command, Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// How far a client has come, if it speaks a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// In the middle of a try.
    Asking,
    /// It holds.
    Won,
    /// Its try was in vain.
    Refused(Why),
    /// It is giving back what it holds.
    Leaving,
    /// It has given it back, or found that it cannot.
    Left(Released),
}

/// How far a client of this kind has come who has said this; `None` if no such client says this.
pub(super) fn play(kind: &Kind, key: &Key, said: &[Said]) -> Option<Stage> {
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
        said.iter().find_map(|said| {
            let ends = stamp.moment_of(dialect.form.read(said.writes()?)?);
            Some(ends.saturating_since(said.at.saturating_add(stamp.margin)))
        })
    });
    let found = given.into_iter().chain(told).chain(stamped).filter_map(|length| Lease::new(length).ok());
    let mut leases: Vec<Lease> = found.collect();
    if leases.is_empty() {
        leases.extend(Lease::new(Duration::from_secs(10)).ok());
    }
    leases
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

impl Play<'_> {
    /// A try that begins at this line, and whatever follows it.
    fn tries(&self, from: usize, alike: Alike) -> Option<Stage> {
        let acquire = |redis: &mut Transcript| self.locker.acquire(&SPEAKER, redis);
        self.go(&acquire, Talk::at(from, alike), &mut |went| match went {
            Went::Waits(command) => Some(self.stage_if_answered(&command)),
            Went::Through(Acquired::Won(hold), next, alike) => self.holds(&hold, next, alike),
            Went::Through(Acquired::Held(held), next, alike) => {
                // No pool of connections remembers a command that changes nothing: an operation without one said nothing.
                if next == from {
                    None
                } else if next == self.said.len() {
                    Some(Stage::Refused(held.why))
                } else {
                    self.tries(next, alike.clone()).or_else(|| self.withdraws(held.why, next, alike))
                }
            }
        })
    }

    /// What somebody says from this line on who was refused for this reason and stops waiting, and whatever follows it.
    fn withdraws(&self, why: Why, from: usize, alike: Alike) -> Option<Stage> {
        let withdraw = |redis: &mut Transcript| self.locker.withdraw(&SPEAKER, redis);
        self.go(&withdraw, Talk::at(from, alike), &mut |went| match went {
            Went::Waits(_) => Some(Stage::Refused(why)),
            Went::Through((), next, _) if next == from => None,
            Went::Through((), next, _) if next == self.said.len() => Some(Stage::Refused(why)),
            Went::Through((), next, alike) => self.tries(next, alike),
        })
    }

    /// What a holder says from this line on.
    fn holds(&self, hold: &Hold, from: usize, alike: Alike) -> Option<Stage> {
        if from == self.said.len() {
            return Some(Stage::Won);
        }
        let extended = self.go(
            &|redis: &mut Transcript| self.locker.extend(hold, redis),
            Talk::at(from, alike.clone()),
            &mut |went| match went {
                Went::Waits(_) => Some(Stage::Won),
                Went::Through(_, next, _) if next == from => None,
                Went::Through(Extended::Until(hold) | Extended::Intruded(hold), next, alike) => {
                    self.holds(&hold, next, alike)
                }
                Went::Through(Extended::Lost | Extended::NotSpoken, next, alike) => self.holds(hold, next, alike),
            },
        );
        let released = || {
            let release = |redis: &mut Transcript| self.locker.release(hold, redis);
            self.go(&release, Talk::at(from, alike), &mut |went| match went {
                Went::Waits(_) => Some(Stage::Leaving),
                Went::Through(_, next, _) if next == from => None,
                Went::Through(released, next, _) if next == self.said.len() => Some(Stage::Left(released)),
                Went::Through(_, next, alike) => self.tries(next, alike),
            })
        };
        // What begins like both is the end of the work rather than its middle.
        released().or(extended)
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
        mut talk: Talk,
        then: &mut dyn FnMut(Went<T>) -> Option<Stage>,
    ) -> Option<Stage> {
        loop {
            match operation(talk.transcript.rewind()) {
                Ok(outcome) => return then(Went::Through(outcome, talk.next, talk.alike)),
                // A trace is of one server: a round to several is in several traces.
                Err(Pending::Fault(_) | Pending::Round(_)) => return None,
                Err(Pending::Clock) => {
                    for skew in self.skews(&talk) {
                        let told = talk.told(self.reading(talk.next, skew), skew);
                        if let Some(stage) = self.go(operation, told, then) {
                            return Some(stage);
                        }
                    }
                    return None;
                }
                // It names no key, so that no lock has heard it.
                Err(Pending::Send(command)) if command.is("TIME") && self.said.iter().any(|said| said.asks_time) => {
                    let reply = server_time(self.reading(talk.next, 0).wall);
                    talk.transcript.record_reply(reply);
                }
                Err(Pending::Send(command)) => match self.said.get(talk.next) {
                    None => return then(Went::Waits(command)),
                    Some(_) => talk.hear(self.kind, &command, self.said)?,
                },
            }
        }
    }

    /// The clocks at this line, if the client's wall clock is ahead by this.
    fn reading(&self, next: usize, skew_ns: i64) -> Reading {
        let at = self.said.get(next).or(self.said.last()).map_or(UnixTime::from_nanos(0), |said| said.at);
        let wall = UnixTime::from_nanos(at.as_nanos().saturating_add(skew_ns));
        let since = Duration::from_nanos(u64::try_from(wall.as_nanos()).unwrap_or(0));
        Reading { wall, mono: MonoTime::since_origin(since) }
    }

    /// By how much the client's clock may be ahead: as it was before; else not at all, or so far that the stamp that it
    /// has read is over, or ahead.
    fn skews(&self, talk: &Talk) -> Vec<i64> {
        const BEYOND: i64 = 1_001_000_000;
        if let Some(skew) = talk.skew_ns {
            return vec![skew];
        }
        let read =
            talk.next.checked_sub(1).and_then(|last| self.said[last].reads().map(|read| (read, self.said[last].at)));
        let stamp = read.and_then(|(read, at)| {
            let form = self.kind.form()?;
            Some(form.stamp.moment_of(form.read(read)?).as_nanos().saturating_sub(at.as_nanos()))
        });
        match stamp {
            Some(ahead) => vec![0, ahead.saturating_add(BEYOND), ahead.saturating_sub(BEYOND)],
            None => vec![0],
        }
    }
}

/// What TIME answers at this moment.
fn server_time(at: UnixTime) -> Reply {
    let micros = at.as_nanos().rem_euclid(1_000_000_000) / 1_000;
    Reply::Array([at.as_secs(), micros].map(|part| Reply::bulk(part.to_string())).to_vec())
}

/// An operation under way.
#[derive(Clone, Default)]
struct Talk {
    transcript: Transcript,
    /// The line that comes next.
    next: usize,
    /// Which of the client's words stand for which of the protocol's.
    alike: Alike,
    /// By how much the client's clock was taken to be ahead where that made a difference.
    skew_ns: Option<i64>,
    /// The replies to what was queued between MULTI and EXEC; `None` outside.
    queue: Option<Vec<Reply>>,
}

impl Talk {
    fn at(next: usize, alike: Alike) -> Self {
        Self { next, alike, ..Self::default() }
    }

    fn told(&self, reading: Reading, skew_ns: i64) -> Self {
        let mut talk = self.clone();
        talk.transcript.record_clock(reading);
        talk.skew_ns = talk.skew_ns.or((skew_ns != 0).then_some(skew_ns));
        talk
    }

    /// Takes the next line for this command, if it can be it, and hands the protocol its reply.
    fn hear(&mut self, kind: &Kind, expected: &Command, said: &[Said]) -> Option<()> {
        let line = &said[self.next];
        let (reply, length) = match line.within {
            Some(script)
                if expected.is("EVAL") || expected.is("EVALSHA") || expected.is("DELIFEQ") || expected.is("DELEX") =>
            {
                self.alike.in_script(expected, line)?;
                let calls = said[self.next..].iter().take_while(|said| said.within == Some(script));
                let calls: Vec<&Said> = calls.collect();
                let has_done = calls.iter().any(|call| !call.command.only_reads() && call.reply != Reply::Int(0));
                (Reply::Int(i64::from(has_done)), calls.len())
            }
            Some(_) | None => {
                self.alike.take(kind, expected, &line.command)?;
                (self.alike.reply(&line.reply), 1)
            }
        };
        self.next += length;
        let reply = self.answer(expected, reply);
        self.transcript.record_reply(reply);
        Some(())
    }

    /// The reply as the client got it: between MULTI and EXEC that is QUEUED, and EXEC hands out the rest. MONITOR lists
    /// what was queued only when it runs.
    fn answer(&mut self, command: &Command, reply: Reply) -> Reply {
        if command.is("MULTI") {
            self.queue = Some(Vec::new());
            return Reply::ok();
        }
        match (self.queue.take(), command.is("EXEC")) {
            (Some(replies), true) if replies.is_empty() => Reply::Nil,
            (Some(replies), true) => Reply::Array(replies),
            (Some(mut replies), false) => {
                replies.push(reply);
                self.queue = Some(replies);
                Reply::Status("QUEUED".to_owned())
            }
            (None, _) => reply,
        }
    }
}
