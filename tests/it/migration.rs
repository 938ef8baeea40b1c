//! A whole migration on a real server, as `examples/migration` does it: twenty processes, old locks of two dialects, phase
//! by phase to the token lock, with two steps back, under load; and the same without the bridge. Real PHP and real Java take
//! part where they are prepared; the tests named after them fail otherwise.
//!
//! The witness is the example's: it counts holders on connections and keys of its own, and its work is a read and a write
//! that lose a piece whenever two workers are inside. Nothing here is timed: a phase ends when all workers have acquired.

mod table;

use std::sync::LazyLock;

use lockshift::wire::Key;

use crate::audit::audit;
use crate::examples;
use crate::monitor::{Line, Monitor};
use crate::server::Server;
use table::{Row, is_as_in_the_guide, programs, programs_are_as_in_the_guide, rows, total};

/// The number of workers per job, and of acquisitions per worker and phase.
const PER_JOB: u64 = 10;
const ENOUGH: u64 = 5;

const JOBS: [&str; 2] = ["example:invoices", "example:stock"];

/// Which roles take part in each phase: with the old lock, with the bridge, with the new lock.
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

/// The same behind a guard: with the old lock, with the old lock behind the guard, with the new lock.
const PHASES_BEHIND_GUARD: [(&str, [bool; 3]); 6] = [
    ("legacy", [true, false, false]),
    ("legacy + guard", [true, true, false]),
    ("guard", [false, true, false]),
    ("guard + modern", [false, true, true]),
    ("guard + modern", [false, true, true]),
    ("modern", [false, false, true]),
];

const COMMAND: &str = "cargo run --example migration";
const COMMAND_BEHIND_GUARD: &str = "cargo run --example migration -- --guard";

/// What the server executed in the latest run of the example without a guard, as MONITOR lists it.
const TRACE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/migration-monitor.log");

/// A run of the example on a server of its own.
struct Run {
    printed: String,
    /// What it printed, with its errors.
    log: String,
    has_succeeded: bool,
    lines: Vec<Line>,
    /// For each job, how many holders the witness has inside at the end.
    inside: [i64; 2],
}

impl Run {
    fn of(args: &[&str]) -> Self {
        let server = Server::start();
        let mut monitor = Monitor::on(&server);
        let output = examples::run("migration", args, &server);
        let lines = monitor.take();
        let printed = String::from_utf8(output.stdout).expect("an example prints text");
        let log = format!("{printed}\n{}", String::from_utf8_lossy(&output.stderr));
        let inside = JOBS.map(|job| {
            redis::cmd("GET").arg(format!("{job}:inside")).query(&mut server.connect()).expect("it counted")
        });
        Self { printed, log, has_succeeded: output.status.success(), lines, inside }
    }
}

/// Two tests look at each of these.
static WHOLE: LazyLock<Run> = LazyLock::new(|| Run::of(&[]));
static BEHIND_GUARD: LazyLock<Run> = LazyLock::new(|| Run::of(&["--guard"]));

#[test]
fn a_fleet_moves_and_moves_back_without_a_double_hold() {
    let Run { printed, log, has_succeeded, lines, .. } = &*WHOLE;
    let rows = rows(printed);
    // A process that was delayed for a whole lease has lost its lock, and no protocol could have kept it.
    assert!(*has_succeeded || rows.iter().any(|row| row.late > 0), "{log}");

    is_as_in_the_guide(printed, COMMAND);
    every_phase_excludes(&PHASES, &rows, &WHOLE);
    is_what_the_audit_sees(lines, printed);
}

/// In every phase its roles acquire, no two workers hold at once, and no acquisition is lost.
fn every_phase_excludes(phases: &[(&str, [bool; 3])], rows: &[Row], run: &Run) {
    let Run { printed, log, inside, .. } = run;
    let expected = phases.iter().flat_map(|(phase, roles)| JOBS.map(|job| (*phase, *roles, job)));
    assert_eq!(rows.len(), phases.len() * JOBS.len(), "{log}");
    for (row, (phase, roles, job)) in rows.iter().zip(expected) {
        assert_eq!((row.phase.as_str(), row.job.as_str()), (phase, job), "{log}");
        assert_eq!(row.acquired.map(|times| times > 0), roles, "every role acquires in its phases:\n{log}");
        let fewest = PER_JOB * ENOUGH / if phase.contains('+') { 2 } else { 1 };
        let starved = row.acquired.into_iter().zip(roles).find(|(times, is_there)| *is_there && *times < fewest);
        assert_eq!(starved, None, "{phase}, {job}:\n{log}");
        assert!(
            row.doubles == 0 || row.late > 0,
            "{phase}, {job}: two holders at once, and none of them was late:\n{log}"
        );
        assert!(row.intruded == 0 || phase == "legacy + bridge", "only old clients intrude:\n{log}");
    }
    assert_eq!(*inside, [0, 0], "every holder that entered has left:\n{log}");
    for job in JOBS {
        let in_phases: u64 = rows.iter().filter(|row| row.job == job).flat_map(|row| row.acquired).sum();
        let (acquired, done) = total(printed, job);
        assert!(acquired >= in_phases, "{job}: reports after the last phase are counted at the end:\n{log}");
        assert!(acquired == done || rows.iter().any(|row| row.doubles > 0), "{job}: no acquisition is lost:\n{log}");
    }
}

/// The old workers are the same programs from the first phase to the last; only the address changes.
#[test]
fn a_fleet_moves_behind_a_guard_without_a_change_to_its_clients() {
    let Run { printed, log, has_succeeded, .. } = &*BEHIND_GUARD;
    let rows = rows(printed);
    assert!(*has_succeeded || rows.iter().any(|row| row.late > 0), "{log}");
    is_as_in_the_guide(printed, COMMAND_BEHIND_GUARD);
    every_phase_excludes(&PHASES_BEHIND_GUARD, &rows, &BEHIND_GUARD);
}

/// Which programs acquire, and in which roles: with the old lock, with the bridge or behind the guard, with the new lock.
fn acquiring(run: &Run, job: &str) -> Vec<(String, [bool; 3])> {
    let of_job = programs(&run.printed).into_iter().filter(|program| program.job == job);
    of_job.map(|program| (program.name, program.acquired.map(|times| times > 0))).collect()
}

fn named(expected: [(&str, [bool; 3]); 3]) -> Vec<(String, [bool; 3])> {
    expected.map(|(name, roles)| (name.to_owned(), roles)).to_vec()
}

/// `./test` leaves these out if it cannot prepare PHP.
mod with_phpredis {
    use super::*;

    #[test]
    fn php_is_on_both_sides() {
        let expected = [
            ("locks.php", [true, true, true]),
            ("clients/php", [false, true, true]),
            ("lockshift", [false, true, true]),
        ];
        assert_eq!(acquiring(&WHOLE, JOBS[0]), named(expected), "{}", WHOLE.log);
    }

    #[test]
    fn php_is_guarded_and_beside_the_guard() {
        let expected = [
            ("locks.php", [true, true, true]),
            ("clients/php", [false, false, true]),
            ("lockshift", [false, false, true]),
        ];
        assert_eq!(acquiring(&BEHIND_GUARD, JOBS[0]), named(expected), "{}", BEHIND_GUARD.log);
    }
}

/// And these if it cannot prepare one of the Java clients.
mod with_jedis_lock {
    mod with_lockshift_jedis {
        use super::super::*;

        #[test]
        fn java_is_on_both_sides() {
            let expected = [
                ("jedis-lock", [true, false, false]),
                ("clients/java", [false, true, true]),
                ("lockshift", [false, true, true]),
            ];
            assert_eq!(acquiring(&WHOLE, JOBS[1]), named(expected), "{}", WHOLE.log);
        }

        #[test]
        fn java_is_guarded_and_beside_the_guard() {
            let expected = [
                ("jedis-lock", [true, true, false]),
                ("clients/java", [false, false, true]),
                ("lockshift", [false, false, true]),
            ];
            assert_eq!(acquiring(&BEHIND_GUARD, JOBS[1]), named(expected), "{}", BEHIND_GUARD.log);
        }

        mod with_phpredis {
            use super::*;

            #[test]
            fn the_programs_are_as_in_the_guide() {
                programs_are_as_in_the_guide(&WHOLE.printed, COMMAND);
                programs_are_as_in_the_guide(&BEHIND_GUARD.printed, COMMAND_BEHIND_GUARD);
            }
        }
    }
}

/// The audit sees every acquisition from outside, at the key and with the name of its lock, and finds no race. For a job
/// with a worker that was late or intruded upon, only the names are compared.
///
/// The trace is kept: no other run is like it.
fn is_what_the_audit_sees(lines: &[Line], printed: &str) {
    let trace: String = lines.iter().map(Line::listed).collect();
    std::fs::write(TRACE, &trace).expect("the directory is Cargo's");
    let printed = format!("{printed}\n\nThe trace is in {TRACE}.");
    let audit = audit(&trace);
    for (job, dialect) in JOBS.into_iter().zip(["php-getset", "jedis-lock"]) {
        let rows: Vec<_> = rows(&printed).into_iter().filter(|row| row.job == job).collect();
        // A late worker no longer holds the lock, whatever it believes; what follows differs from run to run.
        let is_well = rows.iter().all(|row| row.late == 0 && row.intruded == 0);
        let keys = [job.to_owned(), format!("{{{job}}}:token")].map(|key| Key::from(key.as_str()));
        let findings: Vec<_> = audit.findings.iter().filter(|finding| keys.contains(&finding.key)).collect();
        assert!(findings.is_empty() || !is_well, "{findings:#?}\n{printed}");
        let by = |role: usize| rows.iter().map(|row| row.acquired[role]).sum::<u64>();
        let (acquired, _) = total(&printed, job);
        let [old, new] = keys.map(|key| audit.locks.iter().find(|lock| lock.key == key).expect("it is locked"));
        // Reports after the last phase are from workers with the new lock.
        let seen = (old.statistics.acquisitions, new.statistics.acquisitions);
        assert!(seen == (by(0) + by(1), acquired - by(0) - by(1)) || !is_well, "{seen:?}\n{printed}");
        let names = [dialect.to_owned(), format!("bridge:{dialect}")];
        assert!(names.iter().all(|name| old.dialects.contains(name)), "{:?}", old.dialects);
        assert!(new.dialects.iter().any(|name| name == "token"), "{:?}", new.dialects);
    }
}

/// The witness can fail: PHP takes a token that sorts below the time, and two workers are inside.
#[test]
fn without_the_bridge_two_workers_hold_at_once() {
    let server = Server::start();
    let output = examples::run("migration", &["--skip-bridge"], &server);
    let printed = String::from_utf8(output.stdout).expect("an example prints text");
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("two workers held a lock at once"), "{printed}");
    let doubled: Vec<Row> = rows(&printed).into_iter().filter(|row| row.doubles > 0).collect();
    assert!(doubled.iter().all(|row| row.phase == "legacy + token" && row.job == JOBS[0]), "{printed}");
    assert!(!doubled.is_empty(), "{printed}");
    is_as_in_the_guide(&printed, "cargo run --example migration -- --skip-bridge");
}
