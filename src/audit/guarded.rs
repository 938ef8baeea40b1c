//! Clients of old dialects behind a guard: the commands that the guard sends to the server in place of theirs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::guard::{Guarded, Lifetime, Rule};
use crate::legacy::{Dialect, Form, Lock, catalogue};
use crate::lock::{Lease, Locker};
use crate::protocols::ModeOfGuard;
use crate::wire::Key;

/// A client of an old dialect behind a guard whose rule names this dialect alone. Which other ones a rule names shows only in
/// what the guard takes for expired.
#[derive(Clone, Debug)]
pub(super) struct GuardedDialect {
    dialect: &'static Dialect,
    kind: GuardKind,
    /// The rule of a guard in protect mode, which those of all kinds are made of.
    base: Arc<OnceLock<Option<Rule>>>,
    rule: Arc<OnceLock<Option<Arc<Rule>>>>,
}

/// What a guard does with the keys of its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GuardKind {
    Protects(Lifetime),
    Bridges,
}

const KINDS: [GuardKind; 3] =
    [GuardKind::Protects(Lifetime::BeyondStamp), GuardKind::Protects(Lifetime::Endless), GuardKind::Bridges];

impl GuardedDialect {
    /// A client of each dialect that may be guarded, behind each kind of guard. To try whether a dialect can be guarded takes
    /// too long for a trace without guards: [`is_spoken`](Self::is_spoken) does.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        catalogue::catalogue().filter(|dialect| Rule::reads_lease_of(dialect)).flat_map(|dialect| {
            let base = Arc::default();
            KINDS.map(|kind| Self { dialect, kind, base: Arc::clone(&base), rule: Arc::default() })
        })
    }

    /// Whether there is such a guard.
    pub(super) fn is_spoken(&self) -> bool {
        self.rule().is_some()
    }

    fn rule(&self) -> Option<&Arc<Rule>> {
        let base = || self.base.get_or_init(|| Rule::new(&[self.dialect], Lifetime::BeyondStamp).ok()).clone();
        let of_kind = |rule: Rule| match self.kind {
            GuardKind::Protects(lifetime) => rule.living(lifetime).ok(),
            GuardKind::Bridges => rule.bridged().ok(),
        };
        self.rule.get_or_init(|| base().and_then(of_kind).map(Arc::new)).as_ref()
    }

    /// Its name.
    pub(super) fn name(&self) -> String {
        let mode = match self.kind {
            GuardKind::Protects(_) => ModeOfGuard::Protect,
            GuardKind::Bridges => ModeOfGuard::Bridge,
        };
        mode.client_of(&[self.dialect.name])
    }

    /// The client's dialect.
    pub(super) fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// The form of the guard's stamp.
    pub(super) fn form(&self) -> Option<Form> {
        self.rule().map(|rule| rule.form())
    }

    /// Whether only its stamp names the end of its lease, to the unit in which that counts.
    pub(super) fn is_timed(&self) -> bool {
        self.kind == GuardKind::Protects(Lifetime::Endless)
    }

    /// For how much longer its key lives than its lease.
    pub(super) fn beyond_lease(&self) -> Duration {
        match self.kind {
            GuardKind::Protects(Lifetime::BeyondStamp) => Lifetime::BEYOND,
            GuardKind::Protects(_) | GuardKind::Bridges => Duration::ZERO,
        }
    }

    /// Its lock on a key, where the guard found a value that this dialect may have written.
    pub(super) fn locker(&self, key: Key, lease: Lease, writer: Option<&'static Dialect>) -> Arc<dyn Locker> {
        let client = Lock::new(self.dialect, key, lease);
        match (self.rule(), writer) {
            (Some(rule), None) => Arc::new(Guarded::new(client, Arc::clone(rule)).renewed()),
            (Some(rule), Some(writer)) => {
                Arc::new(Guarded::new(client, Arc::new(rule.judging_as_well(&[writer]))).renewed())
            }
            // No guard sends what this client would.
            (None, _) => Arc::new(client),
        }
    }
}
