//! What one client does: its protocol and its program, as data.

use std::fmt;
use std::sync::Arc;

use super::names;
use crate::lock::{Locker, Owner};

/// How often: a number of times, or without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Times {
    /// So many times.
    Of(u8),
    /// Again and again.
    Forever,
}

impl Times {
    /// One time fewer.
    #[must_use]
    pub(super) fn less_one(self) -> Self {
        match self {
            Self::Of(times) => Self::Of(times.saturating_sub(1)),
            Self::Forever => Self::Forever,
        }
    }

    /// Whether none is left.
    pub(super) fn is_none_left(self) -> bool {
        self == Self::Of(0)
    }
}

/// One client: which protocol it speaks, and its program.
///
/// A client acquires (at most [`tries`](Self::tries) times a round), works, extends while it works, writes to the
/// guarded resource if it [`writes`](Self::writes), and releases; then comes the next round. Unless it is [`prompt`](Self::prompt), it may
/// be held up for any time before any of its steps. All times are in ticks of the [`Scene`](super::Scene).
#[derive(Clone)]
pub struct Client {
    /// Its protocol.
    pub locker: Arc<dyn Locker>,
    /// The protocol's name, for traces.
    pub protocol: String,
    /// Its identity in the first round; `None`: one that follows from its place among the clients. Later rounds count
    /// the last byte of the token up, and an attempt that follows a command without a reply counts up the ninth.
    pub owner: Option<Owner>,
    /// The first byte of its token, where it is not given an [`owner`](Self::owner).
    pub token_head: u8,
    /// How many milliseconds its wall clock is ahead of the server's.
    pub skew_ms: i64,
    /// How often it acquires, works and releases.
    pub rounds: Times,
    /// How often it tries in one round before it gives the round up.
    pub tries: Times,
    /// How long it waits after a try in vain.
    pub pause: u16,
    /// How long it works before it releases; 0: it releases at any time, and does not extend.
    pub work: u16,
    /// How long after the lease began it extends, and each time again; `None`: never.
    pub renew_after: Option<u16>,
    /// Whether it stops believing that it holds when its lease expires; if not, it believes until it releases.
    pub heeds_lease: bool,
    /// Whether it does at once what it can do: the clock waits for it.
    pub prompt: bool,
    /// Whether it writes to the guarded resource at the end of its work.
    pub writes: bool,
    /// Which lock it is after. Only clients after the same lock exclude each other.
    pub lock: u8,
    /// The clients (by place) whose renewal ends when this one begins to release: one flag for many locks.
    pub ends_renewal_of: Vec<usize>,
}

impl Client {
    /// A client of this protocol that acquires once, trying as often as it takes, and releases at any time after.
    pub fn new(protocol: impl Into<String>, locker: Arc<dyn Locker>) -> Self {
        Self {
            locker,
            protocol: protocol.into(),
            owner: None,
            token_head: names::USUAL_HEAD,
            skew_ms: 0,
            rounds: Times::Of(1),
            tries: Times::Forever,
            pause: 0,
            work: 0,
            renew_after: None,
            heeds_lease: true,
            prompt: false,
            writes: false,
            lock: 0,
            ends_renewal_of: Vec::new(),
        }
    }

    /// Whether the two do the same thing in the same way, so that only their names tell them apart.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.locker, &other.locker)
            && self.owner.is_none()
            && other.owner.is_none()
            && self.ends_renewal_of.is_empty()
            && other.ends_renewal_of.is_empty()
            && self.figures() == other.figures()
    }

    fn figures(&self) -> impl PartialEq {
        let times = (self.token_head, self.skew_ms, self.rounds, self.tries, self.pause, self.work, self.renew_after);
        (times, self.heeds_lease, self.prompt, self.writes, self.lock)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}
