//! How fast the explorer is, beside others that go through the same states.
//!
//! Three clients of a GETSET lock, every clock reading, command and reply a step of its own, ticks and one crash. Each
//! engine sees every world. `stateright` is given the very same scene and has to run protocol and server at every step;
//! SPIN, where it is installed, gets a model of it by hand (`benches/spin/getset.pml`) and runs neither. All of them must
//! count the same states and come to the same verdict.
//!
//! What to expect, as ratios within one run, seen on two cores that others used too: 25 to 50 times the states a second of
//! `stateright` on as many threads, with symmetry done 150 to 280 times sooner, 26 to 31 bytes a world; 1.2 to 2.7 times
//! the states a second of SPIN, which takes 56 bytes.
//!
//! ```text
//! cargo bench --bench explore                  # four ticks
//! cargo bench --bench explore -- 5             # five
//! cargo bench --bench explore -- tokens 6      # three to six clients of the token lock, six ticks, one crash
//! ```

mod spin;
mod stateright;

use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::host;
use lockshift::explore::{Bounds, Client, End, Findings, Scene, Search};
use lockshift::legacy::catalogue::redis_page::SETNX_PAGE;
use lockshift::legacy::{Candidate, Dialect, Lock, Release};
use lockshift::lock::{Lease, Locker};
use lockshift::modern::TokenLock;
use lockshift::wire::Key;

/// The lock of the SETNX page as most have written it: one stamp for SETNX and GETSET, plain DEL.
static GETSET: Dialect = Dialect { name: "getset", candidate: Candidate::Same, release: Release::Del, ..SETNX_PAGE };

const CLIENTS: usize = 3;
const LEASE_SECS: u64 = 2;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [word, most] = &words[..]
        && word == "tokens"
    {
        return tokens(most.parse().expect("tokens takes a number of clients"));
    }
    let ticks = words.iter().find_map(|word| word.parse().ok()).unwrap_or(4);
    let scene = scene(ticks);
    println!("{CLIENTS} clients, lease {LEASE_SECS}, {ticks} ticks, 1 crash\n");
    println!("{:32} {:>10} {:>8} {:>10} {:>6} {:>9}", "", "states", "s", "states/s", "bytes", "violation");
    for threads in [1, 2] {
        let theirs = Row::of_stateright(&scene, threads);
        theirs.print();
        let ours = Row::of_search(&scene, threads, false);
        ours.print();
        assert_eq!(
            (ours.states, ours.violation),
            (theirs.states, theirs.violation),
            "the same states, the same verdict"
        );
        let symmetric = Row::of_search(&scene, threads, true);
        symmetric.print();
        println!(
            "{:32} {:.1} times the states a second; with symmetry {:.1} times sooner done\n",
            "",
            ours.pace() / theirs.pace(),
            theirs.secs / symmetric.secs
        );
    }
    match spin::run(CLIENTS, LEASE_SECS, ticks) {
        Ok(found) => {
            let ours = Row::of_search(&scene, 1, false);
            let theirs = Row::of_spin(&found);
            theirs.print();
            assert_eq!((ours.states, ours.violation), (theirs.states, theirs.violation), "by hand the same");
            println!("{:32} {:.1} times the states a second, on one thread", "", ours.pace() / theirs.pace());
        }
        Err(why) => println!("SPIN: {why}"),
    }
}

/// How far the explorer gets with clients of the token lock that only their names tell apart, and what a reduction saves, or
/// bits in 128 MiB.
fn tokens(most: usize) {
    const TICKS: u16 = 6;
    println!(
        "| clients | | states | s, 1 thread | s, 2 threads | ratio | bytes a state | MiB |\n|---|---|---|---|---|---|---|---|"
    );
    for clients in 3..=most {
        let lease = Lease::new(Duration::from_secs(LEASE_SECS)).expect("two seconds are a lease");
        let locker: Arc<dyn Locker> = Arc::new(TokenLock::new(Key::from("k"), lease));
        let client = Client::new("token", locker);
        let scene =
            (0..clients).fold(Scene::new(Bounds::ticks(TICKS).crashes(1)), |scene, _| scene.client(client.clone()));
        for (kind, reduced, hashed_to, end) in [
            ("", false, None, End::Exhausted),
            ("hashed", false, Some(128 << 20), End::Hashed),
            ("reduced", true, None, End::Exhausted),
        ] {
            let run = |threads: usize| {
                let threads = threads.try_into().expect("one or two");
                let search = Search::new(&scene).threads(threads).symmetry(true).reduced(reduced).hashed_to(hashed_to);
                timed(|| search.run(&mut |_| ()))
            };
            let ((one, one_secs), (two, two_secs)) = (run(1), run(2));
            assert_eq!((one.states, one.end, one.violations.len()), (two.states, end, 0));
            println!(
                "| {clients} | {kind} | {} | {one_secs:.2} | {two_secs:.2} | {:.2} | {} | {} |",
                one.states,
                one_secs / two_secs,
                one.bytes / one.states,
                one.bytes >> 20,
            );
        }
    }
}

fn scene(ticks: u16) -> Scene {
    let lease = Lease::new(Duration::from_secs(LEASE_SECS)).expect("two seconds are a lease");
    let locker: Arc<dyn Locker> = Arc::new(Lock::new(&GETSET, Key::from("k"), lease));
    let client = Client::new(GETSET.name, locker);
    let empty = Scene::new(Bounds::ticks(ticks).crashes(1));
    (0..CLIENTS).fold(empty, |scene, _| scene.client(client.clone()))
}

/// What one engine has done.
struct Row {
    name: String,
    states: usize,
    secs: f64,
    bytes: Option<usize>,
    violation: Option<bool>,
}

impl Row {
    fn of_search(scene: &Scene, threads: usize, symmetry: bool) -> Self {
        let threads = threads.try_into().expect("one or two");
        let search = Search::new(scene).threads(threads).symmetry(symmetry);
        let (found, secs): (Findings, f64) = timed(|| search.run(&mut |_| ()));
        Self {
            name: format!("lockshift, {}{}", on(threads.get()), if symmetry { ", symmetry" } else { "" }),
            states: found.states,
            secs,
            bytes: Some(found.bytes / found.states),
            violation: Some(!found.violations.is_empty()),
        }
    }

    fn of_stateright(scene: &Scene, threads: usize) -> Self {
        let ((states, violation), secs) = timed(|| stateright::count(scene.clone(), threads));
        let name = format!("stateright BFS, {}", on(threads));
        Self { name, states, secs, bytes: None, violation: Some(violation) }
    }

    fn of_spin(found: &spin::Found) -> Self {
        let spin::Found { states, violation, bytes, secs } = *found;
        Self { name: "SPIN, by hand".to_owned(), states, secs, bytes: Some(bytes), violation: Some(violation) }
    }

    fn pace(&self) -> f64 {
        self.states as f64 / self.secs
    }

    fn print(&self) {
        let bytes = self.bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
        let violation = self.violation.map(|found| if found { "found" } else { "none" }).unwrap_or_default();
        let Self { name, states, secs, .. } = self;
        println!("{name:32} {states:>10} {secs:>8.3} {:>10.0} {bytes:>6} {violation:>9}", self.pace());
    }
}

fn on(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = host::mono();
    let done = work();
    (done, host::mono().saturating_since(start).as_secs_f64())
}
