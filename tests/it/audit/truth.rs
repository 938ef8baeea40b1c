//! Fleets at random, of which the truth is known: what their clients believed, and what the audit makes of the trace.

use lockshift::audit::{Audit, Certainty, Episode};
use lockshift::legacy::{Clock, Keys};
use lockshift::protocols;
use lockshift::race_id::RaceId;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::fleet::{Fleet, Held, ReleasedBy, Truth, wishes};
use super::written::audit;

type Checked = Result<(), String>;

/// Holds audits against the truth of so many schedules of each fleet, the same in every run; `PROPTEST_CASES` says how many
/// instead.
fn check(cases: u32, fleets: impl Iterator<Item = Fleet>, agrees: fn(&str, &Truth) -> Checked) {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    let wrong: Vec<String> = fleets.filter_map(|fleet| failure(cases, &fleet, agrees)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The simplest schedule of a fleet for which the audit does not agree.
fn failure(cases: u32, fleet: &Fleet, agrees: fn(&str, &Truth) -> Checked) -> Option<String> {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&wishes(), |wishes| {
        let (text, truth) = fleet.play(&wishes);
        agrees(&text, &truth).map_err(|why| {
            let audit = audit(&text);
            TestCaseError::fail(format!("{why}\n{truth:?}\n{:#?}\n{:?}\n{text}", audit.findings, audit.episodes))
        })
    });
    Some(format!("{:?}: {}", fleet.protocols, outcome.err()?))
}

/// As often as a client won, the audit says so, or that it cannot tell.
fn wins_agree(audit: &Audit, truth: &Truth) -> Checked {
    let counted: u64 = audit.locks.iter().map(|lock| lock.statistics.acquisitions).sum();
    let undecided: u64 = audit.locks.iter().map(|lock| lock.statistics.undecided).sum();
    let true_count = truth.holds.len() as u64;
    if counted <= true_count + truth.open + truth.unheard && counted + undecided >= true_count {
        Ok(())
    } else {
        Err(format!("{counted} acquisitions, and perhaps {undecided}, for {true_count}"))
    }
}

/// Who held from when to when: the same holds, each won while its client tried, released while its client released.
fn holds_agree(audit: &Audit, truth: &Truth) -> Checked {
    if audit.locks.iter().any(|lock| lock.statistics.undecided > 0) || truth.unheard > 0 {
        return Ok(());
    }
    for held in &truth.holds {
        let of_client = |episode: &&Episode| *episode.client == *format!("10.0.0.{}:1", held.who + 1);
        let is_chosen = audit.episodes.iter().filter(of_client).any(|episode| is_of(episode, held));
        if !is_chosen {
            return Err(format!("the audit does not list {held:?}"));
        }
    }
    Ok(())
}

fn is_of(episode: &Episode, held: &Held) -> bool {
    let tick = |at: lockshift::wire::UnixTime| u16::try_from(at.as_secs() - 1_700_000_000).unwrap();
    let won_then = (held.asked..=held.won).contains(&tick(episode.since));
    won_then
        && match (held.released, episode.until.map(tick)) {
            (ReleasedBy::Between(first, last), Some(until)) => (first..=last).contains(&until),
            (ReleasedBy::Between(..), None) => false,
            (ReleasedBy::Silently, Some(until)) => until >= held.won,
            (ReleasedBy::No | ReleasedBy::Silently, _) => true,
        }
}

/// What must have happened where the audit says so.
fn no_false_alarm(audit: &Audit, truth: &Truth) -> Checked {
    let false_ones =
        audit.findings.iter().filter(|finding| finding.verdict.certainty > Certainty::Possible).filter(|finding| {
            !match finding.verdict.race {
                // A client that takes back a try without a reply may be too late with that, too.
                Some(RaceId::Overrun) => truth.late || truth.unheard > 0,
                Some(race @ (RaceId::AbsoluteExpire | RaceId::ReleaseMissesKey | RaceId::StampWrittenBack)) => {
                    truth.inherent.contains(&race)
                }
                Some(race) if race.name().contains("phantom") || race.name().contains("loser") => {
                    truth.overwrote || truth.hurried
                }
                _ => truth.double || truth.robbed || truth.overwrote || truth.hurried,
            }
        });
    let false_ones: Vec<_> = false_ones.map(|finding| finding.verdict.race).collect();
    if false_ones.is_empty() { Ok(()) } else { Err(format!("none of these happened: {false_ones:?}")) }
}

/// Two at once are seen, and so is a lock that was taken away.
fn no_miss(audit: &Audit, truth: &Truth) -> Checked {
    match (truth.double || truth.robbed) && audit.findings.is_empty() {
        true => Err("a holder was not alone, and nothing was found".to_owned()),
        false => Ok(()),
    }
}

fn everything_agrees(text: &str, truth: &Truth) -> Checked {
    let audit = &audit(text);
    if truth.is_hidden {
        return Ok(());
    }
    no_false_alarm(audit, truth)?;
    wins_agree(audit, truth)?;
    holds_agree(audit, truth)?;
    no_miss(audit, truth)
}

/// The same for fleets that read each other's values: what they make of those is not intended.
fn no_holder_is_missed(text: &str, truth: &Truth) -> Checked {
    if truth.is_hidden {
        return Ok(());
    }
    let audit = &audit(text);
    wins_agree(audit, truth)?;
    holds_agree(audit, truth)?;
    no_miss(audit, truth)
}

/// Where nothing went wrong, a trace that begins in the middle of things shows no more than possible races, and what it
/// calls certain is true.
fn beginnings_can_be_lost(text: &str, truth: &Truth) -> Checked {
    if truth.double || truth.robbed || truth.overwrote || truth.hurried || truth.late || !truth.inherent.is_empty() {
        return Ok(());
    }
    let mut rest = text;
    while let Some((_, tail)) = rest.split_once('\n') {
        rest = tail;
        let audit = audit(rest);
        if let Some(finding) = audit.findings.iter().find(|finding| finding.verdict.certainty > Certainty::Possible) {
            return Err(format!("{finding:?} in\n{rest}"));
        }
        for episode in audit.episodes.iter().filter(|episode| episode.certainty == Certainty::Certain) {
            let of_client = |held: &&Held| *episode.client == *format!("10.0.0.{}:1", held.who + 1);
            if truth.open == 0 && !truth.holds.iter().filter(of_client).any(|held| is_of(episode, held)) {
                return Err(format!("{episode:?} is certain in\n{rest}"));
            }
        }
    }
    Ok(())
}

const TOKENS: [&str; 4] = ["token", "token,expiry=ex", "redis-distributed-lock", "java-token"];

/// The old dialects on one key.
fn old() -> impl Iterator<Item = &'static str> {
    let rows = protocols::catalogue().filter(|it| it.dialect().is_some_and(|row| row.keys == Keys::One));
    rows.map(protocols::Protocol::name)
}

#[test]
fn token_fleets() {
    let fleets = TOKENS.into_iter().flat_map(|protocol| {
        let fleet = Fleet::of(protocol);
        [fleet.clone(), Fleet { renews: true, ..fleet.clone() }, Fleet { lost_replies: 1, ..fleet }]
    });
    check(24, fleets, everything_agrees);
}

#[test]
fn old_fleets_without_delays() {
    check(4, old().map(|protocol| Fleet::of(protocol).prompt()), everything_agrees);
}

#[test]
fn old_fleets() {
    check(6, old().map(Fleet::of), everything_agrees);
}

// Which row stands beside which does not matter, as long as each meets several others.
#[test]
fn mixed_fleets() {
    // Those who ask the server for the time do so by a command that names no key; among others they are not always known.
    let by_own_clock = |name: &&str| {
        let row = protocols::find(name).ok().and_then(protocols::Protocol::dialect);
        row.is_none_or(|row| row.clock != Clock::Server)
    };
    let names: Vec<&'static str> = TOKENS.into_iter().chain(old()).filter(by_own_clock).collect();
    let pairs = [1, 7, 31].into_iter().flat_map(|apart| {
        let names = &names;
        (0..names.len()).map(move |place| [names[place], names[(place + apart) % names.len()]])
    });
    let fleets = pairs.map(|[one, other]| Fleet { protocols: vec![one, other, one], ..Fleet::of(one) });
    check(1, fleets, no_holder_is_missed);
}

#[test]
fn fleets_whose_first_lines_are_lost() {
    check(2, TOKENS.into_iter().chain(old()).map(Fleet::of), beginnings_can_be_lost);
}
