//! The read/write locks, ours and those of published articles: what each side sends, and the meaning of the replies.

use std::time::Duration;

use lockshift_lock::{Acquired, Extended, Held, Hold, Locker, Mode, Ownership, Refusal, Released};
use lockshift_modern::{PairLock, ReadWriteLock, StampHashLock};

use crate::dialogue::{hold, lease, owner, play};

fn side(mode: Mode) -> ReadWriteLock {
    ReadWriteLock::new("k".into(), mode, lease(10_000))
}

const KEYS: &str = "3 k {k}:readers {k}:writer-waits";

#[test]
fn each_side_enters_leaves_and_extends_by_its_token() {
    for (mode, script) in [(Mode::Shared, "rw/read"), (Mode::Exclusive, "rw/write")] {
        let entered = |answer| {
            let dialogue = format!("clock -> 5\nEVALSHA <{script}> {KEYS} <token> 10000 -> {answer}");
            play(&dialogue, |redis| side(mode).acquire(&owner(), redis))
        };
        let later = |millis| Held { retry_in: Some(Duration::from_millis(millis)), ..refused() };
        assert_eq!(entered("-1"), Ok(Acquired::Won(hold(5, 10_000))));
        assert_eq!((entered("0"), entered("70")), (Ok(Acquired::Held(later(0))), Ok(Acquired::Held(later(70)))));
        for (answer, released, extended) in
            [("1", Released::Freed, Extended::Until(hold(7, 10_000))), ("0", Released::Lost, Extended::Lost)]
        {
            let left = format!("EVALSHA <rw/leave> {KEYS} <token> -> {answer}");
            assert_eq!(play(&left, |redis| side(mode).release(&hold(0, 10_000), redis)), Ok(released));
            assert_eq!(play(&left, |redis| side(mode).disclaim(&owner(), redis)), Ok(()));
            let dialogue = format!("clock -> 7\nEVALSHA <rw/extend> 2 k {{k}}:readers <token> 10000 -> {answer}");
            assert_eq!(play(&dialogue, |redis| side(mode).extend(&hold(0, 10_000), redis)), Ok(extended));
        }
    }
}

fn refused() -> Held {
    Held::because(Refusal::Live)
}

#[test]
fn only_a_waiting_writer_has_something_to_withdraw() {
    assert_eq!(play("", |redis| side(Mode::Shared).withdraw(&owner(), redis)), Ok(()));
    let left = format!("EVALSHA <rw/leave> {KEYS} <token> -> 0");
    assert_eq!(play(&left, |redis| side(Mode::Exclusive).withdraw(&owner(), redis)), Ok(()));
}

#[test]
fn a_writer_looks_for_its_token_and_a_reader_for_its_score() {
    let ours = |millis| Ownership::Ours { left: Some(Duration::from_millis(millis)) };
    let table = [
        (Mode::Exclusive, "PTTL k -> 9500\nGET k -> \"<token>\"", ours(9_500)),
        (Mode::Exclusive, "PTTL k -> 9500\nGET k -> \"theirs\"", Ownership::Theirs),
        (Mode::Exclusive, "PTTL k -> -2\nGET k -> (nil)", Ownership::Free),
        (Mode::Shared, "ZSCORE {k}:readers <token> -> \"1700000000050\"\nTIME -> [\"1700000000\", \"0\"]", ours(50)),
        (Mode::Shared, "ZSCORE {k}:readers <token> -> (nil)", Ownership::Free),
    ];
    for (mode, dialogue, expected) in table {
        assert_eq!(play(dialogue, |redis| side(mode).ownership(&hold(0, 10_000), redis)), Ok(expected), "{dialogue}");
    }
}

/// A reader of 10 s and a writer of 4 s; the hash lives 7 s longer than the longer of the two.
fn stamped(mode: Mode) -> StampHashLock {
    StampHashLock::new("k".into(), mode, lease(10_000), lease(4_000))
}

#[test]
fn the_lock_of_one_hash_writes_its_millisecond() {
    for (mode, field, lease_ms) in [(Mode::Shared, "read", 10_000), (Mode::Exclusive, "write", 4_000)] {
        let won = |since_ms| Hold { value: b"1700000000005".to_vec(), ..hold(since_ms, lease_ms) };
        assert_eq!(stamped(mode).lease(), lease(lease_ms));
        for (answer, expected) in [("1", Acquired::Won(won(5))), ("0", Acquired::Held(refused()))] {
            let dialogue =
                format!("clock -> 5\nEVALSHA <rw_hash/{field}> 1 k 17000 10000 4000 1700000000005 -> {answer}");
            assert_eq!(play(&dialogue, |redis| stamped(mode).acquire(&owner(), redis)), Ok(expected));
        }
        for (answer, expected) in [("1", Released::Freed), ("0", Released::Lost)] {
            let dialogue = format!("EVALSHA <rw_hash/release> 1 k {field} 1700000000005 -> {answer}");
            assert_eq!(play(&dialogue, |redis| stamped(mode).release(&won(5), redis)), Ok(expected));
        }
        let table = [
            ("(nil)", Ownership::Free),
            ("\"1700000000005\"", Ownership::Indistinct { left: None }),
            ("\"1700000000006\"", Ownership::Theirs),
        ];
        for (answer, expected) in table {
            let dialogue = format!("HGET k {field} -> {answer}");
            assert_eq!(play(&dialogue, |redis| stamped(mode).ownership(&won(5), redis)), Ok(expected), "{answer}");
        }
        assert!(play(&format!("HGET k {field} -> OK"), |redis| stamped(mode).ownership(&won(5), redis)).is_err());
        assert_eq!(play("", |redis| stamped(mode).extend(&won(5), redis)), Ok(Extended::Unsupported));
    }
    let longer_writer = StampHashLock::new("k".into(), Mode::Shared, lease(1_000), lease(2_000));
    let dialogue = "clock -> 5\nEVALSHA <rw_hash/read> 1 k 9000 1000 2000 1700000000005 -> 0";
    assert_eq!(play(dialogue, |redis| longer_writer.acquire(&owner(), redis)), Ok(Acquired::Held(refused())));
}

/// Leases are whole seconds.
#[test]
fn the_lock_of_two_keys_writes_a_constant_into_the_key_of_its_side() {
    for (mode, script, key) in [(Mode::Shared, "rw_pair/read", "r"), (Mode::Exclusive, "rw_pair/write", "w")] {
        let lock = PairLock::new("r".into(), "w".into(), mode, lease(9_001));
        let won = Hold { value: b"1".to_vec(), ..hold(5, 10_000) };
        for (answer, expected) in [("1", Acquired::Won(won.clone())), ("0", Acquired::Held(refused()))] {
            let dialogue = format!("clock -> 5\nEVALSHA <{script}> 2 r w 10 -> {answer}");
            assert_eq!(play(&dialogue, |redis| lock.acquire(&owner(), redis)), Ok(expected));
        }
        for (answer, expected) in [("1", Released::Freed), ("0", Released::Lost)] {
            assert_eq!(play(&format!("DEL {key} -> {answer}"), |redis| lock.release(&won, redis)), Ok(expected));
        }
        let table = [
            ("-2", Ownership::Free),
            ("-1", Ownership::Indistinct { left: None }),
            ("50", Ownership::Indistinct { left: Some(Duration::from_millis(50)) }),
        ];
        for (answer, expected) in table {
            assert_eq!(play(&format!("PTTL {key} -> {answer}"), |redis| lock.ownership(&won, redis)), Ok(expected));
        }
        assert_eq!(play("", |redis| lock.extend(&won, redis)), Ok(Extended::Unsupported));
    }
}
