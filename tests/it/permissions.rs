//! Every protocol runs with exactly the ACL that is derived for it, and every command that holds no lock with its own, on a real
//! server.

use std::collections::HashMap;
use std::time::Duration;

use lockshift::driver::blocking::run;
use lockshift::lock::{Acquired, Lease, Locker, Owner, Released, Token};
use lockshift::permissions::{ObservingCommand, Permissions};
use lockshift::protocols::Choice;
use lockshift::wire::{Key, Transcript};
use redis::{Client, Connection, cmd};

use crate::cli::{done, lockshift};
use crate::guard::server_secs;
use crate::guard_process::GuardProcess;
use crate::life::{Over, life};
use crate::protocols;
use crate::server::Server;

const LEASE: Duration = Duration::from_secs(600);

fn lease() -> Lease {
    Lease::new(LEASE).expect("ten minutes are a lease")
}

/// A user with these permissions alone, and how to log in as it.
fn user(server: &Server, name: &str, permissions: &Permissions) -> Client {
    let mut set = cmd("ACL");
    set.arg("SETUSER")
        .arg(name)
        .arg("reset")
        .arg("on")
        .arg(">secret")
        .arg(permissions.rule().split(' ').collect::<Vec<_>>());
    set.exec(&mut server.connect()).unwrap_or_else(|error| panic!("{}: {error}", permissions.rule()));
    Client::open(format!("redis://{name}:secret@{}/", server.address())).expect("the address is well formed")
}

/// Patterns, and a key of each: one name, one with a hash tag, and one with a brace that makes none.
const PATTERNS: [(&str, &str); 8] = [
    ("acl:*", "acl:1"),
    ("acl:*", "acl:{u}"),
    ("acl:b", "acl:b"),
    ("{acl}b", "{acl}b"),
    ("acl}b", "acl}b"),
    ("{*}acl", "{b}acl"),
    ("acl}*", "acl}b"),
    ("acl}*", "acl}{b}"),
];

#[test]
fn every_protocol_runs_with_exactly_its_permissions() {
    let server = Server::start();
    let mut wrong = Vec::new();
    let names = protocols::every(&Key::from(""), lease()).into_iter().map(|(name, _)| name);
    let names: Vec<String> = names.chain(["token,key=sibling".to_owned()]).collect();
    let cases = PATTERNS.iter().flat_map(|pattern| names.iter().map(move |name| (name, *pattern)));
    for (place, (name, (pattern, key))) in cases.enumerate() {
        let choice: Choice = name.parse().expect("the catalogue knows its own names");
        let permissions = Permissions::of(&choice, pattern);
        let client = user(&server, &format!("user-{place}"), &permissions);
        cmd("FLUSHALL").exec(&mut server.connect()).expect("it deletes the keys of the protocol before");
        let locker = choice.locker(Key::from(key), lease());
        let connect = || client.get_connection().expect("it may log in");
        if let Err(story) = life(&Over::threads(connect), name, &locker) {
            wrong.push(format!("{name} on {key}: {story}\n  {}", permissions.rule()));
        }
        if let Some(channel) = locker.release_channel(&Owner::new(Token::new([0xab; 16]), 7, 1)) {
            let command = if channel.sharded { "SSUBSCRIBE" } else { "SUBSCRIBE" };
            if let Err(error) = cmd(command).arg(channel.channel).exec(&mut connect()) {
                wrong.push(format!("{name}: cannot listen: {error}\n  {}", permissions.rule()));
            }
        }
        let refused = |words: &[&str], connection: &mut Connection| {
            let reply = cmd(words[0]).arg(&words[1..]).exec(connection);
            reply.is_err_and(|error| error.code() == Some("NOPERM"))
        };
        for words in
            [["GET", "other:1"].as_slice(), &["SET", "other:1", "x"], &["FLUSHALL"], &["PUBLISH", "other", "x"]]
        {
            if !refused(words, &mut connect()) {
                wrong.push(format!("{name} may run {words:?}\n  {}", permissions.rule()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Without --key, all keys that a protocol derives from any name.
#[test]
fn the_keys_of_any_name_are_all_new_keys() {
    let server = Server::start();
    for (name, keys) in [
        ("token,key=sibling", ["{a}:token", "{a}b:token"]),
        ("bridge:php-getset", ["{lock:a}:token", "lock:{a}b:token"]),
    ] {
        let rule = done(lockshift(), ["protocols", "--acl", name]).stdout;
        let mut set = cmd("ACL");
        set.arg("SETUSER").arg("any").arg("reset").arg(rule.trim().split(' ').collect::<Vec<_>>());
        set.exec(&mut server.connect()).unwrap_or_else(|error| panic!("{rule}: {error}"));
        for key in keys {
            let dry = cmd("ACL").arg(&["DRYRUN", "any", "SET", key, "x"]).query::<String>(&mut server.connect());
            assert_eq!(dry.as_deref(), Ok("OK"), "{name}: {key}: {rule}");
        }
    }
}

#[test]
fn a_server_takes_every_rule_that_is_printed() {
    let server = Server::start();
    let mut connection = server.connect();
    let protocols: Vec<_> = protocols::every(&Key::from(""), lease()).into_iter().map(|(name, _)| name).collect();
    let commands: Vec<_> = ObservingCommand::ALL.iter().flat_map(|command| ["--command", command.name()]).collect();
    let words: Vec<&str> = protocols.iter().map(String::as_str).chain(commands).collect();
    let mut wrong = Vec::new();
    for key in [&[][..], &["--key", "jobs:*"], &["--key", "*"], &["--key", "two words:*"], &["--key", "two {words}"]] {
        let printed = done(lockshift(), [&["protocols", "--acl"], words.as_slice(), key].concat()).stdout;
        assert_eq!(printed.lines().count(), protocols.len() + ObservingCommand::ALL.len(), "{printed}");
        for rule in printed.lines() {
            let mut set = cmd("ACL");
            set.arg("SETUSER").arg("printed").arg("reset").arg(rule.split(' ').collect::<Vec<_>>());
            wrong.extend(set.exec(&mut connection).err().map(|error| format!("{key:?}: {rule}: {error}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_selector_adds_permissions_to_what_a_user_has() {
    let server = Server::start();
    let allowed = |words: &[&str]| {
        let reply: String = cmd("ACL").arg("DRYRUN").arg("app").arg(words).query(&mut server.connect()).unwrap();
        reply == "OK"
    };
    for (pattern, key) in
        [("jobs:*", "jobs:1"), ("*", "jobs:1"), ("two words:*", "two words:1"), ("it's (*)", "it's (1)")]
    {
        for (name, _) in protocols::every(&Key::from(""), lease()) {
            let choice: Choice = name.parse().expect("the catalogue knows its own names");
            let selector = Permissions::of(&choice, pattern).selector();
            let mut set = cmd("ACL");
            set.arg("SETUSER")
                .arg("app")
                .arg("reset")
                .arg("~other:*")
                .arg("+get")
                .arg(selector.split(' ').collect::<Vec<_>>());
            set.exec(&mut server.connect()).unwrap_or_else(|error| panic!("{selector}: {error}"));
            assert!(allowed(&["GET", "other:1"]), "{selector}");
            assert!(name != "token" || allowed(&["SET", key, "x"]), "{selector}");
        }
    }
}

/// Where one of them is missing, the life of a token lock breaks off.
#[test]
fn each_permission_of_a_lock_is_needed() {
    let server = Server::start();
    for name in ["php-getset", "token", "fair", "read-write", "bridge:php-getset"] {
        let choice: Choice = name.parse().expect("it is known");
        let whole = Permissions::of(&choice, "acl:*");
        // For waiters that listen, which this life has none of, and for what this life does not come across.
        let needed = cmd_stats(&server, &choice);
        for command in whole.commands.iter().filter(|command| needed.contains(*command)) {
            let mut less = whole.clone();
            less.commands.remove(command);
            let client = user(&server, "less", &less);
            let locker = choice.locker(Key::from("acl:less"), lease());
            let lived = life(&Over::threads(|| client.get_connection().expect("it may log in")), name, &locker);
            assert!(lived.is_err(), "{name} lives without {command}");
            cmd("FLUSHALL").exec(&mut server.connect()).expect("it deletes its keys");
        }
    }
}

/// With exactly its permissions, a release of the fair lock hands it over to a waiter that listens. A user that may not ask who
/// listens releases all the same, and the waiter is only woken.
#[test]
fn a_release_hands_over_with_exactly_its_permissions() {
    let server = Server::start();
    let choice: Choice = "fair".parse().expect("it is known");
    let whole = Permissions::of(&choice, "acl:*");
    let mut less = whole.clone();
    assert!(less.commands.remove("pubsub|numsub"), "{}", whole.rule());
    let locker = choice.locker(Key::from("acl:fair"), lease());
    let [alice, bob] = [8, 9].map(|number| Owner::new(Token::new([number; 16]), u32::from(number), 1));
    for (permissions, is_handed_over) in [(&whole, true), (&less, false)] {
        let client = user(&server, "fair", permissions);
        let connect = || client.get_connection().expect("it may log in");
        let mut listens = connect();
        let channel = locker.release_channel(&bob).expect("it publishes");
        cmd("SUBSCRIBE").arg(channel.channel).exec(&mut listens).expect("it may listen");
        let acquire = |owner| run(&mut connect(), &|redis: &mut Transcript| locker.acquire(owner, redis));
        let Ok(Acquired::Won(hold)) = acquire(&alice) else { panic!("it is free") };
        assert!(matches!(acquire(&bob), Ok(Acquired::Held(_))));
        let released = run(&mut connect(), &|redis: &mut Transcript| locker.release(&hold, redis));
        assert!(matches!(released, Ok(Released::Freed)), "{released:?}");
        let holder: Option<String> = cmd("GET").arg("acl:fair").query(&mut connect()).expect("it may look");
        assert_eq!(holder, is_handed_over.then(|| bob.token.hex()));
        cmd("FLUSHALL").exec(&mut server.connect()).expect("it deletes its keys");
    }
}

/// The commands that the server has run in a life of this lock, in lower case.
fn cmd_stats(server: &Server, choice: &Choice) -> Vec<String> {
    let mut connection = server.connect();
    cmd("CONFIG").arg("RESETSTAT").exec(&mut connection).expect("it resets its statistics");
    let locker = choice.locker(Key::from("acl:all"), lease());
    life(&Over::threads(|| server.connect()), &choice.to_string(), &locker).expect("it lives");
    let stats: String = cmd("INFO").arg("commandstats").query(&mut connection).expect("it counts its commands");
    let names = stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':'));
    names.filter(|(_, stats)| !stats.contains("calls=0,")).map(|(name, _)| name.to_owned()).collect()
}

/// As each command is tried here.
fn tried(command: ObservingCommand) -> &'static [&'static [&'static str]] {
    match command.name() {
        "inspect" => &[&["inspect", "acl:hash"], &["inspect", "acl:set"], &["inspect", "acl:text"]],
        "scan" => &[&["scan", "--match", "acl:*"]],
        "doctor" => &[&["doctor", "--fleet", "token", "--match", "acl:*"]],
        "record" => &[&["record", "--for", "100ms"]],
        "watch" => &[&["watch", "--for", "100ms"]],
        other => panic!("{other} is not tried"),
    }
}

/// What the server has refused to a user with these permissions who runs this command.
fn refused(server: &Server, command: ObservingCommand, permissions: &Permissions) -> Vec<String> {
    cmd("ACL").arg("LOG").arg("RESET").exec(&mut server.connect()).expect("it forgets what it has refused");
    user(server, command.name(), permissions);
    let shown = tried(command).iter().map(|args| {
        let mut program = lockshift();
        program.env("REDIS_URL", format!("redis://{command}:secret@{}/", server.address()));
        done(program, *args)
    });
    let shown: Vec<_> = shown.collect();
    // A connection that a busy machine lets rest for a second is asked PING, and is opened anew if that is refused.
    let is_courtesy = |object: &String| object == "ping" && command.name() != "watch";
    let objects: Vec<String> = refused_objects(server).into_iter().filter(|object| !is_courtesy(object)).collect();
    let has_ended_well = shown.iter().all(|shown| matches!(shown.code, Some(0 | 1)));
    assert!(!objects.is_empty() || has_ended_well, "{command} ends: {shown:?}");
    objects
}

/// The commands and keys that the server has refused since its log was reset, the latest first.
fn refused_objects(server: &Server) -> Vec<String> {
    let log: Vec<HashMap<String, redis::Value>> =
        cmd("ACL").arg("LOG").query(&mut server.connect()).expect("it lists what it has refused");
    let objects = log.iter().map(|entry| redis::from_redis_value(entry["object"].clone()).expect("it is a text"));
    // The crate that connects introduces itself to servers from 7.2 on, and does not need to be heard.
    objects.filter(|object| object != "client|setinfo").collect()
}

#[test]
fn every_command_that_holds_no_lock_runs_with_exactly_its_permissions() {
    let runs = ObservingCommand::ALL.iter().map(|command| std::thread::spawn(|| runs_with_exactly_its_own(*command)));
    for run in runs.collect::<Vec<_>>() {
        run.join().expect("it runs with its permissions, and with no fewer");
    }
}

fn runs_with_exactly_its_own(command: ObservingCommand) {
    let server = Server::start();
    let mut connection = server.connect();
    cmd("HSET").arg("acl:hash").arg("5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a:7").arg(1).exec(&mut connection).unwrap();
    cmd("SET").arg("acl:text").arg("5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a").exec(&mut connection).unwrap();
    let permit = (1_700_000_000_000_u64, "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a");
    cmd("ZADD").arg("acl:set").arg(&[permit]).exec(&mut connection).unwrap();
    cmd("SET").arg("other").arg("not to be read").exec(&mut connection).unwrap();
    let whole = command.permissions("acl:*");
    assert_eq!(refused(&server, command, &whole), [""; 0], "{command}: {}", whole.rule());
    // It looks at what waits for its MONITOR every five seconds only.
    let later = |sent: &&String| sent.as_str() == "client|list";
    for needed in whole.commands.iter().filter(|sent| !later(sent)) {
        let mut less = whole.clone();
        less.commands.remove(needed);
        assert_eq!(refused(&server, command, &less).first(), Some(needed), "{command} does not send {needed}");
    }
    if !whole.keys.is_empty() {
        let elsewhere = command.permissions("elsewhere:*");
        assert!(refused(&server, command, &elsewhere).contains(&"acl:text".to_owned()), "{command} reads other keys");
    }
}

/// The guard has no login: what it sends runs as its client's user.
#[test]
fn a_client_behind_a_guard_runs_with_exactly_the_permissions_of_the_guarded_protocol() {
    let server = Server::start();
    for (mode, name) in [("protect", "guard:php-getset"), ("bridge", "bridge-guard:php-getset")] {
        let whole = Permissions::of(&name.parse().expect("it is known"), "acl:*");
        let url = format!("redis://{}/", server.address());
        let guard = GuardProcess::start(&url, &[("acl:*".to_owned(), "php-getset")], &["--mode", mode]);
        assert_eq!(refused_behind(&guard, &server, &whole), [""; 0], "{mode}: {}", whole.rule());
        // TTL is for a client that asks how long it still holds, which php-getset does not.
        for needed in whole.commands.iter().filter(|command| *command != "ttl") {
            let mut less = whole.clone();
            less.commands.remove(needed);
            let refused = refused_behind(&guard, &server, &less);
            assert!(refused.contains(needed), "{mode}: the guard does not send {needed}: {refused:?}");
        }
        let elsewhere = Permissions::of(&name.parse().expect("it is known"), "elsewhere:*");
        assert!(refused_behind(&guard, &server, &elsewhere).contains(&"acl:a".to_owned()), "{mode}");
    }
}

/// What the server has refused to a client with these permissions that acquires, loses and takes over behind this guard.
fn refused_behind(guard: &GuardProcess, server: &Server, permissions: &Permissions) -> Vec<String> {
    let mut direct = server.connect();
    cmd("SCRIPT").arg("FLUSH").exec(&mut direct).expect("it forgets the scripts of the guard");
    cmd("ACL").arg("LOG").arg("RESET").exec(&mut direct).expect("it forgets what it has refused");
    user(server, "guarded", permissions);
    let mut client = guard.connect();
    cmd("AUTH").arg("guarded").arg("secret").exec(&mut client).expect("it may log in");
    let now = server_secs(&mut direct);
    let mut run = |words: &[&str]| {
        // Whether it is refused is in the log of the server.
        let _ = cmd(words[0]).arg(&words[1..]).exec(&mut client);
    };
    let stamp = (now + 600).to_string();
    for (command, rest) in [("SETNX", Some(stamp.as_str())), ("EXPIRE", Some("600")), ("GET", None), ("DEL", None)] {
        run(&[&[command, "acl:a"][..], rest.as_slice()].concat());
    }
    cmd("SET").arg("acl:a").arg("1700000000").exec(&mut direct).expect("a crashed client has left it");
    run(&["SETNX", "acl:a", &stamp]);
    cmd("SET").arg("acl:a").arg(&stamp).exec(&mut direct).expect("a client without a guard overwrites it");
    run(&["DEL", "acl:a"]);
    run(&["SETNX", "acl:a", &stamp]);
    cmd("DEL").arg("acl:a").arg("{acl:a}:token").exec(&mut direct).expect("it deletes");
    refused_objects(server)
}
