//! The counters of a proxy in OpenMetrics.

use std::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::session::ProxyShared;

/// A histogram of seconds, from 0.1 ms to 3 s.
pub(super) fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 16))
}

/// All metrics as OpenMetrics text.
pub(super) fn text(shared: &ProxyShared) -> String {
    let mut registry = Registry::with_prefix("lockshift_guard");
    for (name, help, value) in shared.counters.counts().rows() {
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
