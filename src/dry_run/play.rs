//! A demand, played: which client wants what when is given, how it comes out is not.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::client::{DemandActivity, DemandAttempt, DemandClient};
use super::demand::Demand;
use super::outcome::{DemandOutcome, HeldSpan};
use crate::driver::Wait;
use crate::lock::{Acquired, Held, Hold, Lease, Locker};
use crate::protocols::Choice;
use crate::sim::{EventQueue, TimedServers};
use crate::wire::{Fault, MonoTime, Transcript};

/// From sending a command to receiving its reply.
const ROUND_TRIP: Duration = Duration::from_micros(200);

/// Under which terms a demand is played.
#[derive(Clone, Debug)]
pub struct Terms {
    choice: Choice,
    lease: Lease,
    patience: Duration,
    wait: Wait,
}

impl Terms {
    /// This protocol, for so long at a time; a client that has waited for this long gives up.
    pub fn new(choice: Choice, lease: Lease, patience: Duration) -> Self {
        Self { choice, lease, patience, wait: Wait::backoff().for_at_most(patience) }
    }

    /// The protocol.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// For how long a winner holds.
    pub fn lease(&self) -> Lease {
        self.lease
    }

    /// A try that has not ended by then never will.
    fn longest_try(&self) -> Duration {
        self.patience.saturating_add(self.lease.length())
    }
}

/// Plays a demand under these terms. It always comes out the same.
///
/// # Errors
/// The simulated server has refused what the protocol sends: a [`Fault`].
pub fn play(demand: &Demand, terms: &Terms) -> Result<DemandOutcome, Fault> {
    let clients = (1..).zip(&demand.clients).map(|(number, wants)| DemandClient::new(number, wants)).collect();
    let mut play = Play {
        terms,
        locker: terms.choice.locker(demand.key.clone(), terms.lease),
        wire: TimedServers::new(terms.choice.servers(), demand.began_at),
        chance: fastrand::Rng::with_seed(1),
        clients,
        event_queue: EventQueue::default(),
        outcome: DemandOutcome::default(),
        holds: Vec::new(),
    };
    for client in 0..play.clients.len() {
        let wants_at = play.clients[client].wants_at(Duration::ZERO);
        play.note(client, wants_at);
    }
    while let Some((at, client)) = play.event_queue.take_next() {
        play.wire.now = at;
        let next = play.go_on(client)?;
        play.note(client, next);
    }
    Ok(play.outcome.with_holds(play.holds))
}

/// A play under way.
struct Play<'a> {
    terms: &'a Terms,
    locker: Arc<dyn Locker>,
    wire: TimedServers,
    chance: fastrand::Rng,
    clients: Vec<DemandClient<'a>>,
    event_queue: EventQueue,
    outcome: DemandOutcome,
    holds: Vec<HeldSpan>,
}

impl<'a> Play<'a> {
    fn note(&mut self, client: usize, at: Option<Duration>) {
        if let Some(at) = at {
            self.event_queue.put(client, at);
        }
    }

    /// Lets a client go on: when it does so next; `None` if it has nothing more to do.
    fn go_on(&mut self, client: usize) -> Result<Option<Duration>, Fault> {
        match mem::replace(&mut self.clients[client].doing, DemandActivity::Resting) {
            DemandActivity::Resting => {
                let Some((request, owner)) = self.clients[client].request() else { return Ok(None) };
                let since = self.wire.now;
                let patience = self.terms.wait.begin(MonoTime::since_origin(since));
                self.ask(client, DemandAttempt { owner, request, since, patience, transcript: Transcript::new() })
            }
            DemandActivity::Attempt(attempt) => self.ask(client, attempt),
            DemandActivity::Leaving { hold, transcript } => self.leave(client, hold, transcript),
        }
    }

    fn ask(&mut self, client: usize, mut attempt: DemandAttempt<'a>) -> Result<Option<Duration>, Fault> {
        let (session, locker) = (self.clients[client].session(), &self.locker);
        match self
            .wire
            .go_on(session, 0, &mut attempt.transcript, |transcript| locker.acquire(&attempt.owner, transcript))?
        {
            // Some protocols go round in circles within one try while they cannot read the value.
            None if self.waited(&attempt) > self.terms.longest_try() => self.give_up(client, &attempt),
            None => Ok(self.retry_after(client, attempt, ROUND_TRIP)),
            Some(Acquired::Won(hold)) => Ok(self.won(client, &attempt, hold)),
            Some(Acquired::Held(held)) => self.refused(client, attempt, &held),
        }
    }

    fn retry_after(&mut self, client: usize, attempt: DemandAttempt<'a>, pause: Duration) -> Option<Duration> {
        self.clients[client].doing = DemandActivity::Attempt(attempt);
        Some(self.wire.now + pause)
    }

    fn waited(&self, attempt: &DemandAttempt<'a>) -> Duration {
        self.wire.now.saturating_sub(attempt.since)
    }

    fn won(&mut self, client: usize, attempt: &DemandAttempt<'a>, hold: Hold) -> Option<Duration> {
        let (now, waited) = (self.wire.now, self.waited(attempt));
        self.outcome.acquisitions += 1;
        self.outcome.waits.push(waited);
        let lease_ends = hold.since.mono.saturating_add(hold.lease.length());
        let lease_left = lease_ends.saturating_since(MonoTime::since_origin(now));
        self.holds.push(HeldSpan { since: now, until: now + attempt.request.work.unwrap_or(lease_left), client });
        let Some(work) = attempt.request.work else { return self.clients[client].wants_at(now) };
        self.outcome.overruns += u64::from(work > lease_left);
        self.clients[client].doing = DemandActivity::Leaving { hold, transcript: Transcript::new() };
        Some(now + work)
    }

    fn refused(
        &mut self,
        client: usize,
        mut attempt: DemandAttempt<'a>,
        held: &Held,
    ) -> Result<Option<Duration>, Fault> {
        self.outcome.refusals += 1;
        let chance = &mut self.chance;
        let jitter = |most: Duration| {
            let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
            Duration::from_nanos(chance.u64(0..=most))
        };
        match attempt.patience.pause(held.retry_in, None, MonoTime::since_origin(self.wire.now), jitter) {
            None => self.give_up(client, &attempt),
            Some(pause) => {
                attempt.transcript = Transcript::new();
                // A pause of nothing would be another try in the same moment.
                Ok(self.retry_after(client, attempt, pause.max(ROUND_TRIP)))
            }
        }
    }

    /// Goes without the lock, and leaves the queue, if it is in one.
    fn give_up(&mut self, client: usize, attempt: &DemandAttempt<'a>) -> Result<Option<Duration>, Fault> {
        self.outcome.gave_up += 1;
        let waited = self.waited(attempt);
        self.outcome.waits.push(waited);
        let (session, locker) = (self.clients[client].session(), &self.locker);
        let mut transcript = Transcript::new();
        while self
            .wire
            .go_on(session, 0, &mut transcript, |transcript| locker.withdraw(&attempt.owner, transcript))?
            .is_none()
        {}
        Ok(self.clients[client].wants_at(self.wire.now))
    }

    fn leave(&mut self, client: usize, hold: Hold, mut transcript: Transcript) -> Result<Option<Duration>, Fault> {
        let (session, locker) = (self.clients[client].session(), &self.locker);
        if self.wire.go_on(session, 0, &mut transcript, |transcript| locker.release(&hold, transcript))?.is_some() {
            return Ok(self.clients[client].wants_at(self.wire.now));
        }
        self.clients[client].doing = DemandActivity::Leaving { hold, transcript };
        Ok(Some(self.wire.now + ROUND_TRIP))
    }
}
