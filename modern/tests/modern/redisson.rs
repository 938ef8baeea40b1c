//! The locks of Redisson: keys and arguments in their order, the meaning of the replies, and the release channels.

use std::time::Duration;

use lockshift_lock::{Acquired, Extended, Held, Hold, Locker, Mode, Owner, Ownership, Refusal, Released, Token};
use lockshift_modern::Publish;
use lockshift_modern::redisson::{Fair, Kind, Mutex, ReadWrite};
use lockshift_wire::{Procedure, Reply, Transcript};

use crate::dialogue::{self, lease, owner, play};

fn mutex(kind: Kind) -> Mutex {
    Mutex::new("k".into(), lease(10_000)).kind(kind)
}

fn side(mode: Mode) -> ReadWrite {
    ReadWrite::new("k".into(), mode, lease(10_000))
}

fn fair() -> Fair {
    Fair::new("k".into(), lease(10_000))
}

/// What the owner holds: its field, and the id of its release.
fn hold(since_ms: u64, suffix: &str) -> Hold {
    let value = format!("{}{suffix}#{}", owner().thread_name(), owner().token.hex());
    Hold { value: value.into_bytes(), ..dialogue::hold(since_ms, 10_000) }
}

fn held(left_ms: Option<u64>) -> Acquired {
    Acquired::Held(Held { retry_in: left_ms.map(Duration::from_millis), ..Held::because(Refusal::Live) })
}

/// Each lock, and the command that enters it.
#[test]
fn each_lock_sends_its_arguments_on_entry() {
    let now = 1_700_000_000_005_u64;
    let queued = "k redisson_lock_queue:{k} redisson_lock_timeout:{k} 10000 <me>";
    let table: [(&dyn Locker, &str, String); 7] = [
        (&mutex(Kind::Reentrant), "", "<redisson/acquire> 1 k 10000 <me>".into()),
        (&mutex(Kind::Spin), "", "<redisson/acquire> 1 k 10000 <me>".into()),
        (&mutex(Kind::NonReentrant), "", "<redisson/acquire> 1 k 10000 <me> NON_REENTRANT_REACQUIRE".into()),
        (&side(Mode::Shared), "", "<redisson/read/acquire> 2 k {k}:<me>:rwlock_timeout 10000 <me> <me>:write".into()),
        (&side(Mode::Exclusive), ":write", "<redisson/write/acquire> 1 k 10000 <me>:write".into()),
        (&fair().patience(Duration::from_millis(1_500)), "", format!("<redisson/fair/acquire> 3 {queued} 1500 {now}")),
        (
            &fair().non_reentrant(),
            "",
            format!("<redisson/fair/acquire> 3 {queued} 300000 {now} NON_REENTRANT_REACQUIRE"),
        ),
    ];
    for (lock, suffix, command) in table {
        let ended = |answer| {
            let dialogue = format!("clock -> 5\nEVALSHA {command} -> {answer}");
            play(&dialogue, |redis| lock.acquire(&owner(), redis))
        };
        assert_eq!(ended("(nil)"), Ok(Acquired::Won(hold(5, suffix))), "{command}");
        assert_eq!(ended("4000"), Ok(held(Some(4_000))), "{command}");
        assert_eq!(ended("-1"), Ok(held(None)), "{command}: the lock has no time to live");
        assert!(ended("OK").is_err(), "{command}");
    }
}

#[test]
fn a_fenced_entry_returns_its_fence() {
    let ended = |answer| {
        let command = "EVALSHA <redisson/acquire_fenced> 2 k redisson_lock_token:{k} 10000 <me>";
        play(&format!("clock -> 5\n{command} -> {answer}"), |redis| mutex(Kind::Fenced).acquire(&owner(), redis))
    };
    assert_eq!(ended("[-1, 7]"), Ok(Acquired::Won(Hold { fence: Some(7), ..hold(5, "") })));
    assert_eq!(ended("[-1, -7]"), Ok(Acquired::Won(hold(5, ""))), "it holds, and has no fence to show");
    assert_eq!(ended("[4000, -1]"), Ok(held(Some(4_000))));
    assert_eq!(ended("[-1, -1]"), Ok(held(None)), "the lock has no time to live");
    assert!(ended("(nil)").is_err() && ended("[1]").is_err());
}

/// Each lock, the clock reading before, and the command that releases it; the latch is deleted afterwards.
#[test]
fn each_lock_sends_its_arguments_on_release() {
    let channel = "redisson_lock__channel:{k}";
    let latch = "redisson_unlock_latch:{k}:<token>";
    let unlock = |publish| format!("<redisson/unlock> 3 k {channel} {latch} 0 10000 <me> {publish} 20000");
    let table: [(&dyn Locker, &str, &str, String); 7] = [
        (&mutex(Kind::Reentrant), "", "", unlock("PUBLISH")),
        (&mutex(Kind::Fenced), "", "", unlock("PUBLISH")),
        (&mutex(Kind::NonReentrant).publish(Publish::InSlot), "", "", unlock("SPUBLISH")),
        (&mutex(Kind::Spin), "", "", format!("<redisson/unlock_spin> 2 k {latch} 10000 <me> 20000")),
        (
            &side(Mode::Shared),
            "",
            "",
            format!(
                "<redisson/read/unlock> 5 k redisson_rwlock:{{k}} {{k}}:<me>:rwlock_timeout {{k}} {latch} 0 <me> \
                 PUBLISH 20000"
            ),
        ),
        (
            &side(Mode::Exclusive).publish(Publish::InSlot),
            ":write",
            "",
            format!("<redisson/write/unlock> 3 k redisson_rwlock:{{k}} {latch} 1 10000 <me>:write SPUBLISH 20000"),
        ),
        (
            &fair(),
            "",
            "clock -> 9\n",
            format!(
                "<redisson/fair/unlock> 5 k redisson_lock_queue:{{k}} redisson_lock_timeout:{{k}} {channel} {latch} \
                 0 10000 <me> 1700000000009 PUBLISH 20000"
            ),
        ),
    ];
    for (lock, suffix, clock, command) in table {
        for (answer, meaning) in [("(nil)", Released::Lost), ("0", Released::StillHeld), ("1", Released::Freed)] {
            for removed in ["1", "0", "(error) READONLY You can't write"] {
                let dialogue = format!("{clock}EVALSHA {command} -> {answer}\nDEL {latch} -> {removed}");
                assert_eq!(play(&dialogue, |redis| lock.release(&hold(0, suffix), redis)), Ok(meaning), "{command}");
            }
        }
        let dialogue = format!("{clock}EVALSHA {command} -> 2");
        assert!(play(&dialogue, |redis| lock.release(&hold(0, suffix), redis)).is_err(), "{command}");
    }
}

/// Each lock, and the command that renews it.
#[test]
fn each_lock_sends_its_arguments_on_renewal() {
    let table: [(&dyn Locker, &str, &str); 4] = [
        (&mutex(Kind::Fenced), "", "<redisson/renew> 1 k 10000 <me>"),
        (&fair(), "", "<redisson/renew> 1 k 10000 <me>"),
        (&side(Mode::Exclusive), ":write", "<redisson/renew> 1 k 10000 <me>:write"),
        (&side(Mode::Shared), "", "<redisson/read/renew> 2 k {k} 10000 1 <me>"),
    ];
    for (lock, suffix, command) in table {
        let ended = |answer| {
            let dialogue = format!("clock -> 7\nEVALSHA {command} -> {answer}");
            play(&dialogue, |redis| lock.extend(&hold(0, suffix), redis))
        };
        assert_eq!(ended("[1]"), Ok(Extended::Until(hold(7, suffix))), "{command}");
        assert_eq!(ended("[0]"), Ok(Extended::Lost), "{command}");
        assert!(ended("1").is_err() && ended("[1, 1]").is_err(), "{command}");
    }
}

#[test]
fn each_lock_looks_for_the_field_of_its_owner() {
    let table: [(&dyn Locker, &str); 4] =
        [(&mutex(Kind::Reentrant), ""), (&fair(), ""), (&side(Mode::Shared), ""), (&side(Mode::Exclusive), ":write")];
    for (lock, suffix) in table {
        let look = |dialogue: &str| play(dialogue, |redis| lock.ownership(&hold(0, suffix), redis));
        let field = format!("HEXISTS k <me>{suffix}");
        let left = Some(Duration::from_millis(9_000));
        assert_eq!(look(&format!("PTTL k -> 9000\n{field} -> 1")), Ok(Ownership::Ours { left }));
        assert_eq!(look(&format!("PTTL k -> 9000\n{field} -> 0\nEXISTS k -> 1")), Ok(Ownership::Theirs));
        assert_eq!(look(&format!("PTTL k -> -2\n{field} -> 0\nEXISTS k -> 0")), Ok(Ownership::Free));
    }
}

/// Each lock, what comes before the count, and the command that leaves once.
#[test]
fn an_entry_beyond_the_holds_of_the_thread_is_disclaimed() {
    let latch = "redisson_unlock_latch:{k}:<token>";
    let channel = "redisson_lock__channel:{k}";
    let (queue, times) = ("redisson_lock_queue:{k}", "redisson_lock_timeout:{k}");
    let table: [(&dyn Locker, &str, String, String); 3] = [
        (
            &mutex(Kind::Reentrant),
            "",
            String::new(),
            format!("EVALSHA <redisson/unlock> 3 k {channel} {latch} 0 10000 <me> PUBLISH 20000"),
        ),
        (
            &side(Mode::Exclusive),
            ":write",
            String::new(),
            format!(
                "EVALSHA <redisson/write/unlock> 3 k redisson_rwlock:{{k}} {latch} 1 10000 <me>:write PUBLISH 20000"
            ),
        ),
        (
            &fair(),
            "",
            format!("EVALSHA <redisson/fair/give_up> 2 {queue} {times} <me> 300000 -> (nil)\n"),
            format!(
                "clock -> 9\nEVALSHA <redisson/fair/unlock> 5 k {queue} {times} {channel} {latch} 0 10000 <me> \
                 1700000000009 PUBLISH 20000"
            ),
        ),
    ];
    for (lock, suffix, before, leaves) in table {
        let count = format!("{before}HGET k <me>{suffix}");
        let left = format!("clock -> 0\n{leaves} -> 0\nDEL {latch} -> 1");
        let cases = [
            (0, format!("{count} -> (nil)")),
            (1, format!("{count} -> \"1\"")),
            (0, format!("{count} -> \"1\"\n{left}")),
            (1, format!("{count} -> \"2\"\n{left}")),
        ];
        for (entries, dialogue) in cases {
            let owner = Owner { entries, ..owner() };
            assert_eq!(play(&dialogue, |redis| lock.disclaim(&owner, redis)), Ok(()), "{dialogue}");
        }
    }
}

#[test]
fn withdraw_removes_the_place_in_the_queue() {
    let command =
        "EVALSHA <redisson/fair/give_up> 2 redisson_lock_queue:{k} redisson_lock_timeout:{k} <me> 300000 -> (nil)";
    assert_eq!(play(command, |redis| fair().withdraw(&owner(), redis)), Ok(()));
    let disclaim = format!("{command}\nHGET k <me> -> (nil)");
    assert_eq!(play(&disclaim, |redis| fair().disclaim(&owner(), redis)), Ok(()), "it has not entered");
}

/// Names with braces are left as they are.
#[test]
fn names_with_a_brace_are_not_wrapped() {
    let table = [("k", "{k}"), ("a{b}c", "a{b}c"), ("a{", "a{"), ("a}", "{a}}")];
    for (name, tagged) in table {
        let lock = Mutex::new(name.into(), lease(10_000));
        let channel = lock.release_channel(&owner()).map(|channel| channel.channel);
        assert_eq!(channel, Some(format!("redisson_lock__channel:{tagged}").into_bytes()));
        let reader = ReadWrite::new(name.into(), Mode::Shared, lease(10_000));
        let command = format!("clock -> 7\nEVALSHA <redisson/read/renew> 2 {name} {tagged} 10000 1 <me> -> [1]");
        let renewed = play(&command, |redis| reader.extend(&hold(0, ""), redis));
        assert_eq!(renewed, Ok(Extended::Until(hold(7, ""))), "{name}");
    }
}

#[test]
fn each_lock_has_its_release_channel() {
    let heard = |lock: &dyn Locker| {
        lock.release_channel(&owner()).map_or("no channel".to_owned(), |channel| {
            let name = String::from_utf8(channel.channel).unwrap().replace(&owner().thread_name(), "<me>");
            format!("{}SUBSCRIBE {name}", if channel.sharded { "S" } else { "" })
        })
    };
    let table: [(&dyn Locker, &str); 7] = [
        (&mutex(Kind::Reentrant), "SUBSCRIBE redisson_lock__channel:{k}"),
        (&mutex(Kind::Fenced).publish(Publish::InSlot), "SSUBSCRIBE redisson_lock__channel:{k}"),
        (&mutex(Kind::Spin), "no channel"),
        (&side(Mode::Shared), "SUBSCRIBE redisson_rwlock:{k}"),
        (&side(Mode::Exclusive).publish(Publish::InSlot), "SSUBSCRIBE redisson_rwlock:{k}"),
        (&fair(), "SUBSCRIBE redisson_lock__channel:{k}:<me>"),
        (&fair().publish(Publish::InSlot), "SSUBSCRIBE redisson_lock__channel:{k}:<me>"),
    ];
    for (lock, expected) in table {
        assert_eq!(heard(lock), expected);
    }
}

/// A thread that has entered twice releases twice: the second release must not find the latch of the first.
#[test]
fn every_entry_has_its_own_release() {
    let enter = |token| {
        let again = Owner { token: Token::new([token; 16]), ..owner() };
        let lock = mutex(Kind::Reentrant);
        let acquire = |redis: &mut Transcript| lock.acquire(&again, redis);
        match acquire.run_at(dialogue::hold(0, 10_000).since, |_| Some(Reply::Nil)) {
            Ok(Acquired::Won(hold)) => hold,
            other => panic!("{other:?}"),
        }
    };
    let (first, second) = (enter(1).value, enter(2).value);
    let parts = |value: &[u8]| {
        String::from_utf8(value.to_vec())
            .unwrap()
            .split_once('#')
            .map(|(field, release)| (field.to_owned(), release.to_owned()))
    };
    let ((field, release), (same, another)) = (parts(&first).unwrap(), parts(&second).unwrap());
    assert_eq!(field, same);
    assert_eq!((release.len(), another.len()), (32, 32));
    assert_ne!(release, another);
}
