//! The token lock: acquiring, the lease in four forms, clocks, ownership and disclaiming.

use std::time::Duration;

use lockshift_lock::{Acquired, Extended, Held, Hold, Locker, Ownership, Refusal};
use lockshift_modern::{Native, Timing, TokenLock};
use lockshift_wire::MonoTime;

use crate::dialogue::{hold, lease, owner, play};

fn token_lock() -> TokenLock {
    TokenLock::new("k".into(), lease(10_000))
}

fn acquire(lock: &TokenLock, dialogue: &str) -> Result<Acquired, String> {
    play(dialogue, |redis| lock.acquire(&owner(), redis))
}

#[test]
fn a_lease_counts_from_before_the_command_was_sent() {
    let ended = acquire(
        &token_lock(),
        "
        clock -> 5
        SET k <token> NX PX 10000 -> OK
        ",
    );
    assert_eq!(ended, Ok(Acquired::Won(hold(5, 10_000))));
}

#[test]
fn a_held_key_is_not_changed() {
    let ended = acquire(
        &token_lock(),
        "
        clock -> 5
        SET k <token> NX PX 10000 -> (nil)
        ",
    );
    assert_eq!(ended, Ok(Acquired::Held(Held::because(Refusal::Live))));
}

#[test]
fn a_refusal_and_an_invalid_reply_are_faults() {
    let refused = "
        clock -> 0
        SET k <token> NX PX 10000 -> (error) OOM command not allowed
        ";
    assert!(acquire(&token_lock(), refused).unwrap_err().ends_with("NX PX 10000: OOM command not allowed"));
    let nonsense = "
        clock -> 0
        SET k <token> NX PX 10000 -> 1
        ";
    assert!(acquire(&token_lock(), nonsense).unwrap_err().ends_with("NX PX 10000: unexpected reply 1"));
}

#[test]
fn a_holder_relies_on_the_lease_less_the_drift() {
    assert_eq!(hold(5, 10_000).valid_until(), MonoTime::since_origin(Duration::from_millis(5 + 10_000 - 102)));
}

/// The requested lease in milliseconds, the option, its arguments, the resulting lease.
#[test]
fn a_lease_is_rounded_up_to_the_resolution_of_the_option() {
    let table = [
        (10_000_000, Timing::Px, "PX 10000", 10_000),
        (1_500_000, Timing::Px, "PX 1500", 1_500),
        (1_500_001, Timing::Px, "PX 1501", 1_501),
        (10_000_000, Timing::Ex, "EX 10", 10_000),
        (1_500_000, Timing::Ex, "EX 2", 2_000),
        (1_000, Timing::Ex, "EX 1", 1_000),
    ];
    for (asked_us, timing, option, had_ms) in table {
        let lease = lockshift_lock::Lease::new(Duration::from_micros(asked_us)).unwrap();
        let lock = TokenLock::new("k".into(), lease).timed(timing);
        let dialogue = format!("clock -> 0\nSET k <token> NX {option} -> OK");
        assert_eq!(acquire(&lock, &dialogue), Ok(Acquired::Won(hold(0, had_ms))), "{option}");
        assert_eq!(lock.lease().length(), Duration::from_millis(had_ms), "{option}");
    }
}

/// When the lease begins, its length, the option, its arguments.
#[test]
fn an_absolute_end_is_computed_from_the_wall_clock_and_rounded_up() {
    let table = [
        (0, 10_000, Timing::PxAt, "PXAT 1700000010000"),
        (7, 1_500, Timing::PxAt, "PXAT 1700000001507"),
        (0, 10_000, Timing::ExAt, "EXAT 1700000010"),
        (7, 10_000, Timing::ExAt, "EXAT 1700000011"),
        (700, 1_500, Timing::ExAt, "EXAT 1700000003"),
    ];
    for (now_ms, lease_ms, timing, option) in table {
        let lock = TokenLock::new("k".into(), lease(lease_ms)).timed(timing);
        let dialogue = format!("clock -> {now_ms}\nSET k <token> NX {option} -> (nil)");
        assert_eq!(acquire(&lock, &dialogue), Ok(Acquired::Held(Held::because(Refusal::Live))), "{option}");
        assert_eq!(lock.lease(), lease(lease_ms));
    }
}

/// The replies of the server 3 ms into a lease of 10 s, and the remaining lease.
#[test]
fn an_absolute_end_is_limited_by_the_server_clock() {
    let table = [
        ("the clocks agree", "9998", "\"<token>\"", Some(hold(0, 10_000))),
        ("the server's is 4 s ahead", "5998", "\"<token>\"", Some(hold(3, 5_998))),
        ("the server's is 4 s behind", "13998", "\"<token>\"", Some(hold(0, 10_000))),
        ("the server's is a century behind", "4000000000000", "\"<token>\"", Some(hold(0, 10_000))),
        ("another client removed the expiry", "-1", "\"<token>\"", Some(hold(0, 10_000))),
        ("it is about to end", "0", "\"<token>\"", None),
        ("the lease had expired when it began", "-2", "(nil)", None),
        ("the lease has expired and another client holds the key", "9998", "\"theirs\"", None),
    ];
    for (case, pttl, value, left) in table {
        let dialogue = |option| {
            let answer = format!("-> OK\nclock -> 3\nPTTL k -> {pttl}\nGET k -> {value}");
            format!("clock -> 0\nSET k <token> {option} 1700000010000 {answer}")
        };
        let lock = token_lock().timed(Timing::PxAt).native(Native::VALKEY_9_0);
        let won = Acquired::Won(left.clone().unwrap_or(already_expired()));
        assert_eq!(acquire(&lock, &dialogue("NX PXAT")), Ok(won), "{case}");
        let extended = play(&dialogue("IFEQ <token> PXAT"), |redis| lock.extend(&hold(0, 10_000), redis));
        assert_eq!(extended, Ok(left.map_or(Extended::Lost, Extended::Until)), "{case}");
    }
}

/// The server's commands that compare have nothing to set either.
#[test]
fn a_lock_without_expiry_lasts_until_it_is_released() {
    for native in [Native::NONE, Native::VALKEY_9_0] {
        let lock = token_lock().timed(Timing::None).native(native);
        assert!(!lock.expires() && lock.lease() == lease(10_000));
        let own = hold(0, 10_000);
        assert_eq!(acquire(&lock, "clock -> 0\nSET k <token> NX -> OK"), Ok(Acquired::Won(own.clone())));
        let held = Acquired::Held(Held::because(Refusal::Live));
        assert_eq!(acquire(&lock, "clock -> 0\nSET k <token> NX -> (nil)"), Ok(held));
        let looks = [
            ("\"<token>\"", Extended::Until(hold(4, 10_000))),
            ("\"theirs\"", Extended::Lost),
            ("(nil)", Extended::Lost),
        ];
        for (value, extended) in looks {
            let dialogue = format!("clock -> 4\nGET k -> {value}");
            assert_eq!(play(&dialogue, |redis| lock.extend(&own, redis)), Ok(extended), "{value}");
        }
    }
}

/// The server's clock is 1 ms ahead, and exactly so much less drift is counted from there.
#[test]
fn a_lease_that_ends_no_earlier_by_the_server_clock_is_counted_from_its_own_beginning() {
    let (own, limited) = (hold(0, 10_000), hold(99, 9_900));
    assert_eq!(own.valid_until(), limited.valid_until());
    let limit = "clock -> 99\nPTTL k -> 9900\nGET k -> \"<token>\"";
    let dialogue = format!("clock -> 0\nSET k <token> NX PXAT 1700000010000 -> OK\n{limit}");
    assert_eq!(acquire(&token_lock().timed(Timing::PxAt), &dialogue), Ok(Acquired::Won(own)));
}

/// The shortest lease, which is all drift: it has expired before its holder can rely on it.
fn already_expired() -> Hold {
    assert_eq!(lease(1).validity(), Duration::ZERO);
    hold(0, 1)
}

#[test]
fn ownership_reads_the_ttl_before_the_token() {
    let ours = |left| Ownership::Ours { left };
    let table = [
        ("9500", "\"<token>\"", ours(Some(Duration::from_millis(9_500)))),
        ("-1", "\"<token>\"", ours(None)),
        ("9500", "\"theirs\"", Ownership::Theirs),
        ("12", "(nil)", Ownership::Free),
        ("-2", "(nil)", Ownership::Free),
    ];
    for (pttl, value, expected) in table {
        let dialogue = format!("PTTL k -> {pttl}\nGET k -> {value}");
        let looked = play(&dialogue, |redis| token_lock().ownership(&hold(0, 10_000), redis));
        assert_eq!(looked, Ok(expected), "{dialogue}");
    }
    let hash = "PTTL k -> 9500\nGET k -> (error) WRONGTYPE Operation against a key";
    let looked = play(hash, |redis| token_lock().ownership(&hold(0, 10_000), redis));
    assert_eq!(looked, Err("GET k: WRONGTYPE Operation against a key".to_owned()));
}
