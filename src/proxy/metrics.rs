//! The counters of a proxy in OpenMetrics.

use std::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::counters::ProxyCounts;
use super::session::ProxyShared;

/// A histogram of seconds, from 0.1 ms to 3 s.
pub(super) fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 16))
}

/// All metrics as OpenMetrics text.
pub(super) fn text(shared: &ProxyShared) -> String {
    let mut registry = Registry::with_prefix("lockshift_guard");
    for (name, help, value) in rows(&shared.counters.counts()) {
        registry.register(name, help, ConstCounter::new(value));
    }
    let help = "How long the guard took to answer a command on a guarded key, in seconds";
    registry.register("answer_seconds", help, shared.answers.clone());
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => text,
        Err(fmt::Error) => unreachable!("a string can always be written to"),
    }
}

fn rows(counts: &ProxyCounts) -> [(&'static str, &'static str, u64); 11] {
    let ProxyCounts {
        connections,
        acquired,
        taken_over,
        refused,
        released,
        lost,
        deletions_prevented,
        attempts_while_holding,
        renewed,
        lost_while_holding,
        holders_disconnected,
    } = *counts;
    [
        ("connections", "Client connections", connections),
        ("acquired", "Free locks that were acquired", acquired),
        ("taken_over", "Expired locks that were taken over", taken_over),
        ("refused", "Attempts that were refused", refused),
        ("released", "Locks that were released by their holders", released),
        ("lost", "Releases of locks that had been lost", lost),
        ("deletions_prevented", "DELs of a lock that the client did not hold", deletions_prevented),
        ("attempts_while_holding", "Attempts on a connection that held the lock", attempts_while_holding),
        ("renewed", "Extensions of held locks", renewed),
        ("lost_while_holding", "Held locks that could not be extended", lost_while_holding),
        ("holders_disconnected", "Connections that ended while their client held a lock", holders_disconnected),
    ]
}
