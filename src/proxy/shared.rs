//! What all sessions of a proxy share.

use std::sync::Arc;

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::sync::watch;

use super::counters::ProxyCounters;
use super::event::EventSink;
use super::settings::ProxySettings;
use super::turns::Turns;

/// What all sessions share.
pub(super) struct ProxyShared {
    pub(super) settings: watch::Sender<Arc<ProxySettings>>,
    pub(super) counters: Arc<ProxyCounters>,
    pub(super) turns: Turns,
    /// How long answers to guarded commands take, in seconds: buckets from 0.1 ms to 3 s.
    pub(super) answers: Histogram,
    /// Where events are reported.
    pub(super) sink: Option<EventSink>,
}

impl ProxyShared {
    pub(super) fn new(settings: ProxySettings) -> Self {
        Self {
            settings: watch::Sender::new(Arc::new(settings)),
            counters: Arc::default(),
            turns: Turns::default(),
            answers: Histogram::new(exponential_buckets(0.0001, 2.0, 16)),
            sink: None,
        }
    }
}
