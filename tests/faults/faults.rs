//! The faults that strike at a command of a client: each is a row.

use std::time::Duration;

use redis::{Client, cmd};

use crate::child::Handle;
use crate::client::Stay;
use crate::patience::{pause, until};
use crate::promise::{Damage, FaultRow};
use crate::proxy::{Cut, MessageFault};
use crate::server::Options;

/// A fault that strikes at a command of one client.
pub(crate) struct Fault {
    pub(crate) row: FaultRow,
    /// What happens at a command.
    pub(crate) strike: fn(&Target) -> MessageFault,
    /// The options of a server for each run; `None`: all runs share a server with default options.
    pub(crate) server: Option<fn() -> Options>,
    /// Ends the fault.
    pub(crate) heal: fn(&Target),
    /// Whether it strikes the client's process: first while the process holds the lock, then at each command.
    pub(crate) strikes_process: bool,
}

/// What a fault strikes.
#[derive(Clone)]
pub(crate) struct Target {
    /// The server, on a connection that the fault does not touch.
    pub(crate) server: Client,
    /// The client's process, if it has one of its own.
    pub(crate) process: Handle,
    /// How long a lock is held that its owner does not release.
    pub(crate) held_for: Duration,
    /// Differs between runs and is the same whenever a run is repeated: the byte at which a fault strikes.
    pub(crate) place: usize,
}

impl Target {
    fn run(&self, words: &[&str]) {
        let (name, arguments) = words.split_first().expect("a command has a name");
        // The server may be busy with another fault; this one then has no effect.
        let _ = self.server.get_connection().and_then(|mut server| cmd(name).arg(arguments).exec(&mut server));
    }

    /// Kills the server, which loses what it did not persist, and restarts it.
    fn crash(&self) -> MessageFault {
        let target = self.clone();
        MessageFault::First(Box::new(move || {
            target.run(&["DEBUG", "CRASH-AND-RECOVER", "0"]);
            until("the server is back", || target.server.get_connection().ok().map(drop));
        }))
    }

    /// Removes these permissions from all clients.
    fn forbid(&self, rights: &'static str) -> MessageFault {
        let target = self.clone();
        MessageFault::First(Box::new(move || {
            let words = ["ACL", "SETUSER", "default"].into_iter().chain(rights.split(' '));
            target.run(&words.collect::<Vec<_>>());
        }))
    }

    fn allow(&self) {
        self.run(&["ACL", "SETUSER", "default", "+@all"]);
    }

    fn on_process(&self, act: fn(&Self)) -> MessageFault {
        let target = self.clone();
        MessageFault::First(Box::new(move || act(&target)))
    }

    /// Stops the process until other clients hold the lock, then calls `then` and resumes it.
    fn stop_until(&self, then: impl FnOnce(&Self, Duration) + Send + 'static) {
        let target = self.clone();
        target.process.stop();
        std::thread::spawn(move || {
            let length = target.held_for + LATE;
            pause(length);
            then(&target, length);
            target.process.resume();
        });
    }

    fn first(&self, words: &'static [&'static str]) -> MessageFault {
        let target = self.clone();
        MessageFault::First(Box::new(move || target.run(words)))
    }
}

/// Longer than a client waits for a reply, and shorter than its remaining lease.
const LATE: Duration = Duration::from_millis(350);

const fn row(name: &'static str) -> FaultRow {
    FaultRow::new(name, Damage::Nothing)
}

const WIRE: Fault = Fault {
    row: row("no fault"),
    strike: |_| MessageFault::First(Box::new(|| ())),
    server: None,
    heal: |_| (),
    strikes_process: false,
};

const SERVER: Fault = Fault { server: Some(Options::new), ..WIRE };

const PROCESS: Fault = Fault { strikes_process: true, ..WIRE };

/// In nanoseconds.
const HOUR_NS: i64 = 3_600_000_000_000;

/// Every fault.
pub(crate) const FAULTS: &[Fault] = &[
    WIRE,
    Fault { row: row("command cut off"), strike: |_| MessageFault::Cut(Cut::Before), ..WIRE },
    Fault { row: row("command cut in half"), strike: |_| MessageFault::Cut(Cut::Within), ..WIRE },
    Fault { row: row("reply cut off"), strike: |_| MessageFault::Cut(Cut::After), ..WIRE },
    Fault { row: row("reply cut in half"), strike: |_| MessageFault::Cut(Cut::WithinReply), ..WIRE },
    Fault { row: row("reply cut at any byte"), strike: |target| MessageFault::CutReply(target.place), ..WIRE },
    Fault { row: row("reply byte by byte"), strike: |_| MessageFault::Trickle, ..WIRE },
    Fault { row: FaultRow { delay: LATE, ..row("command late") }, strike: |_| MessageFault::Late(LATE), ..WIRE },
    Fault { row: row("reply late"), strike: |_| MessageFault::LateReply(LATE), ..WIRE },
    Fault { row: row("connection hangs"), strike: |_| MessageFault::Hang, ..WIRE },
    Fault { row: FaultRow { stay: Stay::Overrunning, ..row("holder stands still past its lease") }, ..WIRE },
    Fault {
        row: FaultRow { stay: Stay::Overrunning, ..row("holder stands still, reply cut off") },
        strike: |_| MessageFault::Cut(Cut::After),
        ..WIRE
    },
    Fault {
        row: FaultRow { stay: Stay::Renewing, ..row("renewing, reply cut off") },
        strike: |_| MessageFault::Cut(Cut::After),
        ..WIRE
    },
    Fault { row: row("CLIENT KILL"), strike: |target| target.first(&["CLIENT", "KILL", "TYPE", "normal"]), ..SERVER },
    Fault {
        row: FaultRow { delay: LATE, ..row("CLIENT PAUSE") },
        strike: |target| target.first(&["CLIENT", "PAUSE", "350", "ALL"]),
        ..SERVER
    },
    Fault {
        row: FaultRow { delay: LATE, ..row("DEBUG SLEEP") },
        strike: |target| {
            let target = target.clone();
            MessageFault::First(Box::new(move || {
                std::thread::spawn(move || target.run(&["DEBUG", "SLEEP", "0.35"]));
                // Give it time to begin sleeping.
                pause(Duration::from_millis(20));
            }))
        },
        server: Some(|| Options::new().line("enable-debug-command yes")),
        ..SERVER
    },
    Fault { row: row("SCRIPT FLUSH"), strike: |target| target.first(&["SCRIPT", "FLUSH"]), ..SERVER },
    Fault {
        row: row("out of memory"),
        strike: |target| target.first(&["CONFIG", "SET", "maxmemory", "1"]),
        heal: |target| target.run(&["CONFIG", "SET", "maxmemory", "0"]),
        ..SERVER
    },
    Fault {
        row: FaultRow { damage: Damage::StoredData, ..row("eviction") },
        strike: |target| {
            let target = target.clone();
            MessageFault::First(Box::new(move || {
                target.run(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", "1"]);
                target.run(&["SET", "filler", "1"]);
                target.run(&["CONFIG", "SET", "maxmemory", "0"]);
            }))
        },
        ..SERVER
    },
    Fault {
        row: FaultRow { damage: Damage::StoredData, ..row("server killed and restarted, empty") },
        strike: |target| target.crash(),
        server: Some(|| Options::new().line("enable-debug-command yes")),
        ..SERVER
    },
    Fault {
        row: row("server killed and restarted, all kept"),
        strike: |target| target.crash(),
        server: Some(|| {
            let logs_all = Options::new().line("appendonly yes").line("appendfsync always");
            logs_all.line("enable-debug-command yes")
        }),
        ..SERVER
    },
    Fault {
        row: FaultRow { damage: Damage::Permissions, ..row("user without DEL") },
        strike: |target| target.forbid("-del -unlink"),
        heal: Target::allow,
        ..SERVER
    },
    Fault {
        row: FaultRow { damage: Damage::Permissions, ..row("user without GET") },
        strike: |target| target.forbid("-get -getset"),
        heal: Target::allow,
        ..SERVER
    },
    Fault {
        row: FaultRow { damage: Damage::Permissions, ..row("user without SET") },
        strike: |target| target.forbid("-set -setnx"),
        heal: Target::allow,
        ..SERVER
    },
    Fault {
        row: FaultRow { damage: Damage::Permissions, ..row("user without scripts") },
        strike: |target| target.forbid("-@scripting"),
        heal: Target::allow,
        ..SERVER
    },
    Fault {
        row: FaultRow { damage: Damage::Permissions, ..row("user without expiry") },
        strike: |target| target.forbid("-expire -pexpire -expireat -pexpireat"),
        heal: Target::allow,
        ..SERVER
    },
    Fault {
        row: FaultRow { damage: Damage::StoredData, ..row("FLUSHALL") },
        strike: |target| target.first(&["FLUSHALL"]),
        ..SERVER
    },
    Fault { row: row("process killed"), strike: |target| target.on_process(|it| it.process.kill()), ..PROCESS },
    Fault {
        row: row("process stopped past its lease"),
        strike: |target| target.on_process(|it| it.stop_until(|_, _| ())),
        ..PROCESS
    },
    Fault {
        row: row("machine suspended past the lease"),
        strike: |target| target.on_process(|it| it.stop_until(|it, length| it.process.has_slept(length))),
        ..PROCESS
    },
    Fault {
        row: FaultRow { damage: Damage::WallClock, ..row("wall clock an hour ahead") },
        strike: |target| target.on_process(|it| it.process.step_clock(HOUR_NS)),
        ..PROCESS
    },
    Fault {
        row: FaultRow { damage: Damage::WallClock, ..row("wall clock an hour behind") },
        strike: |target| target.on_process(|it| it.process.step_clock(-HOUR_NS)),
        ..PROCESS
    },
];
