//! Redlock on five real servers: some of them are killed, frozen or forget; with threads and with tasks.

mod crowd;
mod fleet;
mod sides;

use lockshift::driver::{Answer, ErrorKind, Loss};
use lockshift::lock::{Extended, Held, Ownership, Refusal, Released, Vote};

use crate::patience::now;
pub(crate) use fleet::Fleet;
use sides::{PATIENCE, Side, on_both_sides};

on_both_sides!(
    a_minority_is_killed,
    a_majority_is_killed,
    whoever_is_late_is_told_who_has_it,
    two_are_frozen,
    one_forgets,
    most_of_them_forget,
    most_of_them_die_on_a_holder,
    a_lock_on_more_servers_than_there_are,
    renewed_without_a_minority,
);

fn a_minority_is_killed<S: Side>() {
    let mut fleet = Fleet::of(5);
    fleet.kill(&[1, 3]);
    let side = S::over(&fleet, 5);
    let guard = side.win();
    assert_eq!(fleet.holders(&[0, 2, 4]), [1, 1, 1]);
    assert!(matches!(side.ownership(&guard), Ok(Ownership::Ours { left: Some(_) })));
    assert!(matches!(side.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(side.release(guard), Ok(Answer::Known(Released::Freed))));
    assert_eq!(fleet.holders(&[0, 2, 4]), [0, 0, 0]);
}

fn a_majority_is_killed<S: Side>() {
    let mut fleet = Fleet::of(5);
    fleet.kill(&[0, 2, 3]);
    let error = S::over(&fleet, 5).try_acquire().expect_err("nobody can have it");
    assert_eq!(error.kind(), ErrorKind::TooFewServers);
    let each =
        "2 of 5 servers granted it, 3 needed (#1 unreachable, #2 granted, #3 unreachable, #4 unreachable, #5 granted)";
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), each);
    assert_eq!(fleet.holders(&[1, 4]), [0, 0], "nothing is left behind");
}

fn whoever_is_late_is_told_who_has_it<S: Side>() {
    let fleet = Fleet::of(5);
    let (first, second) = (S::over(&fleet, 5), S::over(&fleet, 5));
    let guard = first.win();
    let Held { reason, votes, .. } = second.refused();
    assert_eq!((reason, votes), (Refusal::NoMajority, (0..5).map(|_| Vote::Held).collect()));
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [1; 5], "and takes nothing from the holder");
    assert!(matches!(first.release(guard), Ok(Answer::Known(Released::Freed))));
    let guard = second.win();
    assert!(matches!(second.release(guard), Ok(Answer::Known(Released::Freed))));
}

/// Two that hang cost as much as one, and what they were told is undone when they go on.
fn two_are_frozen<S: Side>() {
    let fleet = Fleet::of(5);
    let side = S::over(&fleet, 5);
    // So that connections are there that will owe a reply.
    assert!(matches!(side.release(side.win()), Ok(Answer::Known(Released::Freed))));
    let before = [1, 2].map(|frozen| fleet.scripts_run(frozen));
    fleet.servers[1].pause();
    fleet.servers[2].pause();

    let began = now();
    let guard = side.win();
    assert!(began.elapsed() < 2 * PATIENCE, "each was waited for: {:?}", began.elapsed());
    assert!(matches!(side.release(guard), Ok(Answer::Known(Released::Freed))));

    fleet.servers[1].resume();
    fleet.servers[2].resume();
    for (frozen, before) in [1, 2].into_iter().zip(before) {
        fleet.until_scripts_run(frozen, before + 1);
    }
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [0; 5], "the release came after the try that it takes back");

    let guard = side.win();
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [1; 5], "late replies were not taken for new ones");
    assert!(matches!(side.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(side.release(guard), Ok(Answer::Known(Released::Freed))));
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [0; 5]);
}

fn one_forgets<S: Side>() {
    let mut fleet = Fleet::of(5);
    let (first, second) = (S::over(&fleet, 5), S::over(&fleet, 5));
    let guard = first.win();
    fleet.kill(&[4]);
    fleet.servers[4].restart();

    let votes = [Vote::Held, Vote::Held, Vote::Held, Vote::Held, Vote::Granted];
    assert_eq!(second.refused().votes, votes.into_iter().collect());
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [1, 1, 1, 1, 0], "the one that forgot is free again");
    assert!(matches!(first.ownership(&guard), Ok(Ownership::Ours { left: Some(_) })));
    assert!(matches!(first.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(first.release(guard), Ok(Answer::Known(Released::Freed))));

    let guard = first.win();
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [1; 5], "it has been connected to again");
    assert!(matches!(first.release(guard), Ok(Answer::Known(Released::Freed))));
}

fn most_of_them_forget<S: Side>() {
    let fleet = Fleet::of(5);
    let side = S::over(&fleet, 5);
    let guard = side.win();
    fleet.forget(&[0, 1, 2]);
    assert!(matches!(side.ownership(&guard), Ok(Ownership::Free)));
    assert!(matches!(side.extend(&guard), Ok(Answer::Known(Extended::Lost))));
    assert_eq!(S::lost(&guard), Some(Loss::Taken));
    assert!(matches!(side.release(guard), Ok(Answer::Known(Released::Lost))));
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [0; 5]);
}

/// Nobody can say whether it is still ours, so it is until the lease ends.
fn most_of_them_die_on_a_holder<S: Side>() {
    let mut fleet = Fleet::of(5);
    let side = S::over(&fleet, 5);
    let guard = side.win();
    fleet.kill(&[0, 1, 2]);
    let error = side.extend(&guard).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooFewServers);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    let each = "3 of 5 servers must answer: #1: unreachable, #2: unreachable, #3: unreachable, #4: 1, #5: 1";
    assert!(cause.ends_with(each), "{cause}");
    assert_eq!(S::lost(&guard), None);
    assert_eq!(side.release(guard).unwrap_err().kind(), ErrorKind::TooFewServers);
    assert_eq!(fleet.holders(&[3, 4]), [0, 0]);
}

fn a_lock_on_more_servers_than_there_are<S: Side>() {
    let fleet = Fleet::of(2);
    let error = match S::over(&fleet, 3).try_acquire() {
        Err(error) => error,
        Ok(attempt) => panic!("there is no third server, but: {attempt:?}"),
    };
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(fleet.holders(&[0, 1]), [0, 0]);
}

fn renewed_without_a_minority<S: Side>() {
    let mut fleet = Fleet::of(3);
    let side = S::over(&fleet, 3);
    let mut guard = side.win();
    let since = S::since(&guard);
    fleet.kill(&[2]);
    side.renew_often(&mut guard);
    crate::patience::until("it is renewed", || (S::since(&guard) > since).then_some(()));
    assert_eq!(S::lost(&guard), None);
    assert!(matches!(side.release(guard), Ok(Answer::Known(Released::Freed))));
    assert_eq!(fleet.holders(&[0, 1]), [0, 0]);
}
