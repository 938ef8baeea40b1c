//! What a step meant to its client, as data. The words for it are made in `report`.

/// What happened in a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Event {
    /// The clock ticked.
    TimePassed,
    /// So much time passed that every lease expired.
    AllLeasesExpired,
    /// The client crashed.
    Crashed,
    /// A replica took the server's place.
    FailedOver {
        /// How many of the last writes it lacks.
        writes_lost: u8,
    },
    /// The client's command was lost on its way, and never ran.
    RequestLost,
    /// The client gave its command up, which is still on its way.
    RequestDelayed,
    /// A command that its sender had given up arrived and ran.
    RanLate,
    /// The client started anew after a crash.
    StartedAnew,
    /// The client's wall clock was set.
    ClockSet {
        /// How far ahead, in milliseconds.
        ahead_ms: i64,
    },
    /// The server restarted.
    ServerRestarted {
        /// Whether with its data.
        keeps_data: bool,
    },
    /// The server evicted a key.
    Evicted,
    /// The server removed a key in the millisecond of its deadline.
    RemovedAtDeadline,
    /// The server's clock was set.
    ServerClockSet {
        /// How far ahead, in milliseconds.
        ahead_ms: i64,
    },
    /// The server ran the client's command, and the reply was lost.
    ReplyLost,
    /// The client read its clock, and goes on.
    ReadClock,
    /// The server ran the client's command, and the operation goes on.
    Sent,
    /// The client received a reply, and its operation goes on.
    ReceivedReply,
    /// The client wrote to the guarded resource.
    Wrote,
    /// The guarded resource refused the client's write.
    WriteRefused,
    /// The client's operation ended.
    Ended {
        /// How.
        outcome: Outcome,
        /// When the lease that it gave ends, in milliseconds since the start.
        until_ms: Option<u64>,
        /// What the servers replied, where that is the reason: the vote of each, or an error.
        detail: Option<String>,
    },
}

/// How an operation of a client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "cli", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Outcome {
    /// It acquired the lock.
    Acquired,
    /// The lock is held.
    Held,
    /// Another client was faster to take over.
    LostTakeover,
    /// The key was there, and then was not.
    KeyVanished,
    /// The value cannot be read.
    Unreadable,
    /// Too few servers granted it.
    NoMajority,
    /// It extended its lease.
    Extended,
    /// It extended its lease, and learnt that another client has changed a key.
    ExtendedBesideIntruder,
    /// It learnt, by extending, that the lock is lost.
    FoundLost,
    /// Its protocol cannot extend.
    CannotExtend,
    /// It released the lock.
    Released,
    /// It learnt, by releasing, that the lock was lost.
    ReleasedLost,
    /// It released what was its own, and learnt that another client has changed a key.
    ReleasedBesideIntruder,
    /// It left the key alone.
    LeftAlone,
    /// It released its own entry, and the lock is still held.
    StillHeld,
    /// It made sure that nothing of an attempt without reply stays behind.
    Disclaimed,
    /// A server refused a command.
    Failed,
}

/// An operation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum OperationKind {
    /// It tries to acquire.
    Acquire,
    /// It extends its lease.
    Extend,
    /// It releases.
    Release,
    /// It makes sure that nothing of an attempt without reply stays behind.
    Disclaim,
}
