//! What steps, outcomes and causes are called.

use crate::explore::{Cause, CauseKind, Event, OperationKind, Outcome};

/// What a step meant to its client, or what happened to the clock or the server; nothing where an operation goes on.
pub(super) fn event(event: &Event) -> String {
    match event {
        Event::TimePassed => "a tick passes".to_owned(),
        Event::AllLeasesExpired => "time passes until every lease has expired".to_owned(),
        Event::Crashed => "crashes".to_owned(),
        Event::FailedOver { writes_lost: 1 } => "is replaced by a replica that lacks the last write".to_owned(),
        Event::FailedOver { writes_lost } => {
            format!("is replaced by a replica that lacks the last {writes_lost} writes")
        }
        Event::RequestLost => "sends a command that never runs".to_owned(),
        Event::RequestDelayed => "gives up a command that is still on its way".to_owned(),
        Event::RanLate => "has given up the command that runs now".to_owned(),
        Event::StartedAnew => "starts anew".to_owned(),
        Event::ClockSet { ahead_ms } => format!("its clock is set {}", shift(*ahead_ms)),
        Event::ServerRestarted { keeps_data: true } => "restarts with its data, without scripts".to_owned(),
        Event::ServerRestarted { keeps_data: false } => "restarts without its data".to_owned(),
        Event::Evicted => "evicts a key".to_owned(),
        Event::RemovedAtDeadline => "removes a key in the millisecond of its deadline".to_owned(),
        Event::ServerClockSet { ahead_ms } => format!("its clock is set {}", shift(*ahead_ms)),
        Event::ReplyLost => "never receives the reply".to_owned(),
        Event::ReadClock => "reads its clock".to_owned(),
        Event::Sent => String::new(),
        Event::ReceivedReply => "receives the reply".to_owned(),
        Event::Wrote => "writes to the guarded resource".to_owned(),
        Event::WriteRefused => "is refused by the guarded resource".to_owned(),
        Event::Ended { outcome, until_ms, detail } => ended(*outcome, *until_ms, detail.as_deref()),
    }
}

/// `1 s ahead`, `500 ms back`.
fn shift(ahead_ms: i64) -> String {
    format!("{} {}", time(ahead_ms.unsigned_abs()), if ahead_ms < 0 { "back" } else { "ahead" })
}

fn ended(outcome: Outcome, until_ms: Option<u64>, detail: Option<&str>) -> String {
    let words = self::outcome(outcome);
    match (until_ms, detail) {
        (Some(until_ms), _) => format!("{words} until {}", time(until_ms)),
        (None, Some(detail)) => format!("{words}: {detail}"),
        (None, None) => words.to_owned(),
    }
}

/// How an operation ended, without times and numbers.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Acquired => "holds",
        Outcome::Held => "does not acquire: the lock is held",
        Outcome::LostTakeover => "loses the takeover",
        Outcome::KeyVanished => "does not acquire: the key has vanished",
        Outcome::Unreadable => "does not acquire: the value is unreadable",
        Outcome::NoMajority => "does not acquire",
        Outcome::Extended => "extends",
        Outcome::ExtendedBesideIntruder => "learns of an intrusion, and stops",
        Outcome::FoundLost => "learns that the lock is lost",
        Outcome::CannotExtend => "cannot extend",
        Outcome::Released => "releases",
        Outcome::ReleasedLost => "had lost the lock",
        Outcome::ReleasedBesideIntruder => "releases its own, and learns of an intrusion",
        Outcome::LeftAlone => "leaves the key alone",
        Outcome::StillHeld => "releases its own, and the lock is still held",
        Outcome::Disclaimed => "has made sure that nothing stays behind",
        Outcome::Failed => "fails",
    }
}

/// A cause: `php-getset, which after GETSET loses the takeover`.
pub(super) fn cause(cause: &Cause) -> String {
    let what = match &cause.kind {
        CauseKind::Command { name, operation, outcome } => {
            format!("after {name} {}", outcome.map_or(under_way(*operation), self::outcome))
        }
        CauseKind::Unseen => "goes on".to_owned(),
        CauseKind::Crash => "crashes".to_owned(),
        CauseKind::ExpiredEarly => "lets its lock expire early".to_owned(),
        CauseKind::Overrun => "overruns its lease".to_owned(),
        CauseKind::Time => "time".to_owned(),
        CauseKind::Failover => "a failover".to_owned(),
        CauseKind::LateRequest => "has given up a command that ran late".to_owned(),
        CauseKind::ClockSet => "has its clock set".to_owned(),
        CauseKind::ServerRestart => "a restart of the server".to_owned(),
        CauseKind::Eviction => "an eviction".to_owned(),
        CauseKind::RemovalAtDeadline => "a removal at a deadline".to_owned(),
        CauseKind::ServerClockSet => "the server's clock".to_owned(),
    };
    match &cause.by {
        Some(by) => format!("{by}, which {what}"),
        None => what,
    }
}

fn under_way(operation: OperationKind) -> &'static str {
    match operation {
        OperationKind::Acquire => "tries to acquire",
        OperationKind::Extend => "extends",
        OperationKind::Release => "releases",
        OperationKind::Disclaim => "disclaims",
    }
}

/// Milliseconds as a person reads them: `4 s`, `1.5 s`, `20 ms`.
pub(super) fn time(millis: u64) -> String {
    match (millis / 1000, millis % 1000) {
        (secs, 0) => format!("{secs} s"),
        (0, millis) => format!("{millis} ms"),
        (secs, millis) => format!("{secs}.{} s", format!("{millis:03}").trim_end_matches('0')),
    }
}
