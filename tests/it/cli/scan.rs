//! `lockshift scan`: which keys are locks, which of them are in danger, and nothing is changed by looking.

mod contents;
mod ending;

use lockshift::driver::host;
use redis::cmd;

use super::command::{done, lockshift, lockshift_at};
use crate::server::{Cluster, Options, Server, contents};

const TOKEN: &str = "00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7";

fn now_secs() -> i64 {
    host::wall().as_secs()
}

fn set(server: &Server, key: &str, value: impl ToString, ttl_secs: Option<u32>) {
    let mut connection = server.connect();
    cmd("SET").arg(key).arg(value.to_string()).exec(&mut connection).unwrap();
    if let Some(secs) = ttl_secs {
        cmd("EXPIRE").arg(key).arg(secs).exec(&mut connection).unwrap();
    }
}

/// A server with a lock of each kind and many other keys.
fn furnished() -> Server {
    let server = Server::start();
    set(&server, "lock:fine", now_secs() + 60, Some(60));
    set(&server, "lock:token", TOKEN, Some(30));
    set(&server, "lock:dead", now_secs() - 3600, None);
    set(&server, "lock:absolute", now_secs() + 60, Some(1_700_000_000));
    set(&server, "lock:short", now_secs() + 600, Some(20));
    set(&server, "counter", 1, None);
    set(&server, "user:1000000000", 1_000_000_000, None);
    set(&server, "page", "x".repeat(100_000), None);
    cmd("RPUSH").arg("list").arg("x").exec(&mut server.connect()).unwrap();
    cmd("HSET").arg("hash").arg("field").arg("1").exec(&mut server.connect()).unwrap();
    server
}

#[test]
fn locks_are_found_among_everything_else_the_worst_first() {
    let server = furnished();
    let scan = done(lockshift_at(&server), ["scan"]);
    assert_eq!((scan.code, scan.stderr.as_str()), (Some(1), ""), "{scan:?}");
    let first: Vec<_> = scan.stdout.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    let order = ["KEY", "lock:short", "lock:absolute", "lock:dead", "lock:fine", "lock:token"];
    assert_eq!(first[..6], order, "{}", scan.stdout);
    assert!(scan.stdout.contains("10 keys, 5 locks, 1 abandoned, 1 ends-before-stamp, 1 no-ttl, 1 outlives-stamp"));
    assert!(scan.stdout.contains("see --fleet"), "{}", scan.stdout);

    let few = done(lockshift_at(&server), ["scan", "--limit", "1", "--match", "lock:*"]).stdout;
    assert!(few.contains("lock:short") && !few.contains("lock:dead"), "{few}");
    assert!(few.contains("5 keys, 5 locks") && few.contains("4 more locks are not shown"), "{few}");
}

#[test]
fn locks_of_other_programs_are_counted() {
    let server = Server::start();
    let ends = now_secs() + 60;
    for (key, value, ttl) in [
        ("base64url", "Rva_bi1OZAFd357UISVzrQ".to_owned(), Some(30)),
        ("base64", "knkqIdOiq4qKEPK23ySehw==".to_owned(), Some(30)),
        ("base62", "y4aBIdZ0Rq1mCNn8xJvT7u".to_owned(), Some(30)),
        ("uuid", "300d8390-e620-11f1-8132-85f8fb6888f4".to_owned(), Some(30)),
        ("bridge", format!("0{ends}"), Some(30)),
        ("servicestack", format!("\"{ends}000\""), None),
        ("lock:owner:x", "web-3:4711".to_owned(), None),
        ("lock:expire:x", ends.to_string(), None),
        ("session", "Rva_bi1OZAFd357UISVzrQ".to_owned(), None),
        ("word", "MyApplicationContextAB".to_owned(), Some(30)),
        ("upstream", "web-3:4711".to_owned(), Some(30)),
    ] {
        set(&server, key, value, ttl);
    }
    cmd("HSET").arg("reentrant").arg("thread-1").arg(1).exec(&mut server.connect()).unwrap();
    let json = done(lockshift_at(&server), ["scan", "--json"]).json();
    let locks = json["locks"].as_array().unwrap();
    let mut keys: Vec<_> = locks.iter().map(|lock| lock["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        ["base62", "base64", "base64url", "bridge", "lock:owner:x", "reentrant", "servicestack", "uuid"],
        "{json}"
    );
}

#[test]
fn a_fleet_restricts_who_is_named() {
    let server = Server::start();
    set(&server, "stock", now_secs() + 60, Some(60));
    let text = done(lockshift_at(&server), ["scan", "--fleet", "php-getset,java-getset,token"]).stdout;
    assert!(text.contains("php-getset ") && !text.contains("others"), "{text}");
}

#[test]
fn json_has_every_lock_and_the_counts() {
    let server = furnished();
    let json = done(lockshift_at(&server), ["scan", "--json"]).json();
    let mut keys: Vec<_> = json["locks"].as_array().unwrap().iter().map(|lock| lock["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["lock:absolute", "lock:dead", "lock:fine", "lock:short", "lock:token"]);
    assert_eq!(json["keys"], 10);
    assert_eq!(json["hazards"]["no-ttl"], 1);
    assert!(json["seconds"].is_f64());

    let none = done(lockshift_at(&server), ["scan", "--json", "--match", "nothing*"]);
    assert_eq!((none.code, none.json()["locks"].as_array().map(Vec::len)), (Some(0), Some(0)), "{none:?}");
}

#[test]
fn a_fleet_makes_its_own_hazards() {
    let server = Server::start();
    set(&server, "lock:token", TOKEN, Some(30));
    let alone = done(lockshift_at(&server), ["scan", "--fleet", "token"]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    let mixed = done(lockshift_at(&server), ["scan", "--fleet", "token,php-getset"]);
    assert_eq!(mixed.code, Some(1), "{mixed:?}");
    assert!(mixed.stdout.contains("reads as expired to php-getset, which would take it"), "{}", mixed.stdout);
    assert!(!mixed.stdout.contains("see --fleet"), "{}", mixed.stdout);

    set(&server, "lock:stamp", now_secs() + 60, None);
    let stuck = done(lockshift_at(&server), ["scan", "--fleet", "token,php-getset", "--match", "*stamp"]);
    assert!(stuck.stdout.contains("if its holder dies, token will never get past it"), "{}", stuck.stdout);
    assert!(!stuck.stdout.contains("which would take it"), "{}", stuck.stdout);
    let unknown = done(lockshift_at(&server), ["scan", "--fleet", "phpgetset"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[test]
fn it_only_reads() {
    let server = furnished();
    let before = contents(&mut server.connect());
    let reader = ["on", "nopass", "~*", "-@all", "+@read", "+@connection"];
    cmd("ACL").arg("SETUSER").arg("reader").arg(&reader[..]).exec(&mut server.connect()).unwrap();
    let url = format!("redis://reader:any@{}/", server.address());
    let scan = done(lockshift(), ["scan", "--json", "--redis", &url]);
    assert_eq!(scan.code, Some(1), "{scan:?}");
    // The user may not run INFO.
    assert!(scan.stderr.contains("what endangers all of its locks is not known"), "{scan:?}");
    assert_eq!(scan.stderr.lines().count(), 1, "{scan:?}");
    assert_eq!(scan.json()["locks"].as_array().map(Vec::len), Some(5));
    assert_eq!(contents(&mut server.connect()), before);

    let stranger = ["on", "nopass", "~*", "-@all", "+@connection", "+dbsize"];
    cmd("ACL").arg("SETUSER").arg("stranger").arg(&stranger[..]).exec(&mut server.connect()).unwrap();
    let refused = done(lockshift(), ["scan", "--redis", &format!("redis://stranger:any@{}/", server.address())]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("NOPERM") && refused.stderr.contains("scan"), "{refused:?}");
    assert!(!refused.stderr.contains("any@"), "a password is shown: {refused:?}");
}

#[test]
fn keys_that_the_user_may_not_read_are_counted() {
    let server = Server::start();
    set(&server, "lock:fine", TOKEN, Some(30));
    set(&server, "other:fine", TOKEN, Some(30));
    let rights = ["on", "nopass", "~lock:*", "+@all"];
    cmd("ACL").arg("SETUSER").arg("clerk").arg(&rights[..]).exec(&mut server.connect()).unwrap();
    let url = format!("redis://clerk:any@{}/", server.address());
    let scan = |args: &[&str]| done(lockshift(), [&["scan", "--redis", &url], args].concat());
    let all = scan(&["--json"]);
    let json = all.json();
    assert_eq!(all.code, Some(3), "{all:?}");
    assert_eq!(
        (&json["forbidden"], &json["complete"], json["locks"].as_array().map(Vec::len)),
        (&1.into(), &false.into(), Some(1))
    );
    let text = scan(&[]).stdout;
    assert!(text.contains("1 key could not be seen because the user may not read it"), "{text}");
    let own = scan(&["--json", "--match", "lock:*"]);
    assert_eq!((own.code, &own.json()["complete"]), (Some(0), &true.into()), "{own:?}");
    // A hazard is one, whatever else there is.
    set(&server, "lock:dead", now_secs() - 3600, None);
    let hazard = scan(&[]);
    assert!(hazard.code == Some(1) && hazard.stderr.contains("some keys could not be looked at"), "{hazard:?}");
}

#[test]
fn other_databases_with_keys_are_named() {
    let server = Server::start();
    for database in [3, 5] {
        redis::pipe().cmd("SELECT").arg(database).cmd("SET").arg("lock").arg(1).exec(&mut server.connect()).unwrap();
    }
    let scan = done(lockshift_at(&server), ["scan"]);
    assert!(scan.stdout.contains("Not scanned: keys in database 3, 5: put /3 behind the address."), "{scan:?}");
    let json = done(lockshift_at(&server), ["scan", "--json"]).json();
    assert_eq!(json["other_databases"], serde_json::json!([3, 5]));
    let url = format!("redis://{}/3", server.address());
    let third = done(lockshift(), ["scan", "--json", "--redis", &url]).json();
    assert_eq!((&third["keys"], &third["other_databases"]), (&1.into(), &serde_json::json!([5])));
}

#[test]
fn one_node_of_a_cluster_is_not_all_of_it() {
    let cluster = Cluster::start();
    let scan = done(lockshift(), ["scan", "--json", "--redis", &cluster.masters()[0].url()]);
    assert_eq!((scan.code, &scan.json()["complete"]), (Some(3), &false.into()), "{scan:?}");
    assert!(scan.stderr.contains("add ?cluster=true to the address"), "{scan:?}");
}

#[test]
fn a_server_without_hrandfield_hides_no_lock() {
    let server = Server::with(&Options::new().line("rename-command HRANDFIELD \"\""));
    let mut connection = server.connect();
    cmd("HSET").arg("lock").arg("5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a:7").arg(1).exec(&mut connection).unwrap();
    cmd("HSET").arg("cart").arg("price").arg(1).exec(&mut connection).unwrap();
    let ends_ms = (now_secs() + 60) * 1000;
    cmd("ZADD").arg("semaphore").arg(ends_ms).arg(TOKEN).exec(&mut connection).unwrap();
    cmd("RPUSH").arg("list").arg("x").exec(&mut connection).unwrap();
    let json = done(lockshift_at(&server), ["scan", "--json"]).json();
    let mut keys: Vec<_> = json["locks"].as_array().unwrap().iter().map(|lock| lock["key"].as_str().unwrap()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["lock", "semaphore"], "{json}");
}

#[test]
fn all_masters_of_a_cluster_are_scanned() {
    let cluster = Cluster::start();
    let mut connection = cluster.client().get_connection().unwrap();
    for number in 0..30 {
        cmd("SET").arg(format!("lock:{number}")).arg(TOKEN).arg("PX").arg(60_000).exec(&mut connection).unwrap();
    }
    assert!(cluster.keys().iter().all(|keys| *keys > 0), "{:?}", cluster.keys());
    let url = format!("{}?cluster=true", cluster.masters()[0].url());
    let scan = done(lockshift(), ["scan", "--json", "--redis", &url]);
    assert_eq!((scan.json()["keys"].as_u64(), scan.json()["locks"].as_array().map(Vec::len)), (Some(30), Some(30)));
}

#[test]
fn a_rate_holds_it_back() {
    let server = Server::start();
    for number in 0..40 {
        set(&server, &format!("key:{number}"), number, None);
    }
    let held_back = done(lockshift_at(&server), ["scan", "--json", "--rate", "100"]).json();
    assert!(held_back["seconds"].as_f64().unwrap() >= 0.4, "40 keys at 100 a second: {held_back}");
    // What a pattern leaves out costs the server as well.
    let none = done(lockshift_at(&server), ["scan", "--json", "--rate", "100", "--match", "lock:*"]).json();
    assert!(none["seconds"].as_f64().unwrap() >= 0.4, "40 keys at 100 a second: {none}");
    assert_eq!(none["keys"], 0);
}

#[test]
fn no_server_is_a_sentence() {
    let mut server = Server::start();
    server.kill();
    let down = done(lockshift_at(&server), ["scan"]);
    assert_eq!(down.code, Some(3), "{down:?}");
    assert!(down.stderr.contains(&server.address().to_string()) && down.stderr.lines().count() == 1, "{down:?}");
    let nowhere = done(lockshift(), ["scan"]);
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
}

#[test]
fn more_keys_than_a_page_are_all_seen() {
    let server = Server::with(&Options::new());
    let mut connection = server.connect();
    let mut batch = redis::pipe();
    for number in 0..5000 {
        batch.cmd("SET").arg(format!("key:{number}")).arg(number).ignore();
    }
    batch.exec(&mut connection).unwrap();
    set(&server, "lock", TOKEN, Some(60));
    let json = done(lockshift_at(&server), ["scan", "--json"]).json();
    assert_eq!((json["keys"].as_u64(), json["locks"][0]["key"].as_str()), (Some(5001), Some("lock")));
}
