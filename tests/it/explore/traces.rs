//! Traces: written, read back, replayed.

use std::sync::LazyLock;

use lockshift::explore::{Bounds, Grain, Mismatch, Property, Scene, Trace};
use lockshift::sim::{Flavour, Server};
use lockshift::wire::Reply;

use super::locks::{getset, token};
use super::{crowd, search};

/// Traces of every kind: fine and coarse, with a start state, with a failover.
fn traces() -> &'static [(Scene, Trace)] {
    static TRACES: LazyLock<Vec<(Scene, Trace)>> = LazyLock::new(found);
    &TRACES
}

fn found() -> Vec<(Scene, Trace)> {
    let getset = crowd(&getset(2), 3, Bounds::ticks(3));
    let owner = getset.clients[0].clone();
    let after_death = getset.clone().grain(Grain::Coarse).after_death_of(&owner, 3);
    let failover = crowd(&token(2), 2, Bounds::ticks(0).failovers(1));
    let found = [getset, after_death, failover].map(|scene| {
        let violations = search(&scene, &Property::ALL[..6]).violations;
        violations.into_iter().map(move |violation| (scene.clone(), violation.trace)).collect::<Vec<_>>()
    });
    found.concat()
}

#[test]
fn a_trace_is_written_and_read_back() {
    let traces = traces();
    assert!(traces.len() > 8, "{}", traces.len());
    for (_, trace) in traces {
        let json = serde_json::to_string_pretty(&trace).unwrap();
        assert_eq!(&serde_json::from_str::<Trace>(&json).unwrap(), trace, "{json}");
    }
}

#[test]
fn a_trace_is_replayed_without_the_protocol() {
    for (_, trace) in traces() {
        let failover = trace.steps.iter().position(|step| trace.name_of(step) == "server");
        let replayed = trace.replay(&mut Server::new(Flavour::Redis70));
        assert_eq!(replayed, failover.map_or(Ok(()), |step| Err(Mismatch::FailOver(step))));
    }
}

#[test]
fn a_schedule_is_described_again_in_the_same_words() {
    for (scene, trace) in traces() {
        let actions: Vec<_> = trace.steps.iter().map(|step| step.action).collect();
        assert_eq!(&scene.narrate(trace.property, &actions), trace);
    }
}

#[test]
fn a_reply_that_was_tampered_with_is_noticed() {
    let (_, mut trace) = traces()[0].clone();
    let exchange = trace.steps.iter_mut().rev().find_map(|step| step.exchange.as_mut()).unwrap();
    exchange.reply = Reply::Int(99);
    assert!(matches!(trace.replay(&mut Server::new(Flavour::Redis70)), Err(Mismatch::Reply { .. })));
}

#[test]
fn keys_and_beliefs_carry_over_from_step_to_step() {
    for (_, trace) in traces() {
        let same_time = trace.steps.windows(2).filter(|pair| pair[0].at_ms == pair[1].at_ms);
        same_time.for_each(|pair| assert_eq!(pair[0].after, pair[1].before));
    }
}

/// Traces that an earlier version wrote, in which what a step meant was a sentence.
#[test]
fn traces_of_version_1_are_read_as_the_same_values() {
    let old: Vec<Trace> = serde_json::from_str(include_str!("version-1.json")).unwrap();
    let known = |trace: &&Trace| traces().iter().any(|(_, found)| found == *trace);
    assert!(old.iter().filter(known).count() >= 2, "the same schedules are found today");
    for trace in &old {
        assert_eq!(trace.version, Trace::VERSION);
        let json = serde_json::to_string(trace).unwrap();
        assert_eq!(&serde_json::from_str::<Trace>(&json).unwrap(), trace);
    }
}

#[test]
fn traces_of_a_version_to_come_are_rejected() {
    let (_, trace) = &traces()[0];
    let mut json = serde_json::to_value(trace).unwrap();
    json["version"] = 3.into();
    let error = serde_json::from_value::<Trace>(json).unwrap_err().to_string();
    assert!(error.contains("version 3 of a trace is not supported"), "{error}");
}
