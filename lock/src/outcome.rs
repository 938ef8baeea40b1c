//! How a try, a release, an extension and a look can end. None of these is an error.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{Hold, Votes};

/// How one try to acquire ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Acquired {
    /// The lock is ours.
    Won(Hold),
    /// It is not.
    Held(Held),
}

/// Why a try did not win.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// Why.
    pub reason: Refusal,
    /// The value that was found, where the protocol looked.
    pub seen: Option<Vec<u8>>,
    /// When to try again, where the protocol can tell: when the lease that it found ends. Another one may be in the way for longer,
    /// as that of the old key of a bridge beside its new one.
    pub retry_in: Option<Duration>,
    /// The vote of each server, where the protocol needs most of several.
    pub votes: Votes,
}

impl Held {
    /// Refused for this reason, nothing more known.
    pub const fn because(reason: Refusal) -> Self {
        Self { reason, seen: None, retry_in: None, votes: Votes::NONE }
    }
}

/// Why a try did not win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Another client's lease is running.
    Live,
    /// The lease had expired, but another client was faster to take it over: this one is the *loser* of the takeover.
    LostTakeover,
    /// The key was there and then was not; this dialect's client goes back to sleep.
    Vanished,
    /// The value, or the type of the key, cannot be read by this dialect; its client gives up with an error.
    Unreadable,
    /// Too few of several servers granted it: [`Held::votes`] has the vote of each.
    NoMajority,
}

/// How a release ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Released {
    /// A key was deleted, or its holder's entry; for protocols without ownership it may have been another client's.
    Freed,
    /// Nothing of ours was there any more: the lock had been lost.
    Lost,
    /// The protocol's own check left the key alone.
    LeftAlone,
    /// This hold is released, and the lock is still held: by the same owner, which had entered more than once, or by others
    /// that share it.
    StillHeld,
    /// Released; but of several keys that were held at once one had been changed, and was left alone: another client may
    /// have worked beside this holder.
    Intruded,
}

/// How an extension ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Extended {
    /// Still ours, for a whole lease from now.
    Until(Hold),
    /// Still ours, for a whole lease from now, and no longer ours alone: of several keys that are held at once one was not
    /// as we had left it. An *intrusion*: a client that knows only that key may be working beside this
    /// holder.
    Intruded(Hold),
    /// No longer ours.
    Lost,
    /// This protocol cannot tell its own lock from another's and so has no safe extension.
    Unsupported,
}

/// What the server says about a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// Ours; the key's TTL, where it has one.
    Ours {
        /// How long the key still lives.
        left: Option<Duration>,
    },
    /// Ours, but perhaps not alone: of several keys that are held at once one is not as we left it.
    Intruded {
        /// How long the key that is ours still lives.
        left: Option<Duration>,
    },
    /// Another client's.
    Theirs,
    /// No client's: there is no key.
    Free,
    /// There is a key, and this protocol writes nothing into it by which to tell whose it is.
    Indistinct {
        /// How long the key still lives.
        left: Option<Duration>,
    },
}
