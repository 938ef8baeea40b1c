//! Dead data, forgotten: states that differ only in what their clients no longer look at are one.
//!
//! A transcript keeps every clock reading and every reply, also those that have been judged and do not matter any more. They are
//! dead variables, and the moments in them inactive clocks (Daws and Yovine, 1996). Three clients of a lock with stamps keep a
//! dozen such moments, and what makes most of their states is how far those lie apart.
//!
//! What is still live is found before the search, by running each client's operations alone: over clock readings at all ticks (up
//! to the horizon, where the clock never ends), and over all replies of servers on which a client of the scene has run at one of these ticks. The *behaviour*
//! after a transcript is what the client asks next, and its behaviour after each answer. A *path* is a transcript without its
//! values: the commands, and the kinds of the replies. An input is dead on a path if the behaviour does not depend on it. Where
//! all that would be too much, a sample comes first, of the first and the last moment and of such as were long ago. What is dead in
//! that is tried with some more values, and what follows each of them; if that differs, every input of the path is tried. A dead input
//! is replaced by a value that was tried as well, of a moment so long ago that it is none of the scene's. Paths with the same
//! live inputs and the same behaviour have one representative. And once a lease has ended, its beginning is dead. Only moments may
//! differ from what was tried: where a client has received another text, such as the token of another round, all is kept.
//!
//! Among others a client also receives what it does not alone: what another one leaves after work, or in a later tick. So the
//! search notes each reply that was not tried to its command, moments left aside. That search proves nothing: it starts again
//! with those replies tried as well, until there is none. Where that does not help, nothing is forgotten of that client.
//!
//! The client does the same as before, in as many steps: what can be violated is the same, and the length of each schedule. As
//! with the horizon, this is tried and not proved: a client that treats a moment differently that was not tried is not
//! noticed. Nothing is forgotten where clocks are set, because no reading is tried that such a clock shows; nor of a client that
//! sends anything but plain commands on strings and transactions of them, has too many paths, extends, or writes to a guarded
//! resource. What a client holds is kept where properties ask the server about it.

use std::cell::Cell;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use super::actor::{Actor, Doing, Operation};
use super::client::Times;
use super::client_step::{ClientStep, Ended, has_acted_before, operation_mut};
use super::direct::Direct;
use super::intern::Interner;
use super::outcome::Outcome;
use super::parts::{Parts, Request};
use super::property::{Properties, Property};
use super::scene::Scene;
use super::server_side::ServerSide;
use super::stamps::Stamps;
use super::timeline::Horizon;
use super::unbounded::{LoneRun, PRESENT, Retiming};
use crate::lock::{Acquired, Hold, Token};
use crate::wire::{Command, Entry, MonoTime, Pending, Reading, Reply, UnixTime};

/// What is forgotten of each client, by place.
#[derive(Clone, Debug)]
pub(super) struct Forgetting<'a> {
    scene: &'a Scene,
    /// By place, one for each name that the client has in turn.
    representatives: Vec<Vec<Arc<Representatives>>>,
    /// What was tried because a search has met it.
    met: Arc<Met>,
    /// What a search has met that was not tried.
    untried: Vec<Untried>,
    stamps: Stamps,
    /// Whether the scene's rules ask the server about what a client holds.
    holds_are_judged: bool,
}

/// What represents each path of a client.
#[derive(Clone, Debug)]
struct Representatives {
    /// Under which name the client was tried; `None`: it does the same under every name.
    of: Option<Token>,
    /// By path, and whether its last reply is on its way.
    by_path: FxHashMap<(Path, bool), Representative>,
    /// What was tried, without its moments.
    tried: FxHashSet<Received>,
    /// Which replies were tried to which commands, without moments.
    exchanges: FxHashSet<(Command, Reply)>,
}

/// What a search has met beyond what was tried: a client that has received this reply to this command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Untried {
    place: usize,
    /// Without its moments.
    command: Command,
    reply: Reply,
}

/// What is tried because searches have met it.
#[derive(Clone, Debug, Default)]
struct Met {
    replies: Vec<Untried>,
    /// The clients of which nothing is forgotten.
    kept: Vec<usize>,
    searches: usize,
}

/// The path that represents others with the same behaviour, as seen from one of them.
#[derive(Clone, Debug)]
struct Representative {
    path: Path,
    /// Which inputs are live on the path that is represented.
    live: Box<[bool]>,
    /// The inputs of the representative; `None`: the next live one of the path that is represented.
    received: Box<[Option<Received>]>,
}

/// How an operation has gone so far, without what it has received.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Path {
    steps: Vec<PathStep>,
    next: NextKind,
}

/// What a client has received, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum PathStep {
    Hold,
    Clock,
    Reply(Vec<u8>, Discriminant<Reply>),
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NextKind {
    Clock,
    Send(Vec<u8>),
    End(Outcome),
}

/// One thing that a client has received. A release begins with two: the value that it holds, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Received {
    Value(Vec<u8>),
    Since(Reading),
    Clock(Reading),
    Reply(Reply),
}

impl Received {
    fn is_of_hold(&self) -> bool {
        matches!(self, Self::Value(_) | Self::Since(_))
    }

    /// Texts without their moments, or another reply as it is. `None` of a moment.
    fn without_moments(&self, stamps: &Stamps) -> Option<Self> {
        match self {
            Self::Since(_) | Self::Clock(_) => None,
            Self::Value(value) => Some(Self::Value(stamps.moved(value, &|_| 0))),
            Self::Reply(reply) => Some(Self::Reply(moved(stamps, reply, &|_| 0))),
        }
    }
}

/// The command without its moments.
fn timeless(stamps: &Stamps, command: &Command) -> Command {
    let words = command.words().iter().map(|word| stamps.moved(word, &|_| 0));
    Command::from_words(words).unwrap_or_else(|| command.clone())
}

/// The reply with every moment in its texts moved.
fn moved(stamps: &Stamps, reply: &Reply, to: &dyn Fn(i64) -> i64) -> Reply {
    match reply {
        Reply::Bulk(text) => Reply::Bulk(stamps.moved(text, to)),
        Reply::Array(items) => Reply::Array(items.iter().map(|item| moved(stamps, item, to)).collect()),
        Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Error(_) => reply.clone(),
    }
}

/// What a client does next, in full.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NextAction {
    Clock,
    Send(Command),
    End { outcome: Outcome, won: Option<Hold>, has_acted_before: bool },
}

/// Commands on strings, whose replies follow from one value and its deadline.
const PLAIN: [&str; 14] = [
    "GET",
    "SET",
    "SETNX",
    "GETSET",
    "SETEX",
    "PSETEX",
    "DEL",
    "EXISTS",
    "TTL",
    "PTTL",
    "EXPIRE",
    "PEXPIRE",
    "EXPIREAT",
    "PEXPIREAT",
];
/// Those whose replies follow from what the client has sent, and from the server's clock.
const STEERING: [&str; 6] = ["WATCH", "UNWATCH", "MULTI", "EXEC", "DISCARD", "TIME"];
/// Where the horizon is wider, or a client can receive more than this, all is kept.
const MOST_TICKS: usize = 41;
const MOST_RUNS: usize = 3_000_000;
/// Where more than this would have to be tried, a sample comes first.
const MOST_RUNS_OF_ALL: usize = 500_000;
const MOST_RECEIVED: usize = 16;
/// A client that has more names than this keeps all under the others.
const MOST_NAMES: u8 = 4;
/// After so many searches that have met what was not tried, nothing is forgotten.
const MOST_SEARCHES: usize = 16;
/// How often the sample is corrected.
const MOST_CORRECTIONS: usize = 8;
/// How long ago what is forgotten was: beyond all that is a moment of the scene.
const LONG_AGO_NS: i64 = 300_000_000_000_000_000;
/// How long before the scene texts are tried: before such a clock reading, and after it.
const LONG_AGO: [i64; 2] = [2 * LONG_AGO_NS, LONG_AGO_NS / 2];

/// Whether an input contains a moment, and of what time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    Now,
    LongAgo,
    Never,
}

/// Why nothing is forgotten of a client.
struct NotForgettable;

/// At which ticks the clients and the servers of a scene are tried.
struct TriedTicks {
    of_clients: Vec<u16>,
    of_servers: Vec<u16>,
}

impl TriedTicks {
    /// All of a clock that ends; up to the horizon, and for what was written before as far back, of one that does not.
    fn of(scene: &Scene) -> Self {
        if let Some(Horizon { ticks, .. }) = scene.horizon {
            let of_servers = (PRESENT - ticks..=PRESENT + ticks).collect();
            return Self { of_clients: (PRESENT..=PRESENT + ticks).collect(), of_servers };
        }
        let last = scene.bounds.ticks;
        let leap = scene.bounds.afterwards.map(|ticks| last.saturating_add(ticks));
        let all: Vec<u16> = (0..=last).chain(leap).collect();
        Self { of_clients: all.clone(), of_servers: all }
    }
}

impl<'a> Forgetting<'a> {
    /// Finds out what can be forgotten: `None` if nothing can be.
    pub(super) fn of(scene: &'a Scene) -> Option<Self> {
        Self::after(scene, Met::default())
    }

    fn after(scene: &'a Scene, met: Met) -> Option<Self> {
        let found_out: FoundOut = |answers, tried| {
            Trial::of(answers, tried, Inputs::All)
                .map(Trial::representatives)
                .or_else(|_| Trial::by_sample(answers, tried, |live| live))
        };
        Self::by(scene, found_out, met)
    }

    /// The same where that was tried as well; `None` if nothing is forgotten then.
    pub(super) fn with_tried(self, untried: &[Untried]) -> Option<Self> {
        let mut met = Arc::unwrap_or_clone(self.met);
        met.searches += 1;
        for new in untried {
            if !met.replies.contains(new) {
                met.replies.push(new.clone());
            } else if !met.kept.contains(&new.place) {
                // Run alone, this client does not come so far.
                met.kept.push(new.place);
            }
        }
        if met.searches > MOST_SEARCHES { None } else { Self::after(self.scene, met) }
    }

    fn by(scene: &'a Scene, found_out: FoundOut, met: Met) -> Option<Self> {
        let tried = TriedTicks::of(scene);
        if tried.of_clients.len() > MOST_TICKS || scene.bounds.faults.clock_steps > 0 {
            return None;
        }
        let met = Arc::new(met);
        let answers = Answers::of(scene, &tried.of_servers, &met);
        let mut representatives: Vec<Vec<Arc<Representatives>>> = Vec::new();
        for (place, client) in scene.clients.iter().enumerate() {
            let like = scene.clients[..place].iter().position(|earlier| earlier.is_like(client));
            let of_like = like.map_or(&[][..], |earlier| &representatives[earlier]);
            let of_all = of_like.iter().find(|it| it.of.is_none()).cloned();
            representatives.push(match of_all {
                _ if met.kept.contains(&place) => Vec::new(),
                Some(of_all) => vec![of_all],
                None => Self::of_each_name(&answers, place, &tried.of_clients, found_out),
            });
        }
        let any = representatives.iter().any(|of_client| !of_client.is_empty());
        let stamps = Retiming::of(scene).stamps();
        any.then(|| Self { scene, representatives, met, untried: Vec::new(), stamps, holds_are_judged: true })
    }

    /// What represents the paths of the client at this place under each of its names.
    fn of_each_name(
        answers: &Answers<'_>,
        place: usize,
        ticks: &[u16],
        found_out: FoundOut,
    ) -> Vec<Arc<Representatives>> {
        let fresh = Actor::fresh(&answers.scene.clients[place]);
        let rounds = match fresh.rounds_left {
            Times::Of(rounds) => rounds.min(MOST_NAMES),
            Times::Forever => 1,
        };
        let mut of_each = Vec::new();
        for round in 0..rounds {
            let rounds_left = match fresh.rounds_left {
                Times::Of(rounds) => Times::Of(rounds - round),
                Times::Forever => Times::Forever,
            };
            let tried = TriedClient { place, actor: Actor { rounds_left, ..fresh.clone() }, ticks };
            let Ok(found) = found_out(answers, &tried) else { return of_each };
            let is_of_all = found.of.is_none();
            of_each.push(Arc::new(found));
            if is_of_all {
                break;
            }
        }
        of_each
    }

    /// What represents the paths of this client under the name that it has.
    fn representatives_of(&self, place: usize, actor: &Actor) -> Option<&Representatives> {
        let of_client = &self.representatives[place];
        let name = || self.scene.client_step(place).owner(actor).token;
        let found = of_client.iter().find(|it| it.of.is_none_or(|of| of == name()))?;
        Some(found)
    }

    /// Notes a reply to this client that was not tried.
    pub(super) fn note_reply(&mut self, place: usize, actor: &Actor, reply: &Reply) {
        let client = self.scene.client_step(place);
        let actor = client.begun(actor);
        if !matches!(actor.doing, Doing::Acquiring(_) | Doing::Releasing(..)) {
            return;
        }
        let Some(representatives) = self.representatives_of(place, &actor) else { return };
        let Err(Pending::Send(command)) = client.run(&actor) else { return };
        let command = timeless(&self.stamps, &command);
        let exchange = (command, moved(&self.stamps, reply, &|_| 0));
        if !representatives.exchanges.contains(&exchange) {
            let untried = Untried { place, command: exchange.0, reply: reply.clone() };
            self.untried.extend(Some(untried).filter(|new| !self.untried.contains(new)));
        }
    }

    /// What was noted.
    pub(super) fn untried(&self) -> &[Untried] {
        &self.untried
    }

    /// The same where these are asked.
    pub(super) fn asked(self, properties: Properties) -> Self {
        Self { holds_are_judged: properties.iter().any(Property::is_about_holds), ..self }
    }

    /// The client at this place without what no later step looks at.
    pub(super) fn forget(&self, place: usize, actor: Actor) -> Actor {
        let Some(representatives) = self.representatives_of(place, &actor) else { return actor };
        let client = self.scene.client_step(place);
        match &actor.doing {
            Doing::Acquiring(operation) => {
                let received = received_in(operation);
                self.represented(client, representatives, &actor, received).unwrap_or(actor)
            }
            Doing::Releasing(hold, operation) => {
                let received = received_by(hold).into_iter().chain(received_in(operation)).collect();
                self.represented(client, representatives, &actor, received).unwrap_or(actor)
            }
            Doing::Holding(hold, work) => match self.held_anew(place, &actor, hold) {
                Some(forgotten) => actor.now(Doing::Holding(Hold { since: hold.since, ..forgotten }, *work)),
                None => actor,
            },
            Doing::Resting { .. } | Doing::Extending(..) | Doing::Disclaiming(_) | Doing::Done | Doing::Crashed => {
                actor
            }
        }
    }

    /// A client whose lease has ended, without since when it held.
    pub(super) fn ended(&self, place: usize, actor: Actor) -> Actor {
        let Doing::Holding(hold, work) = &actor.doing else { return actor };
        match self.held_anew(place, &actor, hold) {
            Some(forgotten) => actor.now(Doing::Holding(forgotten, *work)),
            None => actor,
        }
    }

    /// What a client holds, without what its release does not look at.
    fn held_anew(&self, place: usize, actor: &Actor, hold: &Hold) -> Option<Hold> {
        let representatives = self.representatives_of(place, actor).filter(|_| !self.holds_are_judged)?;
        let released = actor.now(Doing::Releasing(hold.clone(), Operation::default()));
        let released =
            self.represented(self.scene.client_step(place), representatives, &released, received_by(hold).into())?;
        released.releasing().cloned()
    }

    /// The client on the representative of its path, with its own live inputs, and what it holds where that is judged. `None` if
    /// there is no representative.
    fn represented(
        &self,
        client: ClientStep<'_>,
        representatives: &Representatives,
        actor: &Actor,
        received: Vec<Received>,
    ) -> Option<Actor> {
        let in_flight = actor.awaits_reply();
        let (path, next) = path_of(client, actor)?;
        let representative = representatives.by_path.get(&(path, in_flight))?;
        let mut texts = received.iter().filter_map(|received| received.without_moments(&self.stamps));
        if !texts.all(|text| representatives.tried.contains(&text)) {
            return None;
        }
        let mut live =
            received.iter().zip(&representative.live).filter(|(_, live)| **live).map(|(received, _)| received);
        let is_judged = |own: &&Received| self.holds_are_judged && own.is_of_hold();
        let mut forgotten = blank(actor);
        for (place, known) in representative.received.iter().enumerate() {
            let represented = known.as_ref().or_else(|| live.next())?;
            let judged = received.get(place).filter(is_judged);
            forgotten = receive(client, &forgotten, judged.unwrap_or(represented))?;
        }
        operation_mut(&mut forgotten)?.in_flight = in_flight;
        // What it holds may be another value than the one with which the path was found.
        let (as_represented, then) = path_of(client, &forgotten)?;
        (as_represented == representative.path && then == next).then_some(forgotten)
    }
}

#[cfg(test)]
impl<'a> Forgetting<'a> {
    /// What can be forgotten by a sample, although all could be tried.
    pub(super) fn by_a_sample(scene: &'a Scene) -> Option<Self> {
        Self::by(scene, |answers, tried| Trial::by_sample(answers, tried, |live| live), Met::default())
    }

    /// The same, if nothing is live by the sample.
    pub(super) fn by_a_wrong_sample(scene: &'a Scene) -> Option<Self> {
        fn nothing(mut live: LiveInputs) -> LiveInputs {
            live.values_mut().for_each(|live| live.fill(false));
            live
        }
        Self::by(scene, |answers, tried| Trial::by_sample(answers, tried, nothing), Met::default())
    }

    /// A mistake, planted: a value that was just read, and has not been judged, is forgotten.
    pub(super) fn of_unjudged_replies(mut self) -> Self {
        for representatives in self.representatives.iter_mut().flatten().map(Arc::make_mut) {
            let is_text = |received: &Received| matches!(received, Received::Reply(Reply::Bulk(_)));
            let mut texts =
                representatives.by_path.values().flat_map(|representative| representative.received.iter().flatten());
            let text = texts.find(|received| is_text(received)).cloned();
            let is_read = |(path, _): &(Path, bool)| {
                path.next == NextKind::Clock && path.steps.last().is_some_and(|step| step.is_text())
            };
            for (_, representative) in representatives.by_path.iter_mut().filter(|(path, _)| is_read(path)) {
                *representative.received.last_mut().unwrap() = text.clone();
            }
        }
        self
    }
}

/// The same client, its operation not begun.
fn blank(actor: &Actor) -> Actor {
    actor.now(match &actor.doing {
        Doing::Releasing(hold, _) => Doing::Releasing(hold.clone(), Operation::default()),
        _ => Doing::Acquiring(Operation::default()),
    })
}

fn received_by(hold: &Hold) -> [Received; 2] {
    [Received::Value(hold.value.clone()), Received::Since(hold.since)]
}

fn received_in(operation: &Operation) -> Vec<Received> {
    let received = |entry: &Entry| match entry {
        Entry::Clock(reading) => Some(Received::Clock(*reading)),
        Entry::Exchange(_, reply) => Some(Received::Reply(reply.clone())),
        Entry::Round(_) => None,
    };
    operation.transcript.entries().iter().filter_map(received).collect()
}

/// The client after it has received this, if it asks for something of the kind.
fn receive(client: ClientStep<'_>, actor: &Actor, received: &Received) -> Option<Actor> {
    let mut actor = actor.clone();
    if let (Doing::Releasing(hold, _), Received::Value(_) | Received::Since(_)) = (&mut actor.doing, received) {
        match received {
            Received::Value(value) => hold.value.clone_from(value),
            Received::Since(since) => hold.since = *since,
            Received::Clock(_) | Received::Reply(_) => {}
        }
        return Some(actor);
    }
    let mut transcript = actor.operation()?.transcript.clone();
    match (client.run_over(&actor, &mut transcript), received) {
        (Err(Pending::Clock), Received::Clock(reading)) => transcript.record_clock(*reading),
        (Err(Pending::Send(_)), Received::Reply(reply)) => transcript.record_reply(reply.clone()),
        _ => return None,
    }
    transcript.rewind();
    operation_mut(&mut actor)?.transcript = transcript;
    Some(actor)
}

/// The path of an operation, and in full what comes next. `None` of one that asks several servers at once.
fn path_of(client: ClientStep<'_>, actor: &Actor) -> Option<(Path, NextAction)> {
    let operation = actor.operation()?;
    let of_hold = if actor.releasing().is_some() { 2 } else { 0 };
    let mut steps = vec![PathStep::Hold; of_hold];
    for entry in operation.transcript.entries() {
        steps.push(match entry {
            Entry::Clock(_) => PathStep::Clock,
            Entry::Exchange(command, reply) => PathStep::Reply(command.name().to_vec(), discriminant(reply)),
            Entry::Round(_) => return None,
        });
    }
    let (next, full) = match client.run(actor) {
        Err(Pending::Clock) => (NextKind::Clock, NextAction::Clock),
        Err(Pending::Send(command)) => (NextKind::Send(command.name().to_vec()), NextAction::Send(command)),
        Err(Pending::Round(_) | Pending::Fault(_)) => return None,
        Ok(ended) => {
            let outcome = ended.outcome();
            let won = if let Ended::Acquired(Acquired::Won(hold)) = ended { Some(hold) } else { None };
            (NextKind::End(outcome), NextAction::End { outcome, won, has_acted_before: has_acted_before(actor) })
        }
    };
    Some((Path { steps, next }, full))
}

/// The replies that a client can be given.
struct Answers<'a> {
    scene: &'a Scene,
    /// What a server can be, each with some ticks at which it may be asked.
    servers: Vec<(ServerSide, Vec<u16>)>,
    /// What searches have met.
    met: &'a Met,
    /// From the first moment at which a server is tried to the end of the longest lease from the last, in nanoseconds.
    span_ns: (i64, i64),
}

impl<'a> Answers<'a> {
    /// By servers on which one client has run, at each of these ticks; of clients that are alike and write the same, one.
    fn of(scene: &'a Scene, ticks: &[u16], met: &'a Met) -> Self {
        let mut seen = FxHashSet::default();
        let leases = scene.clients.iter().map(|client| scene.timeline().ticks_of(client.locker.lease().length()));
        let longest = leases.max().unwrap_or(0);
        let mut servers = Vec::new();
        let clients = &scene.clients;
        let written =
            |place: usize| ticks.iter().take(1).flat_map(move |tick| LoneRun::servers_of(scene, place, *tick));
        let like = |place: usize| clients[..place].iter().position(|earlier| earlier.is_like(&clients[place]));
        let name_clients =
            (0..clients.len()).any(|place| like(place).is_some_and(|earlier| !written(earlier).eq(written(place))));
        let is_new = |place: &usize| name_clients || like(*place).is_none();
        let places: Vec<usize> = (0..clients.len()).filter(is_new).collect();
        for &tick in ticks {
            let sides = places.iter().flat_map(|place| LoneRun::servers_of(scene, *place, tick));
            let asked_at: Vec<u16> = (tick..=tick.saturating_add(longest)).chain(ticks.last().copied()).collect();
            for side in sides.filter(|side| seen.insert(side.clone())).collect::<Vec<_>>() {
                servers.push((side, asked_at.clone()));
            }
        }
        let moment = |tick: u16| Retiming::of(scene).moment(tick);
        let (first, last) = (ticks.first().copied().unwrap_or(0), ticks.last().copied().unwrap_or(0));
        Self { scene, servers, met, span_ns: (moment(first), moment(last.saturating_add(longest))) }
    }

    fn to(&self, place: usize, command: &Command) -> Vec<Reply> {
        let mut replies = Vec::new();
        for (server, ticks) in &self.servers {
            for tick in ticks {
                let Ok((_, reply)) = Direct(self.scene).ask(server, Request::Command(place, command.clone(), *tick));
                if !replies.contains(&reply) {
                    replies.push(reply);
                }
            }
        }
        replies
    }
}

/// One client's operations, run over all that it may receive.
struct Trial<'a> {
    client: ClientStep<'a>,
    name: Token,
    /// Whether it does the same under another name.
    is_of_all: bool,
    place: usize,
    answers: &'a Answers<'a>,
    stamps: Stamps,
    received: Interner<Received>,
    /// Those that replace dead inputs.
    long_ago: FxHashSet<Received>,
    clocks: Vec<u32>,
    replies: FxHashMap<Command, Vec<u32>>,
    paths: Interner<Path>,
    /// All that a client does from somewhere on: what next, and then for each that it can receive.
    behaviours: Interner<(NextAction, Box<[u32]>)>,
    /// What was tried of each path: what the client has received, and its behaviour.
    tried: Vec<Vec<(Box<[u32]>, u32)>>,
    runs: usize,
    won: Vec<Hold>,
    inputs: Inputs<'a>,
    /// What follows the live inputs of a path.
    followed: FxHashMap<(Path, Box<[u32]>), Followed>,
    /// Where the sample has taken a live input for a dead one.
    refuted: FxHashSet<Path>,
}

/// Which client is tried, under which name, and at which ticks.
struct TriedClient<'a> {
    place: usize,
    actor: Actor,
    ticks: &'a [u16],
}

/// Finds out what represents the paths of this client.
type FoundOut = fn(&Answers<'_>, &TriedClient<'_>) -> Result<Representatives, NotForgettable>;

/// Which inputs are tried with all others.
#[derive(Clone, Copy)]
enum Inputs<'a> {
    All,
    /// The first and the last moment, and such as were long ago.
    Sample,
    LiveBy(&'a LiveInputs),
}

/// Which inputs of each path are live.
type LiveInputs = FxHashMap<Path, Box<[bool]>>;

/// The behaviour after live inputs, and with how many values of the dead ones they were met.
#[derive(Clone, Copy)]
struct Followed {
    behaviour: u32,
    times: u32,
}

impl<'a> Trial<'a> {
    /// Tries a sample of all inputs, and then what is live by that, changed so.
    fn by_sample(
        answers: &Answers<'_>,
        tried: &TriedClient<'_>,
        change: fn(LiveInputs) -> LiveInputs,
    ) -> Result<Representatives, NotForgettable> {
        let mut sample = change(Trial::of(answers, tried, Inputs::Sample)?.live());
        for _ in 0..MOST_CORRECTIONS {
            let trial = Trial::of(answers, tried, Inputs::LiveBy(&sample))?;
            if trial.refuted.is_empty() {
                return Ok(trial.representatives());
            }
            for path in trial.refuted {
                let all_live = vec![true; path.steps.len()];
                sample.insert(path, all_live.into());
            }
        }
        Err(NotForgettable)
    }

    fn live(self) -> LiveInputs {
        let live = self.tried.iter().map(|tried| live_inputs(tried).into());
        self.paths.all().iter().cloned().zip(live).collect()
    }

    fn of(answers: &'a Answers<'a>, tried: &TriedClient<'_>, inputs: Inputs<'a>) -> Result<Self, NotForgettable> {
        let (scene, place) = (answers.scene, tried.place);
        let client = &scene.clients[place];
        if client.renew_after.is_some() || client.writes {
            return Err(NotForgettable);
        }
        let mut trial = Self {
            client: scene.client_step(place),
            name: scene.client_step(place).owner(&tried.actor).token,
            is_of_all: true,
            place,
            answers,
            stamps: Retiming::of(scene).stamps(),
            received: Interner::new(),
            long_ago: FxHashSet::default(),
            clocks: Vec::new(),
            replies: FxHashMap::default(),
            paths: Interner::new(),
            behaviours: Interner::new(),
            tried: Vec::new(),
            runs: 0,
            won: Vec::new(),
            inputs,
            followed: FxHashMap::default(),
            refuted: FxHashSet::default(),
        };
        let wall = UnixTime::from_nanos(scene.begin.as_nanos() - LONG_AGO_NS);
        let long_ago = Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) };
        trial.long_ago.insert(Received::Clock(long_ago));
        let readings = tried.ticks.iter().map(|tick| scene.reading(place, *tick)).chain([long_ago]);
        trial.clocks = readings.map(|reading| trial.received.id(Received::Clock(reading))).collect();
        let fresh = &tried.actor;
        trial.try_all(&fresh.now(Doing::Acquiring(Operation::default())), &mut Vec::new())?;
        trial.try_releases(fresh)?;
        Ok(trial)
    }

    /// Every value that was won with, since each of the moments that were.
    fn try_releases(&mut self, fresh: &Actor) -> Result<(), NotForgettable> {
        let Some(any) = self.won.first().cloned() else { return Ok(()) };
        if any.fence.is_some() {
            return Err(NotForgettable);
        }
        let (mut values, mut since): (Vec<Vec<u8>>, Vec<Reading>) = (Vec::new(), Vec::new());
        for hold in &self.won {
            values.extend(Some(hold.value.clone()).filter(|value| !values.contains(value)));
            since.extend(Some(hold.since).filter(|reading| !since.contains(reading)));
        }
        let long_ago = LONG_AGO.map(|ago| self.stamps.moved(&any.value, &|moment| moment - ago));
        self.long_ago.extend(long_ago.iter().cloned().map(Received::Value));
        values.extend(long_ago);
        for value in &values {
            for since in &since {
                let hold = Hold { value: value.clone(), since: *since, ..any.clone() };
                let received = received_by(&hold).map(|received| self.received.id(received));
                self.try_all(&fresh.now(Doing::Releasing(hold, Operation::default())), &mut received.into())?;
            }
        }
        Ok(())
    }

    /// Tries what the client may receive from here on, and returns its behaviour: everything, unless only what is dead in the
    /// sample differs from what was tried before. Of that, the values at each power of two are tried all the same.
    fn try_all(&mut self, actor: &Actor, received: &mut Vec<u32>) -> Result<u32, NotForgettable> {
        self.runs += 1;
        let (path, next) = path_of(self.client, actor).ok_or(NotForgettable)?;
        let most = if matches!(self.inputs, Inputs::All) { MOST_RUNS_OF_ALL } else { MOST_RUNS };
        if self.runs > most || received.len() > MOST_RECEIVED {
            return Err(NotForgettable);
        }
        self.is_of_all &= self.does_the_same_under_another_name(actor, &path, &next);
        if let NextAction::End { won, .. } = &next {
            self.won.extend(won.iter().filter(|hold| !self.won.contains(hold)).cloned().collect::<Vec<_>>());
        }
        let live = match self.inputs {
            Inputs::LiveBy(sample) => sample.get(&path),
            Inputs::All | Inputs::Sample => None,
        };
        let decisive = live.map(|live| (path.clone(), of_these(received, live, true).into_boxed_slice()));
        let followed = decisive.as_ref().and_then(|decisive| self.followed.get(decisive)).copied();
        let behaviour = match followed {
            Some(Followed { behaviour, times }) if !(times + 1).is_power_of_two() => behaviour,
            Some(_) | None => self.follow(actor, next, received)?,
        };
        if let Some(decisive) = decisive {
            let followed = self.followed.entry(decisive).or_insert(Followed { behaviour, times: 0 });
            followed.times += 1;
            if followed.behaviour != behaviour {
                self.refuted.insert(path.clone());
            }
        }
        let path = self.paths.id(path) as usize;
        self.tried.resize_with(self.paths.len(), Vec::new);
        self.tried[path].push((received.as_slice().into(), behaviour));
        Ok(behaviour)
    }

    fn does_the_same_under_another_name(&self, actor: &Actor, path: &Path, next: &NextAction) -> bool {
        let renamed = Actor { restarts: u8::MAX, tokens_drawn: u8::MAX, ..actor.clone() };
        self.is_of_all
            && path_of(self.client.named_as(usize::from(u8::MAX)), &renamed)
                .is_some_and(|(other_path, other)| other_path == *path && other == *next)
    }

    /// The behaviour, by all that the client may receive next.
    fn follow(&mut self, actor: &Actor, next: NextAction, received: &mut Vec<u32>) -> Result<u32, NotForgettable> {
        let mut then = Vec::new();
        for new in self.possible(&next, received)? {
            let after = receive(self.client, actor, self.received.get(new)).ok_or(NotForgettable)?;
            received.push(new);
            then.push(self.try_all(&after, received)?);
            received.pop();
        }
        Ok(self.behaviours.id((next, then.into())))
    }

    /// What the client may receive next: first what was long ago, which replaces what is dead.
    fn possible(&mut self, next: &NextAction, received: &[u32]) -> Result<Vec<u32>, NotForgettable> {
        let all = match next {
            NextAction::Clock => self.clocks.clone(),
            NextAction::Send(command) => self.replies_to(command)?,
            NextAction::End { .. } => Vec::new(),
        };
        let (long_ago, others): (Vec<u32>, Vec<u32>) =
            all.into_iter().partition(|id| self.long_ago.contains(self.received.get(*id)));
        let (now, never): (Vec<u32>, Vec<u32>) =
            others.into_iter().partition(|id| self.when(self.received.get(*id)) == Era::Now);
        let is_clock = match next {
            NextAction::Clock => true,
            NextAction::Send(command) => command.is("TIME"),
            NextAction::End { .. } => false,
        };
        let now = match self.inputs {
            Inputs::Sample => first_and_last(&now),
            Inputs::All | Inputs::LiveBy(_) if is_clock && received.is_empty() => {
                tried_first(&now, self.answers.scene.horizon.is_none())
            }
            Inputs::All | Inputs::LiveBy(_) => now,
        };
        Ok(long_ago.into_iter().chain(never).chain(now).collect())
    }

    fn replies_to(&mut self, command: &Command) -> Result<Vec<u32>, NotForgettable> {
        if !PLAIN.iter().chain(&STEERING).any(|name| command.is(name)) {
            return Err(NotForgettable);
        }
        if let Some(known) = self.replies.get(command) {
            return Ok(known.clone());
        }
        let mut replies = self.answers.to(self.place, command);
        if command.is("EXEC") {
            // A client that runs alone neither meets an expired lock nor is disturbed.
            let others = [Reply::Array(vec![Reply::ok()]), Reply::Nil];
            replies.extend(others.into_iter().filter(|other| !replies.contains(other)).collect::<Vec<_>>());
        }
        replies.extend(self.met(command).into_iter().filter(|new| !replies.contains(new)).collect::<Vec<_>>());
        if let Some(stamp) = replies.iter().find(|reply| self.has_moment(reply)).cloned() {
            let long_ago = LONG_AGO.map(|ago| moved(&self.stamps, &stamp, &|moment| moment - ago));
            self.long_ago.extend(long_ago.iter().cloned().map(Received::Reply));
            replies.extend(long_ago);
        }
        let replies: Vec<u32> = replies.into_iter().map(|reply| self.received.id(Received::Reply(reply))).collect();
        self.replies.insert(command.clone(), replies.clone());
        Ok(replies)
    }

    /// What searches have met as replies to this command; where there is a moment in one, it is tried at all ticks.
    fn met(&self, command: &Command) -> Vec<Reply> {
        let Answers { met, span_ns: (first, last), scene, .. } = self.answers;
        let tick_ns = Retiming::of(scene).moment(1).max(1);
        let command = timeless(&self.stamps, command);
        let mut replies = Vec::new();
        for Untried { reply, .. } in met.replies.iter().filter(|it| it.command == command) {
            let Some(moment) = self.moment_in(reply) else {
                replies.push(reply.clone());
                continue;
            };
            let mut to = first + (moment - first).rem_euclid(tick_ns);
            while to <= *last {
                replies.push(moved(&self.stamps, reply, &|other| other - moment + to));
                to += tick_ns;
            }
        }
        replies
    }

    fn has_moment(&self, reply: &Reply) -> bool {
        self.moment_in(reply).is_some()
    }

    /// The first moment in it.
    fn moment_in(&self, reply: &Reply) -> Option<i64> {
        let found = Cell::new(None);
        moved(&self.stamps, reply, &|moment| {
            found.set(found.get().or(Some(moment)));
            moment
        });
        found.get()
    }

    fn when(&self, received: &Received) -> Era {
        let is_now = match received {
            Received::Clock(reading) | Received::Since(reading) => self.stamps.has(reading.wall),
            Received::Value(text) => self.has_moment(&Reply::Bulk(text.clone())),
            Received::Reply(reply) => self.has_moment(reply),
        };
        match (is_now, self.long_ago.contains(received)) {
            (true, _) => Era::Now,
            (false, true) => Era::LongAgo,
            (false, false) => Era::Never,
        }
    }

    /// The representative of each path.
    fn representatives(self) -> Representatives {
        let without_moments = |received: &Received| received.without_moments(&self.stamps);
        let all_tried = self.received.all().iter().filter_map(without_moments).collect();
        let times: Vec<Era> = self.received.all().iter().map(|received| self.when(received)).collect();
        let mut tried: Vec<(&Path, TriedPath)> = self
            .paths
            .all()
            .iter()
            .zip(&self.tried)
            .map(|(path, tried)| (path, TriedPath::of(tried, &times)))
            .collect();
        tried.sort_by_key(|(path, _)| path.steps.len());
        let mut by_path = FxHashMap::default();
        for (place, (path, of_this)) in tried.iter().enumerate() {
            for in_flight in [false, true].into_iter().filter(|in_flight| !in_flight || path.ends_with_reply()) {
                let stands = |(other, of_that): &&(&Path, TriedPath)| {
                    other.is_release() == path.is_release()
                        && (!in_flight || other.ends_with_reply())
                        && of_that.represents(of_this)
                };
                let Some((that, of_that)) = tried[..=place].iter().find(stands) else { continue };
                let received = of_that.representative(|received| self.received.get(received).clone());
                let representative = Representative { path: (*that).clone(), live: of_this.live.clone(), received };
                by_path.insert(((*path).clone(), in_flight), representative);
            }
        }
        let mut exchanges = FxHashSet::default();
        for (command, replies) in &self.replies {
            let command = timeless(&self.stamps, command);
            for reply in replies {
                if let Received::Reply(reply) = self.received.get(*reply) {
                    exchanges.insert((command.clone(), moved(&self.stamps, reply, &|_| 0)));
                }
            }
        }
        let of = if self.is_of_all { None } else { Some(self.name) };
        Representatives { of, by_path, tried: all_tried, exchanges }
    }
}

#[cfg(test)]
impl PathStep {
    fn is_text(&self) -> bool {
        matches!(self, Self::Reply(_, kind) if *kind == discriminant(&Reply::Bulk(Vec::new())))
    }
}

impl Path {
    fn is_release(&self) -> bool {
        self.steps.first() == Some(&PathStep::Hold)
    }

    fn ends_with_reply(&self) -> bool {
        matches!(self.steps.last(), Some(PathStep::Reply(..)))
    }
}

/// What was tried of one path.
struct TriedPath {
    /// Which of its inputs are live.
    live: Box<[bool]>,
    /// The behaviour by live inputs, those of long ago left aside.
    behaviours: FxHashMap<Vec<u32>, u32>,
    /// Dead inputs that have no moment of the scene, and were tried with all live ones.
    dead: Option<Vec<u32>>,
}

impl TriedPath {
    fn of(tried: &[(Box<[u32]>, u32)], times: &[Era]) -> Self {
        let live = live_inputs(tried);
        let mut behaviours = FxHashMap::default();
        let (mut tried_dead, mut tried_with) = (Vec::new(), FxHashMap::<Vec<u32>, FxHashSet<Vec<u32>>>::default());
        for (received, behaviour) in tried {
            let (those_live, dead) = (of_these(received, &live, true), of_these(received, &live, false));
            if those_live.iter().any(|received| times[*received as usize] == Era::LongAgo) {
                continue;
            }
            if dead.iter().all(|received| times[*received as usize] != Era::Now) {
                tried_dead.push(dead.clone());
                tried_with.entry(dead).or_default().insert(those_live.clone());
            }
            behaviours.insert(those_live, *behaviour);
        }
        let dead = tried_dead.into_iter().find(|dead| tried_with[dead].len() == behaviours.len());
        Self { live: live.into(), behaviours, dead }
    }

    /// Whether it does the same as the other, whatever that has received. Nothing is known of one that was only tried with what was
    /// long ago.
    fn represents(&self, other: &Self) -> bool {
        self.dead.is_some()
            && !other.behaviours.is_empty()
            && other.behaviours.iter().all(|(received, behaviour)| self.behaviours.get(received) == Some(behaviour))
    }

    /// The inputs of this path as a representative; `None`: the next live one of the path that it represents.
    fn representative(&self, received: impl Fn(u32) -> Received) -> Box<[Option<Received>]> {
        let mut dead = self.dead.iter().flatten();
        let next = |live: &bool| if *live { None } else { dead.next().map(|id| received(*id)) };
        self.live.iter().map(next).collect()
    }
}

/// Of all moments, those that are tried as the first of an operation: where the clock ends, also the last ones, which alone may lie
/// behind what others have written.
fn tried_first<T: Copy>(all: &[T], clock_ends: bool) -> Vec<T> {
    let last_two = if clock_ends { all.len().saturating_sub(2)..all.len() } else { 0..0 };
    let is_tried = |at: &usize| [0, 1, all.len() / 2].contains(at) || last_two.contains(at);
    (0..all.len()).filter(is_tried).map(|at| all[at]).collect()
}

/// Of all moments, those that are in the sample.
fn first_and_last<T: Copy>(all: &[T]) -> Vec<T> {
    all.first().into_iter().chain(all.get(1..).and_then(<[T]>::last)).copied().collect()
}

/// Which inputs of a path are live: one after the other is left out, as long as the others decide the behaviour.
fn live_inputs(tried: &[(Box<[u32]>, u32)]) -> Vec<bool> {
    let mut live = vec![true; tried.first().map_or(0, |(received, _)| received.len())];
    for place in 0..live.len() {
        live[place] = false;
        let mut behaviours = FxHashMap::default();
        let mut decided = tried.iter().map(|(received, behaviour)| (of_these(received, &live, true), *behaviour));
        live[place] =
            !decided.all(|(received, behaviour)| *behaviours.entry(received).or_insert(behaviour) == behaviour);
    }
    live
}

fn of_these(received: &[u32], live: &[bool], which: bool) -> Vec<u32> {
    received.iter().zip(live).filter(|(_, live)| **live == which).map(|(received, _)| *received).collect()
}
