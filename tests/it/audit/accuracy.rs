//! How right the audit is: fleets of our own lockers over real connections to a real server keep a log of what they did,
//! and the findings of MONITOR's trace, of a packet capture and of a guard's events are held against it.
//!
//! ```text
//! cargo test --all-features --test it -- audit::accuracy                            a few seconds of each fleet
//! LOCKSHIFT_ACCURACY=120 cargo test --all-features --test it -- audit::accuracy     so many, and docs/audit.md is renewed
//! ```
//!
//! How far the machine lets its threads run is different each time. So what is asserted of a run holds of every run: a
//! finding is wrong if the log rules it out. What is only likely, the odds, is held against a recorded run.

mod client;
mod events;
mod judge;
mod odds;
mod topology;
mod truth;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lockshift::audit::{Audit, Auditor};
use lockshift::capture;
use lockshift::monitor::Source;

use self::client::Worker;
use self::judge::{Score, scored};
use self::topology::{Connections, Topology};
use self::truth::Log;
use super::written;
use crate::capture::{Format, Recorder, Wire, capture_of};
use crate::golden::write_part;
use crate::guard_process::GuardProcess;
use crate::monitor::{Line, Monitor};
use crate::server::Server;

/// The protocols: stamps in seconds and in milliseconds, a token, an owner in a hash.
const PROTOCOLS: [&str; 4] = ["php-getset", "java-getset", "token", "redisson"];
/// Number of clients of a fleet.
const CLIENTS: u32 = 4;
/// How long each fleet runs: once, if nothing else is asked for.
const SECONDS: u64 = 4;

/// For how many seconds the fleets are asked to run.
fn asked_seconds() -> Option<u64> {
    std::env::var("LOCKSHIFT_ACCURACY").ok().and_then(|seconds| seconds.parse().ok())
}

/// What fleets have done.
struct FleetRun {
    /// The log of each, by its key.
    logs: Vec<(Topology, String, Log)>,
    /// What MONITOR has of all of them.
    monitored: String,
    /// A capture of what all of them sent and received.
    captured: Vec<u8>,
    /// The events of the guard through which all of them reach the server.
    observed: String,
}

/// Fleets of each protocol on each of these topologies, all at once, behind a guard that observes.
fn run(topologies: &[Topology], round: u64, length: Duration) -> FleetRun {
    let server = Server::start();
    let mut monitor = Monitor::on(&server);
    let recorder = Recorder::before(server.address());
    let directory = tempfile::tempdir().expect("a directory");
    let events = directory.path().join("events.jsonl").display().to_string();
    let everything = [("*".to_owned(), "php-getset")];
    let observing = ["--mode", "observe", "--events", &events];
    let guard = GuardProcess::start(&format!("redis://{}/", recorder.address()), &everything, &observing);
    let until = crate::patience::now() + length;
    let fleets: Vec<(Topology, &str)> =
        topologies.iter().flat_map(|topology| PROTOCOLS.map(|protocol| (*topology, protocol))).collect();
    let logs: Vec<(Topology, String, Log)> = thread::scope(|scope| {
        let started: Vec<_> = fleets
            .iter()
            .enumerate()
            .map(|(place, (topology, protocol))| {
                let key = format!("{topology:?}:{protocol}");
                let log = Arc::new(Mutex::new(Log::default()));
                let connections = Arc::new(Connections::new(*topology, guard.address()));
                let workers: Vec<_> = (0..CLIENTS)
                    .map(|number| {
                        let seed = round * 10_000 + place as u64 * 100 + u64::from(number);
                        let worker = Worker::new(number, protocol, &key, seed, log.clone(), connections.clone());
                        scope.spawn(move || worker.run(until))
                    })
                    .collect();
                (*topology, key, log, workers)
            })
            .collect();
        let finish = |(topology, key, log, workers): (
            Topology,
            String,
            Arc<Mutex<Log>>,
            Vec<thread::ScopedJoinHandle<'_, ()>>,
        )| {
            workers.into_iter().for_each(|worker| worker.join().expect("the client goes on"));
            let log = log.lock().expect("no client has panicked").clone();
            (topology, key, log)
        };
        started.into_iter().map(finish).collect()
    });
    let monitored = monitor.take().iter().map(Line::listed).collect();
    let captured = capture_of(&recorder.recorded(), Format::Pcapng, Wire::AsSent);
    // It writes what it still has when it ends.
    guard.terminate();
    let (ended, messages) = guard.done();
    assert!(ended.status.success(), "{messages:?}");
    FleetRun { logs, monitored, captured, observed: std::fs::read_to_string(&events).expect("the guard wrote events") }
}

fn audit_of_capture(bytes: Vec<u8>) -> Audit {
    let (mut auditor, mut number) = (Auditor::new().keeping_episodes(), 0);
    let (statistics, outcome) = capture::read(Box::new(std::io::Cursor::new(bytes)), &mut |exchange| {
        number += 1;
        let client = exchange.client.to_string();
        let source = Source::Client(client.as_bytes());
        let line = lockshift::monitor::Line::new(exchange.at, exchange.database, source, &exchange.command);
        auditor.read_answered(number, &line, exchange.reply.zip(exchange.answered_at));
    });
    outcome.unwrap();
    assert_eq!(statistics.gaps, 0, "{statistics:?}");
    auditor.finish()
}

/// Where the sources of a round are kept in which something certain was wrong: no other round is like it.
const KEPT: &str = env!("CARGO_TARGET_TMPDIR");

fn keep(monitored: &str, captured: &[u8], observed: &str) {
    let sources =
        [("monitor.log", monitored.as_bytes()), ("capture.pcapng", captured), ("events.jsonl", observed.as_bytes())];
    for (name, bytes) in sources {
        std::fs::write(format!("{KEPT}/accuracy-{name}"), bytes).expect("the directory is Cargo's");
    }
}

/// Nothing that is called certain is wrong, no key on which two clients held at once is cleared, and on connections of their
/// own no acquisition is missed.
#[test]
fn nothing_certain_is_wrong_whatever_clients_share() {
    let asked = asked_seconds();
    let sources = ["MONITOR", "capture", "guard's events"];
    let of_topology = |topology| sources.map(|source| (topology, source, Score::default()));
    let mut rows: Vec<_> = Topology::ALL.into_iter().flat_map(of_topology).collect();
    // Many short traces: the audit lists the first findings of a kind, and counts the others.
    for round in 0..asked.unwrap_or(SECONDS).div_ceil(SECONDS) {
        let FleetRun { logs, monitored, captured, observed } = run(&Topology::ALL, round, Duration::from_secs(SECONDS));
        let audits = [written::audit(&monitored), audit_of_capture(captured.clone()), events::audit(&observed)];
        for (topology, source, score) in &mut rows {
            let place = sources.iter().position(|it| it == source).expect("it is one of them");
            let audit = &audits[place];
            for (_, key, log) in logs.iter().filter(|(of, ..)| of == topology) {
                score.add(&scored(key, log, audit));
            }
        }
        if rows.iter().any(|(.., score)| !score.certain_and_wrong.is_empty()) {
            keep(&monitored, &captured, &observed);
            break;
        }
    }
    let table = judge::table(&rows);
    let wrong: Vec<&String> = rows.iter().flat_map(|(.., score)| &score.certain_and_wrong).collect();
    assert!(wrong.is_empty(), "{table}\n{wrong:#?}\nThe sources of the last round are in {KEPT}.");
    let cleared: Vec<_> = rows
        .iter()
        .flat_map(|(_, source, score)| score.false_all_clears.iter().map(move |key| (key, source)))
        .collect();
    assert!(cleared.is_empty(), "{table}\n{cleared:#?}");
    for (topology, source, score) in &rows {
        assert!(score.acquisitions > 0, "{topology:?} by {source}: no client acquired\n{table}");
        if *topology == Topology::Own {
            assert_eq!(score.counted, score.acquisitions, "{source}: acquisitions\n{table}");
        }
    }
    if asked.is_some() {
        write_part("docs/audit.md", "accuracy", &table);
    }
}
