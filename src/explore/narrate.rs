//! From a schedule to its trace: every step played again on whole values and put into words.

use std::time::Duration;

use super::conduct::Ended;
use super::deed::Deed;
use super::doer::Doer;
use super::property::Property;
use super::rules::apply;
use super::scene::Scene;
use super::scribe::{Heard, Scribe, Write};
use super::trace::{Belief, Content, Exchange, Millis, Opening, Role, Shot, Step, Trace};
use super::whole::Whole;
use super::world::{Action, World};
use crate::lock::{Acquired, Extended, Hold, Mode, Refusal};
use crate::sim::Stored;
use crate::wire::{Key, MonoTime};

impl Scene {
    /// A schedule of this scene, told step by step, as a violation of this property.
    pub fn narrate(&self, property: Property, actions: &[Action]) -> Trace {
        self.narrate_blaming(property, None, actions)
    }

    /// The same, where it is known which deed is to blame.
    pub(super) fn narrate_blaming(&self, property: Property, deed: Option<&Deed>, actions: &[Action]) -> Trace {
        let keys = self.keys();
        let mut world = self.world();
        let mut worlds = vec![world.clone()];
        let mut steps = Vec::new();
        let mut blamed = None;
        for &action in actions {
            let scribe = Scribe { whole: Whole(self), heard: Heard::default().into() };
            let before = self.shot(&keys, &world);
            let Ok(exchanged) = apply(self, &scribe, &mut world, action);
            if deed.is_some_and(|deed| *deed == self.deed(Doer::of(action, exchanged.as_ref(), world.left.tick))) {
                blamed = Some(steps.len());
            }
            let after = self.shot(&keys, &world);
            steps.push(self.step(action, &world, scribe.heard.into_inner(), (before, after)));
            worlds.push(world.clone());
        }
        let blame = blamed.or_else(|| self.blame(property, actions, &worlds));
        let mut trace = Trace {
            version: Trace::VERSION,
            property,
            says: String::new(),
            blame,
            bounds: self.bounds,
            grain: self.grain,
            tick_ms: millis(self.tick),
            begin_ms: self.begin.as_millis(),
            actors: self.roles(),
            keys,
            prelude: self.openings(),
            steps,
        };
        trace.says = trace.explanation();
        trace
    }

    fn step(&self, action: Action, after: &World, heard: Heard, (before_shot, after_shot): (Shot, Shot)) -> Step {
        let tick = after.left.tick;
        let clocks_ms = (0..self.clients.len()).map(|who| self.reading(who, tick).wall.as_millis()).collect();
        Step {
            action,
            actor: action.client(),
            at_ms: millis(self.tick * u32::from(tick)),
            clocks_ms,
            note: self.note(action, &heard),
            exchange: heard.exchange.map(|(command, reply)| Exchange { command, reply }),
            before: before_shot,
            after: after_shot,
        }
    }

    fn note(&self, action: Action, heard: &Heard) -> String {
        match action {
            Action::Tick => return "a tick passes".to_owned(),
            Action::Leap => return "so much time passes that every lease is over".to_owned(),
            Action::Crash(_) => return "dies".to_owned(),
            Action::FailOver(1) => return "is replaced by a replica that lacks the last write".to_owned(),
            Action::FailOver(lost) => return format!("is replaced by a replica that lacks the last {lost} writes"),
            Action::LoseReply(_) | Action::LoseReplyOn(..) => return "never gets the reply".to_owned(),
            Action::Step(_) | Action::StepOn(..) => {}
        }
        match (&heard.ended, heard.wrote) {
            (Some(ended), _) => return self.ending(ended),
            (None, Some(Write::Accepted)) => return "writes to the guarded resource".to_owned(),
            (None, Some(Write::Refused)) => return "is refused by the guarded resource".to_owned(),
            (None, None) => {}
        }
        if heard.exchange.is_some() {
            String::new()
        } else if heard.read_clock {
            "reads its clock".to_owned()
        } else {
            "receives the reply".to_owned()
        }
    }

    fn ending(&self, ended: &Ended) -> String {
        let name = ended.name();
        match ended {
            Ended::Acquired(Acquired::Won(hold)) | Ended::Extended(Extended::Until(hold)) => {
                format!("{name} until {}", Millis(self.end_ms(hold)))
            }
            Ended::Acquired(Acquired::Held(held)) if held.reason == Refusal::NoMajority => {
                format!("{name}: {}", held.votes)
            }
            Ended::Failed(fault) => format!("{name}: {fault}"),
            Ended::Acquired(_) | Ended::Extended(_) | Ended::Released(_) | Ended::Disclaimed => name.to_owned(),
        }
    }

    fn shot(&self, keys: &[Key], world: &World) -> Shot {
        let now = self.wall(world.left.tick);
        let content = |key: &Key| {
            let stored = match world.node.contents(key, now).as_slice() {
                [only] => only.clone()?,
                several => return Some(across(several)),
            };
            let ttl = stored.expires_at.map(|until| millis(until.saturating_since(now)));
            Some(Content { kind: stored.value.type_name().to_owned(), value: stored.value.to_string(), ttl_ms: ttl })
        };
        let belief = |(who, actor): (usize, &super::actor::Actor)| {
            let (hold, look) = (actor.hold()?, self.look(who, actor));
            let until_ms = (look.believes_until < u16::MAX).then(|| self.end_ms(hold));
            (look.believes_until > world.left.tick).then(|| Belief { from_ms: since_ms(hold), until_ms })
        };
        Shot {
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
        let tick_ms = i64::try_from(self.tick.as_millis()).unwrap_or(i64::MAX);
        let role = |(place, client): (usize, &super::client::Client)| Role {
            name: name(place),
            protocol: client.protocol.clone(),
            lease_ms: millis(client.locker.lease().length()),
            skew_ms: tick_ms.saturating_mul(client.skew.into()),
            lock: client.lock,
            shares: client.locker.mode() == Mode::Shared,
        };
        self.clients.iter().enumerate().map(role).collect()
    }

    fn openings(&self) -> Vec<Opening> {
        let opening = |(ticks_ago, command, reply): &(u16, _, _)| Opening {
            ms_before: millis(self.tick * u32::from(*ticks_ago)),
            command: Clone::clone(command),
            reply: Clone::clone(reply),
        };
        self.prelude.iter().map(opening).collect()
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
