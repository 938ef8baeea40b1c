//! The one server of all tests and the clients that are running against it. All of it ends when this is dropped.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use redis::Connection;
use tempfile::TempDir;

use crate::foreign::{Process, Session};
use crate::foreign_values::{self, Written};
use crate::guard_process::GuardProcess;
use crate::roster::{Client, KEYS_BEGIN, Spoken};
use crate::scenes::guarded::rows;
use crate::scenes::word;
use crate::server::Server;

/// The one server of all tests and the clients that are running against it.
#[derive(Default)]
pub(crate) struct Testbed {
    /// Sessions that no scene uses at the moment, that of the longest rest first. Before the server, so that they end
    /// first.
    idle: Mutex<VecDeque<(Place, Session)>>,
    /// Clients that serve many sessions.
    serving: Mutex<BTreeMap<Place, Weak<Process>>>,
    guard: OnceLock<GuardProcess>,
    bridging_guard: OnceLock<GuardProcess>,
    observer: OnceLock<(GuardProcess, TempDir, PathBuf)>,
    server: OnceLock<Server>,
    sessions: AtomicU32,
    proofs: Mutex<BTreeSet<Proof>>,
    foreign_values: OnceLock<Vec<Written>>,
}

/// A client and the port that it connects to.
type Place = (&'static str, u16);

/// How many sessions may rest: starting a client takes longer than most scenes, and each takes some 30 MB.
const MOST_IDLE: usize = 48;

/// A session for a scene, which leaves it to the next.
pub(crate) struct SceneSession<'a> {
    testbed: &'a Testbed,
    place: Place,
    session: Option<Session>,
}

impl Deref for SceneSession<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("it is there until this is dropped")
    }
}

impl Drop for SceneSession<'_> {
    fn drop(&mut self) {
        let Some(session) = self.session.take().filter(Session::is_idle) else { return };
        let mut idle = self.testbed.idle.lock().expect("no thread panics while it holds this");
        idle.push_back((self.place, session));
        let one_too_many = if idle.len() > MOST_IDLE { idle.pop_front() } else { None };
        drop(idle);
        // Ends its process, if that was its last session.
        drop(one_too_many);
    }
}

/// A scene that was played to its end as it should.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Proof {
    pub(crate) client: &'static str,
    pub(crate) spoken: String,
    pub(crate) scene: &'static str,
}

impl Testbed {
    /// A testbed on which nothing runs yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A session with a client, which is started if need be.
    pub(crate) fn session(&self, client: &Client) -> SceneSession<'_> {
        self.session_on(client, self.port())
    }

    /// The same through another port: that of a guard.
    pub(crate) fn session_on(&self, client: &Client, port: u16) -> SceneSession<'_> {
        let place = (client.name, port);
        let session = self.idle_session(place).unwrap_or_else(|| self.new_session(client, port));
        SceneSession { testbed: self, place, session: Some(session) }
    }

    fn idle_session(&self, place: Place) -> Option<Session> {
        let mut idle = self.idle.lock().expect("no thread panics while it holds this");
        let at = idle.iter().rposition(|(of, _)| *of == place)?;
        idle.remove(at).map(|(_, session)| session)
    }

    fn new_session(&self, client: &Client, port: u16) -> Session {
        if !client.serves_many {
            return Process::start(client, port).session(client.name, self.number());
        }
        let mut serving = self.serving.lock().expect("no thread panics while it holds this");
        let running = serving.get(&(client.name, port)).and_then(Weak::upgrade);
        let process = running.unwrap_or_else(|| Process::start(client, port));
        serving.insert((client.name, port), Arc::downgrade(&process));
        process.session(client.name, self.number())
    }

    /// A session with a client process of its own, which can crash.
    pub(crate) fn lone_session(&self, client: &Client) -> Session {
        Process::start(client, self.port()).session(client.name, self.number())
    }

    /// A connection to the server.
    pub(crate) fn connect(&self) -> Connection {
        self.server().connect()
    }

    /// What every client that is ready writes, written when first asked for.
    pub(crate) fn foreign_values(&self) -> &[Written] {
        self.foreign_values.get_or_init(|| foreign_values::written(self))
    }

    /// Notes that a scene went as it should.
    pub(crate) fn note(&self, proof: Proof) {
        self.proofs.lock().expect("no thread panics while it holds this").insert(proof);
    }

    /// All that was noted.
    pub(crate) fn proofs(&self) -> BTreeSet<Proof> {
        self.proofs.lock().expect("no thread panics while it holds this").clone()
    }

    /// The server, started when first asked for.
    pub(crate) fn server(&self) -> &Server {
        self.server.get_or_init(Server::start)
    }

    /// The guard before the server, with a rule for each client and protocol; started when first asked for.
    pub(crate) fn guard(&self) -> &GuardProcess {
        self.guard.get_or_init(|| self.started_guard(&[]))
    }

    /// The same in bridge mode.
    pub(crate) fn bridging_guard(&self) -> &GuardProcess {
        self.bridging_guard.get_or_init(|| self.started_guard(&["--mode", "bridge"]))
    }

    fn started_guard(&self, args: &[&str]) -> GuardProcess {
        let rule = |(client, spoken): (&Client, Spoken)| {
            (format!("{KEYS_BEGIN}{}.{}.*", client.name, word(&spoken.label())), spoken.protocol)
        };
        GuardProcess::start(&self.server().url(), &rows().map(rule).collect::<Vec<_>>(), args)
    }

    /// A guard that observes all locks, and the file of its events.
    pub(crate) fn observer(&self) -> (&GuardProcess, &Path) {
        let (guard, _, path) = self.observer.get_or_init(|| {
            let directory = TempDir::new().expect("a temporary directory");
            let path = directory.path().join("events.jsonl");
            let args = ["--mode", "observe", "--events", &path.display().to_string()];
            let guard = GuardProcess::start(&self.server().url(), &[(format!("{KEYS_BEGIN}*"), "php-getset")], &args);
            (guard, directory, path)
        });
        (guard, path)
    }

    /// The port of the server.
    pub(crate) fn port(&self) -> u16 {
        self.server().address().port()
    }

    fn number(&self) -> u32 {
        self.sessions.fetch_add(1, Ordering::Relaxed)
    }
}
