//! The counters of a proxy in OpenMetrics.

use std::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;

use super::counters::{GuardedPattern, PREVENTABLE, UNEXPLAINED};
use super::server_refusal::ServerRefusal;
use super::shared::ProxyShared;
use crate::race_id::RaceId;

/// All metrics as OpenMetrics text.
pub(super) fn text(shared: &ProxyShared) -> String {
    let mut registry = Registry::with_prefix("lockshift_guard");
    let counts = shared.counts();
    for (name, help, value) in counts.rows() {
        registry.register(name, help, ConstCounter::new(value));
    }
    for (name, help, value) in [
        ("open_connections", "Client connections now", counts.open_connections),
        (
            "connections_with_old_settings",
            "Client connections now that have the settings before the latest",
            counts.connections_with_old_settings,
        ),
    ] {
        registry.register(name, help, ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)));
    }
    let guards = Family::<Vec<(&'static str, String)>, Gauge>::default();
    for GuardedPattern { pattern, mode } in &counts.guards {
        guards.get_or_create(&vec![("pattern", pattern.clone()), ("mode", (*mode).to_owned())]).set(1);
    }
    registry.register("guards", "Patterns of keys that are guarded, with the mode", guards);
    let prevented: Vec<_> = PREVENTABLE.iter().map(|race| race.name()).collect();
    let found: Vec<_> = RaceId::ALL.iter().map(|race| race.name()).chain([UNEXPLAINED]).collect();
    let refusals: Vec<_> = ServerRefusal::names().collect();
    for (name, help, label, by_name, all) in [
        ("prevented", "Races that the guard has prevented", "race", &counts.prevented, prevented),
        ("found", "Races found in the commands of observed keys", "race", &counts.found, found),
        (
            "server_refusals",
            "Clients that the server refused, or did not answer once",
            "reason",
            &counts.server_refusals,
            refusals,
        ),
    ] {
        let family = Family::<Vec<(&'static str, &'static str)>, Counter>::default();
        // A counter that begins with its first event has no increase then.
        for value in all {
            drop(family.get_or_create(&vec![(label, value)]));
        }
        for (value, count) in by_name {
            family.get_or_create(&vec![(label, *value)]).inc_by(*count);
        }
        registry.register(name, help, family);
    }
    let help = "How long the guard took to answer a command on a guarded key, in seconds";
    registry.register("answer_seconds", help, shared.answers.clone());
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => text,
        Err(fmt::Error) => unreachable!("a string can always be written to"),
    }
}
