//! `lockshift doctor`: what does not fit a fleet is found and named, and not found any more once it was changed as the text says.

use redis::cmd;
use serde_json::Value;

use super::command::{Done, done, lockshift, lockshift_at};
use crate::server::{Cluster, Options, Server};

fn examined(server: &Server, args: &[&str]) -> (Done, Value) {
    let done = done(lockshift_at(server), [&["doctor", "--json"], args].concat());
    let json = done.json()[0].clone();
    (done, json)
}

/// What each finding is about, and what to change.
fn found(json: &Value) -> Vec<(&str, &str)> {
    let text = |finding: &'_ Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned().leak() as &str;
    json["findings"].as_array().unwrap().iter().map(|it| (text(it, "subject"), text(it, "change"))).collect()
}

#[test]
fn a_server_that_fits_has_nothing_to_change() {
    let server = Server::with(&Options::new().line("appendonly yes"));
    let (done, json) = examined(&server, &["--fleet", "php-getset,token,fair,redlock"]);
    assert_eq!((done.code, found(&json)), (Some(0), vec![]), "{done:?}");
    assert_eq!(json["fits"], true);
    let text = super::command::done(lockshift_at(&server), ["doctor"]).stdout;
    assert!(text.contains("fits          permissions") && text.contains("standalone, master"), "{text}");
}

#[test]
fn what_endangers_locks_is_found_and_gone_when_it_was_changed() {
    let server = Server::with(&Options::new().line("maxmemory 100mb").line("maxmemory-policy allkeys-lru"));
    let (done, json) = examined(&server, &["--fleet", "redlock"]);
    let (policy, fsync) = ("CONFIG SET maxmemory-policy noeviction", "CONFIG SET appendonly yes appendfsync always");
    let expected = [("memory", policy), ("persistence", ""), ("persistence", fsync)];
    assert_eq!((done.code, found(&json)), (Some(1), expected.to_vec()), "{done:?}");
    for change in [policy, fsync] {
        let words: Vec<_> = change.split(' ').collect();
        cmd(words[0]).arg(&words[1..]).exec(&mut server.connect()).unwrap();
    }
    assert_eq!(examined(&server, &["--fleet", "redlock"]).0.code, Some(0));
}

#[test]
fn a_user_that_may_not_run_the_fleets_commands_is_shown_what_to_grant() {
    let server = Server::start();
    let grant = |rule: &str| {
        let words: Vec<_> = rule.split(' ').collect();
        cmd("ACL").arg("SETUSER").arg("app").arg(words).exec(&mut server.connect()).unwrap();
    };
    let own = "+info +time +command|info +acl|whoami +acl|dryrun";
    grant(&format!("on >secret ~other:* +get +set {own}"));
    let doctor = || {
        let mut command = lockshift();
        command.env("REDIS_URL", format!("redis://app:secret@{}/", server.address()));
        done(command, ["doctor", "--json", "--fleet", "token,php-getset,fair", "--match", "lock:*"])
    };
    let first = doctor();
    let json = first.json();
    let finding = &json[0]["findings"][0];
    let (subject, says) = (finding["subject"].as_str(), finding["says"].as_str().unwrap());
    assert_eq!((first.code, subject), (Some(1), Some("permissions")), "{first:?}");
    for needed in ["`app`", "setnx", "get", "pubsub|numsub"] {
        assert!(says.contains(needed), "{needed}: {says}");
    }
    grant(finding["change"].as_str().unwrap().strip_prefix("ACL SETUSER app ").unwrap());
    grant(own);
    let second = doctor();
    assert_eq!(second.code, Some(0), "{second:?}");
    // Where the user may not ask, the report says so and claims nothing.
    grant("-acl|dryrun");
    let third = doctor();
    assert_eq!(third.code, Some(0), "{third:?}");
    assert!(third.stdout.contains("\"not examined\""), "{third:?}");
}

/// What `Locks::token` of the library needs.
#[test]
fn a_user_that_may_not_publish_is_found_for_a_lock_that_does() {
    let server = Server::start();
    let rights = ["SETUSER", "mute", "on", ">hush", "~*", "+@all", "resetchannels"];
    cmd("ACL").arg(&rights).exec(&mut server.connect()).unwrap();
    let doctor = |fleet: &str| {
        let mut command = lockshift();
        command.env("REDIS_URL", format!("redis://mute:hush@{}/", server.address()));
        done(command, ["doctor", "--json", "--fleet", fleet])
    };
    let plain = doctor("token");
    assert_eq!(plain.code, Some(0), "{plain:?}");
    let announced = doctor("php-getset,token,announce=publish,fair");
    assert_eq!(announced.code, Some(1), "{announced:?}");
    assert!(announced.stdout.contains("publish"), "{announced:?}");
    let wrong = doctor("announce=publish,token");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn replicas_nodes_of_clusters_and_dead_servers_are_named() {
    let master = Server::start();
    let replica = Server::with(&Options::new().replica_of(&master));
    let (done, json) = examined(&replica, &[]);
    let connect_to = format!("connect to {}", master.address());
    assert_eq!((done.code, found(&json)[0]), (Some(1), ("role", connect_to.as_str())), "{done:?}");

    let cluster = Cluster::start();
    let node = cluster.masters()[0].url();
    let at = |url: &str| super::command::done(lockshift(), ["doctor", "--json", "--redis", url]);
    let alone = at(&node);
    assert!(alone.code == Some(1) && alone.stdout.contains("?cluster=true"), "{alone:?}");
    let whole = at(&format!("{node}?cluster=true"));
    assert_eq!((whole.code, whole.json().as_array().map(Vec::len)), (Some(0), Some(3)), "{whole:?}");

    let dead = at("redis://127.0.0.1:1/");
    assert_eq!((dead.code, dead.stdout.as_str()), (Some(3), ""), "{dead:?}");
}
