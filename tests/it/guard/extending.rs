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

const UNTIL: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";
const LATER: &str = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end \
                     redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[3]) return 1";
const SAME: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return 1 end return 0";
const FREE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// Runs a script on the lock with these arguments.
fn eval(client: &mut redis::Connection, script: &str, args: &[&str]) -> i64 {
    cmd("EVAL").arg(script).arg(1).arg("lock:a").arg(args).query(client).unwrap()
}

/// A script that succeeds is no release, unless the lock is gone after it.
#[test]
fn a_holders_script_keeps_its_lock_extends_it_or_releases_it() {
    let server = Server::start();
    for (mode, keys) in [("protect", &KEYS[..1]), ("bridge", &KEYS[..])] {
        let guard = guarding(&server, mode);
        let [mut holder, mut other, mut direct] = [guard.connect(), guard.connect(), server.connect()];
        let now = server_secs(&mut direct);
        let [own, later] = [20, 60].map(|seconds| (now + seconds).to_string());
        assert_eq!(holder.set_nx("lock:a", &own), Ok(true));
        assert_eq!(eval(&mut holder, SAME, &[&own]), 1, "{mode}");
        assert_eq!(eval(&mut holder, UNTIL, &[&own, "20000"]), 1, "{mode}");
        assert_eq!(direct.exists(keys), Ok(keys.len()), "{mode}: it is held");
        assert_eq!(other.set_nx("lock:a", &later), Ok(false), "{mode}");

        assert_eq!(eval(&mut holder, LATER, &[&own, &later, "60000"]), 1, "{mode}");
        for key in keys {
            let left: i64 = direct.ttl(key).unwrap();
            assert!((50..=70).contains(&left), "{mode}: {key} was extended: {left}");
        }
        assert_ne!(direct.get("lock:a"), Ok(later.clone()), "{mode}: the guard has written its own");
        assert_eq!(holder.get("lock:a"), Ok(later.clone()), "{mode}: its own value");
        assert_eq!(eval(&mut other, FREE, &[&later]), 0, "{mode}: not its own");

        assert_eq!(eval(&mut holder, FREE, &[&own]), 0, "{mode}: an earlier value");
        assert_eq!(eval(&mut holder, FREE, &[&later]), 1, "{mode}");
        assert_eq!(direct.exists(&KEYS[..]), Ok(0), "{mode}: it was released");
        assert_eq!(other.set_nx("lock:a", &later), Ok(true), "{mode}");
        assert_eq!(other.del("lock:a"), Ok(1), "{mode}");
        guard.terminate();
        let text = String::from_utf8(guard.done().0.stdout).unwrap();
        for line in ["1  Extensions of held locks", "2  Locks that were released by their holders"] {
            assert!(text.contains(line), "{mode}: {text}");
        }
    }
}

#[test]
fn a_script_that_extends_a_lost_lock_changes_nothing() {
    let server = Server::start();
    for mode in ["protect", "bridge"] {
        let guard = guarding(&server, mode);
        let [mut late, mut next, mut direct] = [guard.connect(), guard.connect(), server.connect()];
        let end = server_secs(&mut direct) + 20;
        let [own, later] = [end, end + 40].map(|end| end.to_string());
        assert_eq!(late.set_nx("lock:a", &own), Ok(true));
        direct.del::<_, ()>(&KEYS[..]).unwrap();
        assert_eq!(next.set_nx("lock:a", end + 1), Ok(true));
        let held = direct.mget::<_, Vec<Option<String>>>(&KEYS[..]);
        assert_eq!(eval(&mut late, LATER, &[&own, &later, "60000"]), 0, "{mode}");
        assert_eq!(direct.mget(&KEYS[..]), held, "{mode}: the lock of the next holder is as it was");
        assert_eq!(next.del("lock:a"), Ok(1), "{mode}");
    }
}

/// `lockshift run` extends by a script of its own, while its command runs.
#[test]
fn a_command_that_runs_under_a_guarded_lock_keeps_it() {
    let server = Server::start();
    for mode in ["protect", "bridge"] {
        let guard = GuardProcess::start(&server.url(), &[("lock:*".to_owned(), "php-getset")], &["--mode", mode]);
        let mut direct = server.connect();
        let mut command = crate::cli::command::lockshift();
        let url = format!("redis://{}", guard.address());
        command.args(["run", "--redis", &url, "lock:a", "-p", "php-getset", "--lease", "2s", "--", "sleep", "3"]);
        let running = std::thread::spawn(move || crate::cli::command::done(command, [] as [&str; 0]));
        crate::patience::until("the lock is held", || {
            direct.exists("lock:a").ok().filter(|held: &bool| *held).map(drop)
        });
        let keys = if mode == "bridge" { &KEYS[..] } else { &KEYS[..1] };
        let mut is_held = Vec::new();
        while !running.is_finished() {
            is_held.push(direct.exists(keys) == Ok(keys.len()));
            crate::patience::pause(std::time::Duration::from_millis(20));
        }
        let done = running.join().unwrap();
        assert!(done.code == Some(0), "{mode}: {done:?}");
        let until_released = is_held.iter().rposition(|is_held| *is_held).expect("it was held");
        assert!(is_held[..until_released].iter().all(|is_held| *is_held), "{mode}: {is_held:?}");
        assert_eq!(direct.exists(&KEYS[..]), Ok(0), "{mode}: it was released");
    }
}
