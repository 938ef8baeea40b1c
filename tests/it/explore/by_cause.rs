//! Violations of a rule, by the cause that is to blame.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lockshift::explore::{Bounds, Cause, CauseKind, Client, End, Findings, Grain, Property, Scene, Search};
use lockshift::legacy;
use lockshift::lock::Lease;

const RULES: [Property; 4] =
    [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

/// Three clients on a lock whose owner has died, two of them alike.
fn scene(one: &str, other: &str) -> Scene {
    let lease = Lease::new(std::time::Duration::from_secs(1)).expect("a second is a lease");
    let client = |name: &str| {
        let dialect = legacy::find(name).expect("a row of the catalogue");
        Client::new(name, Arc::new(legacy::Lock::new(dialect, "k".into(), lease)))
    };
    let one = client(one);
    let scene = Scene::new(Bounds::ticks(2)).grain(Grain::Coarse).after_death_of(&one, 9);
    [one.clone(), one, client(other)].into_iter().fold(scene, Scene::client)
}

fn found(search: Search<'_>) -> Findings {
    let found = search.properties(&RULES).run(&mut |_| {});
    assert_eq!(found.end, End::Exhausted);
    found
}

/// What is found: the rule, the cause, and the length of the shortest way.
fn ways(found: &Findings) -> Vec<(Property, Option<Cause>, usize)> {
    found.violations.iter().map(|it| (it.property, it.cause.clone(), it.actions.len())).collect()
}

#[test]
fn the_shortest_of_all_ways_is_the_one_that_is_found_without() {
    for (one, other) in [("jedis-lock", "jedis-lock"), ("setnx-page-del", "jedis-lock"), ("naive-setnx", "naive-setnx")]
    {
        let scene = scene(one, other);
        let shortest: BTreeMap<Property, usize> =
            ways(&found(Search::new(&scene))).into_iter().map(|(property, _, length)| (property, length)).collect();
        let mut of_all: BTreeMap<Property, usize> = BTreeMap::new();
        for (property, _, length) in ways(&found(Search::new(&scene).by_cause(true))) {
            let least = of_all.entry(property).or_insert(length);
            *least = length.min(*least);
        }
        assert_eq!(of_all, shortest, "{one}, {other}");
    }
}

#[test]
fn ways_do_not_depend_on_threads_or_on_the_order_of_clients() {
    let scene = scene("setnx-page-del", "jedis-lock");
    let search = Search::new(&scene).by_cause(true);
    let plain = ways(&found(search));
    assert!(plain.len() > 4, "several ways for a rule: {plain:?}");
    assert_eq!(ways(&found(search.symmetry(true))), plain);
    assert_eq!(ways(&found(search.threads(NonZeroUsize::new(3).expect("not zero")))), plain);
}

/// Who takes over by deleting is to blame for that, beside others who are to blame for something else.
#[test]
fn each_is_blamed_for_what_it_does() {
    let scene = scene("setnx-page-del", "jedis-lock");
    let all = found(Search::new(&scene).by_cause(true).symmetry(true));
    for name in ["setnx-page-del", "jedis-lock"] {
        let theirs = found(Search::new(&scene).caused_by(name).symmetry(true));
        let expected = ways(&all)
            .into_iter()
            .filter(|(_, cause, _)| cause.as_ref().is_some_and(|cause| cause.by.as_deref() == Some(name)))
            .collect::<Vec<_>>();
        assert_eq!(ways(&theirs), expected, "{name}");
        for violation in &theirs.violations {
            let cause = violation.cause.as_ref().expect("some step is to blame");
            let CauseKind::Command { name: command, .. } = &cause.kind else { continue };
            let step = &violation.trace.steps[violation.trace.blame.expect("it is known which")];
            let exchange = step.exchange.as_ref().expect("the server ran it");
            assert!(exchange.command.is(command), "{cause:?}: {}", exchange.command);
            assert_eq!(violation.trace.actors[step.actor.expect("a client")].protocol, name);
        }
    }
    let commands = |name: &str| -> Vec<String> {
        let theirs =
            all.violations.iter().filter_map(|it| it.cause.as_ref().filter(|cause| cause.by.as_deref() == Some(name)));
        let mut commands: Vec<String> = theirs
            .filter_map(|cause| match &cause.kind {
                CauseKind::Command { name: command, .. } => Some(command.clone()),
                _ => None,
            })
            .collect();
        commands.sort();
        commands.dedup();
        commands
    };
    assert_eq!(commands("setnx-page-del"), ["DEL"]);
    assert_eq!(commands("jedis-lock"), ["DEL", "GETSET"]);
}

/// A winner that has yet to receive the reply, or to look at its clock, learns of its lock when another client has deleted it.
#[test]
fn a_client_that_learns_late_of_its_lock_is_not_to_blame_for_its_loss() {
    let lease = Lease::new(std::time::Duration::from_secs(1)).expect("a second is a lease");
    let dialect = legacy::find("setnx-page").expect("a row of the catalogue");
    let client = Client::new("setnx-page", Arc::new(legacy::Lock::new(dialect, "k".into(), lease)));
    let scene = |grain| Scene::new(Bounds::ticks(3)).grain(grain).client(client.clone()).client(client.clone());
    let causes = |grain| {
        let scene = scene(grain);
        let ways = ways(&found(Search::new(&scene).by_cause(true)));
        ways.into_iter().map(|(property, cause, _)| (property, cause)).collect::<Vec<_>>()
    };
    let coarser = causes(Grain::Medium);
    assert!(coarser.iter().any(|(property, _)| *property == Property::LeaseHonoured), "{coarser:?}");
    assert_eq!(causes(Grain::Fine), coarser);
}
