//! Runs a protocol over a conversation: whether the protocol would have sent these commands, and how far it has come.
//!
//! The protocol asks for the time and for replies; both are known from the trace. It writes another token or another
//! fraction of a second than the client wrote: the two are paired, and each reply reaches the protocol with its own words
//! in place of the client's. Only the clients' clocks are unknown. The protocol reads the server's clock, or another one
//! where only that explains what the client did next.

mod clock;
mod dead_ends;
mod opening;
mod operation;

use std::time::Duration;

use self::clock::TimeSpan;
use self::dead_ends::{Beginning, DeadEnds};
pub(super) use self::opening::may_begin;
use self::opening::{begins_attempt, server_time};
use self::operation::RecognisedOperation;
use super::command_name::CommandName;
use super::correspondence::{Correspondence, OWNER};
use super::exchange::LockExchange;
use super::stamp::looks_like_token;
use super::variants::Variant;
use crate::guard::GuardScript;
use crate::legacy::{Clock, Lock, Moment, Refresh};
use crate::lock::{Acquired, Extended, Hold, Lease, Locker};
use crate::wire::{Command, Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// How far a client has come, if it speaks a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ConversationStage {
    /// In the middle of an attempt.
    Acquiring,
    /// It holds the lock.
    Holding,
    /// Its attempt was refused.
    Refused,
    /// It is releasing the lock.
    Releasing,
    /// It has released the lock, or found that it cannot.
    Released,
}

/// How far a client has come, and the exchange with which its attempt began.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    pub(super) stage: ConversationStage,
    pub(super) since: usize,
    /// What it holds, if it is between two operations.
    pub(super) held: Option<RecognisedHold>,
}

/// What a client holds by one protocol: its next operation can be recognised without what led there.
#[derive(Clone, Debug)]
pub(super) struct RecognisedHold {
    lease: Lease,
    hold: Hold,
    pairs: Correspondence,
    /// The exchange behind its attempt.
    pub(super) won_by: usize,
}

impl RecognisedHold {
    /// Forgets what is not in these exchanges, which are left of the conversation.
    pub(super) fn keep_those_in(&mut self, exchanges: &[LockExchange]) {
        self.pairs.keep_those_in(exchanges);
    }
}

/// How far a client that speaks this protocol has come; `None` if the protocol would not have sent these commands.
pub(super) fn recognise(variant: &Variant, key: &Key, exchanges: &[LockExchange]) -> Option<Reached> {
    leases(variant, exchanges).into_iter().find_map(|lease| {
        let locker = variant.locker(key.clone(), lease, met(exchanges));
        if is_mark(variant, &*locker, exchanges) {
            return None;
        }
        let along = Recogniser { variant, locker: &*locker, exchanges, dead_ends: DeadEnds::default() };
        // A refused client may leave its queue long after its attempt.
        along.attempts(0, Correspondence::default()).or_else(|| along.withdraws(0, Correspondence::default()))
    })
}

/// The same of a client that held this before the exchange at index `from`.
pub(super) fn recognise_holder(
    variant: &Variant,
    key: &Key,
    exchanges: &[LockExchange],
    held: &RecognisedHold,
    from: usize,
) -> Option<Reached> {
    let locker = variant.locker(key.clone(), held.lease, met(exchanges));
    let along = Recogniser { variant, locker: &*locker, exchanges, dead_ends: DeadEnds::default() };
    let begun = BegunHold { hold: &held.hold, since: 0, won_by: held.won_by };
    along.holds(&begun, from, held.pairs.clone())
}

/// The value that a client met, by the first script that it ran.
fn met(exchanges: &[LockExchange]) -> Option<&[u8]> {
    exchanges.iter().find(|exchange| exchange.is_script()).and_then(LockExchange::reads)
}

/// Whether it is no more than a key that is written once, such as a mark of what was done: it looks like a lock that never
/// expires, and no token is in it.
fn is_mark(variant: &Variant, locker: &dyn Locker, exchanges: &[LockExchange]) -> bool {
    let names_owner = || exchanges.first().and_then(LockExchange::writes).is_some_and(looks_like_token);
    variant.dialect().is_none() && !locker.expires() && !names_owner()
}

/// The leases that the client may have asked for: by a time to live that it set, by its stamp.
fn leases(variant: &Variant, exchanges: &[LockExchange]) -> Vec<Lease> {
    let given = exchanges
        .iter()
        .find_map(LockExchange::ttl_ms)
        .and_then(|ms| u64::try_from(ms).ok())
        .map(Duration::from_millis);
    // A client behind a guard may look first, by a script as well.
    let is_look = |exchange: &LockExchange| exchange.script_of_guard() == Some(GuardScript::Look);
    let by_script = exchanges.iter().find(|exchange| exchange.is_script() && !is_look(exchange));
    let by_script: Vec<Duration> = by_script.into_iter().flat_map(LockExchange::script_lengths).collect();
    // A guard gives what is left of a lease, and some clients do not release what they have rounded.
    let before_guard = by_script.iter().filter(|_| variant.is_guarded()).map(|length| whole_seconds(*length));
    let stamped = variant.form_of_lease().and_then(|form| {
        let stamp = &form.stamp;
        exchanges.iter().find_map(|exchange| {
            let ends = stamp.moment_of(form.read(exchange.writes()?)?);
            Some(ends.saturating_since(exchange.at.saturating_add(stamp.margin)))
        })
    });
    // The client made its stamp a little before the line arrived, and most leases are whole seconds.
    let whole = stamped.map(whole_seconds);
    let found = given
        .into_iter()
        .chain(before_guard)
        .chain(by_script.iter().copied())
        .chain(stamped)
        .chain(whole)
        .chain(outlasted(variant, exchanges));
    let found = found.filter_map(|length| Lease::new(length).ok());
    let mut leases: Vec<Lease> = Vec::new();
    for lease in found {
        if !leases.contains(&lease) {
            leases.push(lease);
        }
    }
    if leases.is_empty() {
        leases.extend(Lease::new(Duration::from_secs(10)).ok());
    }
    leases
}

/// The length, rounded up.
fn whole_seconds(length: Duration) -> Duration {
    Duration::from_secs(length.as_secs() + u64::from(length.subsec_nanos() > 0))
}

/// How old a lock was when it was taken over: where the stamp names the acquisition, nothing else tells the lease.
fn outlasted(variant: &Variant, exchanges: &[LockExchange]) -> Option<Duration> {
    let dialect = variant.dialect().filter(|dialect| dialect.form.stamp.moment == Moment::Acquisition)?;
    let takes = |pair: &&[LockExchange]| {
        pair[0].is(CommandName::Get) && pair[1].writes().is_some() && !pair[1].is(CommandName::Setnx)
    };
    let taken = exchanges.windows(2).find(takes)?;
    let since = dialect.form.stamp.moment_of(dialect.form.read(taken[0].reads()?)?);
    Some(Duration::from_secs(taken[1].at.saturating_since(since).as_secs()))
}

struct Recogniser<'a> {
    variant: &'a Variant,
    locker: &'a dyn Locker,
    exchanges: &'a [LockExchange],
    dead_ends: DeadEnds,
}

/// How far an operation came along the exchanges.
enum OperationProgress<T> {
    /// It ended before the exchange at this index.
    Ended(T, usize, Correspondence),
    /// It waits for the reply to this command, which was not sent yet.
    Waits(Command),
}

/// A hold, the exchange with which its attempt began, and the one behind that attempt.
struct BegunHold<'a> {
    hold: &'a Hold,
    since: usize,
    won_by: usize,
}

impl Recogniser<'_> {
    /// An attempt that begins with this exchange, and whatever follows it.
    fn attempts(&self, from: usize, pairs: Correspondence) -> Option<Reached> {
        let follow = |pairs| self.attempts_anew(from, pairs);
        self.dead_ends.unless_known(self.exchanges, from, Beginning::Attempt, pairs, follow)
    }

    fn attempts_anew(&self, from: usize, pairs: Correspondence) -> Option<Reached> {
        let acquire = |redis: &mut Transcript| self.locker.acquire(&OWNER, redis);
        let come = |stage| Some(Reached { stage, since: from, held: None });
        self.go(&acquire, RecognisedOperation::at(from, pairs), &mut |progress| match progress {
            OperationProgress::Waits(command) => come(self.stage_if_answered(&command)),
            // No client acquires without a command.
            OperationProgress::Ended(Acquired::Won(_), next, _) if next == from => None,
            OperationProgress::Ended(Acquired::Won(hold), next, pairs) => {
                self.holds(&BegunHold { hold: &hold, since: from, won_by: next }, next, pairs)
            }
            OperationProgress::Ended(Acquired::Held(_), next, pairs) => {
                // An attempt without a command leaves no trace.
                if next == from {
                    None
                } else if next == self.exchanges.len() {
                    come(ConversationStage::Refused)
                } else {
                    self.attempts(next, pairs.clone()).or_else(|| self.withdraws(next, pairs))
                }
            }
        })
    }

    /// A refused client that stops waiting, and whatever follows it.
    fn withdraws(&self, from: usize, pairs: Correspondence) -> Option<Reached> {
        let follow = |pairs| self.withdraws_anew(from, pairs);
        self.dead_ends.unless_known(self.exchanges, from, Beginning::Withdrawal, pairs, follow)
    }

    fn withdraws_anew(&self, from: usize, pairs: Correspondence) -> Option<Reached> {
        let refused = || Some(Reached { stage: ConversationStage::Refused, since: from, held: None });
        let withdraw = |redis: &mut Transcript| self.locker.withdraw(&OWNER, redis);
        self.go(&withdraw, RecognisedOperation::at(from, pairs), &mut |progress| match progress {
            OperationProgress::Waits(_) => refused(),
            OperationProgress::Ended((), next, _) if next == from => None,
            OperationProgress::Ended((), next, _) if next == self.exchanges.len() => refused(),
            OperationProgress::Ended((), next, pairs) => self.attempts(next, pairs),
        })
    }

    /// A holder's commands from this exchange on.
    fn holds(&self, held: &BegunHold<'_>, from: usize, pairs: Correspondence) -> Option<Reached> {
        if from == self.exchanges.len() {
            let (lease, hold) = (self.locker.lease(), held.hold.clone());
            let recognised = RecognisedHold { lease, hold, pairs, won_by: held.won_by };
            let (stage, since) = (ConversationStage::Holding, held.since);
            return Some(Reached { stage, since, held: Some(recognised) });
        }
        let follow = |pairs| self.holds_on(held, from, pairs);
        self.dead_ends.unless_known(self.exchanges, from, Beginning::OfHolder(held.hold), pairs, follow)
    }

    fn holds_on(&self, held: &BegunHold<'_>, from: usize, pairs: Correspondence) -> Option<Reached> {
        let BegunHold { hold, since, won_by } = *held;
        let come = |stage| Some(Reached { stage, since, held: None });
        let extended = || {
            self.go(
                &|redis: &mut Transcript| self.locker.extend(hold, redis),
                self.by_holder(hold, from, pairs.clone()),
                &mut |progress| match progress {
                    OperationProgress::Waits(_) => come(ConversationStage::Holding),
                    OperationProgress::Ended(_, next, _) if next == from => None,
                    OperationProgress::Ended(Extended::Until(hold) | Extended::Intruded(hold), next, pairs) => {
                        self.holds(&BegunHold { hold: &hold, since, won_by }, next, pairs)
                    }
                    OperationProgress::Ended(Extended::Lost | Extended::Unsupported, next, pairs) => {
                        self.holds(held, next, pairs)
                    }
                },
            )
        };
        let refreshed = || {
            let dialect = self.variant.dialect().filter(|dialect| dialect.refresh != Refresh::Never)?;
            let old = Lock::new(dialect, self.locker.key().clone(), self.locker.lease()).refreshing();
            self.go(
                &|redis: &mut Transcript| old.extend(hold, redis),
                self.by_holder(hold, from, pairs.clone()),
                &mut |progress| match progress {
                    OperationProgress::Ended(Extended::Until(hold), next, pairs) => {
                        self.holds(&BegunHold { hold: &hold, since, won_by }, next, pairs)
                    }
                    OperationProgress::Ended(..) | OperationProgress::Waits(_) => None,
                },
            )
        };
        let released = || {
            let release = |redis: &mut Transcript| self.locker.release(hold, redis);
            self.go(&release, self.by_holder(hold, from, pairs.clone()), &mut |progress| match progress {
                OperationProgress::Waits(_) => come(ConversationStage::Releasing),
                OperationProgress::Ended(_, next, _) if next == self.exchanges.len() => {
                    come(ConversationStage::Released)
                }
                // Some protocols send nothing to release an expired lock.
                OperationProgress::Ended(_, next, pairs) => self.attempts(next, pairs),
            })
        };
        if let Some(next) = self.keeps(hold, from, &pairs) {
            return extended().or_else(|| self.holds(held, next, pairs.clone()));
        }
        // What begins like both is a release rather than an extension.
        let by_protocol = released().or_else(extended).or_else(refreshed);
        by_protocol.or_else(|| if self.is_beside(from) { self.holds(held, from + 1, pairs.clone()) } else { None })
    }

    /// Whether a holder of a token sends this beside its protocol: it looks at its lock, or sets another time to live. It still
    /// holds the lock, and no attempt begins so.
    fn is_beside(&self, from: usize) -> bool {
        let exchange = &self.exchanges[from];
        let sets_ttl = || exchange.is_any(&[CommandName::Expire, CommandName::Pexpire]);
        self.variant.dialect().is_none()
            && exchange.within.is_none()
            && (exchange.command.only_reads() || sets_ttl())
            && !begins_attempt(self.locker, exchange)
    }

    /// The exchange behind an unknown script of a holder that begins with this one and has not released the lock by now: it
    /// reads the holder's own value and deletes nothing. It extends the lock, or only looks, or is about to delete.
    fn keeps(&self, hold: &Hold, from: usize, pairs: &Correspondence) -> Option<usize> {
        let first = self.exchanges.get(from).filter(|first| first.is(CommandName::Get))?;
        let reads_own = matches!(pairs.reply(&first.reply), Reply::Bulk(value) if value == hold.value);
        let script = first.within.filter(|_| reads_own)?;
        let calls = self.exchanges[from..].iter().take_while(|call| call.within == Some(script));
        let mut next = from;
        for call in calls {
            if call.is(CommandName::Del) || Command::is(&call.command, "UNLINK") {
                return None;
            }
            next += 1;
        }
        Some(next)
    }

    /// An operation of a holder that begins with this exchange.
    fn by_holder(&self, hold: &Hold, from: usize, pairs: Correspondence) -> RecognisedOperation {
        let mut along = RecognisedOperation::at(from, pairs);
        along.own = self.moment(&self.variant.stamp_in(&hold.value));
        along
    }

    /// When a lock with this value expires.
    fn moment(&self, value: &[u8]) -> Option<UnixTime> {
        let form = self.variant.form()?;
        Some(form.stamp.moment_of(form.read(value)?))
    }

    /// An attempt that waits for the reply to a TTL command has acquired already, unless refused clients send it too; any
    /// other is still open.
    fn stage_if_answered(&self, command: &Command) -> ConversationStage {
        let gives_ttl = ["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"].iter().any(|name| command.is(name));
        let is_refused = self.exchanges.last().is_some_and(|exchange| exchange.reply == Reply::Int(0));
        if gives_ttl && !is_refused { ConversationStage::Holding } else { ConversationStage::Acquiring }
    }

    /// Runs an operation along the exchanges; where clocks leave a choice, the first way for which `then` finds an answer.
    fn go<T>(
        &self,
        operation: &dyn Fn(&mut Transcript) -> Turn<T>,
        mut along: RecognisedOperation,
        then: &mut dyn FnMut(OperationProgress<T>) -> Option<Reached>,
    ) -> Option<Reached> {
        loop {
            match operation(along.transcript.rewind()) {
                Ok(outcome) => return then(OperationProgress::Ended(outcome, along.next, along.pairs)),
                // A trace is of one server: a round to several is in several traces.
                Err(Pending::Fault(_) | Pending::Round(_)) => return None,
                Err(Pending::Clock) => {
                    // What a client behind a guard reads is judged by the server's clock.
                    let judged = along.judged(self.exchanges).filter(|_| !self.variant.is_guarded());
                    let stamp = judged.and_then(|read| self.moment(read)).or(along.own);
                    let shown = along.ahead.shown(self.span(along.next), stamp, self.stamped(along.next));
                    return shown.into_iter().find_map(|shown| {
                        let read = along.with_clock(shown, self.reading(along.next, shown.wall));
                        self.go(operation, read, then)
                    });
                }
                // It names no key, so no lock observes it.
                Err(Pending::Send(command))
                    if command.is("TIME") && self.exchanges.iter().any(|exchange| exchange.asks_time) =>
                {
                    along.transcript.record_reply(server_time(self.span(along.next).until));
                }
                Err(Pending::Send(command)) => match self.exchanges.get(along.next) {
                    None => return then(OperationProgress::Waits(command)),
                    Some(_) => along.answer_from(self.variant, &command, self.exchanges)?,
                },
            }
        }
    }

    /// What the client's clock showed when it made the stamp of this exchange, for this lease.
    fn stamped(&self, next: usize) -> Option<UnixTime> {
        let stamp = &self.variant.dialect()?.form.stamp;
        let length = self.locker.lease().length() + stamp.margin;
        let length = i64::try_from(length.as_nanos()).ok().filter(|_| stamp.moment == Moment::Expiry)?;
        let made = self.moment(self.exchanges.get(next)?.writes()?)?;
        Some(UnixTime::from_nanos(made.as_nanos().saturating_sub(length)))
    }

    /// The time between the exchange before this one and this one.
    fn span(&self, next: usize) -> TimeSpan {
        let before = next.checked_sub(1).map(|last| self.exchanges[last].at);
        let until = self.exchanges.get(next).map(|exchange| exchange.at).or(before).unwrap_or(UnixTime::from_nanos(0));
        TimeSpan { from: before.unwrap_or(until), until }
    }

    /// The clocks at this exchange, if the client's wall clock shows this.
    fn reading(&self, next: usize, wall: UnixTime) -> Reading {
        let at = self.span(next).until;
        let since = self.start_of_machine().map_or(at.as_nanos(), |start_ns| at.as_nanos().saturating_sub(start_ns));
        let since = Duration::from_nanos(u64::try_from(since).unwrap_or(0));
        Reading { wall, mono: MonoTime::since_origin(since) }
    }

    /// When the client's machine was started, for dialects that write its uptime: by the first value that it wrote.
    fn start_of_machine(&self) -> Option<i64> {
        self.variant.dialect().filter(|dialect| dialect.clock == Clock::Uptime)?;
        let (wrote, value) = self.exchanges.iter().find_map(|exchange| Some((exchange.at, exchange.writes()?)))?;
        let lease_ns = i64::try_from(self.locker.lease().length().as_nanos()).ok()?;
        let uptime_ns = self.moment(value)?.as_nanos().saturating_sub(lease_ns);
        Some(wrote.as_nanos().saturating_sub(uptime_ns))
    }
}
