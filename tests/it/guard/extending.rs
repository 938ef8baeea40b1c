//! Clients that write a later stamp while they work, as the `refresh_lock!` of resque-lock-timeout does by SET.

use redis::{Commands, cmd};

use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::server::Server;

const KEYS: [&str; 2] = ["lock:a", "{lock:a}:token"];

fn guarding(server: &Server, mode: &str) -> GuardProcess {
    let rules = [("lock:*".to_owned(), "resque-lock-timeout")];
    GuardProcess::start(&server.url(), &rules, &["--mode", mode])
}

#[test]
fn a_holder_that_writes_a_later_stamp_extends_its_lock_and_releases_it() {
    let server = Server::start();
    for (mode, keys) in [("protect", &KEYS[..1]), ("bridge", &KEYS[..])] {
        let guard = guarding(&server, mode);
        let [mut holder, mut other, mut direct] = [guard.connect(), guard.connect(), server.connect()];
        let end = server_secs(&mut direct) + 5;
        assert_eq!(holder.set_nx("lock:a", end), Ok(true));
        for (words, later) in [("SET", 60), ("SETEX", 120)] {
            let end = end + later;
            let mut command = cmd(words);
            command.arg("lock:a").arg((words == "SETEX").then_some(later)).arg(end);
            assert_eq!(command.query(&mut holder), Ok("OK".to_owned()), "{mode}");
            for key in keys {
                let left: i64 = direct.ttl(key).unwrap();
                assert!((later - 10..=later + 10).contains(&left), "{mode}, {key} after {words}: {left}");
            }
            assert_eq!(holder.get("lock:a"), Ok(end.to_string()), "{mode}: its own value");
            assert_ne!(direct.get("lock:a"), Ok(end.to_string()), "{mode}: the guard has written its own");
        }
        assert_eq!(other.set_nx("lock:a", end + 60), Ok(false), "{mode}");
        assert_eq!(holder.del("lock:a"), Ok(1), "{mode}");
        assert_eq!(direct.exists(&KEYS[..]), Ok(0), "{mode}");
        guard.terminate();
        let text = String::from_utf8(guard.done().0.stdout).unwrap();
        assert!(text.contains("2  Extensions of held locks"), "{mode}: {text}");
    }
}

/// A holder is held up before its command arrives. Without a guard it would free the lock of the next holder.
#[test]
fn a_stamp_that_has_ended_on_its_way_frees_the_own_lock_alone() {
    let server = Server::start();
    for mode in ["protect", "bridge"] {
        let guard = guarding(&server, mode);
        let [mut late, mut next, mut direct] = [guard.connect(), guard.connect(), server.connect()];
        let now = server_secs(&mut direct);
        assert_eq!(late.set_nx("lock:a", now + 60), Ok(true));
        direct.del::<_, ()>(&KEYS[..]).unwrap();
        assert_eq!(next.set_nx("lock:a", now + 61), Ok(true));
        let held = direct.mget::<_, Vec<Option<String>>>(&KEYS[..]);
        assert_eq!(late.set("lock:a", now - 5), Ok("OK".to_owned()), "{mode}");
        assert_eq!(direct.mget(&KEYS[..]), held, "{mode}: the lock of the next holder is as it was");
        assert_eq!(next.set("lock:a", now - 5), Ok("OK".to_owned()), "{mode}");
        assert_eq!(late.set_nx("lock:a", now + 60), Ok(true), "{mode}: it is free");
        assert_eq!(late.del("lock:a"), Ok(1), "{mode}");
    }
}

#[test]
fn a_holder_that_has_lost_its_lock_overwrites_nothing() {
    let server = Server::start();
    for mode in ["protect", "bridge"] {
        let guard = guarding(&server, mode);
        let [mut late, mut next, mut direct] = [guard.connect(), guard.connect(), server.connect()];
        let end = server_secs(&mut direct) + 60;
        assert_eq!(late.set_nx("lock:a", end), Ok(true));
        direct.del::<_, ()>(&KEYS[..]).unwrap();
        assert_eq!(next.set_nx("lock:a", end + 1), Ok(true));
        let held = direct.mget::<_, Vec<Option<String>>>(&KEYS[..]);
        assert_eq!(late.set("lock:a", end + 30), Ok("OK".to_owned()), "{mode}: as without a guard");
        assert_eq!(direct.mget(&KEYS[..]), held, "{mode}: the lock of the next holder is as it was");
        assert_eq!(late.del("lock:a"), Ok(0), "{mode}");
        assert_eq!(next.del("lock:a"), Ok(1), "{mode}");
        guard.terminate();
        let text = String::from_utf8(guard.done().0.stdout).unwrap();
        assert!(text.contains("1  Held locks that could not be extended"), "{mode}: {text}");
    }
}
