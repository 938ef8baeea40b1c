//! A key of another type: whatever the old clients make of it, nothing runs and nothing is changed.

use std::time::Duration;

use lockshift::lock::Lease;
use lockshift::protocols::{Choice, catalogue};
use lockshift::wire::Key;
use redis::{Connection, cmd};

use super::Scene;
use crate::cli::command::{done, lockshift_at};

/// Each type, and the command that makes a key of it, without the key.
const TYPES: [(&str, &[&str]); 6] = [
    ("string", &["SET", "12", "EX", "1000"]),
    ("list", &["RPUSH", "a", "b"]),
    ("hash", &["HSET", "field", "value"]),
    ("set", &["SADD", "member"]),
    ("zset", &["ZADD", "1", "member"]),
    ("stream", &["XADD", "1-1", "field", "value"]),
];

fn dump(key: &Key, connection: &mut Connection) -> Vec<u8> {
    cmd("DUMP").arg(key.as_bytes()).query(connection).unwrap()
}

#[test]
fn no_protocol_runs_a_command_on_a_key_of_another_type() {
    let scene = Scene::new();
    let mut connection = scene.connect();
    for (kind, words) in TYPES {
        let (name, args) = words.split_first().unwrap();
        for protocol in catalogue().filter(|it| kind != it.key_type().redis_name()) {
            // Some derive their key from the name that they are given.
            let lease = Lease::new(Duration::from_secs(30)).unwrap();
            let key = protocol.name().parse::<Choice>().unwrap().locker("stock".into(), lease).key().clone();
            cmd("FLUSHALL").exec(&mut connection).unwrap();
            cmd(name).arg(key.as_bytes()).arg(args).exec(&mut connection).unwrap();
            let before = dump(&key, &mut connection);
            let protocol = protocol.name();
            let mut command = lockshift_at(&scene.server);
            command.current_dir(scene.notes.path());
            let ended = done(command, ["run", "stock", "-p", protocol, "--wait", "10s", "--", "touch", "never"]);
            assert_eq!(ended.code, Some(3), "{protocol} on a {kind}: {ended:?}");
            assert!(ended.stderr.contains("holds another type than this lock writes"), "{protocol}: {ended:?}");
            assert!(!scene.note("never").exists(), "{protocol} on a {kind}");
            assert_eq!(dump(&key, &mut connection), before, "{protocol} on a {kind}");
        }
    }
}
