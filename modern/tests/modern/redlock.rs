//! Redlock: the possible replies of each server, and the combined result.

use std::num::NonZeroU8;
use std::time::Duration;

use lockshift_lock::{Acquired, Extended, Held, Locker, Ownership, Refusal, Released, Vote, Votes};
use lockshift_modern::Redlock;

use crate::dialogue::{hold, lease, owner, play};

fn redlock(servers: u8) -> Redlock {
    Redlock::new("k".into(), lease(10_000), NonZeroU8::new(servers).unwrap())
}

/// The same command to all servers, each with its reply.
fn round(command: &str, answers: &[&str]) -> String {
    let place = |place: usize| if place == 0 { String::new() } else { format!(" @{place}") };
    answers.iter().enumerate().map(|(server, answer)| format!("{command}{} -> {answer}\n", place(server))).collect()
}

fn no_majority(votes: impl IntoIterator<Item = Vote>) -> Acquired {
    Acquired::Held(Held { votes: votes.into_iter().collect(), ..Held::because(Refusal::NoMajority) })
}

const SET: &str = "SET k <token> NX PX 10000";
const RELEASE: &str = "EVAL <release.lua> 1 k <token>";
const EXTEND: &str = "EVAL <extend.lua> 1 k <token> 10000";

#[test]
fn a_majority_is_more_than_half() {
    let majorities = (1..=9).map(|servers| redlock(servers).majority());
    assert!(majorities.eq([1, 2, 2, 3, 3, 4, 4, 5, 5]));
}

#[test]
fn a_majority_acquires_with_a_lease_from_before_the_first_command() {
    for others in [["OK", "OK"], ["(nil)", "too slow"], ["unreachable", "(error) OOM command not allowed"]] {
        let dialogue = format!("clock -> 5\n{}", round(SET, &["OK", "OK", "OK", others[0], others[1]]));
        let ended = play(&dialogue, |redis| redlock(5).acquire(&owner(), redis));
        assert_eq!(ended, Ok(Acquired::Won(hold(5, 10_000))), "{others:?}");
    }
}

#[test]
fn a_failed_attempt_is_undone_on_every_server_and_reports_every_vote() {
    let answers = ["OK", "(nil)", "too slow", "unreachable", "(error) OOM command not allowed"];
    let taken_back = round(RELEASE, &["1", "0", "too slow", "unreachable", "0"]);
    let dialogue = format!("clock -> 5\n{}{taken_back}", round(SET, &answers));
    let ended = play(&dialogue, |redis| redlock(5).acquire(&owner(), redis));
    let refused = Vote::Refused("OOM command not allowed".to_owned());
    let votes = [Vote::Granted, Vote::Held, Vote::TooSlow, Vote::Unreachable, refused];
    assert_eq!(ended, Ok(no_majority(votes.clone())));
    let votes: Votes = votes.into_iter().collect();
    assert_eq!((votes.granted(), votes.usable(), votes.needed(), votes.asked()), (1, 2, 3, 5));
    assert_eq!(
        votes.to_string(),
        "1 of 5 servers granted it, 3 needed \
         (#1 granted, #2 held, #3 too slow, #4 unreachable, #5 refused: OOM command not allowed)"
    );
}

/// The replies of three servers to a release and to an extension, and the result; `None` is unknown.
#[test]
fn a_majority_decides_the_result_of_releases_and_extensions() {
    let table = [
        (["1", "1", "1"], Some(true)),
        (["1", "1", "0"], Some(true)),
        (["1", "too slow", "1"], Some(true)),
        (["1", "0", "0"], Some(false)),
        (["0", "0", "unreachable"], Some(false)),
        (["1", "0", "too slow"], None),
        (["1", "unreachable", "too slow"], None),
        (["(error) OOM command not allowed", "1", "0"], None),
    ];
    for (answers, ours) in table {
        let released = play(&round(RELEASE, &answers), |redis| redlock(3).release(&hold(0, 10_000), redis));
        assert_eq!(released.ok(), ours.map(|ours| if ours { Released::Freed } else { Released::Lost }), "{answers:?}");

        // A server that lacks it is asked for its vote again once a majority has confirmed it; its reply does not count.
        let restored = if answers == ["1", "1", "0"] { format!("{SET} @2 -> (nil)\n") } else { String::new() };
        let dialogue = format!("clock -> 300\n{}{restored}", round(EXTEND, &answers));
        let extended = play(&dialogue, |redis| redlock(3).extend(&hold(0, 10_000), redis));
        let until = Extended::Until(hold(300, 10_000));
        assert_eq!(extended.ok(), ours.map(|ours| if ours { until } else { Extended::Lost }), "{answers:?}");
    }
}

#[test]
fn an_extension_lasts_for_a_whole_lease_whatever_the_hold_had() {
    let dialogue = format!("clock -> 300\n{}", round(EXTEND, &["1", "1", "1"]));
    let extended = play(&dialogue, |redis| redlock(3).extend(&hold(0, 4_000), redis));
    assert_eq!(extended, Ok(Extended::Until(hold(300, 10_000))));
}

#[test]
fn only_ok_grants_a_vote() {
    let dialogue = format!("clock -> 5\n{}{}", round(SET, &["QUEUED", "1", "(nil)"]), round(RELEASE, &["0", "0", "0"]));
    let refused = |reply: &str| Vote::Refused(format!("unexpected reply {reply}"));
    let ended = play(&dialogue, |redis| redlock(3).acquire(&owner(), redis));
    assert_eq!(ended, Ok(no_majority([refused("QUEUED"), refused("1"), Vote::Held])));
}

#[test]
fn too_few_replies_are_a_fault_that_lists_every_reply() {
    let dialogue = format!("clock -> 300\n{}", round(EXTEND, &["1", "unreachable", "too slow"]));
    let fault = play(&dialogue, |redis| redlock(3).extend(&hold(0, 10_000), redis)).unwrap_err();
    assert!(fault.ends_with(": 2 of 3 servers must answer: #1: 1, #2: unreachable, #3: too slow"), "{fault}");
}

#[test]
fn ownership_reports_how_long_a_majority_holds_the_token() {
    let ours = |left| Some(Ownership::Ours { left });
    let (mine, theirs) = ("\"<token>\"", "\"theirs\"");
    let table = [
        (["9500", "9000", "9900"], [mine, mine, mine], ours(Some(Duration::from_millis(9_500)))),
        (["9500", "9000", "-2"], [mine, mine, "(nil)"], ours(Some(Duration::from_millis(9_000)))),
        (["-1", "9000", "-1"], [mine, theirs, mine], ours(None)),
        (["9500", "-2", "-2"], [mine, "(nil)", "(nil)"], Some(Ownership::Free)),
        (["9500", "9000", "-2"], [mine, theirs, "(nil)"], Some(Ownership::Theirs)),
        (["9500", "-2", "too slow"], [mine, "(nil)", "too slow"], None),
    ];
    for (ttls, values, standing) in table {
        let dialogue = round("PTTL k", &ttls) + &round("GET k", &values);
        let looked = play(&dialogue, |redis| redlock(3).ownership(&hold(0, 10_000), redis));
        assert_eq!(looked.ok(), standing, "{ttls:?} {values:?}");
    }
}

#[test]
fn disclaim_deletes_the_token_on_every_server() {
    let dialogue = round(RELEASE, &["1", "unreachable", "0"]);
    assert_eq!(play(&dialogue, |redis| redlock(3).disclaim(&owner(), redis)), Ok(()));
}
