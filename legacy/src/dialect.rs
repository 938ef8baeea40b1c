//! A dialect: what a client writes, how it judges what others wrote, and what it does in each case, as one value on each
//! of a closed set of axes. It is data and does nothing itself.

mod claim;
mod describe;
mod digits;
mod family;
mod form;
mod key_name;
mod look;
mod refresh;
mod refusal;
mod release;
mod retry;
mod stamp;
mod takeover;
mod ttl;

use lockshift_wire::UnixTime;

use crate::Reader;

pub use claim::{Claim, Keys, Words};
pub use digits::Digits;
pub use family::{Family, Language};
pub use form::{Form, Part};
pub use key_name::KeyName;
pub use look::{Absent, Judged, Live, Look, LookOrder, Looks, Missing, Presence, Test, Unreadable, Watch};
pub use refresh::Refresh;
pub use refusal::OnError;
pub use release::{Check, Release, Script};
pub use retry::{Limit, Pause, Retry};
pub use stamp::{Clock, Moment, Now, Stamp, Unit};
pub use takeover::{Candidate, Loser, OldNil, Rule, Takeover, Verdict};
pub use ttl::{Lifetime, Ttl};

/// One lock implementation as data. [`Lock`](crate::Lock) runs all of them and never asks a row for its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// The stable name: what the command line, traces and reports call it.
    pub name: &'static str,
    /// Other names and implementations that behave the same on the wire.
    pub also: &'static [&'static str],
    /// The wire dialect that it belongs to.
    pub family: Family,
    /// The language of the implementation.
    pub language: Language,
    /// Where the row was read: article or repository, file, versions.
    pub source: &'static str,
    /// How it makes a key of the name that its caller gives.
    pub key: KeyName,
    /// One key, or an owner and an expiry beside each other.
    pub keys: Keys,
    /// What is written into the key.
    pub form: Form,
    /// The unit in which callers give the lease; leases are rounded up to it.
    pub lease_unit: Unit,
    /// Whose clock is asked.
    pub clock: Clock,
    /// The first command of an attempt.
    pub claim: Claim,
    /// How the value in the key is judged; `None` if the client never looks.
    pub look: Option<Look>,
    /// How an expired lock is taken.
    pub takeover: Takeover,
    /// Which value is written after the first claim of an attempt was refused.
    pub candidate: Candidate,
    /// What the loser of a takeover does about the value it has overwritten.
    pub loser: Loser,
    /// Which TTL the key is given, and when.
    pub ttl: Ttl,
    /// How a holder extends its lock.
    pub refresh: Refresh,
    /// How the lock is released.
    pub release: Release,
    /// How long the implementation sleeps between attempts, and how many it makes.
    pub retry: Retry,
    /// What its client library makes of an error reply.
    pub on_error: OnError,
}

impl Dialect {
    /// The reader of stored values; `None` if the client never looks.
    pub fn reader(&self) -> Option<Reader> {
        self.look.map(|look| look.reader)
    }

    /// Whether `name` is this row's name, or one of the others it goes by.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.also.contains(&name)
    }

    /// When the lock with this value expires, on the wall clock: its stamp, margin included. `None` for values of another
    /// form, and for dialects whose stamps are not such a moment.
    pub fn expires_at(&self, value: &[u8]) -> Option<UnixTime> {
        match (self.form.stamp.moment, self.clock) {
            (Moment::Expiry, Clock::Local | Clock::Server) => {
                self.form.read(value).map(|number| self.form.stamp.moment_of(number))
            }
            (Moment::Acquisition, _) | (_, Clock::Uptime) => None,
        }
    }

    /// Whether its client acquires on a key of another type: the error reply to its look is no value to it, no value is an expired
    /// lock, and nothing that it sends then shows the error.
    pub fn mistakes_types(&self) -> bool {
        let finds_none = self.look.is_some_and(|look| look.missing == Missing::Expired);
        let wins = match self.takeover {
            Takeover::Never | Takeover::Raises => false,
            Takeover::Getset(verdict) => matches!(verdict.old_nil, OldNil::Wins | OldNil::WinsIfAlsoRead),
            Takeover::WatchedSet
            | Takeover::DelThenSetnx
            | Takeover::Set
            | Takeover::SetPx
            | Takeover::Setex
            | Takeover::WithoutWriting => true,
        };
        self.on_error == OnError::False && finds_none && wins
    }

    /// Whether it sends WATCH, and so needs a connection of its own.
    pub fn needs_own_connection(&self) -> bool {
        self.keys == Keys::OwnerAndExpiry
            || self.takeover == Takeover::WatchedSet
            || matches!(self.release, Release::IfEqualWatched | Release::IfEqualUnderWatch)
    }
}
