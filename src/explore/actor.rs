//! The state of one client: how far it is in its program, and the transcript of its operation.

use super::blame::CauseId;
use super::client::{Client, Times};
use crate::lock::Hold;
use crate::wire::Transcript;

/// The state of one client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor {
    /// Rounds to come, the running one included.
    pub rounds_left: Times,
    /// Tries to come in this round, the running one included.
    pub tries_left: Times,
    /// What it is doing.
    pub doing: Doing,
    /// How often it has started anew after a crash.
    pub restarts: u8,
    /// How many tokens it has drawn before this one, in this round or, where rounds never end, in all.
    pub tokens_drawn: u8,
    /// Whether a command with its token may still be on its way.
    pub has_unanswered: bool,
    /// By how many ticks its wall clock has been set ahead.
    pub clock_ahead: i8,
    /// The last step of another client that changed what it has; remembered only where a search tells causes apart.
    pub(super) harmed_by: Option<CauseId>,
}

/// What a client is doing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Doing {
    /// It will try to acquire, at this tick or later.
    Resting {
        /// The first tick at which it may.
        until: u16,
    },
    /// It is in the middle of a try.
    Acquiring(Operation),
    /// It has won, and works.
    Holding(Hold, Work),
    /// It works, and is in the middle of an extension.
    Extending(Hold, Work, Operation),
    /// It no longer believes that it holds, and is in the middle of a release.
    Releasing(Hold, Operation),
    /// The reply to its try was lost; it is making sure that no lock stays behind.
    Disclaiming(Operation),
    /// It has finished its program.
    Done,
    /// It is dead.
    Crashed,
}

/// An operation under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operation {
    /// What was asked and answered so far; rewound.
    pub transcript: Transcript,
    /// Whether the last reply has not arrived yet.
    pub in_flight: bool,
}

/// What is left to do while holding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    /// The tick at which the work is done.
    pub until: u16,
    /// Whether it has written to the guarded resource.
    pub wrote: bool,
    /// Whether it still renews.
    pub renews: bool,
}

impl Actor {
    /// A client that has done nothing yet.
    pub(super) fn fresh(client: &Client) -> Self {
        let doing = if client.rounds.is_none_left() || client.tries.is_none_left() {
            Doing::Done
        } else {
            Doing::Resting { until: 0 }
        };
        let (rounds_left, tries_left) = (client.rounds, client.tries);
        let (tokens_drawn, has_unanswered) = (0, false);
        Self {
            rounds_left,
            tries_left,
            doing,
            restarts: 0,
            tokens_drawn,
            has_unanswered,
            clock_ahead: 0,
            harmed_by: None,
        }
    }

    /// The same client, doing something else. A client that no longer has a lock forgets what harmed it.
    pub(super) fn now(&self, doing: Doing) -> Self {
        let harmed_by = match doing {
            Doing::Acquiring(_) | Doing::Holding(..) | Doing::Extending(..) => self.harmed_by,
            Doing::Resting { .. } | Doing::Releasing(..) | Doing::Disclaiming(_) | Doing::Done | Doing::Crashed => None,
        };
        Self { doing, harmed_by, ..*self }
    }

    /// The same client with the token of its next attempt. A driver draws one for each; here that is done only after a command
    /// that had no reply, which keeps the states few: otherwise no command with the earlier token can come later.
    pub(super) fn with_next_token(self) -> Self {
        let tokens_drawn = self.tokens_drawn.saturating_add(u8::from(self.has_unanswered));
        Self { tokens_drawn, has_unanswered: false, ..self }
    }

    /// How many milliseconds its wall clock is ahead of the server's, if that was not set.
    pub(super) fn skew_ms(&self, client: &Client, tick_ms: i64) -> i64 {
        client.skew_ms.saturating_add(i64::from(self.clock_ahead).saturating_mul(tick_ms))
    }

    /// The operation under way.
    pub fn operation(&self) -> Option<&Operation> {
        match &self.doing {
            Doing::Acquiring(operation)
            | Doing::Extending(_, _, operation)
            | Doing::Releasing(_, operation)
            | Doing::Disclaiming(operation) => Some(operation),
            Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => None,
        }
    }

    /// What it acquired and has not begun to release.
    pub fn hold(&self) -> Option<&Hold> {
        match &self.doing {
            Doing::Holding(hold, _) | Doing::Extending(hold, ..) => Some(hold),
            Doing::Resting { .. }
            | Doing::Acquiring(_)
            | Doing::Releasing(..)
            | Doing::Disclaiming(_)
            | Doing::Done
            | Doing::Crashed => None,
        }
    }

    /// What it has begun to release.
    pub fn releasing(&self) -> Option<&Hold> {
        if let Doing::Releasing(hold, _) = &self.doing { Some(hold) } else { None }
    }

    /// Whether it will ever act again.
    pub fn has_ended(&self) -> bool {
        matches!(self.doing, Doing::Done | Doing::Crashed)
    }

    /// Whether a reply is on its way to it.
    pub fn awaits_reply(&self) -> bool {
        self.operation().is_some_and(|operation| operation.in_flight)
    }
}
