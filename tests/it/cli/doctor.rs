//! `lockshift doctor`: what does not fit a fleet is found and named, and not found any more once it was changed as the text says.

use redis::{InfoDict, cmd};
use serde_json::Value;

use super::command::{Done, done, lockshift, lockshift_at};
use crate::patience::until;
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

/// A user with these rights and those that the doctor needs, and what it finds for that user.
fn examined_as(server: &Server, rights: &str, database: u8, args: &[&str]) -> (Done, Value) {
    let own = "+info +time +command|info +acl|whoami +acl|dryrun";
    let words: Vec<_> = rights.split(' ').chain(own.split(' ')).collect();
    cmd("ACL")
        .arg("SETUSER")
        .arg("app")
        .arg("reset")
        .arg("on")
        .arg(">secret")
        .arg(words)
        .exec(&mut server.connect())
        .unwrap();
    let mut command = lockshift();
    command.env("REDIS_URL", format!("redis://app:secret@{}/{database}", server.address()));
    let done = done(command, [&["doctor", "--json"], args].concat());
    let json = done.json()[0].clone();
    (done, json)
}

#[test]
fn every_key_and_channel_of_a_fleet_is_tried() {
    let server = Server::start();
    for (rights, fleet, pattern, also) in [
        ("~lock:* +@all", "token-fenced", "lock:*", "~{lock:*}:fence"),
        ("~lock:* +@all", "bridge:php-getset", "lock:*", "~{lock:*}:token"),
        ("~* resetchannels &redisson_lock__channel:* +@all", "redisson,redisson-rw", "*", "&redisson_rwlock:*"),
        // The classes of a pattern are tried by a letter that is in them, or is not.
        ("~lock:[ab]* +@all", "token-fenced", "lock:[ab]*", "~{lock:[ab]*}:fence"),
        ("~lock:[^x]\\** +@all", "token-fenced", "lock:[^x]\\**", "~{lock:[^x]\\**}:fence"),
    ] {
        let args = ["--fleet", fleet, "--match", pattern];
        let (lacking, json) = examined_as(&server, rights, 0, &args);
        let change = found(&json).iter().find_map(|(subject, change)| (*subject == "permissions").then_some(*change));
        assert!(lacking.code == Some(1) && change.is_some(), "{rights} {fleet}: {lacking:?}");
        let (whole, _) = examined_as(&server, &format!("{rights} {also}"), 0, &args);
        assert_eq!(whole.code, Some(0), "{rights} {also} {fleet}: {whole:?}");
        let addition = change.unwrap().strip_prefix("ACL SETUSER app ").unwrap();
        let (changed, _) = examined_as(&server, &format!("{rights} {addition}"), 0, &args);
        assert_eq!(changed.code, Some(0), "{change:?} {fleet}: {changed:?}");
    }
}

/// What is granted comes on top of what the user has: a selector of its own, whatever that is.
#[test]
fn what_is_to_be_granted_takes_nothing_away() {
    let server = Server::start();
    let selector = "(resetkeys ~lock:* resetchannels -@all +del +eval +evalsha +get +pexpire +pttl +set)";
    for rights in [
        "~* &* +@all -eval",
        "~other:* +@all",
        "~other:* -@all +get +set",
        // One name of the pattern is permitted, and another is not.
        "~lock:x* +@all",
        "%R~lock:* +@all",
        // A user that has all of it but one command, and only in a selector; and one whose scripts may not use what others may.
        "~other:* +get (~lock:* -@all +get +set +eval +evalsha +pttl +pexpire)",
        "~other:* +@all (~lock:* -@all +get +set +del +pexpire +pttl)",
    ] {
        let rights = format!("{rights} +info +time +acl|whoami +acl|dryrun +command +config|get");
        let (lacking, json) = examined_as(&server, &rights, 0, &["--match", "lock:*"]);
        let change = format!("ACL SETUSER app {selector}");
        let found = found(&json).into_iter().find(|(subject, _)| *subject == "permissions");
        assert_eq!((lacking.code, found), (Some(1), Some(("permissions", change.as_str()))), "{rights}: {lacking:?}");
        let (changed, _) = examined_as(&server, &format!("{rights} {selector}"), 0, &["--match", "lock:*"]);
        assert_eq!(changed.code, Some(0), "{rights}: {changed:?}");
    }
}

/// A script uses the keys of a lock at once, so that one set of rules has to permit all of them.
#[test]
fn the_keys_of_a_lock_are_tried_together() {
    let server = Server::start();
    for fleet in ["fair", "token,announce=publish"] {
        let apart = "+@all -eval -evalsha (~lock:* &* +@all) (~{lock:*}:* &* +@all)";
        let (lacking, json) = examined_as(&server, apart, 0, &["--fleet", fleet, "--match", "lock:*"]);
        assert_eq!((lacking.code, found(&json)[0].0), (Some(1), "permissions"), "{fleet}: {lacking:?}");
        let together = "+@all -eval -evalsha (~lock:* ~{lock:*}:* &* +@all)";
        let (whole, _) = examined_as(&server, together, 0, &["--fleet", fleet, "--match", "lock:*"]);
        assert_eq!(whole.code, Some(0), "{fleet}: {whole:?}");
    }
}

/// One that has what `protocols --acl --command doctor` prints, as a monitor has.
#[test]
fn the_fleets_permissions_are_not_examined_by_a_user_of_other_commands() {
    let server = Server::start();
    let printed = done(lockshift(), ["protocols", "--acl", "--command", "doctor"]).stdout;
    let (seen, json) = examined_as(&server, printed.trim(), 0, &["--match", "lock:*"]);
    let says = "the user `app` may run no command of the fleet that takes a key, and seems to be another user";
    assert_eq!((seen.code, under(&json, "permissions")), (Some(0), vec![("not examined", says)]), "{seen:?}");
    let change = found(&json).into_iter().find_map(|(subject, change)| (subject == "permissions").then_some(change));
    let (_, rule) = change.unwrap().split_once("ACL SETUSER app ").unwrap();
    let (changed, json) = examined_as(&server, &format!("{} {rule}", printed.trim()), 0, &["--match", "lock:*"]);
    assert_eq!((changed.code, under(&json, "permissions")), (Some(0), vec![]), "{changed:?}");
}

#[test]
fn clients_that_select_a_database_need_select() {
    let server = Server::start();
    let rule = |database: u8| {
        let (_, json) = examined_as(&server, "+select", database, &["--match", "lock:*"]);
        found(&json)[0].1.split_once("ACL SETUSER app ").unwrap().1.to_owned()
    };
    assert!(rule(2).contains(" +select"), "{}", rule(2));
    assert!(!rule(0).contains("select"), "the first database is not selected: {}", rule(0));
}

/// The user of the fleet, as `protocols --acl` prints it: it may not ask the server for anything.
#[test]
fn what_a_user_without_info_cannot_examine_is_named_and_the_rest_is_examined() {
    let server = Server::start();
    let fleet = ["--fleet", "php-getset", "--match", "invoices"];
    let printed = done(lockshift(), ["protocols", "--acl", "php-getset", "--key", "invoices"]).stdout;
    let login = |rights: &[&str]| {
        let words = ["SETUSER", "old", "reset", "on", ">x"];
        cmd("ACL").arg(&words).arg(rights).exec(&mut server.connect()).unwrap();
        let mut command = lockshift();
        command.env("REDIS_URL", format!("redis://old:x@{}/", server.address()));
        command
    };
    let own: Vec<&str> = printed.split_whitespace().collect();
    let ended = done(login(&own), [&["doctor", "--json"], &fleet[..]].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("`lockshift protocols --acl --command doctor`"), "{ended:?}");
    let json = &ended.json()[0];
    for subject in ["role", "version", "permissions", "clock", "memory", "persistence", "replicas"] {
        let found = under(json, subject);
        assert!(!found.is_empty() && found.iter().all(|(weight, _)| *weight == "not examined"), "{subject}: {found:?}");
    }
    assert_eq!((&json["fits"], &json["version"], &json["role"]), (&true.into(), &"".into(), &"".into()), "{json}");
    let text = done(login(&own), [&["doctor"], &fleet[..]].concat()).stdout;
    assert!(text.contains("not examined  role: this user may not run INFO\n") && !text.contains("fits"), "{text}");

    // With all but INFO, the rest is examined: the key of the lock is another one.
    let rest = ["~other", "+@all", "-info"];
    let ended = done(login(&rest), [&["doctor", "--json"], &fleet[..]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let json = &ended.json()[0];
    assert_eq!((under(json, "clock"), under(json, "permissions")[0].0), (vec![], "harmful"), "{ended:?}");
    assert_eq!(under(json, "replicas"), [("not examined", "this user may not run INFO")], "{ended:?}");
}

/// What is found under this subject, as weight and text.
fn under<'a>(json: &'a Value, subject: &str) -> Vec<(&'a str, &'a str)> {
    let findings = json["findings"].as_array().unwrap().iter().filter(|finding| finding["subject"] == subject);
    findings.map(|finding| (finding["weight"].as_str().unwrap(), finding["says"].as_str().unwrap())).collect()
}

#[test]
fn a_master_with_too_few_replicas_refuses_writes() {
    let server = Server::start();
    let configure = |wanted: &str| {
        cmd("CONFIG").arg("SET").arg("min-replicas-to-write").arg(wanted).exec(&mut server.connect()).unwrap();
    };
    configure("1");
    let (done, json) = examined(&server, &[]);
    let says = "it refuses writes: replicas that confirm in time: 0, min-replicas-to-write: 1";
    assert_eq!((done.code, under(&json, "replicas")), (Some(1), vec![("harmful", says)]), "{done:?}");
    // Also where the user may not ask how many it wants.
    let (done, json) = examined_as(&server, "~* +@all -config", 0, &[]);
    let says = "it refuses writes: no replica confirms in time, and min-replicas-to-write wants some";
    assert_eq!((done.code, under(&json, "replicas")), (Some(1), vec![("harmful", says)]), "{done:?}");

    let replica = Server::with(&Options::new().replica_of(&server));
    until("the replica confirms", || {
        let info: InfoDict = cmd("INFO").arg("replication").query(&mut server.connect()).unwrap();
        (info.get("min_slaves_good_slaves") == Some(1)).then_some(())
    });
    let (done, json) = examined(&server, &[]);
    assert_eq!((done.code, under(&json, "replicas")), (Some(0), vec![]), "{done:?}");
    configure("2");
    let (done, json) = examined(&server, &[]);
    let says = "it refuses writes: replicas that confirm in time: 1, min-replicas-to-write: 2";
    assert_eq!((done.code, under(&json, "replicas")), (Some(1), vec![("harmful", says)]), "{done:?}");
    drop(replica);
}

/// A node that has no slots: its cluster is down until all have a master.
#[test]
fn a_cluster_that_is_down_is_found() {
    let server = Server::with(&Options::new().line("cluster-enabled yes"));
    let (done, json) = examined(&server, &[]);
    let down = ("harmful", "its cluster is down, and refuses keys");
    assert!(done.code == Some(1) && under(&json, "role").contains(&down), "{done:?}");
    let (done, json) = examined_as(&server, "~* +@all -cluster", 0, &[]);
    assert!(under(&json, "role").contains(&("not examined", "this user may not run CLUSTER INFO")), "{done:?}");
}

#[test]
fn a_server_that_cannot_save_refuses_writes_where_it_is_configured_so() {
    let server = Server::start();
    let mut operator = server.connect();
    let (_, home): (String, String) = cmd("CONFIG").arg("GET").arg("dir").query(&mut operator).unwrap();
    // No file can be put in the place of a directory.
    std::fs::create_dir(std::path::Path::new(&home).join("dump.rdb")).unwrap();
    cmd("CONFIG").arg("SET").arg("save").arg("3600 1").exec(&mut operator).unwrap();
    cmd("BGSAVE").exec(&mut operator).unwrap();
    until("the snapshot has failed", || {
        let info: InfoDict = cmd("INFO").arg("persistence").query(&mut server.connect()).unwrap();
        (info.get::<String>("rdb_last_bgsave_status")? == "err").then_some(())
    });
    let refusal = cmd("SET").arg("key").arg("value").exec(&mut operator).unwrap_err();
    assert_eq!(refusal.code(), Some("MISCONF"));
    let refuses = ("harmful", "its last save to disk failed: it refuses writes");
    let (done, json) = examined(&server, &[]);
    assert_eq!((done.code, under(&json, "persistence")), (Some(1), vec![refuses]), "{done:?}");

    let unknown =
        ("not examined", "its last save to disk failed: it may refuse writes, and this user may not ask by CONFIG GET");
    let (done, json) = examined_as(&server, "~* +@all -config", 0, &[]);
    assert_eq!((done.code, under(&json, "persistence")), (Some(0), vec![unknown]), "{done:?}");

    let goes_on = ("notable", "its last save to disk failed: it writes on, and a restart may free the last locks");
    for (name, value) in [("stop-writes-on-bgsave-error", "no"), ("save", "")] {
        cmd("CONFIG").arg("SET").arg(name).arg(value).exec(&mut operator).unwrap();
        cmd("SET").arg("key").arg("value").exec(&mut operator).unwrap();
        let (done, json) = examined(&server, &[]);
        assert_eq!((done.code, under(&json, "persistence")), (Some(0), vec![goes_on]), "{name}: {done:?}");
        cmd("CONFIG").arg("SET").arg("stop-writes-on-bgsave-error").arg("yes").exec(&mut operator).unwrap();
    }
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

    let sentinel = Server::with(&Options::new().sentinel_of(&master));
    let (done, json) = examined(&sentinel, &[]);
    let says = "it is a Sentinel, which keeps no keys; nothing else was examined";
    assert_eq!((done.code, json["findings"].as_array().map(Vec::len)), (Some(1), Some(1)), "{done:?}");
    assert_eq!(json["findings"][0]["says"], says);
    let text = super::command::done(lockshift(), ["doctor", "--redis", &sentinel.url()]);
    assert!(text.stdout.contains(says) && !text.stdout.contains("fits"), "{text:?}");

    let cluster = Cluster::start();
    let node = cluster.masters()[0].url();
    let at = |url: &str| super::command::done(lockshift(), ["doctor", "--json", "--redis", url]);
    let alone = at(&node);
    assert!(alone.code == Some(1) && alone.stdout.contains("?cluster=true"), "{alone:?}");
    let whole = at(&format!("{node}?cluster=true"));
    assert_eq!((whole.code, whole.json().as_array().map(Vec::len)), (Some(0), Some(3)), "{whole:?}");

    let fleet = ["doctor", "--fleet", "token,redisco-transaction,redlock", "--redis"];
    let unsuited = super::command::done(lockshift(), [&fleet[..], &[&format!("{node}?cluster=true")]].concat());
    assert_eq!(unsuited.code, Some(1), "{unsuited:?}");
    assert!(unsuited.stdout.contains("redisco-transaction, redlock cannot run on a cluster"), "{unsuited:?}");

    let dead = at("redis://127.0.0.1:1/");
    assert_eq!((dead.code, dead.stdout.as_str()), (Some(3), ""), "{dead:?}");
}
