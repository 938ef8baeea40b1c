//! The semaphore: a permit for each holder, and whose lease is still running by the server's clock.

use std::num::NonZeroU32;
use std::time::Duration;

use lockshift_lock::{Acquired, Extended, Held, Locker, Ownership, Refusal, Released};
use lockshift_modern::Semaphore;

use crate::dialogue::{hold, lease, owner, play};

fn semaphore() -> Semaphore {
    Semaphore::new("k".into(), NonZeroU32::new(3).unwrap(), lease(10_000))
}

#[test]
fn a_permit_is_acquired_or_becomes_free_in_time() {
    assert_eq!(semaphore().permits().get(), 3);
    let ended = |answer| {
        let dialogue = format!("clock -> 5\nEVALSHA <semaphore/acquire> 1 k <token> 10000 3 -> {answer}");
        play(&dialogue, |redis| semaphore().acquire(&owner(), redis))
    };
    let later = |millis| Held { retry_in: Some(Duration::from_millis(millis)), ..Held::because(Refusal::Live) };
    assert_eq!(ended("-1"), Ok(Acquired::Won(hold(5, 10_000))));
    assert_eq!((ended("0"), ended("70")), (Ok(Acquired::Held(later(0))), Ok(Acquired::Held(later(70)))));
}

#[test]
fn a_permit_whose_lease_has_ended_is_lost() {
    for (answer, released, extended) in
        [("1", Released::Freed, Extended::Until(hold(7, 10_000))), ("0", Released::Lost, Extended::Lost)]
    {
        let dialogue = format!("EVALSHA <semaphore/release> 1 k <token> -> {answer}");
        assert_eq!(play(&dialogue, |redis| semaphore().release(&hold(0, 10_000), redis)), Ok(released));
        assert_eq!(play(&dialogue, |redis| semaphore().disclaim(&owner(), redis)), Ok(()));
        let dialogue = format!("clock -> 7\nEVALSHA <semaphore/extend> 1 k <token> 10000 -> {answer}");
        assert_eq!(play(&dialogue, |redis| semaphore().extend(&hold(0, 10_000), redis)), Ok(extended));
    }
}

/// The score is the millisecond at which the lease ends.
#[test]
fn ownership_compares_the_score_with_the_clock_of_the_server() {
    let look = |dialogue: &str| play(dialogue, |redis| semaphore().ownership(&hold(0, 10_000), redis));
    let scored = |score| format!("ZSCORE k <token> -> {score}");
    let timed = |score| look(&format!("{}\nTIME -> [\"1700000000\", \"7000\"]", scored(score)));
    assert_eq!(timed("\"1700000000057\""), Ok(Ownership::Ours { left: Some(Duration::from_millis(50)) }));
    for ended in ["\"1700000000007\"", "\"1700000000006\""] {
        assert_eq!(timed(ended), Ok(Ownership::Free), "{ended}");
    }
    assert_eq!(look(&scored("(nil)")), Ok(Ownership::Free));
    for invalid in ["\"soon\"", "OK"] {
        assert!(look(&scored(invalid)).is_err_and(|fault| fault.starts_with("ZSCORE k")), "{invalid}");
    }
}
