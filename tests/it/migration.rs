//! A whole migration on a real server, as `examples/migration` makes it: twenty processes, old locks of two dialects, phase
//! by phase to the token lock, twice a phase back, under load; and what comes of it without the bridge.
//!
//! The witness is the example's: it counts who is inside on connections and keys of its own, and its work is a
//! read-and-write that loses a piece whenever two are inside. Nothing here is timed: a phase is over when everybody has
//! acquired in it.

mod table;

use lockshift::wire::Key;

use crate::audit::audit;
use crate::examples;
use crate::monitor::{Line, Monitor};
use crate::server::Server;
use table::{Row, is_as_in_the_guide, rows, total};

/// How many workers do each job, and how often each acquires in every phase.
const PER_JOB: u64 = 10;
const ENOUGH: u64 = 5;

const JOBS: [&str; 2] = ["example:invoices", "example:stock"];

/// Who is there, in order.
const PHASES: [(&str, [bool; 3]); 9] = [
    ("legacy", [true, false, false]),
    ("legacy + bridge", [true, true, false]),
    ("legacy", [true, false, false]),
    ("legacy + bridge", [true, true, false]),
    ("bridge", [false, true, false]),
    ("bridge + modern", [false, true, true]),
    ("bridge", [false, true, false]),
    ("bridge + modern", [false, true, true]),
    ("modern", [false, false, true]),
];

#[test]
fn a_fleet_moves_and_moves_back_and_nobody_notices() {
    let server = Server::start();
    let mut monitor = Monitor::on(&server);
    let output = examples::run("migration", &[], &server);
    let lines = monitor.take();
    let told = String::from_utf8(output.stdout).expect("an example prints text");
    let log = format!("{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let rows = rows(&told);
    // A process that was held up for a whole lease has lost its lock, and no protocol could have kept it.
    assert!(output.status.success() || rows.iter().any(|row| row.late > 0), "{log}");

    let expected = PHASES.iter().flat_map(|(phase, roles)| JOBS.map(|job| (*phase, *roles, job)));
    is_as_in_the_guide(&told, "cargo run --example migration");
    assert_eq!(rows.len(), PHASES.len() * JOBS.len(), "{log}");
    for (row, (phase, roles, job)) in rows.iter().zip(expected) {
        assert_eq!((row.phase.as_str(), row.job.as_str()), (phase, job), "{log}");
        assert_eq!(row.acquired.map(|times| times > 0), roles, "every role acquires in its phases:\n{log}");
        let fewest = PER_JOB * ENOUGH / if phase.contains('+') { 2 } else { 1 };
        let starved = row.acquired.into_iter().zip(roles).find(|(times, is_there)| *is_there && *times < fewest);
        assert_eq!(starved, None, "{phase}, {job}:\n{log}");
        assert!(row.doubles == 0 || row.late > 0, "{phase}, {job}: two at once, and nobody was late:\n{log}");
        assert!(row.intruded == 0 || phase == "legacy + bridge", "only old clients intrude:\n{log}");
    }
    for job in JOBS {
        let inside: i64 = redis::cmd("GET").arg(format!("{job}:inside")).query(&mut server.connect()).unwrap();
        assert_eq!(inside, 0, "whoever went in came out:\n{log}");
        let in_phases: u64 = rows.iter().filter(|row| row.job == job).flat_map(|row| row.acquired).sum();
        let (acquired, done) = total(&told, job);
        assert!(acquired >= in_phases, "{job}: what the last phase left unsaid comes at the end:\n{log}");
        assert!(acquired == done || rows.iter().any(|row| row.doubles > 0), "{job}: no acquisition is lost:\n{log}");
    }
    // Whoever is late is nobody's holder any more, whatever he believes: what follows from that is not the same each time.
    let is_well = rows.iter().all(|row| row.late == 0 && row.intruded == 0);
    is_what_the_audit_sees(&lines, &told, is_well);
}

/// From outside, by nothing but what the workers said: every acquisition, at the key and by the name of its lock, and nothing
/// wrong with any. Where not all was well, the names.
fn is_what_the_audit_sees(lines: &[Line], told: &str, is_well: bool) {
    let audit = audit(&lines.iter().map(Line::listed).collect::<String>());
    assert!(audit.findings.is_empty() || !is_well, "{:#?}\n{told}", audit.findings);
    for (job, dialect) in JOBS.into_iter().zip(["php-getset", "jedis-lock"]) {
        let rows: Vec<_> = rows(told).into_iter().filter(|row| row.job == job).collect();
        let by = |role: usize| rows.iter().map(|row| row.acquired[role]).sum::<u64>();
        let (acquired, _) = total(told, job);
        let at =
            |key: String| audit.locks.iter().find(|lock| lock.key == Key::from(key.as_str())).expect("it is locked");
        let (old, new) = (at(job.to_owned()), at(format!("{{{job}}}:token")));
        // What the last phase left unsaid was said by those with the new lock.
        let seen = (old.tally.acquisitions, new.tally.acquisitions);
        assert!(seen == (by(0) + by(1), acquired - by(0) - by(1)) || !is_well, "{seen:?}\n{told}");
        let names = [dialect.to_owned(), format!("bridge:{dialect}")];
        assert!(names.iter().all(|name| old.dialects.contains(name)), "{:?}", old.dialects);
        assert!(new.dialects.iter().any(|name| name == "token"), "{:?}", new.dialects);
    }
}

/// What the witness is there for: PHP takes a token that sorts below the time, and two are inside.
#[test]
fn without_the_bridge_two_hold_at_once() {
    let server = Server::start();
    let output = examples::run("migration", &["--skip-bridge"], &server);
    let told = String::from_utf8(output.stdout).expect("an example prints text");
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("two have held a lock at once"), "{told}");
    let doubled: Vec<Row> = rows(&told).into_iter().filter(|row| row.doubles > 0).collect();
    assert!(doubled.iter().all(|row| row.phase == "legacy + token" && row.job == JOBS[0]), "{told}");
    assert!(!doubled.is_empty(), "{told}");
    is_as_in_the_guide(&told, "cargo run --example migration -- --skip-bridge");
}
