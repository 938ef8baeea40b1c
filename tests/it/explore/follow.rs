//! A schedule, gone along with by others: they have the same delays and mishaps, and their own protocol.

use lockshift::explore::{Action, Bounds, Grain, Property, Scene};

use super::crowd;
use super::locks::{getset, token};

const TICKS: Bounds = Bounds { crashes: 1, lost_replies: 1, ..Bounds::ticks(3) };

/// A waits with its release until B has taken over the lock that is over; then it comes too late.
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
fn told(leader: &Scene, follower: &Scene, actions: &[Action]) -> Vec<String> {
    let followed = follower.follow(leader, actions, Property::MutualExclusion);
    assert_eq!((followed.trace.blame, followed.trace.says.as_str()), (None, ""), "nothing is broken, nobody to blame");
    assert_eq!(followed.trace.steps.len(), followed.during.len());
    let tell = |(step, during): (&lockshift::explore::Step, &usize)| {
        let name = step
            .exchange
            .as_ref()
            .map(|said| format!("{} -> {}, ", said.command.words()[0].escape_ascii(), said.reply));
        format!("{during} {}: {}{}", followed.trace.name_of(step), name.unwrap_or_default(), step.note)
    };
    followed.trace.steps.iter().zip(&followed.during).map(tell).collect()
}

#[test]
fn a_late_release_comes_to_nothing_under_the_token_lock() {
    let (getset, token) = scenes();
    assert_eq!(
        told(&getset, &token, &LATE_RELEASE),
        [
            "0 A: SET -> OK, holds until 2 s",
            "1 clock: a tick passes",
            "2 clock: a tick passes",
            "3 clock: a tick passes",
            // B's try was decided by its GETSET: so long its SET has waited.
            "6 B: SET -> OK, holds until 5 s",
            "7 A: EVALSHA -> (error) NOSCRIPT No matching script. Please use EVAL., ",
            "7 A: EVAL -> 0, had lost the lock",
        ]
    );
}

#[test]
fn who_speaks_the_same_does_the_same() {
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
    assert_eq!(told(&leader, &token, &actions), ["1 A: SET -> OK, holds until 2 s", "2 clock: a tick passes"]);
}

#[test]
fn deaths_and_lost_replies_are_shared() {
    let (getset, token) = scenes();
    assert_eq!(
        told(&getset, &token, &[Action::Step(0), Action::Crash(0), Action::Tick]),
        ["0 A: SET -> OK, holds until 2 s", "1 A: dies", "2 clock: a tick passes"]
    );
    assert_eq!(told(&getset, &token, &[Action::LoseReply(0)]), ["0 A: SET -> OK, never gets the reply"]);
}
