//! One period: the clients of a workload, for as long as the trace, under one protocol.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::client::{PeriodAcquisition, PeriodActivity, PeriodClient};
use super::counts::PeriodCounts;
use super::workload::{RoundTrips, TracedWork, TracedWorkload};
use crate::driver::Wait;
use crate::lock::{Acquired, Extended, Held, Hold, Lease, Locker, Owner, ReleaseChannel, Token};
use crate::protocols::Choice;
use crate::sim::{EventQueue, Session, TimedServers};
use crate::wire::{Command, Fault, MonoTime, Transcript, Turn};

/// A protocol, and how its clients use it.
#[derive(Clone, Debug)]
pub struct PlayedProtocol {
    /// The protocol.
    pub choice: Choice,
    /// For how long each acquires.
    pub lease: Lease,
    /// How they wait.
    pub pace: WaitPace,
    /// Whether they extend their lease while they work.
    pub renews: bool,
}

/// How clients wait.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WaitPace {
    /// With pauses like those of the trace: between half and one and a half of this.
    AsTraced(Duration),
    /// As a driver of this library does.
    Driver(Wait),
}

/// A client believes in a lock, from then to then.
#[derive(Clone, Copy, Debug)]
struct BelievedHold {
    client: usize,
    since: Duration,
    until: Duration,
}

/// Plays one period. Two calls with the same chance come out the same.
///
/// # Errors
/// The simulated server has refused what the protocol sends: a [`Fault`].
pub(super) fn play(
    workload: &TracedWorkload,
    play: &PlayedProtocol,
    starved_after: Duration,
    chance: &mut fastrand::Rng,
) -> Result<PeriodCounts, Fault> {
    // Drawn with replacement, once for the period: that is how far another trace of this length could be from this one.
    let seen = &workload.works;
    let works = seen.iter().map(|_| seen[chance.usize(0..seen.len())]).collect();
    let clients = (1..).zip(&workload.clients).map(|(number, window)| PeriodClient {
        number,
        window: *window,
        acquisitions: 0,
        doing: PeriodActivity::Resting,
    });
    let mut period = Period {
        workload,
        play,
        starved_after,
        locker: play.choice.locker(workload.key.clone(), play.lease),
        servers: TimedServers::new(play.choice.servers(), workload.began_at),
        works,
        chance,
        clients: clients.collect(),
        event_queue: EventQueue::default(),
        beliefs: Vec::new(),
        counts: PeriodCounts::default(),
    };
    for client in 0..period.clients.len() {
        period.event_queue.put(client, workload.clients[client].from);
    }
    while let Some((at, client)) = period.event_queue.take_next().filter(|(at, _)| *at <= workload.length) {
        period.servers.now = at;
        period.go_on(client)?;
    }
    Ok(period.finish())
}

/// A period under way.
struct Period<'a, 'r> {
    workload: &'a TracedWorkload,
    play: &'a PlayedProtocol,
    starved_after: Duration,
    locker: Arc<dyn Locker>,
    servers: TimedServers,
    /// What this period draws its works from.
    works: Vec<TracedWork>,
    chance: &'r mut fastrand::Rng,
    clients: Vec<PeriodClient<'a>>,
    event_queue: EventQueue,
    beliefs: Vec<BelievedHold>,
    counts: PeriodCounts,
}

impl<'a> Period<'a, '_> {
    fn round_trip(&mut self) -> Duration {
        match &self.workload.round_trips {
            RoundTrips::Measured(all) if !all.is_empty() => all[self.chance.usize(0..all.len())],
            RoundTrips::Measured(_) => Duration::from_micros(500),
            RoundTrips::Assumed(length) => *length,
        }
    }

    fn after_a_round_trip(&mut self, client: usize) {
        let at = self.servers.now + self.round_trip().max(Duration::from_micros(1));
        self.event_queue.put(client, at);
    }

    fn go_on(&mut self, client: usize) -> Result<(), Fault> {
        match mem::replace(&mut self.clients[client].doing, PeriodActivity::Resting) {
            PeriodActivity::Resting => {
                let attempt = self.begin_acquisition(client);
                self.ask(client, attempt)
            }
            PeriodActivity::Acquiring(attempt) => self.ask(client, attempt),
            PeriodActivity::Working { hold, until, extending } => self.work(client, hold, until, extending),
            PeriodActivity::Leaving { hold, transcript } => self.leave(client, hold, transcript),
        }
    }

    fn begin_acquisition(&mut self, client: usize) -> PeriodAcquisition<'a> {
        let now = self.servers.now;
        let it = &mut self.clients[client];
        it.acquisitions += 1;
        let name = u128::from(it.number) << 32 | u128::from(it.acquisitions);
        let owner = Owner::new(Token::new(name.to_be_bytes()), it.number, 1);
        let patience = match &self.play.pace {
            WaitPace::AsTraced(_) => None,
            WaitPace::Driver(wait) => Some(wait.begin(MonoTime::since_origin(now))),
        };
        PeriodAcquisition {
            owner,
            since: now,
            patience,
            is_starved: false,
            is_pausing: false,
            listens: false,
            transcript: Transcript::new(),
        }
    }

    fn ask(&mut self, client: usize, mut attempt: PeriodAcquisition<'a>) -> Result<(), Fault> {
        let (locker, owner) = (self.locker.clone(), attempt.owner);
        attempt.is_pausing = false;
        let waited = self.servers.now.saturating_sub(attempt.since);
        if waited > self.starved_after && !attempt.is_starved {
            attempt.is_starved = true;
            self.counts.starved_waits += 1;
        }
        let acquire = |redis: &mut Transcript| locker.acquire(&owner, redis);
        match self.turn(client, &mut attempt.transcript, acquire)? {
            None => {
                self.clients[client].doing = PeriodActivity::Acquiring(attempt);
                self.after_a_round_trip(client);
            }
            Some(Acquired::Won(hold)) => self.won(client, &attempt, hold),
            Some(Acquired::Held(held)) => self.refused(client, attempt, &held),
        }
        Ok(())
    }

    fn won(&mut self, client: usize, attempt: &PeriodAcquisition<'a>, hold: Hold) {
        let now = self.servers.now;
        if attempt.listens {
            let listener = self.clients[client].listener();
            self.servers.iter_mut().for_each(|server| server.disconnect(listener));
        }
        self.counts.acquisitions += 1;
        self.beliefs.retain(|belief| belief.until > now);
        self.counts.double_holds += u64::from(!self.beliefs.is_empty());
        let lease_ends = now + hold.lease.length();
        let work = self.works[self.chance.usize(0..self.works.len())];
        let until = match work {
            TracedWork::Takes(length) => now + length,
            TracedWork::Dies => lease_ends,
        };
        self.beliefs.push(BelievedHold { client, since: now, until });
        match work {
            // Another one takes its place.
            TracedWork::Dies => self.rest(client),
            TracedWork::Takes(_) => {
                self.clients[client].doing = PeriodActivity::Working { hold, until, extending: None };
                self.work_on(client, until);
            }
        }
    }

    /// Wakes the client when its work ends, or when it extends its lease.
    fn work_on(&mut self, client: usize, until: Duration) {
        let extends_at = self.servers.now + self.play.lease.length() / 3;
        self.event_queue.put(client, if self.play.renews { until.min(extends_at) } else { until });
    }

    fn work(
        &mut self,
        client: usize,
        mut hold: Hold,
        until: Duration,
        extending: Option<Transcript>,
    ) -> Result<(), Fault> {
        if extending.is_none() && self.servers.now >= until {
            return self.leave(client, hold, Transcript::new());
        }
        let mut transcript = extending.unwrap_or_default();
        let locker = self.locker.clone();
        let extend = |redis: &mut Transcript| locker.extend(&hold, redis);
        let extended = self.turn(client, &mut transcript, extend)?;
        let is_under_way = extended.is_none();
        if let Some(Extended::Until(longer) | Extended::Intruded(longer)) = extended {
            hold = longer;
        }
        let extending = is_under_way.then_some(transcript);
        self.clients[client].doing = PeriodActivity::Working { hold, until, extending };
        if is_under_way {
            self.after_a_round_trip(client);
        } else {
            self.work_on(client, until.max(self.servers.now));
        }
        Ok(())
    }

    fn refused(&mut self, client: usize, mut attempt: PeriodAcquisition<'a>, held: &Held) {
        let now = self.servers.now;
        if let (WaitPace::Driver(_), false) = (&self.play.pace, attempt.listens)
            && let Some(channel) = self.locker.release_channel(&attempt.owner)
        {
            self.servers.call(self.clients[client].listener(), &subscribe(&channel));
            attempt.listens = true;
        }
        let waiters = attempt.listens.then_some(1);
        let chance = &mut *self.chance;
        let mut jitter = |most: Duration| {
            let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
            Duration::from_nanos(chance.u64(0..=most))
        };
        let pause = match (&self.play.pace, &mut attempt.patience) {
            (WaitPace::Driver(_), Some(patience)) => {
                patience.pause(held.retry_in, waiters, MonoTime::since_origin(now), &mut jitter)
            }
            (WaitPace::AsTraced(pause), _) => Some(*pause / 2 + jitter(*pause)),
            (WaitPace::Driver(_), None) => None,
        };
        attempt.transcript = Transcript::new();
        attempt.is_pausing = true;
        self.clients[client].doing = PeriodActivity::Acquiring(attempt);
        let pause = pause.unwrap_or(self.starved_after).max(self.round_trip());
        self.event_queue.put(client, now + pause);
    }

    fn leave(&mut self, client: usize, hold: Hold, mut transcript: Transcript) -> Result<(), Fault> {
        let locker = self.locker.clone();
        let had_key = self.has_key();
        let release = |redis: &mut Transcript| locker.release(&hold, redis);
        let outcome = self.turn(client, &mut transcript, release)?;
        if had_key && !self.has_key() {
            let now = self.servers.now;
            let own = self.beliefs.iter().rev().find(|belief| belief.client == client).map(|belief| belief.since);
            let robs =
                |belief: &BelievedHold| belief.client != client && belief.until > now && Some(belief.since) > own;
            self.counts.wrong_releases += u64::from(self.beliefs.iter().any(robs));
        }
        self.wake_waiters();
        if outcome.is_some() {
            self.rest(client);
        } else {
            self.clients[client].doing = PeriodActivity::Leaving { hold, transcript };
            self.after_a_round_trip(client);
        }
        Ok(())
    }

    /// Every waiter to which a release was announced tries again.
    fn wake_waiters(&mut self) {
        for waiter in 0..self.clients.len() {
            let listens = matches!(&self.clients[waiter].doing, PeriodActivity::Acquiring(attempt) if attempt.listens);
            if listens && self.was_notified(self.clients[waiter].listener()) {
                let pauses =
                    matches!(&self.clients[waiter].doing, PeriodActivity::Acquiring(attempt) if attempt.is_pausing);
                if pauses {
                    self.after_a_round_trip(waiter);
                }
            }
        }
    }

    /// Continues an operation of this client.
    fn turn<T>(
        &mut self,
        client: usize,
        transcript: &mut Transcript,
        operation: impl Fn(&mut Transcript) -> Turn<T>,
    ) -> Result<Option<T>, Fault> {
        let client = &self.clients[client];
        self.servers.go_on(Session(client.number), client.window.ahead, transcript, operation)
    }

    fn has_key(&self) -> bool {
        self.servers.first().holds(self.locker.key(), self.servers.wall())
    }

    /// Whether a release was published to this listener since it was last asked.
    fn was_notified(&mut self, listener: Session) -> bool {
        self.servers.iter_mut().any(|server| !server.take_messages(listener).is_empty())
    }

    /// The counts, with the waits that have not ended.
    fn finish(mut self) -> PeriodCounts {
        let waits = self.clients.iter().filter_map(|client| match &client.doing {
            PeriodActivity::Acquiring(attempt) if !attempt.is_starved => {
                Some(self.workload.length.saturating_sub(attempt.since))
            }
            _ => None,
        });
        self.counts.starved_waits += waits.filter(|waited| *waited > self.starved_after).count() as u64;
        self.counts
    }

    /// The client rests, and wants the lock again unless it has wanted it for the last time.
    fn rest(&mut self, client: usize) {
        let rests = &self.workload.rests;
        if rests.is_empty() {
            return;
        }
        let at = self.servers.now + rests[self.chance.usize(0..rests.len())];
        if at <= self.clients[client].window.until {
            self.event_queue.put(client, at);
        }
    }
}

fn subscribe(to: &ReleaseChannel) -> Command {
    Command::new(if to.sharded { "SSUBSCRIBE" } else { "SUBSCRIBE" }).arg(to.channel.as_slice())
}
