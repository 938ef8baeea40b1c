//! SET with all its options, and its two kinds of answer.

use core::time::Duration;

use lockshift_wire::{Expiry, Key, Only, Pending, Reply, Set, Transcript, Turn, UnixTime};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn moment(millis: i64) -> UnixTime {
    UnixTime::from_millis(millis).unwrap()
}

#[test]
fn every_condition_has_its_word() {
    let key = Key::from("k");
    let set = Set::new(&key, b"v");
    let table = [
        (set, "SET k v"),
        (set.only(Only::IfMissing), "SET k v NX"),
        (set.only(Only::IfExists), "SET k v XX"),
        (set.only(Only::IfEquals(b"old one")), r#"SET k v IFEQ "old one""#),
        (set.only(Only::IfMissing).only(Only::IfExists), "SET k v XX"),
        (set.only(Only::IfMissing).expiry(Expiry::Px(millis(5))), "SET k v NX PX 5"),
        (set.expiry(Expiry::Px(millis(5))).only(Only::IfMissing), "SET k v NX PX 5"),
        (set.only(Only::IfMissing).expiry(Expiry::Px(millis(5))).expiry_first(), "SET k v PX 5 NX"),
        (set.expiry(Expiry::KeepTtl).only(Only::IfExists).expiry_first(), "SET k v KEEPTTL XX"),
    ];
    for (set, typed) in table {
        assert_eq!(set.command().to_string(), typed);
    }
}

/// Rounded up, so that no lease ends early. What Redis does not take (zero, or beyond its range) is sent as it is, and
/// refused by Redis.
#[test]
fn every_expiry_has_its_word_and_its_unit() {
    let nanosecond = Duration::from_nanos(1);
    let table = [
        (Expiry::Ex(millis(10_000)), "EX 10"),
        (Expiry::Ex(millis(10_001)), "EX 11"),
        (Expiry::Ex(nanosecond), "EX 1"),
        (Expiry::Ex(Duration::ZERO), "EX 0"),
        (Expiry::Px(millis(10_000)), "PX 10000"),
        (Expiry::Px(millis(10_000) + nanosecond), "PX 10001"),
        (Expiry::Px(Duration::MAX), "PX 9223372036854775807"),
        (Expiry::ExAt(moment(1_700_000_000_000)), "EXAT 1700000000"),
        (Expiry::ExAt(moment(1_700_000_000_001)), "EXAT 1700000001"),
        (Expiry::PxAt(moment(1_700_000_000_001)), "PXAT 1700000000001"),
        (Expiry::PxAt(moment(1_700_000_000_001).saturating_add(nanosecond)), "PXAT 1700000000002"),
        (Expiry::PxAt(moment(-5)), "PXAT 0"),
        (Expiry::KeepTtl, "KEEPTTL"),
    ];
    let key = Key::from("k");
    for (expiry, typed) in table {
        assert_eq!(Set::new(&key, b"v").expiry(expiry).command().to_string(), format!("SET k v {typed}"));
    }
}

#[test]
fn without_get_the_answer_is_whether_it_was_written() {
    let written = |reply| answer(reply, |redis, set| redis.set(set));
    assert_eq!(written(Reply::ok()), Ok(true));
    assert_eq!(written(Reply::Nil), Ok(false));
    for nonsense in [Reply::Int(1), Reply::bulk("OK"), Reply::Status("QUEUED".into()), Reply::Array(vec![])] {
        assert!(matches!(written(nonsense), Err(Pending::Fault(_))));
    }
    let Err(Pending::Fault(fault)) = written(Reply::Error("ERR syntax error".into())) else { panic!("a refusal") };
    assert_eq!(fault.to_string(), "SET k v NX PX 5: ERR syntax error");
}

#[test]
fn with_get_the_answer_is_the_value_before_written_or_not() {
    let before = |reply| answer(reply, |redis, set| redis.set_get(set));
    assert_eq!(before(Reply::Nil), Ok(None), "with NX that says: it was missing, and is written");
    assert_eq!(before(Reply::bulk("old")), Ok(Some(b"old".to_vec())), "with NX that says: it was there, and stays");
    assert!(matches!(before(Reply::ok()), Err(Pending::Fault(_))), "a server that does not know GET");
    let Err(Pending::Fault(fault)) = before(Reply::Error("WRONGTYPE Operation".into())) else { panic!("a refusal") };
    assert_eq!(fault.to_string(), "SET k v NX PX 5 GET: WRONGTYPE Operation");
}

/// What `SET k v NX PX 5`, asked as `ask` does, makes of this reply.
fn answer<T>(reply: Reply, ask: impl Fn(&mut Transcript, &Set<'_>) -> Turn<T>) -> Turn<T> {
    let key = Key::from("k");
    let set = Set::new(&key, b"v").only(Only::IfMissing).expiry(Expiry::Px(millis(5)));
    let mut redis = Transcript::new();
    assert!(matches!(ask(redis.rewind(), &set), Err(Pending::Send(_))));
    redis.record_reply(reply);
    ask(redis.rewind(), &set)
}
