//! A schedule as the trace that a server's MONITOR would have listed.

use std::sync::Arc;
use std::time::Duration;

use lockshift::audit::{Audit, Auditor, Certainty, Evidence, Finding};
use lockshift::explore::{Action, Scene, Trace};
use lockshift::lock::{Acquired, Owner, Token};
use lockshift::monitor::{Line, Lines, Parser, Source, Text};
use lockshift::race_id::RaceId;
use lockshift::sim::{Flavour, Server, Session, Value};
use lockshift::wire::{Command, Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// Audits a text, keeping every acquisition: in this thread, and in others, which find the same.
pub(crate) fn audit(text: &str) -> Audit {
    let new = || Auditor::new().keeping_episodes();
    let audit = audit_by(new(), text);
    for threads in [1, 3] {
        let in_threads = audit_by(new().in_threads(threads.try_into().unwrap()), text);
        assert_eq!(format!("{in_threads:#?}"), format!("{audit:#?}"), "{threads} threads");
    }
    for Finding { verdict, .. } in &audit.findings {
        let named = clients_of(&verdict.evidence);
        assert!(named.iter().all(|client| verdict.clients.contains(client)), "{named:?}: {verdict:#?}");
        if let Evidence::DoubleHold { newcomer_line, .. } = &verdict.evidence {
            let line = text.lines().nth(usize::try_from(*newcomer_line).unwrap() - 1).unwrap();
            let line = Parser::new().parse(line.as_bytes()).unwrap().at;
            assert_eq!(verdict.at, line, "{verdict:#?}");
        }
    }
    audit
}

/// The clients that evidence names.
fn clients_of(evidence: &Evidence) -> Vec<&Arc<str>> {
    match evidence {
        Evidence::DoubleHold { holder, newcomer, .. } | Evidence::Vanished { holder, newcomer, .. } => {
            vec![holder, newcomer]
        }
        Evidence::LoserMovedLease { loser, winner, .. } => vec![loser, winner],
        Evidence::LoserOutlivesWinner { loser, .. } => vec![loser],
        Evidence::LoserBlocksRelease { holder, loser, .. } => vec![holder, loser],
        Evidence::Deleted { client, holder, .. }
        | Evidence::DeletedFromOutside { client, holder, .. }
        | Evidence::LeaseShortened { client, holder, .. }
        | Evidence::WaitsForEver { client, holder, .. } => vec![client, holder],
        Evidence::ExtendedTooLate { client, next, .. } => vec![client, next],
        Evidence::Overrun { client, next, .. } => {
            [client].into_iter().chain(next.as_ref().map(|(next, _)| next)).collect()
        }
        Evidence::StampWrittenBack { client, .. }
        | Evidence::Phantom { client, .. }
        | Evidence::OtherKeyDeleted { client }
        | Evidence::NotDeleted { client, .. }
        | Evidence::TtlOfDecades { client }
        | Evidence::ScriptFailed { client, .. } => vec![client],
        Evidence::LoserClearedTtl => Vec::new(),
        other => panic!("whom does {other:?} name?"),
    }
}

/// The races that were found, and how certain each is.
pub(super) fn races(audit: &Audit) -> Vec<(Option<RaceId>, Certainty)> {
    audit.findings.iter().map(|finding| (finding.verdict.race, finding.verdict.certainty)).collect()
}

/// Audits a text so.
fn audit_by(mut auditor: Auditor, text: &str) -> Audit {
    let mut parser = Parser::new();
    let mut lines = Lines::new(text.as_bytes());
    while let Some(Text::Line(number, line)) = lines.next_line().unwrap() {
        auditor.read(number, &parser.parse(line).unwrap_or_else(|error| panic!("{number}: {error}")));
    }
    auditor.finish()
}

/// What a schedule goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing.
    Ends,
    /// Everybody who lives does what is left to do.
    GoesOn,
    /// So many ticks later, everybody who lives does what is left to do.
    Later(u16),
}

/// What a schedule's clients have done before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing.
    Nothing,
    /// Each has acquired once and released, with no other client about.
    ARound,
}

/// The lines of what the clients of a scene have done before it begins.
pub(super) fn rounds(scene: &Scene, before: Before) -> String {
    let mut text = Listing::default();
    if before == Before::ARound {
        for (place, client) in scene.clients.iter().enumerate() {
            let long_ago = scene.begin.as_nanos() - (1000 - 10 * i64::try_from(place).unwrap()) * 1_000_000_000;
            let mut server = Server::new(Flavour::Redis70);
            let owner = Owner::new(Token::new([u8::try_from(place).unwrap() + 1; 16]), 7, 7);
            let mut run = Run { text: &mut text, server: &mut server, at_ns: long_ago, client: address(place) };
            let won = run.operation(&|redis: &mut Transcript| client.locker.acquire(&owner, redis));
            let Acquired::Won(hold) = won else { panic!("no other client is about") };
            run.operation(&|redis: &mut Transcript| client.locker.release(&hold, redis));
        }
    }
    text.text()
}

fn address(place: usize) -> String {
    format!("10.0.0.{}:1", place + 1)
}

/// A client alone on a server.
pub(super) struct Run<'a> {
    pub(super) text: &'a mut Listing,
    pub(super) server: &'a mut Server,
    pub(super) at_ns: i64,
    pub(super) client: String,
}

impl Run<'_> {
    pub(super) fn operation<T>(&mut self, operation: &dyn Fn(&mut Transcript) -> Turn<T>) -> T {
        let mut sent = Transcript::new();
        let wall = UnixTime::from_nanos(self.at_ns);
        loop {
            match operation(sent.rewind()) {
                Ok(outcome) => return outcome,
                Err(Pending::Fault(fault)) => panic!("{fault}"),
                Err(Pending::Round(_)) => panic!("MONITOR lists one server"),
                Err(Pending::Clock) => {
                    sent.record_clock(Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) });
                }
                Err(Pending::Send(command)) => {
                    let reply = self.server.call(Session(1), &command, wall);
                    self.text.list(self.at_ns, &self.client, &command, &reply);
                    sent.record_reply(reply);
                }
            }
        }
    }
}

/// The schedule with what follows it.
pub(super) fn continued(scene: &Scene, actions: &[Action], then: Then) -> (Scene, Vec<Action>) {
    let mut scene = scene.clone();
    scene.bounds.ticks += 1000;
    scene.bounds.afterwards = None;
    let actions: Vec<Action> = actions.iter().copied().filter(|action| *action != Action::Leap).collect();
    let mut world = actions.iter().fold(scene.world(), |world, action| scene.apply(&world, *action));
    let mut all = actions;
    let mut take = |world: &mut _, action: Action| {
        let can = scene.actions(world).contains(&action);
        if can {
            *world = scene.apply(world, action);
            all.push(action);
        }
        can
    };
    let ticks = match then {
        Then::Ends => return (scene.clone(), all),
        Then::GoesOn => 0,
        Then::Later(ticks) => ticks,
    };
    for _ in 0..ticks {
        take(&mut world, Action::Tick);
    }
    for who in 0..u8::try_from(scene.clients.len()).unwrap() {
        for _ in 0..8 {
            take(&mut world, Action::Step(who));
        }
    }
    (scene.clone(), all)
}

/// The lines of a trace, the commands before its start included.
pub(super) fn monitored(trace: &Trace) -> String {
    let begin = UnixTime::from_millis(trace.begin_ms).unwrap();
    let mut text = Listing::default();
    for opening in &trace.prelude {
        let at = begin.as_nanos() - i64::try_from(opening.ms_before).unwrap() * 1_000_000;
        text.list(at, "10.0.0.99:1", &opening.command, &opening.reply);
    }
    for step in &trace.steps {
        let Some(exchange) = &step.exchange else { continue };
        let at = begin.as_nanos() + i64::try_from(step.at_ms).unwrap() * 1_000_000;
        let client = address(step.actor.unwrap_or(97));
        text.list(at, &client, &exchange.command, &exchange.reply);
    }
    // The server goes on. Nobody else says anything for as long as no other client did.
    let end = trace.steps.last().map_or(0, |step| i64::try_from(step.at_ms).unwrap());
    let at = begin.as_nanos() + (end + SILENCE_MS) * 1_000_000;
    text.list(at, "10.0.0.97:1", &Command::new("PING"), &Reply::Status("PONG".to_owned()));
    text.text
}

/// For so long the trace goes on when nothing happens any more.
const SILENCE_MS: i64 = 1_500;

/// Lines, one after the other.
#[derive(Default)]
pub(super) struct Listing {
    text: String,
    lines: i64,
    queued: Vec<(String, Command)>,
    /// What the scripts do is done here once more: their calls are listed, too.
    server: Server,
    clients: Vec<String>,
}

impl Listing {
    /// What a client has sent, as MONITOR lists it.
    pub(super) fn list(&mut self, at_ns: i64, client: &str, command: &Command, reply: &Reply) {
        let stood = self.server.clone();
        let session = self.clients.iter().position(|other| other == client).unwrap_or(self.clients.len());
        if session == self.clients.len() {
            self.clients.push(client.to_owned());
        }
        let at = UnixTime::from_nanos(at_ns);
        self.server.call(Session(u32::try_from(session).unwrap()), command, at);
        if *reply == Reply::Status("QUEUED".to_owned()) {
            self.queued.push((client.to_owned(), command.clone()));
            return;
        }
        if command.is("EXEC") {
            let (own, others) = self.queued.drain(..).partition(|(queuer, _)| queuer == client);
            self.queued = others;
            let own: Vec<(String, Command)> = own;
            if *reply != Reply::Nil {
                own.iter().for_each(|(_, command)| self.line(at_ns, Source::Client(client.as_bytes()), command));
            }
        }
        self.line(at_ns, Source::Client(client.as_bytes()), command);
        let runs = command.is("EVAL") || command.is("EVALSHA");
        if runs && reply.error_code() != Some("NOSCRIPT") {
            let look = Command::new("GET").arg(command.args().get(2).cloned().unwrap_or_default());
            self.line(at_ns, Source::Script, &look);
            for key in command.args().iter().skip(2).take(2).map(|key| Key::new(key.as_slice())) {
                let content = |server: &Server| server.peek(&key, at).map(|stored| stored.value);
                let did = match (content(&stood), content(&self.server)) {
                    (before, after) if before == after => continue,
                    (_, Some(Value::Hash(_))) => Command::new("HSET").arg(&key).arg("field").arg("1"),
                    (_, Some(_)) => Command::new("SET").arg(&key).arg("value"),
                    (_, None) => Command::new("DEL").arg(&key),
                };
                self.line(at_ns, Source::Script, &did);
            }
        }
    }

    fn line(&mut self, at_ns: i64, source: Source<'_>, command: &Command) {
        // No two lines have the same microsecond.
        self.lines += 1;
        let at = UnixTime::from_nanos(at_ns + self.lines * 1_000);
        let line = Line::new(at, 0, source, command);
        self.text += &format!("{line}\n");
    }

    pub(super) fn text(self) -> String {
        self.text
    }
}
