//! The one server of all tests and the clients that are running against it. All of it ends when this is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

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
pub(crate) struct Stand {
    /// Clients that serve many sessions. Before the server, so that they end first.
    serving: Mutex<BTreeMap<&'static str, Arc<Process>>>,
    guard: OnceLock<GuardProcess>,
    bridging_guard: OnceLock<GuardProcess>,
    observer: OnceLock<(GuardProcess, TempDir, PathBuf)>,
    server: OnceLock<Server>,
    sessions: AtomicU32,
    proofs: Mutex<BTreeSet<Proof>>,
    foreign_values: OnceLock<Vec<Written>>,
}

/// A scene that was played to its end as it should.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Proof {
    pub(crate) client: &'static str,
    pub(crate) spoken: String,
    pub(crate) scene: &'static str,
}

impl Stand {
    /// A stand on which nothing runs yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A session with a client, which is started if need be.
    pub(crate) fn session(&self, client: &Client) -> Session {
        if !client.serves_many {
            return self.lone_session(client);
        }
        let mut serving = self.serving.lock().expect("no thread panics while it holds this");
        let process = serving.entry(client.name).or_insert_with(|| Process::start(client, self.port()));
        process.session(client.name, self.number())
    }

    /// A session with a client process of its own.
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
