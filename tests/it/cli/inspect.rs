//! `lockshift inspect`: what is in a key, and what is wrong with it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{SystemTime, UNIX_EPOCH};

use redis::{Cmd, cmd};
use serde_json::{Value, json};

use super::command::{Done, done, lockshift, lockshift_at};
use crate::server::{Cluster, Options, Server};

/// The wall clock, in seconds.
#[expect(clippy::disallowed_methods, reason = "a test writes stamps as the old clients do")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is past 1970").as_secs()
}

fn set(server: &Server, value: impl AsRef<[u8]>) {
    cmd("SET").arg("stock").arg(value.as_ref()).exec(&mut server.connect()).unwrap();
}

fn inspect(server: &Server) -> Done {
    done(lockshift_at(server), ["inspect", "stock", "--json"])
}

fn dialects(json: &Value) -> Vec<&str> {
    json["dialects"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

fn hazards(json: &Value) -> Vec<&str> {
    json["hazards"].as_array().unwrap().iter().map(|hazard| hazard.as_str().unwrap()).collect()
}

/// One hazard begins so.
fn has_hazard(json: &Value, beginning: &str) -> bool {
    hazards(json).iter().any(|hazard| hazard.starts_with(beginning))
}

#[test]
fn no_key() {
    let seen = inspect(&Server::start());
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(1), ""));
    let nothing = json!({"key": "stock", "exists": false, "type": "none", "dialects": [], "holders": [],
        "expires_at": null, "expired": null, "pttl_ms": -2, "hazards": [], "server_hazards": [], "token": null, "value": null,
        "hazard_ids": [], "held_for": [], "takers": [], "errors": [], "not_read_by": []});
    assert_eq!(seen.json(), nothing);
}

#[test]
fn a_lock_of_the_old_kind() {
    let server = Server::start();
    let ends = now() + 3600;
    set(&server, ends.to_string());
    cmd("EXPIRE").arg("stock").arg(3600).exec(&mut server.connect()).unwrap();

    let seen = inspect(&server);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let json = seen.json();
    let fields: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let named = [
        "dialects",
        "errors",
        "exists",
        "expired",
        "expires_at",
        "hazard_ids",
        "hazards",
        "held_for",
        "holders",
        "key",
        "not_read_by",
        "pttl_ms",
        "server_hazards",
        "takers",
        "token",
        "type",
        "value",
    ];
    assert_eq!(fields, named);
    assert_eq!(json["value"], ends.to_string());
    let is_named = |field: &str, name: &str| json[field].as_array().unwrap().contains(&name.into());
    assert!(is_named("held_for", "php-getset") && !is_named("takers", "php-getset"), "{json}");
    assert!(is_named("not_read_by", "token"), "{json}");
    assert_eq!(json["hazard_ids"].as_array().unwrap().len(), json["hazards"].as_array().unwrap().len());
    assert_eq!((&json["exists"], &json["type"], &json["expired"]), (&true.into(), &"string".into(), &false.into()));
    let expected = chrono::DateTime::from_timestamp_secs(i64::try_from(ends).unwrap()).unwrap();
    assert_eq!(json["expires_at"], expected.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true));
    assert!((3_590_000..=3_600_000).contains(&json["pttl_ms"].as_i64().unwrap()), "{json}");
    assert!(dialects(&json).contains(&"php-getset") && dialects(&json).contains(&"setnx-page"), "{json}");
    assert!(!dialects(&json).contains(&"jedis-lock"), "its milliseconds would be of 1970: {json}");
    assert!(has_hazard(&json, "it is held, but reads as expired to"), "to those who count milliseconds: {json}");
    assert!(!has_hazard(&json, "it has no TTL"), "{json}");
}

#[test]
fn what_is_wrong_with_stamps_and_ttls() {
    let hour = 3600;
    let table: [(&str, i64, Option<i64>, &str); 5] = [
        ("over, and still there", -2 * hour, None, "it ended 2 h ago and is still there"),
        ("no TTL", hour, None, "it has no TTL: if its holder dies, token, "),
        ("the moment where the length belongs", hour, Some(1_700_000_000), "its TTL ends 53 years after its stamp"),
        ("the TTL is shorter", hour, Some(hour / 2), "its TTL ends 29 min before its stamp"),
        ("read in another unit", hour, Some(hour), "it is held, but reads as expired to"),
    ];
    let server = Server::start();
    for (what, ends_in, ttl, expected) in table {
        set(&server, (now().cast_signed() + ends_in).to_string());
        if let Some(ttl) = ttl {
            cmd("EXPIRE").arg("stock").arg(ttl).exec(&mut server.connect()).unwrap();
        }
        let json = inspect(&server).json();
        assert!(has_hazard(&json, expected), "{what}: {json}");
        assert_eq!(json["expired"], ends_in < 0, "{what}");
    }
}

/// This value, as a fleet has it.
fn inspect_in(server: &Server, fleet: &str) -> Value {
    done(lockshift_at(server), ["inspect", "stock", "--json", "--fleet", fleet]).json()
}

#[test]
fn a_lock_that_has_expired_has_no_end_in_the_future() {
    let server = Server::start();
    // Its stamp says when it was acquired; when it expired is not known, and its TTL is not that moment.
    set(&server, (now() - 60).to_string());
    cmd("EXPIRE").arg("stock").arg(540).exec(&mut server.connect()).unwrap();
    let json = inspect_in(&server, "php-acquired-at");
    assert_eq!((&json["expired"], &json["expires_at"]), (&true.into(), &Value::Null), "{json}");
    assert_eq!(hazards(&json), ["it has expired and is still there: its holder died, or works on without it"]);

    // Its clients overwrite whatever is there. That is no sign that it has expired.
    set(&server, (now() + 300).to_string());
    let json = inspect_in(&server, "l2met");
    assert_eq!((&json["expired"], &json["takers"]), (&false.into(), &json!(["l2met"])), "{json}");
    assert!(json["expires_at"].is_string() && json["hazard_ids"] == json!(["no-ttl"]), "{json}");
    set(&server, (now() - 300).to_string());
    let json = inspect_in(&server, "l2met");
    assert!(json["expired"] == true && has_hazard(&json, "it ended 5 min ago and is still there"), "{json}");
}

/// A host that has run for long reads any short number as expired.
#[test]
fn who_counts_the_uptime_of_its_host_may_take_what_is_held() {
    let server = Server::start();
    cmd("SET").arg("stock").arg("1").arg("EX").arg(60).exec(&mut server.connect()).unwrap();
    let json = inspect_in(&server, "naive-set-ex-nx,newlife");
    assert_eq!((&json["expired"], &json["takers"]), (&false.into(), &json!(["newlife"])), "{json}");
    assert!(has_hazard(&json, "it is held, but reads as expired to newlife, which would take it"), "{json}");
    // Of its own locks, too, only the host that wrote it knows whether one has expired.
    cmd("SET").arg("stock").arg("86430000").arg("EX").arg(60).exec(&mut server.connect()).unwrap();
    let json = inspect_in(&server, "newlife");
    assert_eq!((&json["expired"], &json["takers"]), (&false.into(), &json!(["newlife"])), "{json}");
}

#[test]
fn a_token() {
    let server = Server::start();
    let running = done(
        lockshift_at(&server),
        ["run", "stock", "--", env!("CARGO_BIN_EXE_lockshift"), "inspect", "stock", "--json", "--redis", &server.url()],
    );
    assert_eq!(running.code, Some(0), "{running:?}");
    let json = running.json();
    assert!(dialects(&json).contains(&"token"), "{json}");
    assert_eq!(json["expired"], false);
    assert!(json["expires_at"].is_string(), "by its TTL: {json}");
}

#[test]
fn a_lock_that_is_a_hash_shows_its_holders() {
    let server = Server::start();
    let (one, other) = ("5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a:7", "a5a5a5a5-a5a5-4a5a-8a5a-a5a5a5a5a5a5:31");
    let hash = |fields: &[(&str, &str)]| {
        cmd("DEL").arg("stock").exec(&mut server.connect()).unwrap();
        cmd("HSET").arg("stock").arg(fields).exec(&mut server.connect()).unwrap();
        cmd("PEXPIRE").arg("stock").arg(30_000).exec(&mut server.connect()).unwrap();
        inspect(&server)
    };
    let seen = hash(&[(one, "2")]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let json = seen.json();
    assert_eq!(dialects(&json), ["reentrant", "redisson"]);
    assert_eq!(json["holders"], json!([{"owner": one, "shared": false, "entries": 2}]));
    assert_eq!(json["expired"], false);
    assert!(json["expires_at"].is_string(), "by its TTL: {json}");
    assert_eq!(hazards(&json), ["it is a hash: every lock that keeps a string here fails"]);

    let json = hash(&[("mode", "read"), (one, "1"), (other, "3")]).json();
    assert_eq!(dialects(&json), ["redisson-rw"]);
    let shared = |owner, entries: u8| json!({"owner": owner, "shared": true, "entries": entries});
    assert_eq!(json["holders"], json!([shared(one, 1), shared(other, 3)]));
    let text = done(lockshift_at(&server), ["inspect", "stock"]).stdout;
    assert!(text.contains(&format!("{one}, shared; {other}, shared, 3 times")), "{text}");

    cmd("PERSIST").arg("stock").exec(&mut server.connect()).unwrap();
    assert!(has_hazard(&inspect(&server).json(), "it has no TTL"));
    assert_eq!(dialects(&hash(&[("read", "1700000000123")]).json()), ["rw-stamps"]);
}

#[test]
fn a_semaphore_shows_the_permits_whose_lease_has_not_ended() {
    const LIVE: &str = "00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7";
    let server = Server::start();
    let now_ms = now() * 1000;
    let members: [(u64, &str); 2] = [(now_ms - 5_000, &LIVE.replace('d', "e")), (now_ms + 30_000, LIVE)];
    let put = |members: &[(u64, &str)]| {
        cmd("DEL").arg("stock").exec(&mut server.connect()).unwrap();
        cmd("ZADD").arg("stock").arg(members).exec(&mut server.connect()).unwrap();
        cmd("PEXPIRE").arg("stock").arg(30_000).exec(&mut server.connect()).unwrap();
    };
    put(&members);
    let seen = done(lockshift_at(&server), ["inspect", "stock", "--fleet", "semaphore,permits=2", "--json"]);
    let json = seen.json();
    assert_eq!((seen.code, dialects(&json), hazards(&json)), (Some(0), vec!["semaphore,permits=2"], vec![]), "{json}");
    assert_eq!(json["holders"], json!([{"owner": LIVE, "shared": true, "entries": 1}]));
    assert!(json["expires_at"].is_string(), "by its TTL: {json}");

    put(&[(7, LIVE)]);
    assert_eq!(inspect(&server).code, Some(1), "its score is no moment");
}

#[test]
fn a_token_that_is_not_hex_is_likely_a_lock_while_its_key_expires() {
    let server = Server::start();
    for (value, alphabet, program) in [
        ("Rva_bi1OZAFd357UISVzrQ", "base64url", "bsm/redislock 0.9"),
        ("knkqIdOiq4qKEPK23ySehw==", "base64", "redsync 4"),
        ("y4aBIdZ0Rq1mCNn8xJvT7u", "base62", "redlock-py 1.0.8"),
    ] {
        set(&server, value);
        assert_eq!(inspect(&server).code, Some(1), "without a TTL it is some value: {value}");
        cmd("EXPIRE").arg("stock").arg(30).exec(&mut server.connect()).unwrap();
        let seen = inspect(&server);
        let json = seen.json();
        assert_eq!((seen.code, dialects(&json)), (Some(0), vec!["token"]), "{json}");
        let token = &json["token"];
        assert_eq!((&token["alphabet"], &token["programs"][0]), (&alphabet.into(), &program.into()), "{json}");
        assert!(json["expires_at"].is_string(), "by its TTL: {json}");
    }
    let text = done(lockshift_at(&server), ["inspect", "stock"]).stdout;
    assert!(text.contains("likely: 22 characters of base62, as redlock-py 1.0.8 write them"), "{text}");
    let hex = running_token(&server);
    assert_eq!(hex["token"], Value::Null, "the token of this project is known for certain: {hex}");
}

fn running_token(server: &Server) -> Value {
    set(server, "00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7");
    cmd("EXPIRE").arg("stock").arg(30).exec(&mut server.connect()).unwrap();
    inspect(server).json()
}

#[test]
fn the_owner_of_mlanett_redis_lock_is_a_lock_in_a_key_of_its_name() {
    let server = Server::start();
    let ends = now() + 60;
    let values = [("lock:owner:stock", "web-3:4711".to_owned()), ("lock:expire:stock", ends.to_string())];
    cmd("MSET").arg(&values).exec(&mut server.connect()).unwrap();
    let at = |key: &str| done(lockshift_at(&server), ["inspect", key, "--json"]).json();
    let owner = at("lock:owner:stock");
    assert_eq!((dialects(&owner), &owner["expired"]), (vec!["mlanett-redis-lock"], &false.into()), "{owner}");
    let no_ttl = hazards(&owner).into_iter().find(|hazard| hazard.starts_with("it has no TTL"));
    assert!(!no_ttl.expect("it has none").contains("mlanett"), "it looks at its other key: {owner}");
    let stamp = at("lock:expire:stock");
    assert_eq!(dialects(&stamp)[..1], ["mlanett-redis-lock"], "{stamp}");
    set(&server, "web-3:4711");
    assert_eq!(dialects(&inspect(&server).json()), [""; 0], "an address is no lock");
}

#[test]
fn the_stamp_of_a_bridge_is_known_by_its_mark() {
    let server = Server::start();
    for stamp in [format!("0{}", now() + 60), format!("0{}001", now() + 60), format!("0{}:4711", now() + 60)] {
        set(&server, stamp);
        let json = inspect(&server).json();
        assert_eq!((dialects(&json), &json["expired"]), (vec!["bridge:php-getset"], &false.into()), "{json}");
        assert!(json["expires_at"].is_string(), "{json}");
    }
}

#[test]
fn a_fleet_restricts_who_may_have_written_it() {
    let server = Server::start();
    set(&server, (now() + 60).to_string());
    let by = |fleet: &str| done(lockshift_at(&server), ["inspect", "stock", "--json", "--fleet", fleet]).json();
    assert_eq!(dialects(&by("php-getset,java-getset,token")), ["php-getset"]);
    assert!(dialects(&by("java-getset,token")).len() > 10, "none of them has: a stranger is named");
}

#[test]
fn the_thread_of_the_article_is_a_holder() {
    let server = Server::start();
    cmd("HSET").arg("stock").arg("thread-1").arg(2).exec(&mut server.connect()).unwrap();
    let json = inspect(&server).json();
    assert_eq!(dialects(&json), ["reentrant"]);
    assert_eq!(json["holders"], json!([{"owner": "thread-1", "shared": false, "entries": 2}]));
}

#[test]
fn bytes_that_are_no_text() {
    let server = Server::start();
    let stamp = (now() + 3600) * 1000;
    cmd("SET").arg(b"\xff\x00").arg(&stamp.to_be_bytes()[..]).exec(&mut server.connect()).unwrap();
    // A key with a zero byte cannot be typed; one that is no UTF-8 can.
    cmd("RENAME").arg(b"\xff\x00").arg(b"\xff").exec(&mut server.connect()).unwrap();
    let seen = done(lockshift_at(&server), [OsStr::new("inspect"), OsStr::from_bytes(b"\xff"), OsStr::new("--json")]);
    let json = seen.json();
    assert_eq!((seen.code, json["key"].as_str()), (Some(0), Some(r"$'\xff'")));
    assert_eq!(dialects(&json), ["java-getset"]);

    let text = done(lockshift_at(&server), [OsStr::new("inspect"), OsStr::from_bytes(b"\xff")]).stdout;
    assert!(text.starts_with("$'\\xff'\n") && text.contains(r#""\x00\x00\x01"#), "{text}");
}

const TOKEN: &str = "00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7";

#[test]
fn a_key_can_be_passed_back_as_it_is_shown() {
    let server = Server::start();
    let keys: [&[u8]; 9] = [
        "Grüße:鍵".as_bytes(),
        br#"say "hi""#,
        br"C:\locks\x41",
        b"it's",
        b"a b",
        b"\xff\xfe",
        b"zero\0byte",
        b"line\nfeed",
        b"$'x'",
    ];
    for key in keys {
        cmd("SET").arg(key).arg(TOKEN).arg("PX").arg(60_000).exec(&mut server.connect()).unwrap();
    }
    let scanned = done(lockshift_at(&server), ["scan", "--json"]).json();
    let shown: Vec<_> = scanned["locks"].as_array().unwrap().iter().map(|lock| lock["key"].as_str().unwrap()).collect();
    assert_eq!(shown.len(), keys.len(), "{scanned}");
    assert!(shown.contains(&"Grüße:鍵") && shown.contains(&r"C:\locks\x41"), "text is shown as text: {shown:?}");
    for key in &shown {
        let seen = done(lockshift_at(&server), ["inspect", key, "--json"]);
        assert_eq!((seen.code, seen.json()["key"].as_str()), (Some(0), Some(*key)), "{seen:?}");
    }
    let table = done(lockshift_at(&server), ["scan"]).stdout;
    for key in shown {
        assert!(table.contains(key), "{key} in {table}");
    }
}

#[test]
fn what_is_no_lock() {
    let server = Server::start();
    let table: [(Cmd, &str, &[&str]); 5] = [
        (cmd("SET").arg("stock").arg("hello").take(), "string", &[]),
        // As many bytes as a stamp of `java-getset` has.
        (cmd("SET").arg("stock").arg("password").take(), "string", &[]),
        (cmd("SET").arg("stock").arg(&[b'7'; 600]).take(), "string", &[]),
        (cmd("RPUSH").arg("stock").arg("apples").take(), "list", &["it is a list: "]),
        (cmd("HSET").arg("stock").arg("apples").arg(3).take(), "hash", &["it is a hash: "]),
    ];
    for (put, kind, expected) in table {
        cmd("DEL").arg("stock").exec(&mut server.connect()).unwrap();
        put.exec(&mut server.connect()).unwrap();
        let seen = inspect(&server);
        assert_eq!(seen.code, Some(1), "{seen:?}");
        let json = seen.json();
        assert_eq!(
            (&json["exists"], json["type"].as_str(), &json["expired"]),
            (&true.into(), Some(kind), &Value::Null)
        );
        assert_eq!(dialects(&json), [""; 0]);
        assert_eq!(hazards(&json).len(), expected.len(), "{json}");
        assert!(expected.iter().all(|beginning| has_hazard(&json, beginning)), "{json}");
    }
}

#[test]
fn the_text_names_a_few_or_all() {
    let server = Server::start();
    set(&server, (now() + 60).to_string());
    let few = done(lockshift_at(&server), ["inspect", "stock"]).stdout;
    for expected in ["stock\n", "  written by", " more\n", "  held for", "  taken by", "  not read by", "  hazard"] {
        assert!(few.contains(expected), "no {expected:?} in\n{few}");
    }
    assert!(few.lines().all(|line| line.chars().count() <= 140), "{few}");
    let all = done(lockshift_at(&server), ["inspect", "stock", "--all"]).stdout;
    assert!(all.contains("resque-lonely-job") && !few.contains("resque-lonely-job"), "{all}");
}

#[test]
fn a_fleet_is_asked_instead_of_everybody() {
    let server = Server::start();
    set(&server, (now() + 60).to_string());
    let fleet = done(lockshift_at(&server), ["inspect", "stock", "--fleet", "java-getset,jedis-lock", "--all"]).stdout;
    assert!(fleet.contains("jedis-lock, which would take it"), "{fleet}");
    assert!(!fleet.contains("redis-objects-1.4.2"), "who neither wrote it nor shares it: {fleet}");
}

/// As redis-py locks where it is given no timeout.
#[test]
fn a_token_without_an_expiry_is_asked_of_a_fleet_with_options() {
    let server = Server::start();
    set(&server, "041c8b88eb6a11f1a52b02fc00000001");
    for command in [&["inspect", "stock"][..], &["scan"]] {
        let fleet = [command, &["--fleet", "token,expiry=none,php-getset"]].concat();
        let asked = done(lockshift_at(&server), fleet);
        for hazard in ["token,expiry=none will never get past it", "expired to php-getset, which would take it"] {
            assert!(asked.stdout.contains(hazard), "{asked:?}");
        }
    }
}

#[test]
fn it_only_reads() {
    let server = Server::start();
    set(&server, (now() + 60).to_string());
    let reader = ["on", "nopass", "~*", "-@all", "+@read", "+@connection"];
    cmd("ACL").arg("SETUSER").arg("reader").arg(&reader[..]).exec(&mut server.connect()).unwrap();
    let url = format!("redis://reader:any@{}/", server.address());
    let seen = done(lockshift_at(&server), ["inspect", "stock", "--json", "--redis", &url]);
    assert_eq!((seen.code, seen.stderr.lines().count()), (Some(0), 1), "{seen:?}");
    // The user may not run INFO.
    assert!(seen.stderr.contains("what endangers all of its locks is not known"), "{seen:?}");

    let replica = Server::with(&Options::new().replica_of(&server));
    crate::patience::until("the replica has the key", || (inspect(&replica).code == Some(0)).then_some(()));
}

#[test]
fn a_hash_is_seen_on_whatever_node_of_a_cluster_it_is() {
    let cluster = Cluster::start();
    let mut connection = cluster.client().get_connection().unwrap();
    let url = format!("{}?cluster=true", cluster.masters()[0].url());
    let owner = "5a5a5a5a-5a5a-4a5a-8a5a-5a5a5a5a5a5a:7";
    for key in ["a", "b", "c", "d", "e", "f"] {
        cmd("HSET").arg(key).arg(owner).arg(1).exec(&mut connection).unwrap();
        let seen = done(lockshift(), ["inspect", key, "--json", "--redis", &url]);
        assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""), "{key}: {seen:?}");
        assert_eq!(seen.json()["holders"][0]["owner"], owner, "{key}");
    }
    assert!(cluster.keys().iter().all(|keys| *keys > 0), "{:?}", cluster.keys());
}

/// Some old clients read no mark, and a bridge beside them writes a moment beyond every lease.
#[test]
fn the_stamp_of_a_bridge_is_known_whatever_it_is_beside() {
    let server = Server::start();
    for dialect in ["php-getset", "java-getset", "newlife-2017", "newlife-2021"] {
        let (protocol, url) = (format!("bridge:{dialect}"), server.url());
        let inspect = [env!("CARGO_BIN_EXE_lockshift"), "inspect", "stock", "--json", "--redis", &url];
        let run = ["run", "stock", "-p", &protocol, "--lease", "30s", "--"];
        let seen = done(lockshift_at(&server), run.into_iter().chain(inspect));
        assert_eq!(seen.code, Some(0), "{dialect}: {seen:?}");
        let json = seen.json();
        assert!(dialects(&json).iter().any(|name| name.starts_with("bridge:")), "{dialect}: {json}");
        // Not two centuries later.
        assert!(json["expires_at"].as_str().is_some_and(|end| end.starts_with("20")), "{dialect}: {json}");
    }
}

/// Its digits can be an expired stamp for an old client, but old clients do not look there.
#[test]
fn the_token_of_a_bridge_is_no_lock_that_old_clients_take() {
    let server = Server::start();
    let url = server.url();
    for _ in 0..4 {
        let scan = [env!("CARGO_BIN_EXE_lockshift"), "scan", "--fleet", "php7-getset,token", "--json", "--redis", &url];
        let run = ["run", "stock", "-p", "bridge:php7-getset", "--lease", "30s", "--"];
        let seen = done(lockshift_at(&server), run.into_iter().chain(scan));
        assert!(seen.stdout.contains("{stock}:token"), "{seen:?}");
        assert!(!seen.stdout.contains("taken-while-held"), "{seen:?}");
    }
}

/// These names, as a fleet has them in a field of the JSON.
fn named<'a>(json: &'a Value, field: &str) -> Vec<&'a str> {
    json[field].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn a_bridge_and_a_guard_read_the_old_key_as_their_dialects_do() {
    let server = Server::start();
    for (fleet, readers, strangers) in [
        ("bridge:php-getset", vec!["bridge:php-getset"], vec![]),
        ("bridge:jedis-lock", vec![], vec!["bridge:jedis-lock"]),
        ("bridge-guard:php-getset", vec!["bridge-guard:php-getset"], vec![]),
        ("guard:php-getset", vec!["guard:php-getset"], vec![]),
        ("php-getset,bridge:php-getset,skew=5,token", vec!["php-getset", "bridge:php-getset,skew=5"], vec!["token"]),
    ] {
        // Milliseconds read it as expired, seconds as live.
        set(&server, (now() + 600).to_string());
        let live = inspect_in(&server, fleet);
        let own = |field: &str| named(&live, field).into_iter().filter(|name| fleet.contains(name)).collect::<Vec<_>>();
        assert_eq!(own("held_for"), readers, "{fleet}: {live}");
        let early = if fleet == "bridge:jedis-lock" { strangers.clone() } else { vec![] };
        assert_eq!(own("takers"), early, "{fleet}: {live}");

        set(&server, (now() - 60).to_string());
        let expired = inspect_in(&server, fleet);
        let scanned = done(lockshift_at(&server), ["scan", "--fleet", fleet]).stdout;
        for name in &readers {
            assert!(named(&expired, "takers").contains(name), "{fleet}: {expired}");
        }
        let stuck = if strangers == ["token"] { "token will never get past it" } else { "Redis never removes it" };
        assert!(has_hazard(&expired, "it has no TTL") && expired.to_string().contains(stuck), "{fleet}: {expired}");
        assert!(scanned.split_whitespace().collect::<Vec<_>>().join(" ").contains("no TTL"), "{fleet}: {scanned}");
        assert!(!scanned.contains("never get past") || strangers == ["token"], "{fleet}: {scanned}");
    }
}

/// The table of a scan wraps its lines.
#[test]
fn members_of_a_fleet_are_named_as_they_were_typed() {
    let server = Server::start();
    let milliseconds = (now() + 60) * 1000;
    for (value, fleet, writer) in [
        (format!("0{milliseconds}"), "jedis-lock,bridge:jedis-lock", "bridge:jedis-lock"),
        (format!("0{milliseconds}"), "jedis-lock,guard:jedis-lock", "guard:jedis-lock"),
        (milliseconds.to_string(), "jedis-lock,bridge:jedis-lock", "jedis-lock"),
        (
            format!("0{}", now() + 60),
            "bridge:php-getset+predis-getset,fence=yes",
            "bridge:php-getset+predis-getset,fence=yes",
        ),
        ("041c8b88eb6a11f1a52b02fc00000001".to_owned(), "token,expiry=ex", "token,expiry=ex"),
    ] {
        set(&server, value);
        let json = inspect_in(&server, fleet);
        assert_eq!(dialects(&json), [writer], "{json}");
        let scan = done(lockshift_at(&server), ["scan", "--json", "--fleet", fleet]).json();
        assert_eq!(dialects(&scan["locks"][0]), [writer], "{scan}");
        let readers: Vec<_> =
            ["held_for", "takers", "errors", "not_read_by"].into_iter().flat_map(|field| named(&json, field)).collect();
        assert!(readers.iter().all(|name| fleet.contains(name)), "{readers:?} are not {fleet}");
        assert!(readers.contains(&writer), "{json}");
    }
}

/// A bridge and the token lock share the new key, which no old client looks into; and clients that lock only that do not look into
/// the old one.
#[test]
fn each_of_the_two_keys_is_asked_of_those_that_look_into_it() {
    let server = Server::start();
    let fleet = "php-getset,bridge:php-getset,token,key=sibling";
    set(&server, (now() - 60).to_string());
    let old = inspect_in(&server, fleet);
    assert_eq!(
        (named(&old, "takers"), named(&old, "not_read_by")),
        (vec!["php-getset", "bridge:php-getset"], vec![]),
        "{old}"
    );
    assert!(!has_hazard(&old, "it has no TTL: if its holder dies"), "{old}");

    // An old client would read the number 41, were it to look.
    let set = ["{stock}:token", "041c8b88eb6a11f1a52b02fc00000001"];
    cmd("SET").arg(&set[..]).arg("PX").arg(60_000).exec(&mut server.connect()).unwrap();
    let new = done(lockshift_at(&server), ["inspect", "{stock}:token", "--json", "--fleet", fleet]).json();
    assert_eq!(named(&new, "not_read_by"), ["bridge:php-getset", "token,key=sibling"], "{new}");
    assert_eq!((named(&new, "takers"), hazards(&new)), (vec![], vec![]), "{new}");
}
