//! The options of a modern lock and their values. An option that is not given has the first value of its setting.

use std::num::{NonZeroU8, NonZeroU32};

use super::super::setting::Setting;
use crate::lock::Mode;
use crate::modern::redisson::Kind;
use crate::modern::{Native, Publish, Timing};

/// The given options with their values.
pub(in crate::protocols) struct Options<'a>(&'a [(String, String)]);

/// The number of independent servers of a lock.
pub(in crate::protocols) const SERVERS: Setting =
    Setting::of("servers", &["1", "2", "3", "4", "5", "6", "7", "8", "9"]);

/// The kinds of Redisson's locks.
pub(super) const REDISSON_KINDS: &[&str] = &["lock", "fenced", "spin", "non-reentrant", "fair", "fair-non-reentrant"];

impl<'a> Options<'a> {
    /// These options, all of which the lock's settings allow.
    pub(in crate::protocols) fn given(options: &'a [(String, String)]) -> Self {
        Self(options)
    }

    /// Whether this setting has this value.
    pub(super) fn is(&self, setting: &str, word: &str) -> bool {
        self.word(setting) == Some(word)
    }

    /// The number of independent servers of the lock.
    pub(super) fn servers(&self) -> NonZeroU8 {
        self.word(SERVERS.name).and_then(|word| word.parse().ok()).unwrap_or(NonZeroU8::MIN)
    }

    /// The number of holders at once.
    pub(super) fn permits(&self) -> NonZeroU32 {
        self.word("permits").and_then(|word| word.parse().ok()).unwrap_or(NonZeroU32::MIN)
    }

    /// The side of a read/write lock.
    pub(super) fn mode(&self) -> Mode {
        if self.is("side", "reader") { Mode::Shared } else { Mode::Exclusive }
    }

    /// The option of SET that sends the lease.
    pub(super) fn timing(&self) -> Timing {
        match self.word("expiry") {
            Some("ex") => Timing::Ex,
            Some("pxat") => Timing::PxAt,
            Some("exat") => Timing::ExAt,
            Some("none") => Timing::None,
            Some(_) | None => Timing::Px,
        }
    }

    /// The server's native compare commands.
    pub(super) fn native(&self) -> Native {
        match self.word("native") {
            Some("redis-8.4") => Native::REDIS_8_4,
            Some("valkey-8.1") => Native::VALKEY_8_1,
            Some("valkey-9.0") => Native::VALKEY_9_0,
            Some(_) | None => Native::NONE,
        }
    }

    /// The command that publishes a release, for locks that always publish.
    pub(super) fn publish(&self) -> Publish {
        self.announced().unwrap_or_default()
    }

    /// The command that publishes a release; `None` if it is not published.
    pub(super) fn announced(&self) -> Option<Publish> {
        match self.word("announce") {
            Some("publish") => Some(Publish::Everywhere),
            Some("spublish") => Some(Publish::InSlot),
            Some(_) | None => None,
        }
    }

    /// The kind of Redisson's exclusive lock; `None` for the fair kinds.
    pub(super) fn redisson_kind(&self) -> Option<Kind> {
        match self.word("kind") {
            Some("fenced") => Some(Kind::Fenced),
            Some("spin") => Some(Kind::Spin),
            Some("non-reentrant") => Some(Kind::NonReentrant),
            Some("fair" | "fair-non-reentrant") => None,
            Some(_) | None => Some(Kind::Reentrant),
        }
    }

    fn word(&self, setting: &str) -> Option<&'a str> {
        self.0.iter().find(|(name, _)| name == setting).map(|(_, word)| word.as_str())
    }
}
