//! What is in a server: every type, values of any length, several databases, a cluster whose keys move.

use redis::{Connection, InfoDict, cmd};

use super::{TOKEN, now_secs, set};
use crate::cli::command::{done, lockshift, lockshift_at};
use crate::server::{Cluster, Server};

const OWNER: &str = "5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a:7";

/// The keys of all locks that a scan finds, in their order.
fn found(url: &str) -> Vec<String> {
    let scan = done(lockshift(), ["scan", "--json", "--redis", url]).json();
    let key = |lock: &serde_json::Value| lock["key"].as_str().unwrap().to_owned();
    let mut keys: Vec<_> = scan["locks"].as_array().unwrap().iter().map(key).collect();
    keys.sort();
    keys
}

#[test]
fn locks_that_are_hashes_or_sorted_sets_are_found_and_are_no_hazard_to_their_own_kind() {
    let server = Server::start();
    let mut connection = server.connect();
    cmd("HSET").arg("redisson").arg(OWNER).arg(1).exec(&mut connection).unwrap();
    cmd("HSET").arg("rw").arg("mode").arg("read").arg(OWNER).arg(1).exec(&mut connection).unwrap();
    cmd("HSET").arg("settings").arg("mode").arg("dark").exec(&mut connection).unwrap();
    cmd("HSET").arg("user:1").arg("name").arg("Ada").arg("age").arg(36).exec(&mut connection).unwrap();
    let end_ms = (now_secs() + 30) * 1000;
    for key in ["semaphore", "{rw}:readers"] {
        cmd("ZADD").arg(key).arg(end_ms).arg(TOKEN).exec(&mut connection).unwrap();
    }
    for key in ["redisson", "rw", "semaphore"] {
        cmd("PEXPIRE").arg(key).arg(30_000).exec(&mut connection).unwrap();
    }
    assert_eq!(found(&server.url()), ["redisson", "rw", "semaphore"]);
    let reader = ["on", "nopass", "~*", "-@all", "+@read", "+@connection"];
    cmd("ACL").arg("SETUSER").arg("reader").arg(&reader[..]).exec(&mut connection).unwrap();
    assert_eq!(found(&format!("redis://reader:any@{}/", server.address())), ["redisson", "rw", "semaphore"]);
    for (fleet, code) in [(None, 0), (Some("redisson,redisson-rw,semaphore"), 0), (Some("redisson,php-getset"), 1)] {
        let fleet = fleet.map(|names| ["--fleet", names]);
        let scan = done(lockshift_at(&server), ["scan"].into_iter().chain(fleet.into_iter().flatten()));
        assert_eq!(scan.code, Some(code), "{scan:?}");
        assert_eq!(scan.stdout.contains("every lock that keeps a string here fails"), code == 1, "{scan:?}");
    }

    cmd("PERSIST").arg("redisson").exec(&mut connection).unwrap();
    let stuck = done(lockshift_at(&server), ["scan", "--fleet", "redisson"]);
    assert!(
        stuck.code == Some(1) && stuck.stdout.contains("if its holder dies, redisson will never get past it"),
        "{stuck:?}"
    );
}

/// One key of each type, some of them long enough to be noticed if they were fetched.
fn of_all_types(connection: &mut Connection) {
    cmd("SETRANGE").arg("huge").arg(99_999_999).arg("x").exec(connection).unwrap();
    cmd("HSET").arg("huge hash").arg("mode").arg(vec![b'x'; 10_000_000]).exec(connection).unwrap();
    cmd("RPUSH").arg("list").arg(TOKEN).exec(connection).unwrap();
    cmd("SADD").arg("set").arg(TOKEN).exec(connection).unwrap();
    cmd("ZADD").arg("sorted set").arg(1).arg(TOKEN).exec(connection).unwrap();
    cmd("XADD").arg("stream").arg("*").arg("mode").arg("read").exec(connection).unwrap();
    cmd("PFADD").arg("log-log").arg(TOKEN).exec(connection).unwrap();
    cmd("SETBIT").arg("bits").arg(1000).arg(1).exec(connection).unwrap();
}

#[test]
fn of_a_value_no_more_is_fetched_than_a_lock_can_have() {
    let server = Server::start();
    let mut connection = server.connect();
    of_all_types(&mut connection);
    set(&server, "lock", TOKEN, Some(60));
    let before = sent(&mut connection);

    assert_eq!(found(&server.url()), ["lock"]);
    for key in ["huge", "huge hash", "list", "set", "sorted set", "stream", "log-log", "bits"] {
        let seen = done(lockshift_at(&server), ["inspect", key]);
        // Where nothing is fetched nothing is known.
        let code = if key == "huge hash" { 3 } else { 1 };
        assert_eq!((seen.code, seen.stderr.as_str()), (Some(code), ""), "{seen:?}");
    }

    let after = sent(&mut connection);
    assert!(after - before < 100_000, "{} bytes were fetched", after - before);
}

#[test]
fn a_lock_with_a_thousand_holders_is_one_and_what_is_larger_is_not_known() {
    let server = Server::start();
    let mut connection = server.connect();
    let end_ms = (now_secs() + 30) * 1000;
    for (key, holders) in [("exports", 1000), ("crowd", 2000)] {
        let members: Vec<_> = (0..holders).map(|number| (end_ms, format!("{number:032x}"))).collect();
        cmd("ZADD").arg(key).arg(members.as_slice()).exec(&mut connection).unwrap();
        let fields: Vec<_> = (0..holders).map(|number| (OWNER.replace(":7", &format!(":{number}")), 1)).collect();
        cmd("HSET").arg(format!("{key}:readers")).arg("mode").arg("read").arg(&fields).exec(&mut connection).unwrap();
        for key in [key.to_owned(), format!("{key}:readers")] {
            cmd("PEXPIRE").arg(key).arg(30_000).exec(&mut connection).unwrap();
        }
    }
    assert_eq!(found(&server.url()), ["exports", "exports:readers"]);
    let scan = done(lockshift_at(&server), ["scan"]);
    assert_eq!(scan.code, Some(0), "{scan:?}");
    assert!(scan.stdout.contains("\n2 keys may be locks, but are too large to be looked at.\n"), "{scan:?}");
    let fleet = ["--fleet", "semaphore,permits=1000,redisson-rw"];
    let inspect = |key: &str| done(lockshift_at(&server), [&["inspect", key, "--json"][..], &fleet].concat());
    for (key, kind) in [("exports", "semaphore,permits=1000"), ("exports:readers", "redisson-rw")] {
        let seen = inspect(key);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        let json = seen.json();
        assert_eq!(
            (&json["dialects"][0], json["holders"].as_array().map(Vec::len)),
            (&kind.into(), Some(1000)),
            "{json}"
        );
        assert_eq!(json["hazard_ids"], serde_json::json!([]));
    }
    for key in ["crowd", "crowd:readers"] {
        let seen = inspect(key);
        let json = seen.json();
        assert_eq!((seen.code, &json["hazard_ids"]), (Some(3), &serde_json::json!(["too-large"])), "{json}");
    }
}

/// How many bytes the server has sent to its clients.
fn sent(connection: &mut Connection) -> u64 {
    let info: InfoDict = cmd("INFO").arg("stats").query(connection).unwrap();
    info.get("total_net_output_bytes").expect("INFO counts them")
}

#[test]
fn one_database_is_scanned_and_no_other() {
    let server = Server::start();
    set(&server, "lock:0", TOKEN, Some(60));
    let mut connection = server.connect();
    cmd("SELECT").arg(3).exec(&mut connection).unwrap();
    cmd("SET").arg("lock:3").arg(now_secs() + 60).exec(&mut connection).unwrap();
    assert_eq!(found(&server.url()), ["lock:0"]);
    assert_eq!(found(&format!("redis://{}/3", server.address())), ["lock:3"]);
    let none = done(lockshift(), ["scan", "--redis", &format!("redis://{}/99", server.address())]);
    assert_eq!(none.code, Some(3), "{none:?}");
}

/// A slot is on its way: its old node lists keys that it does not have any more, its new one keys that it may not show yet.
#[test]
fn keys_that_move_between_two_nodes_are_counted_and_end_nothing() {
    let cluster = Cluster::start();
    let [first, second, _] = cluster.masters();
    let mut connection = cluster.client().get_connection().unwrap();
    let slot: u64 = cmd("CLUSTER").arg("KEYSLOT").arg("{b}").query(&mut first.connect()).unwrap();
    assert!(slot <= 5460, "{slot} is the first master's");
    for number in 0..10 {
        cmd("SET").arg(format!("{{b}}:{number}")).arg(TOKEN).arg("PX").arg(60_000).exec(&mut connection).unwrap();
    }
    let name = |server: &Server| cmd("CLUSTER").arg("MYID").query::<String>(&mut server.connect()).unwrap();
    let setslot = |server: &Server, state: &str, other: &Server| {
        let mut command = cmd("CLUSTER");
        command.arg("SETSLOT").arg(slot).arg(state).arg(name(other)).exec(&mut server.connect()).unwrap();
    };
    setslot(second, "IMPORTING", first);
    setslot(first, "MIGRATING", second);
    let mut migrate = cmd("MIGRATE");
    migrate.arg(second.address().ip().to_string()).arg(second.address().port()).arg("").arg(0).arg(5000).arg("KEYS");
    migrate.arg((0..4).map(|number| format!("{{b}}:{number}")).collect::<Vec<_>>()).exec(&mut first.connect()).unwrap();

    let url = format!("{}?cluster=true", first.url());
    let json = done(lockshift(), ["scan", "--json", "--redis", &url]);
    let count = |field: &str| json.json()[field].as_u64();
    assert_eq!((json.code, &json.json()["complete"]), (Some(3), &false.into()), "{json:?}");
    assert!(json.stderr.contains("some keys could not be looked at"), "{json:?}");
    assert_eq!((count("keys"), count("moving")), (Some(10), Some(4)), "{json:?}");
    assert_eq!(json.json()["locks"].as_array().map(Vec::len), Some(6));
    let text = done(lockshift(), ["scan", "--redis", &url]).stdout;
    assert!(text.contains("4 keys could not be seen on the way to another node"), "{text}");
}
