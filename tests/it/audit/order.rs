//! Commands with replies that were under way together: the replies decide in which order the server ran them.

use lockshift::audit::{Audit, Auditor, Certainty};
use lockshift::monitor::{Line, Source};
use lockshift::race_id::RaceId;
use lockshift::wire::{Command, Reply, UnixTime};

/// The milliseconds of the request and of the reply, the client, the words, the reply.
type Sent<'a> = (u64, Option<u64>, &'a str, &'a [&'a str], Reply);

/// Audits these in this thread, and in others, which find the same.
fn audited(commands: &[Sent<'_>]) -> Audit {
    let audit = audited_by(Auditor::new(), commands);
    let in_threads = audited_by(Auditor::new().in_threads(2.try_into().unwrap()), commands);
    assert_eq!(format!("{in_threads:#?}"), format!("{audit:#?}"));
    audit
}

fn audited_by(mut auditor: Auditor, commands: &[Sent<'_>]) -> Audit {
    let moment = |ms: u64| UnixTime::from_nanos((1_700_000_000_000 + ms as i64) * 1_000_000);
    for (number, (at, answered_at, client, words, reply)) in (1..).zip(commands) {
        let command = Command::from_words(words.iter().copied()).unwrap();
        let source = Source::Client(client.as_bytes());
        let line = Line::new(moment(*at), 0, source, &command);
        auditor.read_answered(number, &line, answered_at.map(|at| (reply.clone(), moment(at))));
    }
    auditor.finish()
}

const A: &str = "10.0.0.1:50";
const B: &str = "10.0.0.2:50";
const ALICE: &[&str] = &["SET", "lock", "a11ce000a11ce000a11ce000a11ce000", "NX", "PX", "30000"];
const BOB: &[&str] = &["SET", "lock", "b0b00000b0b00000b0b00000b0b00000", "NX", "PX", "30000"];
const DEL: &[&str] = &["DEL", "lock"];

#[test]
fn an_attempt_that_was_sent_before_the_release_was_answered_ran_after_it() {
    let audit = audited(&[
        (0, Some(1), A, ALICE, Reply::ok()),
        // Sent before the release, and under way until after it.
        (10, Some(30), B, BOB, Reply::ok()),
        (15, Some(20), A, DEL, Reply::Int(1)),
        (40, Some(41), B, DEL, Reply::Int(1)),
    ]);
    let statistics = &audit.locks[0].statistics;
    assert_eq!(audit.findings, [], "{audit:#?}");
    assert_eq!((statistics.acquisitions, statistics.certain, statistics.releases), (2, 2, 2), "{audit:#?}");
}

#[test]
fn a_lock_that_vanished_is_no_certain_race() {
    // No command deletes the lock of A, so no order explains the reply to B.
    let audit = audited(&[
        (0, Some(1), A, ALICE, Reply::ok()),
        (10, Some(11), B, BOB, Reply::ok()),
        (20, Some(21), B, DEL, Reply::Int(1)),
    ]);
    assert_eq!(audit.locks[0].statistics.acquisitions, 2, "{audit:#?}");
    let found: Vec<Certainty> = audit.findings.iter().map(|finding| finding.verdict.certainty).collect();
    assert_eq!(found, [Certainty::Possible], "{audit:#?}");
}

#[test]
fn what_rests_on_an_order_that_no_reply_decides_is_possible() {
    let until = |answered_at: u64| {
        let audit = audited(&[
            (0, Some(1), A, &["GET", "lock"], Reply::Nil),
            (1, Some(2), A, &["SETEX", "lock", "10", "1700000010"], Reply::ok()),
            (3, Some(4), A, DEL, Reply::Int(1)),
            (5, Some(6), B, &["GET", "lock"], Reply::Nil),
            (6, Some(7), B, &["SETEX", "lock", "10", "1700000010"], Reply::ok()),
            (8, Some(9), B, DEL, Reply::Int(1)),
            (10, Some(11), A, &["GET", "lock"], Reply::Nil),
            (12, Some(13), B, &["GET", "lock"], Reply::Nil),
            (20, Some(answered_at), A, &["SETEX", "lock", "20", "1700000020"], Reply::ok()),
            (25, Some(30), B, &["SETEX", "lock", "20", "1700000021"], Reply::ok()),
            (90, Some(91), B, DEL, Reply::Int(1)),
        ]);
        let of_race = |race| audit.findings.iter().filter(move |finding| finding.verdict.race == Some(race));
        of_race(RaceId::GetThenSet).map(|finding| finding.verdict.certainty).collect::<Vec<_>>()
    };
    assert_eq!(until(21), [Certainty::Certain]);
    assert_eq!(until(29), [Certainty::Possible]);
}

#[test]
fn a_command_without_a_reply_proves_nothing() {
    let audit = audited(&[
        (0, Some(1), A, ALICE, Reply::ok()),
        (10, None, B, DEL, Reply::Nil),
        (2_000, Some(2_001), B, BOB, Reply::ok()),
        (2_010, Some(2_011), B, DEL, Reply::Int(1)),
    ]);
    assert!(audit.findings.iter().all(|it| it.verdict.certainty == Certainty::Possible), "{audit:#?}");
}
