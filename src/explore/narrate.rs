//! From a schedule to its trace: every step played again on whole values.

use std::time::Duration;

use super::blame::Attribution;
use super::blame::Cause;
use super::client_step::Ended;
use super::direct::Direct;
use super::outcome::Event;
use super::property::Property;
use super::recorder::{Record, Recorder, Write};
use super::rules::apply;
use super::scene::Scene;
use super::trace::{Belief, Content, Exchange, PriorCommand, Role, Snapshot, Step, Trace};
use super::world::{Action, World};
use crate::lock::{Acquired, Extended, Hold, Mode, Refusal};
use crate::sim::Stored;
use crate::wire::{Key, MonoTime};

impl Scene {
    /// A schedule of this scene, step by step, as a violation of this property.
    pub fn narrate(&self, property: Property, actions: &[Action]) -> Trace {
        self.narrate_cause(property, None, actions)
    }

    /// The same, where it is known which cause is to blame.
    pub(super) fn narrate_cause(&self, property: Property, cause: Option<&Cause>, actions: &[Action]) -> Trace {
        let keys = self.keys();
        let mut world = self.world();
        let mut worlds = vec![world.clone()];
        let mut steps = Vec::new();
        let mut blamed = None;
        for &action in actions {
            let recorder = Recorder { direct: Direct(self), record: Record::default().into() };
            let before = self.snapshot(&keys, &world);
            let Ok(exchanged) = apply(self, &recorder, &mut world, action);
            if cause.is_some_and(|cause| {
                *cause == self.cause(Attribution::of(action, exchanged.as_ref(), world.clock.tick))
            }) {
                blamed = Some(steps.len());
            }
            let after = self.snapshot(&keys, &world);
            steps.push(self.step(action, &world, recorder.record.into_inner(), (before, after)));
            worlds.push(world.clone());
        }
        let blame = blamed.or_else(|| self.culprit(property, actions, &worlds));
        Trace {
            version: Trace::VERSION,
            property,
            blame,
            bounds: self.bounds,
            grain: self.grain,
            tick_ms: millis(self.tick),
            begin_ms: self.begin.as_millis(),
            actors: self.roles(),
            keys,
            prelude: self.prior_commands(),
            steps,
            cycle: None,
        }
    }

    fn step(
        &self,
        action: Action,
        after: &World,
        record: Record,
        (before_shot, after_shot): (Snapshot, Snapshot),
    ) -> Step {
        let tick = after.clock.tick;
        let clock = |(who, actor)| self.reading_of(who, actor, tick).wall.as_millis();
        let clocks_ms = after.actors.iter().enumerate().map(clock).collect();
        Step {
            action,
            actor: action.client(),
            at_ms: millis(self.tick * u32::from(tick)),
            clocks_ms,
            event: self.event(action, &record),
            exchange: record.exchange.map(|(command, reply)| Exchange { command, reply }),
            before: before_shot,
            after: after_shot,
        }
    }

    fn event(&self, action: Action, record: &Record) -> Event {
        match action {
            Action::Tick => return Event::TimePassed,
            Action::Leap => return Event::AllLeasesExpired,
            Action::Crash(_) => return Event::Crashed,
            Action::FailOver(_, writes_lost) => return Event::FailedOver { writes_lost },
            Action::LoseRequest(_) | Action::LoseRequestOn(..) => return Event::RequestLost,
            Action::DelayRequest(_) | Action::DelayRequestOn(..) => return Event::RequestDelayed,
            Action::RunLate(_) => return Event::RanLate,
            Action::RestartClient(_) => return Event::StartedAnew,
            Action::SetClock(_, ticks) => return Event::ClockSet { ahead_ms: self.ticks_ms(ticks) },
            Action::Restart(_) => return Event::ServerRestarted { keeps_data: true },
            Action::LoseData(_) => return Event::ServerRestarted { keeps_data: false },
            Action::Evict(..) => return Event::Evicted,
            Action::RemoveAtDeadline(..) => return Event::RemovedAtDeadline,
            Action::SetServerClock(_, ticks) => return Event::ServerClockSet { ahead_ms: self.ticks_ms(ticks) },
            Action::LoseReply(_) | Action::LoseReplyOn(..) => return Event::ReplyLost,
            Action::Step(_) | Action::StepOn(..) => {}
        }
        match (&record.ended, record.wrote) {
            (Some(ended), _) => self.ending(ended),
            (None, Some(Write::Accepted)) => Event::Wrote,
            (None, Some(Write::Refused)) => Event::WriteRefused,
            (None, None) if record.exchange.is_some() => Event::Sent,
            (None, None) if record.read_clock => Event::ReadClock,
            (None, None) => Event::ReceivedReply,
        }
    }

    fn ticks_ms(&self, ticks: i8) -> i64 {
        i64::from(ticks).saturating_mul(i64::try_from(self.tick.as_millis()).unwrap_or(i64::MAX))
    }

    fn ending(&self, ended: &Ended) -> Event {
        let until_ms = match ended {
            Ended::Acquired(Acquired::Won(hold)) | Ended::Extended(Extended::Until(hold)) => Some(self.end_ms(hold)),
            Ended::Acquired(_) | Ended::Extended(_) | Ended::Released(_) | Ended::Disclaimed | Ended::Failed(_) => None,
        };
        let detail = match ended {
            Ended::Acquired(Acquired::Held(held)) if held.reason == Refusal::NoMajority => Some(held.votes.to_string()),
            Ended::Failed(fault) => Some(fault.to_string()),
            Ended::Acquired(_) | Ended::Extended(_) | Ended::Released(_) | Ended::Disclaimed => None,
        };
        Event::Ended { outcome: ended.outcome(), until_ms, detail }
    }

    fn snapshot(&self, keys: &[Key], world: &World) -> Snapshot {
        let walls = self.walls_of(&world.node, world.clock.tick);
        let now = walls[0];
        let content = |key: &Key| {
            let stored = match world.node.contents(key, &walls).as_slice() {
                [only] => only.clone()?,
                several => return Some(across(several)),
            };
            let ttl = stored.expires_at.map(|until| millis(until.saturating_since(now)));
            Some(Content { kind: stored.value.type_name().to_owned(), value: stored.value.to_string(), ttl_ms: ttl })
        };
        let belief = |(who, actor): (usize, &super::actor::Actor)| {
            let (hold, view) = (actor.hold()?, self.client_step(who).view(actor));
            let until_ms = (view.believes_until < u16::MAX).then(|| self.end_ms(hold));
            (view.believes_until > world.clock.tick).then(|| Belief { from_ms: since_ms(hold), until_ms })
        };
        Snapshot {
            keys: keys.iter().map(content).collect(),
            beliefs: world.actors.iter().enumerate().map(belief).collect(),
        }
    }

    fn end_ms(&self, hold: &Hold) -> u64 {
        since_ms(hold).saturating_add(millis(hold.lease.length()))
    }

    /// The keys that the clients contend for.
    fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        for client in &self.clients {
            if !keys.contains(client.locker.key()) {
                keys.push(client.locker.key().clone());
            }
        }
        keys
    }

    fn roles(&self) -> Vec<Role> {
        let role = |(place, client): (usize, &super::client::Client)| Role {
            name: name(place),
            protocol: client.protocol.clone(),
            lease_ms: millis(client.locker.lease().length()),
            skew_ms: client.skew_ms,
            lock: client.lock,
            shares: client.locker.mode() == Mode::Shared,
        };
        self.clients.iter().enumerate().map(role).collect()
    }

    fn prior_commands(&self) -> Vec<PriorCommand> {
        let prior = |(ticks_ago, command, reply): &(u16, _, _)| PriorCommand {
            ms_before: millis(self.tick * u32::from(*ticks_ago)),
            command: Clone::clone(command),
            reply: Clone::clone(reply),
        };
        self.prelude.iter().map(prior).collect()
    }
}

/// `A`, `B`, ... `Z`, `A1`, ...
fn name(place: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(place % 26).unwrap_or(0));
    if place < 26 { letter.to_string() } else { format!("{letter}{}", place / 26) }
}

fn since_ms(hold: &Hold) -> u64 {
    millis(hold.since.mono.saturating_since(MonoTime::since_origin(Duration::ZERO)))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What a key holds on each of several servers, on one line.
fn across(servers: &[Option<Stored>]) -> Content {
    let value = |stored: &Option<Stored>| stored.as_ref().map_or("-".to_owned(), |stored| stored.value.to_string());
    let value = servers.iter().map(value).collect::<Vec<_>>().join(" | ");
    Content { kind: "string".to_owned(), value, ttl_ms: None }
}
