//! A demand, played: who wants what when is given, how it comes out is not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::actor::{Actor, Asking, Doing};
use super::demand::Demand;
use super::outcome::{Outcome, Stay};
use super::wire::{ROUND_TRIP, Wire};
use crate::driver::Wait;
use crate::lock::{Acquired, Held, Hold, Lease, Locker};
use crate::protocols::Choice;
use crate::wire::{Fault, MonoTime, Transcript};

/// Under which terms a demand is played.
#[derive(Clone, Debug)]
pub struct Terms {
    choice: Choice,
    lease: Lease,
    patience: Duration,
    wait: Wait,
}

impl Terms {
    /// This protocol, for so long at a time; whoever has waited for this long gives up.
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

    /// Who has not come to the end of one try by then never will.
    fn longest_try(&self) -> Duration {
        self.patience.saturating_add(self.lease.length())
    }
}

/// Plays a demand under these terms. It always comes out the same.
///
/// # Errors
/// The simulated server has refused what the protocol sends: a [`Fault`].
pub fn play(demand: &Demand, terms: &Terms) -> Result<Outcome, Fault> {
    let actors = (1..).zip(&demand.clients).map(|(number, wants)| Actor::new(number, wants)).collect();
    let mut play = Play {
        terms,
        locker: terms.choice.locker(demand.key.clone(), terms.lease),
        wire: Wire::new(terms.choice.servers(), demand.began_at),
        chance: fastrand::Rng::with_seed(1),
        actors,
        agenda: BinaryHeap::new(),
        entries: 0,
        outcome: Outcome::default(),
        stays: Vec::new(),
    };
    for who in 0..play.actors.len() {
        let wants_at = play.actors[who].wants_at(Duration::ZERO);
        play.note(who, wants_at);
    }
    while let Some(Reverse((at, _, who))) = play.agenda.pop() {
        play.wire.now = at;
        let next = play.go_on(who)?;
        play.note(who, next);
    }
    Ok(play.outcome.with_stays(play.stays))
}

/// A play under way.
struct Play<'a> {
    terms: &'a Terms,
    locker: Arc<dyn Locker>,
    wire: Wire,
    chance: fastrand::Rng,
    actors: Vec<Actor<'a>>,
    /// Who goes on when; at one moment, whoever was entered first.
    agenda: BinaryHeap<Reverse<(Duration, u64, usize)>>,
    entries: u64,
    outcome: Outcome,
    stays: Vec<Stay>,
}

impl<'a> Play<'a> {
    fn note(&mut self, who: usize, at: Option<Duration>) {
        if let Some(at) = at {
            self.entries += 1;
            self.agenda.push(Reverse((at, self.entries, who)));
        }
    }

    /// Lets a client go on: when it does so next; `None` if it has nothing more to do.
    fn go_on(&mut self, who: usize) -> Result<Option<Duration>, Fault> {
        match mem::replace(&mut self.actors[who].doing, Doing::Resting) {
            Doing::Resting => {
                let Some((want, owner)) = self.actors[who].want() else { return Ok(None) };
                let since = self.wire.now;
                let patience = self.terms.wait.begin(MonoTime::since_origin(since));
                self.ask(who, Asking { owner, want, since, patience, said: Transcript::new() })
            }
            Doing::Asking(asking) => self.ask(who, asking),
            Doing::Leaving { hold, said } => self.leave(who, hold, said),
        }
    }

    fn ask(&mut self, who: usize, mut asking: Asking<'a>) -> Result<Option<Duration>, Fault> {
        let (session, locker) = (self.actors[who].session(), &self.locker);
        match self.wire.go_on(session, &mut asking.said, |said| locker.acquire(&asking.owner, said))? {
            // Some go round in one try for as long as they meet what they cannot read.
            None if self.waited(&asking) > self.terms.longest_try() => self.give_up(who, &asking),
            None => Ok(self.asks_on(who, asking, ROUND_TRIP)),
            Some(Acquired::Won(hold)) => Ok(self.won(who, &asking, hold)),
            Some(Acquired::Held(held)) => self.refused(who, asking, &held),
        }
    }

    fn asks_on(&mut self, who: usize, asking: Asking<'a>, pause: Duration) -> Option<Duration> {
        self.actors[who].doing = Doing::Asking(asking);
        Some(self.wire.now + pause)
    }

    fn waited(&self, asking: &Asking<'a>) -> Duration {
        self.wire.now.saturating_sub(asking.since)
    }

    fn won(&mut self, who: usize, asking: &Asking<'a>, hold: Hold) -> Option<Duration> {
        let (now, waited) = (self.wire.now, self.waited(asking));
        self.outcome.acquisitions += 1;
        self.outcome.waits.push(waited);
        let lease_ends = hold.since.mono.saturating_add(hold.lease.length());
        let lease_left = lease_ends.saturating_since(MonoTime::since_origin(now));
        self.stays.push(Stay { since: now, until: now + asking.want.work.unwrap_or(lease_left) });
        let Some(work) = asking.want.work else { return self.actors[who].wants_at(now) };
        self.outcome.overruns += u64::from(work > lease_left);
        self.actors[who].doing = Doing::Leaving { hold, said: Transcript::new() };
        Some(now + work)
    }

    fn refused(&mut self, who: usize, mut asking: Asking<'a>, held: &Held) -> Result<Option<Duration>, Fault> {
        self.outcome.refusals += 1;
        let chance = &mut self.chance;
        let jitter = |most: Duration| {
            let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
            Duration::from_nanos(chance.u64(0..=most))
        };
        match asking.patience.pause(held.retry_in, None, MonoTime::since_origin(self.wire.now), jitter) {
            None => self.give_up(who, &asking),
            Some(pause) => {
                asking.said = Transcript::new();
                // A pause of nothing would be another try in the same moment.
                Ok(self.asks_on(who, asking, pause.max(ROUND_TRIP)))
            }
        }
    }

    /// Goes without the lock, and takes its place in a queue back, if it has one.
    fn give_up(&mut self, who: usize, asking: &Asking<'a>) -> Result<Option<Duration>, Fault> {
        self.outcome.gave_up += 1;
        let waited = self.waited(asking);
        self.outcome.waits.push(waited);
        let (session, locker) = (self.actors[who].session(), &self.locker);
        let mut said = Transcript::new();
        while self.wire.go_on(session, &mut said, |said| locker.withdraw(&asking.owner, said))?.is_none() {}
        Ok(self.actors[who].wants_at(self.wire.now))
    }

    fn leave(&mut self, who: usize, hold: Hold, mut said: Transcript) -> Result<Option<Duration>, Fault> {
        let (session, locker) = (self.actors[who].session(), &self.locker);
        if self.wire.go_on(session, &mut said, |said| locker.release(&hold, said))?.is_some() {
            return Ok(self.actors[who].wants_at(self.wire.now));
        }
        self.actors[who].doing = Doing::Leaving { hold, said };
        Ok(Some(self.wire.now + ROUND_TRIP))
    }
}
