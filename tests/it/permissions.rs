//! Every protocol runs with exactly the ACL that is derived for it, on a real server.

use std::time::Duration;

use lockshift::lock::{Lease, Owner, Token};
use lockshift::permissions::Permissions;
use lockshift::protocols::Choice;
use lockshift::wire::Key;
use redis::{Client, Connection, cmd};

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

#[test]
fn every_protocol_runs_with_exactly_its_permissions() {
    let server = Server::start();
    let mut wrong = Vec::new();
    for (place, (name, _)) in protocols::every(&Key::from(""), lease()).into_iter().enumerate() {
        let choice: Choice = name.parse().expect("the catalogue knows its own names");
        let permissions = Permissions::of(&choice, "acl:*");
        let client = user(&server, &format!("user-{place}"), &permissions);
        let locker = choice.locker(Key::new(format!("acl:{place}")), lease());
        let connect = || client.get_connection().expect("it may log in");
        if let Err(story) = life(&Over::threads(connect), &name, &locker) {
            wrong.push(format!("{name}: {story}\n  {}", permissions.rule()));
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
