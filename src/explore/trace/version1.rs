//! Traces of version 1: what a step meant was a sentence, and is read as the value that it stood for.

use serde::{Deserialize, Deserializer, de::Error};

use super::super::outcome::{Event, Outcome};
use super::super::world::Action;
use super::{Exchange, Snapshot, Step, Trace};

/// A step of any version.
#[derive(Deserialize)]
pub(super) struct AnyStep {
    action: Action,
    actor: Option<usize>,
    at_ms: u64,
    clocks_ms: Vec<i64>,
    exchange: Option<Exchange>,
    event: Option<Event>,
    note: Option<String>,
    before: Snapshot,
    after: Snapshot,
}

/// Which version a trace is of; what is read is of the current one.
pub(super) fn current<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    match u32::deserialize(deserializer)? {
        1..=Trace::VERSION => Ok(Trace::VERSION),
        other => Err(D::Error::custom(format_args!("version {other} of a trace is not supported"))),
    }
}

impl TryFrom<AnyStep> for Step {
    type Error = String;

    fn try_from(step: AnyStep) -> Result<Self, String> {
        let AnyStep { action, actor, at_ms, clocks_ms, exchange, event, note, before, after } = step;
        let event = match (event, note) {
            (Some(event), _) => event,
            (None, Some(note)) => {
                event_of(action, &note).ok_or_else(|| format!("what a step meant is not known: {note}"))?
            }
            (None, None) => return Err("a step has no event".to_owned()),
        };
        Ok(Self { action, actor, at_ms, clocks_ms, exchange, event, before, after })
    }
}

/// What version 1 meant by this.
fn event_of(action: Action, note: &str) -> Option<Event> {
    match (action, note) {
        (Action::Tick, _) => return Some(Event::TimePassed),
        (Action::Leap, _) => return Some(Event::AllLeasesExpired),
        (Action::Crash(_), _) => return Some(Event::Crashed),
        (Action::FailOver(_, writes_lost), _) => return Some(Event::FailedOver { writes_lost }),
        (Action::LoseRequest(_), _) => return Some(Event::RequestLost),
        (Action::LoseReply(_) | Action::LoseReplyOn(..), _) => return Some(Event::ReplyLost),
        (Action::Step(_) | Action::StepOn(..), "") => return Some(Event::Sent),
        (Action::Step(_) | Action::StepOn(..), "reads its clock") => return Some(Event::ReadClock),
        (Action::Step(_) | Action::StepOn(..), "receives the reply") => return Some(Event::ReceivedReply),
        (Action::Step(_) | Action::StepOn(..), "writes to the guarded resource") => return Some(Event::Wrote),
        (Action::Step(_) | Action::StepOn(..), "is refused by the guarded resource") => {
            return Some(Event::WriteRefused);
        }
        (Action::Step(_) | Action::StepOn(..), _) => {}
        // Version 1 had no other faults.
        (_, _) => return None,
    }
    let plain = ENDINGS.iter().find(|(sentence, _)| *sentence == note);
    let until = |sentence: &str| millis(note.strip_prefix(sentence)?.strip_prefix(" until ")?);
    let because = |sentence: &str| Some(note.strip_prefix(sentence)?.strip_prefix(": ")?.to_owned());
    let ended = |outcome, until_ms, detail| Some(Event::Ended { outcome, until_ms, detail });
    match plain {
        Some((_, outcome)) => ended(*outcome, None, None),
        None => None
            .or_else(|| ended(Outcome::Acquired, Some(until("holds")?), None))
            .or_else(|| ended(Outcome::Extended, Some(until("extends")?), None))
            .or_else(|| ended(Outcome::Failed, None, Some(because("fails")?)))
            .or_else(|| ended(Outcome::NoMajority, None, Some(because("is refused")?))),
    }
}

/// The sentences of version 1 that had neither a time nor a reason in them.
const ENDINGS: [(&str, Outcome); 13] = [
    ("is refused: the lock is held", Outcome::Held),
    ("loses the takeover", Outcome::LostTakeover),
    ("is refused: the key has vanished", Outcome::KeyVanished),
    ("is refused: the value is unreadable", Outcome::Unreadable),
    ("learns of an intrusion, and stops", Outcome::ExtendedBesideIntruder),
    ("learns that the lock is lost", Outcome::FoundLost),
    ("cannot extend", Outcome::CannotExtend),
    ("has freed the lock", Outcome::Released),
    ("had lost the lock", Outcome::ReleasedLost),
    ("has freed what was its own, and learns of an intrusion", Outcome::ReleasedBesideIntruder),
    ("leaves the key alone", Outcome::LeftAlone),
    ("gives its own back, and the lock is still held", Outcome::StillHeld),
    ("has made sure that nothing stays behind", Outcome::Disclaimed),
];

/// `4 s`, `1.5 s`, `20 ms`.
fn millis(shown: &str) -> Option<u64> {
    if let Some(millis) = shown.strip_suffix(" ms") {
        return millis.parse().ok();
    }
    let (secs, fraction) = shown.strip_suffix(" s").map(|secs| secs.split_once('.').unwrap_or((secs, "")))?;
    let thousandths: u64 = format!("{fraction:0<3}").parse().ok()?;
    Some(secs.parse::<u64>().ok()? * 1000 + thousandths)
}
