//! Fleets at random, of which the truth is known: what their clients believed, and what the audit makes of the trace.

use lockshift::audit::{Audit, Certainty, Episode};
use lockshift::legacy::Keys;
use lockshift::protocols;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::fleet::{Fleet, GivenBack, Held, Truth, wishes};
use super::written::audit;

type Checked = Result<(), String>;

/// So many schedules of each fleet.
const CASES: u32 = 24;

/// Holds an audit against the truth of many schedules.
fn check(fleet: &Fleet, agrees: impl Fn(&Audit, &Truth) -> Checked) {
    check_texts(fleet, |text, truth| agrees(&audit(text), truth));
}

fn check_texts(fleet: &Fleet, agrees: impl Fn(&str, &Truth) -> Checked) {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&wishes(), |wishes| {
        let (text, truth) = fleet.play(&wishes);
        agrees(&text, &truth).map_err(|why| {
            let audit = audit(&text);
            TestCaseError::fail(format!("{why}\n{truth:?}\n{:#?}\n{:?}\n{text}", audit.findings, audit.episodes))
        })
    });
    outcome.unwrap_or_else(|failure| panic!("{:?}: {failure}", fleet.protocols));
}

/// As often as somebody won, the audit says so, or that it cannot tell.
fn wins_agree(audit: &Audit, truth: &Truth) -> Checked {
    let counted: u64 = audit.locks.iter().map(|lock| lock.tally.acquisitions).sum();
    let undecided: u64 = audit.locks.iter().map(|lock| lock.tally.undecided).sum();
    let true_count = truth.holds.len() as u64;
    if counted <= true_count + truth.open + truth.unheard && counted + undecided >= true_count {
        Ok(())
    } else {
        Err(format!("{counted} acquisitions, and perhaps {undecided}, for {true_count}"))
    }
}

/// Who held from when to when: the same holds, each won while its client tried, given back while its client gave back.
fn holds_agree(audit: &Audit, truth: &Truth) -> Checked {
    if audit.locks.iter().any(|lock| lock.tally.undecided > 0) || truth.unheard > 0 {
        return Ok(());
    }
    for held in &truth.holds {
        let of_client = |episode: &&Episode| *episode.client == *format!("10.0.0.{}:1", held.who + 1);
        let is_told = audit.episodes.iter().filter(of_client).any(|episode| is_of(episode, held));
        if !is_told {
            return Err(format!("nothing is told of {held:?}"));
        }
    }
    Ok(())
}

fn is_of(episode: &Episode, held: &Held) -> bool {
    let tick = |at: lockshift::wire::UnixTime| u16::try_from(at.as_secs() - 1_700_000_000).unwrap();
    let won_then = (held.asked..=held.won).contains(&tick(episode.since));
    won_then
        && match (held.given_back, episode.until.map(tick)) {
            (GivenBack::Between(first, last), Some(until)) => (first..=last).contains(&until),
            (GivenBack::Between(..), None) => false,
            (GivenBack::Silently, Some(until)) => until >= held.won,
            (GivenBack::No | GivenBack::Silently, _) => true,
        }
}

/// What must have happened where the audit says so.
fn no_false_alarm(audit: &Audit, truth: &Truth) -> Checked {
    let false_ones = audit.findings.iter().filter(|finding| finding.certainty > Certainty::Possible).filter(
        |finding| !match finding.race {
            "overrun" => truth.late,
            "absolute-expire" | "release-misses-key" | "stamp-written-back" => truth.inherent.contains(&finding.race),
            race if race.contains("phantom") || race.contains("loser") => truth.overwrote || truth.hurried,
            _ => truth.double || truth.robbed || truth.overwrote || truth.hurried,
        },
    );
    let false_ones: Vec<_> = false_ones.map(|finding| finding.race).collect();
    if false_ones.is_empty() { Ok(()) } else { Err(format!("none of these happened: {false_ones:?}")) }
}

/// Two at once are seen, and so is a lock that was taken away.
fn no_miss(audit: &Audit, truth: &Truth) -> Checked {
    match (truth.double || truth.robbed) && audit.findings.is_empty() {
        true => Err("somebody was not alone, and nothing was found".to_owned()),
        false => Ok(()),
    }
}

fn everything_agrees(audit: &Audit, truth: &Truth) -> Checked {
    if truth.is_hidden {
        return Ok(());
    }
    no_false_alarm(audit, truth)?;
    wins_agree(audit, truth)?;
    holds_agree(audit, truth)?;
    no_miss(audit, truth)
}

const TOKENS: [&str; 4] = ["token", "token,expiry=ex", "redis-distributed-lock", "java-token"];

/// The old dialects on one key.
fn old() -> impl Iterator<Item = &'static str> {
    let rows = protocols::catalogue().filter(|it| it.dialect().is_some_and(|row| row.keys == Keys::One));
    rows.map(protocols::Protocol::name)
}

#[test]
fn token_fleets() {
    for protocol in TOKENS {
        let fleet = Fleet::of(protocol);
        check(&fleet, everything_agrees);
        check(&Fleet { renews: true, ..fleet.clone() }, everything_agrees);
        check(&Fleet { lost_replies: 1, ..fleet }, everything_agrees);
    }
}

#[test]
fn old_fleets_without_delays() {
    old().for_each(|protocol| check(&Fleet::of(protocol).prompt(), everything_agrees));
}

#[test]
fn old_fleets() {
    old().for_each(|protocol| check(&Fleet::of(protocol), everything_agrees));
}
