//! What each kind of client would do about a key that holds this value.

use std::time::Duration;

use super::member::{Member, MigrationKey, TYPICAL};
use crate::bridge::OldKey;
use crate::legacy::{Dialect, Keys, Lock, Looks, Missing, Takeover};
use crate::protocols::KeyType;
use crate::wire::{Key, MonoTime, Reading, UnixTime};

/// A kind of client, and what it would do about the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The kind of client.
    pub member: Member,
    /// What it would do now.
    pub now: Reaction,
    /// What it would do in a hundred years, if the value were still there.
    pub at_last: Reaction,
}

/// What a client does about a key that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// Takes the lock: it reads the value as expired.
    Take,
    /// Waits: it reads the value as live.
    Wait,
    /// Ends with an error: it cannot read the value.
    Fail,
    /// Waits for the key to go: it never reads values.
    WaitForTheKeyToGo,
}

/// What each of these would do about this value.
pub(super) fn readers(
    value: &[u8],
    place: MigrationKey,
    now: UnixTime,
    asked: impl IntoIterator<Item = Member>,
) -> Vec<Reader> {
    // The uptime of hosts that count by it is unknown. One that has run for long takes what others wait for.
    let now = Reading { wall: now, mono: MonoTime::since_origin(LONG_UPTIME) };
    let at_last = Reading { wall: now.wall.saturating_add(FOR_EVER), mono: now.mono.saturating_add(FOR_EVER) };
    let reader = |member: Member| {
        let would = |at| match (member.old_key(), member.protocol().dialect()) {
            (Some(old_key), _) if place == MigrationKey::OldKey => Reaction::by(old_key, value, at),
            (Some(_), _) => Reaction::WaitForTheKeyToGo,
            // It looks at its other key, and takes over in the end, when that has expired.
            (None, Some(dialect)) if dialect.keys == Keys::OwnerAndExpiry && dialect.form.matches(value) => {
                if at == at_last { Reaction::Take } else { Reaction::WaitForTheKeyToGo }
            }
            (None, Some(dialect)) => Reaction::of(dialect, value, at),
            // Its commands are those of another type.
            (None, None) if member.protocol().key_type() != KeyType::String => Reaction::Fail,
            (None, None) => Reaction::WaitForTheKeyToGo,
        };
        Reader { now: would(now), at_last: would(at_last), member }
    };
    asked.into_iter().map(reader).collect()
}

impl Reaction {
    /// That of a bridge or a guard, which judges the value and replaces exactly that.
    fn by(old_key: &OldKey, value: &[u8], at: Reading) -> Self {
        match old_key.looks(value, at) {
            Looks::Expired => Self::Take,
            Looks::Live => Self::Wait,
            Looks::Raised => Self::WaitForTheKeyToGo,
        }
    }

    fn of(dialect: &'static Dialect, value: &[u8], at: Reading) -> Self {
        let Some(look) = dialect.look else {
            // One that overwrites what it has not seen may lose by the verdict on the old value. Its own stamp is there then, and
            // loses against the next attempt, a second later.
            return if dialect.takeover == Takeover::Never { Self::WaitForTheKeyToGo } else { Self::Take };
        };
        let lock = Lock::new(dialect, Key::from(""), TYPICAL);
        if lock.is_absent(value) {
            return match look.missing {
                Missing::Expired => Self::take(dialect),
                Missing::ClaimAgain | Missing::ClaimOnce | Missing::GiveUp => Self::WaitForTheKeyToGo,
                Missing::Raises => Self::Fail,
            };
        }
        match lock.looks(value, at) {
            Looks::Expired => Self::take(dialect),
            Looks::Live => Self::Wait,
            Looks::Raised => Self::Fail,
        }
    }

    /// What a client does about a lock that it finds expired.
    fn take(dialect: &Dialect) -> Self {
        match dialect.takeover {
            Takeover::Never => Self::WaitForTheKeyToGo,
            Takeover::Raises => Self::Fail,
            Takeover::Getset(_)
            | Takeover::WatchedSet
            | Takeover::DelThenSetnx
            | Takeover::Set
            | Takeover::SetPx
            | Takeover::Setex
            | Takeover::WithoutWriting => Self::Take,
        }
    }
}

/// A year: few hosts run for longer.
const LONG_UPTIME: Duration = Duration::from_secs(365 * 86_400);

/// Longer than any lease.
const FOR_EVER: Duration = Duration::from_secs(101 * 365 * 86_400);
