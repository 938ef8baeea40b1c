//! What all sessions of a proxy share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::sync::watch;
use tokio::time::Instant;

use super::counters::{GuardedPattern, ProxyCounters, ProxyCounts};
use super::event::EventSink;
use super::settings::{ProxySettings, with_old_settings};
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
    /// What was reported once.
    warned_of: Mutex<BTreeSet<String>>,
    last_warnings: Mutex<BTreeMap<&'static str, Instant>>,
}

/// How often something of one kind is reported that every new client meets: at a limit, or without a server, none is served.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// So many different things are reported once each.
const MOST_WARNED_OF: usize = 256;

impl ProxyShared {
    pub(super) fn new(settings: ProxySettings) -> Self {
        Self {
            settings: watch::Sender::new(Arc::new(settings)),
            counters: Arc::default(),
            turns: Turns::default(),
            answers: Histogram::new(exponential_buckets(0.0001, 2.0, 16)),
            sink: None,
            warned_of: Mutex::default(),
            last_warnings: Mutex::default(),
        }
    }

    /// Whether this has not been reported.
    pub(super) fn may_warn_once(&self, of: &str) -> bool {
        let mut warned_of = self.warned_of.lock().unwrap_or_else(PoisonError::into_inner);
        warned_of.len() < MOST_WARNED_OF && warned_of.insert(of.to_owned())
    }

    /// What was counted, and how keys are guarded now.
    pub(super) fn counts(&self) -> ProxyCounts {
        let connections_with_old_settings = with_old_settings(&self.settings, &self.counters);
        let settings = Arc::clone(&self.settings.borrow());
        let guards = settings.keys.patterns().map(|(pattern, treatment)| GuardedPattern {
            pattern: String::from_utf8_lossy(pattern).into_owned(),
            mode: treatment.mode(),
        });
        ProxyCounts { connections_with_old_settings, guards: guards.collect(), ..self.counters.counts() }
    }

    /// Whether it is time to report something of this kind again that every new client meets.
    pub(super) fn may_warn(&self, kind: &'static str) -> bool {
        let mut last = self.last_warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.get(kind).is_none_or(|last| last.elapsed() > WARN_EVERY);
        if is_due {
            last.insert(kind, Instant::now());
        }
        is_due
    }
}
