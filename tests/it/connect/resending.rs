//! A command whose reply is late or lost is not sent again, whatever lock sends it, by whatever driver. The one exception is a
//! release whose connection broke, once, where a second run can do no harm.

use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::{Answer, Attempt};
use lockshift::lock::{Lease, Locker, Released};
use lockshift::wire::Key;
use redis::cmd;

use super::Proxied;
use crate::life::{Locks, Over};
use crate::protocols;
use crate::proxy::{Cut, MessageFault};

const LEASE: Duration = Duration::from_secs(600);

/// Longer than a reply is waited for.
const LATE: Duration = Duration::from_millis(600);

/// What happens to a reply.
const FAULTS: [&str; 3] = ["late", "lost with the connection", "cut in half"];

fn strike(fault: &str) -> MessageFault {
    match fault {
        "late" => MessageFault::LateReply(LATE),
        "lost with the connection" => MessageFault::Cut(Cut::After),
        "cut in half" => MessageFault::Cut(Cut::WithinReply),
        _ => unreachable!("{fault} is a fault"),
    }
}

/// Locks whose commands must not run twice, each for a reason of its own.
const LOCKS: [&str; 7] = ["java-lua", "php-getset", "token", "token-fenced", "fair", "reentrant", "redisson"];

fn locker(name: &str, key: &str) -> Arc<dyn Locker> {
    let all = protocols::every(&Key::from(key), Lease::new(LEASE).unwrap());
    all.into_iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("the catalogue has {name}")).1
}

/// Whether a release by this locker that breaks at this packed command is repeated with the same command. EVAL is sent where the
/// server does not know a script, and never twice: afterwards it knows it.
fn is_repeated(locker: &dyn Locker, packed: &[u8]) -> bool {
    let name = packed.split(|byte| *byte == b'\n').nth(2).unwrap_or_default().trim_ascii_end();
    match name {
        b"TTL" => true,
        b"EVAL" => false,
        _ => locker.release_is_repeatable(),
    }
}

/// Acquires and releases each lock while a fault hits one of its commands after the other, and lists every command
/// that was sent again, and each one of a release that should have been and was not.
fn sent_twice<L: Locks>(proxied: &Proxied, locks: &L) -> Vec<String> {
    let mut stories = Vec::new();
    for name in LOCKS {
        for fault in FAULTS {
            let mut is_hit = true;
            for step in 0.. {
                let key = format!("{name} {fault} {step}");
                let locker = locker(name, &key);
                let lock = locks.lock(Arc::clone(&locker));
                proxied.proxy.forget();
                proxied.proxy.strike(step, strike(fault));
                let attempt = locks.try_acquire(&lock);
                let sent_before_release = proxied.proxy.messages().len();
                if let Ok(Attempt::Won(guard)) = attempt {
                    // Its outcome is what the fault makes of it.
                    let _ = locks.release(guard);
                }
                is_hit &= !proxied.proxy.spare();
                if !is_hit {
                    break;
                }
                let sent = proxied.proxy.messages();
                let hit = &sent[step];
                if hit.ends_with(b"PING\r\n") {
                    // The machine is so busy that the connection has been idle: nothing is wrong with asking twice.
                    continue;
                }
                let breaks_release = step >= sent_before_release && fault != "late";
                let expected = 1 + usize::from(breaks_release && is_repeated(&*locker, hit));
                let times = sent.iter().filter(|message| *message == hit).count();
                if times != expected {
                    let words = String::from_utf8_lossy(hit).replace("\r\n", " ");
                    stories.push(format!("{name}, {fault} at {step}, sent {times} times: {words}"));
                }
            }
        }
    }
    stories
}

/// A releases without naming itself, its reply is late, B acquires: B still holds when A has learned how it ended.
fn a_late_reply_to_an_ownerless_release_costs_nobody_the_lock<L: Locks>(proxied: &Proxied, locks: &L) {
    let lock = locks.lock(locker("java-lua", "released late"));
    let Ok(Attempt::Won(guard)) = locks.try_acquire(&lock) else { panic!("the lock is free") };
    proxied.proxy.strike(0, MessageFault::LateReply(LATE * 4));
    let released = std::thread::scope(|scope| {
        let mut direct = proxied.server.connect();
        scope.spawn(move || {
            crate::patience::until("A's DEL has run, and B acquires", || {
                cmd("SET").arg("released late").arg("B's").arg("NX").query::<Option<String>>(&mut direct).ok().flatten()
            })
        });
        locks.release(guard)
    });
    assert!(matches!(released, Ok(Answer::Unknown(_))), "{released:?}");
    let held: Option<String> = cmd("GET").arg("released late").query(&mut proxied.server.connect()).unwrap();
    assert_eq!(held.as_deref(), Some("B's"), "A's release has hit B's lock");
}

/// The lost reply of a won attempt leaves no lock behind, where the protocol names its owner.
fn a_lost_reply_to_a_win_leaves_nothing_behind<L: Locks>(proxied: &Proxied, locks: &L) {
    for name in ["token", "token-fenced"] {
        for fault in FAULTS {
            let key = format!("{name} left by {fault}");
            let lock = locks.lock(locker(name, &key));
            proxied.proxy.strike(0, strike(fault));
            let attempt = locks.try_acquire(&lock);
            assert!(matches!(attempt, Ok(Attempt::Unknown(_))), "{name}, {fault}: the reply was lost");
            assert_eq!(cmd("EXISTS").arg(&key).query(&mut proxied.server.connect()), Ok(0), "{name}, {fault}");
            let Ok(Attempt::Won(guard)) = locks.try_acquire(&lock) else { panic!("{name}, {fault}: it is free") };
            assert!(matches!(locks.release(guard), Ok(Answer::Known(Released::Freed))), "{name}, {fault}");
        }
    }
}

/// A re-entrant win whose reply was lost is counted once.
fn a_lost_reply_to_a_reentrant_win_is_counted_once<L: Locks>(proxied: &Proxied, locks: &L) {
    for name in ["reentrant", "redisson"] {
        for fault in FAULTS {
            let key = format!("{name} counted by {fault}");
            let lock = locks.lock(locker(name, &key));
            proxied.proxy.strike(0, strike(fault));
            let attempt = locks.try_acquire(&lock);
            assert!(matches!(attempt, Ok(Attempt::Unknown(_))), "{name}, {fault}: the reply was lost");
            let counts: Vec<u32> = cmd("HVALS").arg(&key).query(&mut proxied.server.connect()).unwrap();
            assert!(counts.iter().all(|count| *count == 1), "{name}, {fault}: {counts:?}");
        }
    }
}

fn judge<L: Locks>(proxied: &Proxied, locks: &L) {
    assert_eq!(sent_twice(proxied, locks), Vec::<String>::new());
    a_late_reply_to_an_ownerless_release_costs_nobody_the_lock(proxied, locks);
    a_lost_reply_to_a_win_leaves_nothing_behind(proxied, locks);
    a_lost_reply_to_a_reentrant_win_is_counted_once(proxied, locks);
}

#[test]
fn no_command_is_sent_twice_to_a_cluster_by_threads() {
    let proxied = Proxied::cluster();
    judge(&proxied, &Over::threads(|| proxied.target(true).connect().expect("it is up")));
}

#[test]
fn no_command_is_sent_twice_to_one_server_by_threads() {
    let proxied = Proxied::single();
    judge(&proxied, &Over::threads(|| proxied.target(false).connect().expect("it is up")));
}

#[cfg(feature = "tokio")]
#[test]
fn no_command_is_sent_twice_to_a_cluster_by_tasks() {
    let proxied = Proxied::cluster();
    judge(&proxied, &Over::tasks(async || proxied.target(true).connect_async().await.expect("it is up")));
}

#[cfg(feature = "tokio")]
#[test]
fn no_command_is_sent_twice_to_one_server_by_tasks() {
    let proxied = Proxied::single();
    judge(&proxied, &Over::tasks(async || proxied.target(false).connect_async().await.expect("it is up")));
}
