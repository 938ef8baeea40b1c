//! What may change while a proxy runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::counters::ProxyCounters;
use super::guarded_keys::GuardedKeys;
use super::tls::ListenTls;

/// What may change while a proxy runs.
#[derive(Clone, Debug, Default)]
pub struct ProxySettings {
    /// Which keys are guarded, and how.
    pub keys: GuardedKeys,
    /// How long the locks of a living connection are extended; `None` if they are not.
    pub renew_for: Option<Duration>,
    /// How connections of clients are encrypted; `None` if they are not. Whether they are cannot change.
    pub tls: Option<ListenTls>,
}

/// Replaces the settings of a running proxy.
#[derive(Clone, Debug)]
pub struct SettingsHandle {
    pub(super) settings: watch::Sender<Arc<ProxySettings>>,
    pub(super) counters: Arc<ProxyCounters>,
}

impl SettingsHandle {
    /// New connections begin with these settings. A connection that exists takes them over at once, or before a command
    /// once its client holds no lock, has no attempt under way and is outside of a transaction. It stays encrypted, or not,
    /// as it was, and so do new ones: only the certificates can be replaced.
    pub fn replace(&self, mut settings: ProxySettings) {
        let tls = self.settings.borrow().tls.clone();
        if settings.tls.is_some() != tls.is_some() {
            settings.tls = tls;
        }
        self.settings.send_replace(Arc::new(settings));
    }

    /// How many connections have settings that were replaced.
    pub fn connections_with_old_settings(&self) -> u64 {
        with_old_settings(&self.settings, &self.counters)
    }
}

/// How many of these connections have other settings than the latest.
pub(super) fn with_old_settings(settings: &watch::Sender<Arc<ProxySettings>>, counters: &ProxyCounters) -> u64 {
    // Each connection has a copy of its settings, and the sender has one of the latest.
    let copies = Arc::strong_count(&settings.borrow());
    counters.open().saturating_sub(copies as u64 - 1)
}
