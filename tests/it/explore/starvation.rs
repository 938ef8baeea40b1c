//! Which locks let every waiter acquire, under weakly fair scheduling: the table of `docs/waiting.md`.

use std::sync::Arc;
use std::time::Duration;

use lockshift::explore::{Bounds, Client, End, Findings, Grain, NotForAllTime, Property, Scene, Times};
use lockshift::lock::{Lease, Locker};
use lockshift::protocols::{Choice, Generation, catalogue};

use super::search;
use crate::golden::golden;

const PAGE: &str = "docs/waiting.md";
const BEGIN: &str = "<!-- starvation -->\n";
const END: &str = "<!-- end of starvation -->";

/// Clients that acquire again and again, work for a tick, try again every tick, and may crash.
fn contending(protocol: &str, clients: usize, crashes: u8) -> Result<Findings, NotForAllTime> {
    let choice: Choice = protocol.parse().expect("it is a protocol");
    let locker: Arc<dyn Locker> = choice.locker("k".into(), Lease::new(Duration::from_secs(2)).unwrap());
    let client = Client::new(protocol, locker);
    let client = Client { rounds: Times::Forever, prompt: true, work: 1, pause: 1, ..client };
    let scene = Scene::new(Bounds::ticks(0).crashes(crashes)).grain(Grain::Coarse).servers(choice.servers());
    let scene = (0..clients).fold(scene, |scene, _| scene.client(client.clone()));
    let scene = scene.finely_timed().and_then(Scene::for_all_time)?;
    Ok(search(&scene, &[Property::EveryWaiterAcquires]))
}

#[test]
fn which_modern_locks_let_every_waiter_acquire_is_as_documented() {
    let mut table = "| lock | clients | states | every waiter acquires |\n|---|---|---|---|\n".to_owned();
    let modern = catalogue().filter(|protocol| protocol.generation() == Generation::Modern);
    let names = modern.map(|protocol| protocol.name()).chain(["token,announce=publish", "redisson,kind=fair"]);
    for name in names {
        let (name, clients) = match name {
            "redlock" => ("redlock,servers=3", 2),
            "redisson,kind=fair" => (name, 2),
            name => (name, 3),
        };
        let found = match contending(name, clients, 0) {
            Ok(found) => found,
            Err(why) => {
                table += &format!("| `{name}` | {clients} | - | not decided: {why} |\n");
                continue;
            }
        };
        assert_eq!((found.end, found.unjudged), (End::Exhausted, vec![]), "{name}");
        let verdict = match found.violations.first() {
            None => "yes".to_owned(),
            Some(violation) => {
                let cycle = violation.trace.cycle.expect("a waiter starves in a cycle");
                let steps = violation.actions.len();
                format!("no: after {} steps, {} repeat for ever", cycle.from, steps - cycle.from)
            }
        };
        table += &format!("| `{name}` | {clients} | {} | {verdict} |\n", found.states);
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/waiting.md")).unwrap();
    let (head, rest) = page.split_once(BEGIN).expect("the page has the table");
    let (_, tail) = rest.split_once(END).expect("the table has an end");
    golden(PAGE, &format!("{head}{BEGIN}{table}{END}{tail}"));
}

#[test]
fn a_waiter_that_crashes_lets_no_other_waiter_starve_in_the_queue() {
    let found = contending("fair", 3, 1).unwrap();
    assert_eq!((found.end, found.violations.len()), (End::Exhausted, 0), "{:?}", found.violations);
}

/// A schedule that starves a client can be played, and its last steps again and again.
#[test]
fn the_steps_of_a_starving_schedule_repeat() {
    let found = contending("token", 2, 0).unwrap();
    let trace = &found.violations[0].trace;
    let cycle = trace.cycle.unwrap();
    let moves = |who: usize| trace.steps[cycle.from..].iter().any(|step| step.actor == Some(who));
    assert!(moves(0) && moves(1), "every client goes on: {trace:?}");
    let (first, last) = (&trace.steps[cycle.from].before, &trace.steps.last().unwrap().after);
    let holders = |beliefs: &[Option<_>]| beliefs.iter().map(Option::is_some).collect::<Vec<_>>();
    assert_eq!(holders(&first.beliefs), holders(&last.beliefs));
    assert_eq!(first.keys, last.keys);
    assert!(trace.steps[cycle.from..].iter().all(|step| step.after.beliefs[cycle.starving].is_none()));
}
