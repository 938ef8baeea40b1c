//! The state of one client: how far it is in its program, and what it has been told.

use super::client::{Client, Times};
use super::deed::DeedId;
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
    /// The last step of somebody else that changed what it has; noted where a search asks for it.
    pub(super) harmed_by: Option<DeedId>,
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
    Acquiring(Talk),
    /// It has won, and works.
    Holding(Hold, Work),
    /// It works, and is in the middle of an extension.
    Extending(Hold, Work, Talk),
    /// It no longer believes to hold, and is in the middle of a release.
    Releasing(Hold, Talk),
    /// The reply to its try was lost; it is making sure that no lock stays behind.
    Disclaiming(Talk),
    /// Its program is over.
    Done,
    /// It is dead.
    Crashed,
}

/// An operation under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Talk {
    /// What was asked and answered so far; rewound.
    pub said: Transcript,
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
        let doing =
            if client.rounds.is_over() || client.tries.is_over() { Doing::Done } else { Doing::Resting { until: 0 } };
        Self { rounds_left: client.rounds, tries_left: client.tries, doing, harmed_by: None }
    }

    /// The same client, doing something else. Whoever has nothing any more was harmed by nobody.
    pub(super) fn now(&self, doing: Doing) -> Self {
        let harmed_by = match doing {
            Doing::Acquiring(_) | Doing::Holding(..) | Doing::Extending(..) => self.harmed_by,
            Doing::Resting { .. } | Doing::Releasing(..) | Doing::Disclaiming(_) | Doing::Done | Doing::Crashed => None,
        };
        Self { doing, harmed_by, ..*self }
    }

    /// The operation under way.
    pub fn talk(&self) -> Option<&Talk> {
        match &self.doing {
            Doing::Acquiring(talk)
            | Doing::Extending(_, _, talk)
            | Doing::Releasing(_, talk)
            | Doing::Disclaiming(talk) => Some(talk),
            Doing::Resting { .. } | Doing::Holding(..) | Doing::Done | Doing::Crashed => None,
        }
    }

    /// What it won and has not begun to give back.
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

    /// What it has begun to give back.
    pub fn giving_back(&self) -> Option<&Hold> {
        if let Doing::Releasing(hold, _) = &self.doing { Some(hold) } else { None }
    }

    /// Whether it will ever act again.
    pub fn is_over(&self) -> bool {
        matches!(self.doing, Doing::Done | Doing::Crashed)
    }

    /// Whether a reply is on its way to it.
    pub fn awaits_reply(&self) -> bool {
        self.talk().is_some_and(|talk| talk.in_flight)
    }
}
