//! A guard in bridge mode on a real server: it holds the new key, as a bridge does.

use std::sync::Arc;
use std::time::Duration;

use lockshift::bridge::new_key;
use lockshift::driver::blocking::Lock;
use lockshift::driver::{Answer, Attempt};
use lockshift::lock::{Lease, Released};
use lockshift::modern::TokenLock;
use redis::{Commands, cmd};

use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::server::Server;

#[test]
fn an_old_client_and_a_new_one_exclude_each_other() {
    let server = Server::start();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let guard = GuardProcess::start(&server.url(), &rules, &["--mode", "bridge"]);
    let [mut old, mut other, mut direct] = [guard.connect(), guard.connect(), server.connect()];
    let lease = Lease::new(Duration::from_secs(30)).unwrap();
    let token = || Lock::new(server.connect(), Arc::new(TokenLock::new(new_key(&"lock:a".into()), lease)));
    let now = server_secs(&mut direct);

    assert!(old.set_nx::<_, _, bool>("lock:a", now + 30).unwrap());
    let stamp: String = direct.get("lock:a").unwrap();
    let held: String = direct.get("{lock:a}:token").unwrap();
    assert!(held.len() == 33 + stamp.len() && held.ends_with(&format!(":{stamp}")), "{held}, {stamp}");
    assert!(matches!(token().try_acquire().unwrap(), Attempt::Held(_)), "the old client holds it");
    assert_eq!(other.del("lock:a"), Ok(0), "it is not its own");
    assert_eq!(old.del("lock:a"), Ok(1));
    assert_eq!(direct.exists(&["lock:a", "{lock:a}:token"][..]), Ok(0), "both keys are deleted");

    let Attempt::Won(guarded) = token().try_acquire().unwrap() else { panic!("the lock is free") };
    assert!(!old.set_nx::<_, _, bool>("lock:a", now + 30).unwrap(), "the new client holds it");
    assert_eq!(old.get("lock:a"), Ok("7258118400".to_owned()), "a stamp that is live at any clock");
    assert!(matches!(guarded.release(), Ok(Answer::Known(Released::Freed))));
    assert!(old.set_nx::<_, _, bool>("lock:a", now + 30).unwrap(), "it was released");

    // A release inside a transaction deletes both keys too.
    cmd("WATCH").arg("lock:a").exec(&mut old).unwrap();
    redis::pipe().atomic().del("lock:a").exec(&mut old).unwrap();
    assert_eq!(direct.exists(&["lock:a", "{lock:a}:token"][..]), Ok(0));
}

#[test]
fn keys_that_live_for_ever_cannot_be_bridged() {
    let mut command = crate::cli::command::lockshift();
    command.args(["guard", "--listen", "127.0.0.1:0", "--redis", "redis://127.0.0.1:1/", "--mode", "bridge"]);
    let done = crate::cli::command::done(command, ["--guard", "lock:*=php-getset", "--no-ttl"]);
    assert!(done.code == Some(2) && done.stderr.contains("a bridge holds keys with a time to live"), "{done:?}");
}
