//! How hard a plan looks, and how far that went.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::explore::Grain;

/// More states than this in one scene would take longer than a reader waits.
const MAX_STATES: usize = 20_000_000;
const MAX_BYTES: usize = 4 << 30;

/// How hard to look.
#[derive(Clone, Copy, Debug)]
pub struct Effort<'a> {
    /// On how many threads.
    pub threads: NonZeroUsize,
    /// How far the clocks of two clients of the fleet are apart at most.
    pub clocks_within: Duration,
    /// How finely every scene is cut; `None`: three clients by round trips, two clients with their clock readings apart.
    pub grain: Option<Grain>,
    /// Whether only the rules that are broken are asked for, and not the causes: single steps are then reduced, so that far more of
    /// them are seen.
    pub rules_only: bool,
    /// How many seconds pass in what is explored; `None`: as many as leases, margins and tolerances ask for, and then more
    /// until the last brings nothing new.
    pub seconds: Option<u16>,
    /// How many states of one scene are seen at most.
    pub max_states: usize,
    /// In how many bytes of memory at most.
    pub max_bytes: usize,
    /// Set when the time is up.
    pub interrupt: Option<&'a AtomicBool>,
}

impl Effort<'_> {
    /// All that a fleet asks for, on so many threads; its clocks agree.
    pub fn new(threads: NonZeroUsize) -> Self {
        Self {
            threads,
            clocks_within: Duration::ZERO,
            grain: None,
            rules_only: false,
            seconds: None,
            max_states: MAX_STATES,
            max_bytes: MAX_BYTES,
            interrupt: None,
        }
    }

    /// Whether the time is up.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }
}

/// How far a phase was explored, and what it tolerated there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseBounds {
    /// How much time passes in the schedules explored.
    pub time: Duration,
    /// Whether everything was seen, and every race found has a schedule that needs a second less.
    pub nothing_new_at_last: bool,
    /// The shortest tick.
    pub tick: Duration,
    /// How far clocks are apart at most.
    pub clocks_within: Duration,
    /// How many clients crash at most.
    pub crashes: u8,
    /// How many replies are lost at most.
    pub lost_replies: u8,
    /// How many clients of a kind, and of all kinds, at most.
    pub clients: usize,
}

/// What is known of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PhaseVerdict {
    /// It has a race that the old clients do not have among themselves.
    Unsafe,
    /// It has none within its bounds, all of which was seen.
    SafeWithinBounds,
    /// None was found, and not all was seen.
    NotExhausted,
}
