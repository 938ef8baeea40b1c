//! Redlock on five real servers: some of them are killed, frozen or lose their data; with both drivers.

mod crowd;
mod fleet;
mod sides;

use std::time::Duration;

use lockshift::driver::{Answer, ErrorKind, Loss};
use lockshift::lock::{Extended, Held, Ownership, Refusal, Released, Vote};

use crate::patience::{now, pause};
use crate::proxy::{MessageFault, Proxy};
pub(crate) use fleet::Fleet;
use sides::{PATIENCE, Side, on_both_sides};

/// For what does not answer: far more than a running server needs, even on a busy machine.
const SHORT_PATIENCE: Duration = Duration::from_millis(500);

on_both_sides!(
    a_killed_minority_does_not_prevent_a_lock,
    a_killed_majority_prevents_a_lock,
    a_late_client_learns_which_servers_refused,
    two_frozen_servers_do_not_prevent_a_majority,
    one_server_that_loses_its_data_does_not_free_the_lock,
    a_majority_that_loses_its_data_loses_the_lock,
    a_holder_keeps_the_lock_when_a_majority_dies,
    a_lock_on_too_few_servers_is_refused,
    renewal_continues_without_a_minority,
    a_renewal_restores_what_a_minority_forgot,
    a_release_reaches_servers_that_have_closed_idle_connections,
    a_holder_extends_by_new_connections_when_the_paths_of_its_own_are_cut,
    an_attempt_on_a_slow_path_is_taken_back_on_it,
);

fn a_killed_minority_does_not_prevent_a_lock<S: Side>() {
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

fn a_killed_majority_prevents_a_lock<S: Side>() {
    let mut fleet = Fleet::of(5);
    fleet.kill(&[0, 2, 3]);
    let error = S::over(&fleet, 5).try_acquire().expect_err("no majority is left");
    assert_eq!(error.kind(), ErrorKind::TooFewServers);
    let each =
        "2 of 5 servers granted it, 3 needed (#1 unreachable, #2 granted, #3 unreachable, #4 unreachable, #5 granted)";
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), each);
    assert_eq!(fleet.holders(&[1, 4]), [0, 0], "nothing is left behind");
}

fn a_late_client_learns_which_servers_refused<S: Side>() {
    let fleet = Fleet::of(5);
    let (first, second) = (S::over(&fleet, 5), S::over(&fleet, 5));
    let guard = first.win();
    let Held { reason, votes, .. } = second.refused();
    assert_eq!((reason, votes), (Refusal::NoMajority, (0..5).map(|_| Vote::Held).collect()));
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [1; 5], "the refused client deletes nothing");
    assert!(matches!(first.release(guard), Ok(Answer::Known(Released::Freed))));
    let guard = second.win();
    assert!(matches!(second.release(guard), Ok(Answer::Known(Released::Freed))));
}

/// Two hanging servers cost as much time as one, and the commands sent to them are undone when they continue.
fn two_frozen_servers_do_not_prevent_a_majority<S: Side>() {
    let fleet = Fleet::of(5);
    let side = S::over(&fleet, 5);
    // Opens the connections on which replies will be late.
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
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [0; 5], "the late release ran after the late attempt");

    let guard = side.win();
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [1; 5], "late replies were not mistaken for new ones");
    assert!(matches!(side.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(side.release(guard), Ok(Answer::Known(Released::Freed))));
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [0; 5]);
}

fn one_server_that_loses_its_data_does_not_free_the_lock<S: Side>() {
    let mut fleet = Fleet::of(5);
    let (first, second) = (S::over(&fleet, 5), S::over(&fleet, 5));
    let guard = first.win();
    fleet.kill(&[4]);
    fleet.servers[4].restart();

    let votes = [Vote::Held, Vote::Held, Vote::Held, Vote::Held, Vote::Granted];
    assert_eq!(second.refused().votes, votes.into_iter().collect());
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [1, 1, 1, 1, 0], "the restarted server is free again");
    assert!(matches!(first.ownership(&guard), Ok(Ownership::Ours { left: Some(_) })));
    assert!(matches!(first.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(first.release(guard), Ok(Answer::Known(Released::Freed))));

    let guard = first.win();
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [1; 5], "the driver reconnected to it");
    assert!(matches!(first.release(guard), Ok(Answer::Known(Released::Freed))));
}

fn a_majority_that_loses_its_data_loses_the_lock<S: Side>() {
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

/// Ownership is unknown, so the holder keeps the lock until the lease ends.
fn a_holder_keeps_the_lock_when_a_majority_dies<S: Side>() {
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

fn a_lock_on_too_few_servers_is_refused<S: Side>() {
    let fleet = Fleet::of(2);
    let error = match S::over(&fleet, 3).try_acquire() {
        Err(error) => error,
        Ok(attempt) => panic!("there is no third server: {attempt:?}"),
    };
    assert_eq!(error.kind(), ErrorKind::TooFewConnected, "no server has refused anything: {error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("2 are connected"), "{cause}");
    assert_eq!(fleet.holders(&[0, 1]), [0, 0]);
}

/// One after another, more than a majority forgets; the lock is held all the time.
fn a_renewal_restores_what_a_minority_forgot<S: Side>() {
    let fleet = Fleet::of(5);
    let (first, second) = (S::over(&fleet, 5), S::over(&fleet, 5));
    let guard = first.win();
    for forgetful in [&[0, 1][..], &[2, 3], &[4, 0]] {
        fleet.forget(forgetful);
        assert!(matches!(first.extend(&guard), Ok(Answer::Known(Extended::Until(_)))), "{forgetful:?}");
        assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [1; 5], "{forgetful:?}");
        assert_eq!(second.refused().reason, Refusal::NoMajority);
    }
    assert!(matches!(first.release(guard), Ok(Answer::Known(Released::Freed))));
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [0; 5]);

    // A lock that is lost is not restored.
    let guard = first.win();
    fleet.forget(&[0, 1, 2]);
    assert!(matches!(first.extend(&guard), Ok(Answer::Known(Extended::Lost))));
    assert_eq!(fleet.holders(&[0, 1, 2, 3, 4]), [0, 0, 0, 1, 1]);
}

/// As `timeout 1` does in the configuration of a server, and a firewall in between.
fn a_release_reaches_servers_that_have_closed_idle_connections<S: Side>() {
    let fleet = Fleet::of(3);
    let side = S::to(fleet.clients(), SHORT_PATIENCE);
    let guard = side.win();
    fleet.hang_up();
    pause(Duration::from_millis(1100));
    assert!(matches!(side.release(guard), Ok(Answer::Known(Released::Freed))));
    assert_eq!(fleet.holders(&[0, 1, 2]), [0; 3]);
}

/// Neither side notices that the paths are cut, and new connections take others.
fn a_holder_extends_by_new_connections_when_the_paths_of_its_own_are_cut<S: Side>() {
    let fleet = Fleet::of(3);
    let proxies = fleet.proxies();
    let side = S::to(proxies.iter().map(Proxy::client).collect(), SHORT_PATIENCE);
    let guard = side.win();
    proxies[..2].iter().for_each(Proxy::silence);
    pause(Duration::from_millis(1100));
    assert_eq!(side.extend(&guard).unwrap_err().kind(), ErrorKind::TooFewServers);
    pause(Duration::from_millis(1100));
    assert!(matches!(side.extend(&guard), Ok(Answer::Known(Extended::Until(_)))));
    assert!(matches!(side.release(guard), Ok(Answer::Known(Released::Freed))));
    assert_eq!(fleet.holders(&[0, 1, 2]), [0; 3]);
}

/// On a new connection the release would overtake it.
fn an_attempt_on_a_slow_path_is_taken_back_on_it<S: Side>() {
    let fleet = Fleet::of(3);
    let proxies = fleet.proxies();
    let side = S::to(proxies.iter().map(Proxy::client).collect(), SHORT_PATIENCE);
    assert!(matches!(side.release(side.win()), Ok(Answer::Known(Released::Freed))));
    for proxy in &proxies[..2] {
        proxy.strike(0, MessageFault::Late(3 * SHORT_PATIENCE));
    }
    let before = fleet.scripts_run(0);
    assert_eq!(side.try_acquire().unwrap_err().kind(), ErrorKind::TooFewServers);
    [0, 1].into_iter().for_each(|slow| fleet.until_scripts_run(slow, before + 1));
    assert_eq!(fleet.holders(&[0, 1, 2]), [0; 3], "the release ran after the attempt");
}

fn renewal_continues_without_a_minority<S: Side>() {
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
