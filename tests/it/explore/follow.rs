//! A schedule, gone along with by others: they have the same delays and mishaps, and their own protocol.

use lockshift::explore::{Action, Bounds, Event, Grain, Property, Scene, Step};
use lockshift::report::explanation;

use super::crowd;
use super::locks::{getset, token};

const TICKS: Bounds = Bounds::ticks(3).crashes(1).lost_replies(1);

/// A waits with its release until B has taken over the expired lock; then it comes too late.
const LATE_RELEASE: [Action; 8] = [
    Action::Step(0), // SETNX: A holds.
    Action::Tick,
    Action::Tick,
    Action::Tick,
    Action::Step(1), // SETNX, in vain.
    Action::Step(1), // GET
    Action::Step(1), // GETSET: B holds.
    Action::Step(0), // DEL
];

fn scenes() -> (Scene, Scene) {
    [getset(2), token(2)].map(|locker| crowd(&locker, 2, TICKS).grain(Grain::Coarse)).into()
}

/// What each step of the follower is: who, what, the answer, what that means; and during which step of the leader.
fn shown(leader: &Scene, follower: &Scene, actions: &[Action]) -> Vec<String> {
    let followed = follower.follow(leader, actions, Property::MutualExclusion);
    assert_eq!(
        (followed.trace.blame, explanation(&followed.trace).as_str()),
        (None, ""),
        "no rule is broken, no step to blame"
    );
    assert_eq!(followed.trace.steps.len(), followed.during.len());
    let tell = |(step, during): (&Step, &usize)| {
        let exchange = step.exchange.as_ref();
        let exchange = exchange.map(|it| format!("{} -> {}, ", it.command.words()[0].escape_ascii(), it.reply));
        let event = match &step.event {
            Event::Ended { outcome, until_ms: Some(until_ms), .. } => format!("{outcome:?} until {until_ms}"),
            Event::Ended { outcome, .. } => format!("{outcome:?}"),
            event => format!("{event:?}"),
        };
        format!("{during} {}: {}{event}", followed.trace.name_of(step), exchange.unwrap_or_default())
    };
    followed.trace.steps.iter().zip(&followed.during).map(tell).collect()
}

#[test]
fn a_late_release_changes_nothing_under_the_token_lock() {
    let (getset, token) = scenes();
    assert_eq!(
        shown(&getset, &token, &LATE_RELEASE),
        [
            "0 A: SET -> OK, Acquired until 2000",
            "1 clock: TimePassed",
            "2 clock: TimePassed",
            "3 clock: TimePassed",
            // B's try was decided by its GETSET: so long its SET has waited.
            "6 B: SET -> OK, Acquired until 5000",
            "7 A: EVALSHA -> (error) NOSCRIPT No matching script. Please use EVAL., Sent",
            "7 A: EVAL -> 0, ReleasedLost",
        ]
    );
}

#[test]
fn clients_of_the_same_protocol_do_the_same() {
    let (getset, _) = scenes();
    let followed = getset.follow(&getset, &LATE_RELEASE, Property::MutualExclusion);
    let actions: Vec<_> = followed.trace.steps.iter().map(|step| step.action).collect();
    assert_eq!((actions.as_slice(), followed.during), (&LATE_RELEASE[..], (0..LATE_RELEASE.len()).collect()));
}

#[test]
fn fine_steps_are_followed_in_round_trips() {
    let (getset, token) = scenes();
    let leader = getset.grain(Grain::Fine);
    // A reads its clock, sends SETNX, waits, and receives the answer.
    let actions = [Action::Step(0), Action::Step(0), Action::Tick, Action::Step(0)];
    assert_eq!(shown(&leader, &token, &actions), ["1 A: SET -> OK, Acquired until 2000", "2 clock: TimePassed"]);
}

#[test]
fn crashes_and_lost_replies_are_shared() {
    let (getset, token) = scenes();
    assert_eq!(
        shown(&getset, &token, &[Action::Step(0), Action::Crash(0), Action::Tick]),
        ["0 A: SET -> OK, Acquired until 2000", "1 A: Crashed", "2 clock: TimePassed"]
    );
    assert_eq!(shown(&getset, &token, &[Action::LoseReply(0)]), ["0 A: SET -> OK, ReplyLost"]);
}
