//! The token lock with a fence: the count that it hands out, and the token lock that it is in all else.

use lockshift_lock::{Acquired, Extended, Held, Hold, Locker, Refusal, Released};
use lockshift_modern::FencedTokenLock;

use crate::dialogue::{hold, lease, owner, play};

/// What is answered to the script that takes the lock and counts.
fn acquire(answer: &str) -> Result<Acquired, String> {
    let lock = FencedTokenLock::new("k".into(), lease(10_000));
    let dialogue = format!("clock -> 5\nEVALSHA <fenced/acquire> 2 k {{k}}:fence <token> 10000 -> {answer}");
    play(&dialogue, |redis| lock.acquire(&owner(), redis))
}

#[test]
fn an_acquisition_returns_the_count() {
    assert_eq!(acquire("1"), Ok(Acquired::Won(Hold { fence: Some(1), ..hold(5, 10_000) })));
    let most = i64::MAX.unsigned_abs();
    assert_eq!(acquire(&most.to_string()), Ok(Acquired::Won(Hold { fence: Some(most), ..hold(5, 10_000) })));
    assert_eq!(acquire("0"), Ok(Acquired::Held(Held::because(Refusal::Live))));
    assert!(acquire("(nil)").is_err_and(|fault| fault.ends_with("unexpected reply (nil)")));
    assert!(acquire("-3").is_err_and(|fault| fault.ends_with("unexpected reply -3")), "it may have been taken");
}

#[test]
fn an_extension_keeps_the_fence_and_a_release_keeps_the_counter() {
    let lock = FencedTokenLock::new("k".into(), lease(10_000));
    let held = Hold { fence: Some(7), ..hold(0, 10_000) };
    let extended = play("clock -> 9\nEVALSHA <extend> 1 k <token> 10000 -> 1", |redis| lock.extend(&held, redis));
    assert_eq!(extended, Ok(Extended::Until(Hold { fence: Some(7), ..hold(9, 10_000) })));
    let released = play("EVALSHA <release> 1 k <token> -> 1", |redis| lock.release(&held, redis));
    assert_eq!(released, Ok(Released::Freed));
}
