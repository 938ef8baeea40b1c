//! A thousand holds of one lock by a fleet of two foreign clients and two of ours, all at once. An independent counter is
//! incremented by every holder and decremented before it releases. While no holder outlasts its lease, it never shows two.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Part;
use crate::ours::Ours;
use crate::patience::{now, pause};
use lockshift::wire::{Command, Reply};
use redis::Connection;

use crate::wire::Redis;

/// Holds of every one of the four.
const CYCLES: usize = 250;
const HOLD: Duration = Duration::from_millis(1);
/// Longer than any hold, short enough for what waits when a release is in vain, as with some old protocols it can be.
const LEASE: Duration = Duration::from_secs(1);

/// Longer than all of it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The observations of one client.
#[derive(Default, Debug)]
struct Seen {
    holds: usize,
    double_holds: usize,
    overruns: usize,
}

pub(super) fn a_thousand_cycles(part: &Part<'_>) {
    let (key, witness) = (part.key("key"), part.key("witness"));
    let question =
        format!("work {} {key} {witness} {CYCLES} {} {}", part.spoken.protocol, HOLD.as_millis(), LEASE.as_millis());
    let theirs = [(); 2].map(|()| part.testbed.session(part.client));
    for session in &theirs {
        session.ask("version");
        session.begin(&question);
    }
    let they_are_done = AtomicBool::new(false);
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let ours = [(); 2].map(|()| scope.spawn(|| work(part, &key, &witness, &they_are_done)));
        let theirs = {
            let _done = Done(&they_are_done);
            theirs.map(|session| Seen::parse(&session.answer(&question)))
        };
        theirs.into_iter().chain(ours.map(|worker| worker.join().expect("it does not panic"))).collect()
    });
    let sum = |count: fn(&Seen) -> usize| seen.iter().map(count).sum::<usize>();
    assert!(sum(|seen| seen.holds) >= 1000, "{seen:?}");
    let is_excused = part.spoken.doubles_by_itself || sum(|seen| seen.overruns) > 0;
    assert!(is_excused || sum(|seen| seen.double_holds) == 0, "{seen:?}");
}

/// Signals our side that the foreign clients have finished or failed.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One of our clients: at least its share, and then until the foreign clients have finished, so that there is always contention.
fn work(part: &Part<'_>, key: &str, witness: &str, they_are_done: &AtomicBool) -> Seen {
    let ours = Ours::new(part.testbed, part.spoken, key, LEASE);
    let mut counter = part.testbed.connect();
    let mut seen = Seen::default();
    let started = now();
    while seen.holds < CYCLES || !they_are_done.load(Ordering::Relaxed) {
        let began = now();
        assert!(began.duration_since(started) < PATIENCE, "only {seen:?} in {PATIENCE:?}");
        if let Some(guard) = ours.acquire() {
            seen.double_holds += usize::from(add(&mut counter, witness, 1) > 1);
            pause(HOLD);
            add(&mut counter, witness, -1);
            seen.overruns += usize::from(began.elapsed() > LEASE);
            drop(guard);
            seen.holds += 1;
        }
        pause(Duration::from_micros(500 + rest(began) % 2000));
    }
    seen
}

fn add(counter: &mut Connection, witness: &str, by: i64) -> i64 {
    match counter.call(&Command::new("INCRBY").arg(witness).arg_int(by)) {
        Reply::Int(inside) => inside,
        other => panic!("INCRBY answers a number, not {other}"),
    }
}

/// A varying pause, so that the clients do not run in step.
fn rest(began: Instant) -> u64 {
    u64::from(began.elapsed().subsec_nanos())
}

impl Seen {
    /// Parses a client's report of its work.
    fn parse(answer: &str) -> Self {
        let words: Vec<_> = answer.split(' ').collect();
        let ["worked", holds, double_holds, overruns] = words[..] else { panic!("it did not work: {answer}") };
        let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("no number: {answer}"));
        Self { holds: number(holds), double_holds: number(double_holds), overruns: number(overruns) }
    }
}
