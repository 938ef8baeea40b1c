//! Every protocol and every command on servers from Redis 2.8 to Valkey 9: the rows of `docs/servers.md`. A protocol that a
//! server is too old for says so, and writes nothing.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use lockshift::protocols::catalogue;
use redis::cmd;

use crate::cli::command::{Done, done, lockshift_at};
use crate::golden::is_renewed;
use crate::guard_process::GuardProcess;
use crate::life::{Over, lives};
use crate::server::{Options, Server, fetched};

const PAGE: &str = "docs/servers.md";

#[test]
fn on_redis_2_8() {
    compare("redis-2.8");
}

#[test]
fn on_redis_3_0() {
    compare("redis-3.0");
}

#[test]
fn on_redis_3_2() {
    compare("redis-3.2");
}

#[test]
fn on_redis_5_0() {
    compare("redis-5.0");
}

#[test]
fn on_redis_6_0() {
    compare("redis-6.0");
}

#[test]
fn on_redis_6_2() {
    compare("redis-6.2");
}

#[test]
fn on_redis_7_0() {
    compare("redis-7.0");
}

#[test]
fn on_redis_8_0() {
    compare("redis-8.0");
}

#[test]
fn on_redis_8_4() {
    compare("redis-8.4");
}

#[test]
fn on_valkey_8_1() {
    compare("valkey-8.1");
}

#[test]
fn on_valkey_9_0() {
    compare("valkey-9.0");
}

/// Compares what a server does with its row, or writes the row.
fn compare(name: &str) {
    let server = Server::with(&Options::new().old_program(fetched(name)));
    let row = format!("| {name} | {} | {} |", protocols_on(&server), commands_on(&server));
    static PAGE_IS_WRITTEN: Mutex<()> = Mutex::new(());
    let _one = PAGE_IS_WRITTEN.lock();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = fs::read_to_string(&path).expect("there is such a page");
    let kept = page.lines().find(|line| line.starts_with(&format!("| {name} |"))).expect("the page has its row");
    if is_renewed() {
        fs::write(&path, page.replace(kept, &row)).expect("the page can be written");
    } else {
        assert_eq!(kept, row, "{PAGE}: if the new row is better, run the test with LOCKSHIFT_BLESS=1");
    }
}

/// How many protocols live on it, and which do not and why.
fn protocols_on(server: &Server) -> String {
    let stories = lives(&Over::threads(|| server.connect()), "servers", |_| false);
    let mut refused = Vec::new();
    for story in &stories {
        let (name, why) = story.split_once(": ").expect("a story names its protocol");
        let version = why.split("this lock needs ").nth(1).and_then(|rest| rest.split(": ").next());
        let version = version.unwrap_or_else(|| panic!("{story}"));
        let name = name.split(',').next().expect("a name");
        let missing = format!("`{name}`: needs {version}");
        if !refused.contains(&missing) {
            refused.push(missing);
        }
    }
    let left: Vec<String> = cmd("KEYS").arg("*servers*").query(&mut server.connect()).expect("it lists keys");
    for story in &stories {
        let name = story.split_once(": ").expect("a story names its protocol").0;
        let place = catalogue_place(name);
        let prefix = format!("{{servers {place}}}");
        assert!(!left.iter().any(|key| key.contains(&prefix)), "{name} has written {left:?} before it was refused");
    }
    let all = catalogue().count();
    format!("{} of {all} | {}", all - refused.len(), if refused.is_empty() { "-".into() } else { refused.join(", ") })
}

/// The number of a protocol in the keys of [`lives`].
fn catalogue_place(name: &str) -> usize {
    use lockshift::lock::Lease;
    let lease = Lease::new(std::time::Duration::from_secs(1)).expect("a second is a lease");
    crate::protocols::every(&"k".into(), lease).iter().position(|(known, _)| known == name).expect("it is known")
}

/// The commands that do on it what they do elsewhere.
fn commands_on(server: &Server) -> String {
    cmd("FLUSHALL").exec(&mut server.connect()).expect("it deletes its keys");
    let token = "00d7d7d7d7d7d7d7d7d7d7d7d7d7d7d7";
    cmd("SET").arg("lock:a").arg(token).arg("PX").arg(60_000).exec(&mut server.connect()).expect("it sets");
    let at = |args: &[&str]| done(lockshift_at(server), args);
    let shows = |done: &Done, code: i32, text: &str| done.code == Some(code) && done.stdout.contains(text);
    let record = ["record", "--for", "300ms"];
    let compare = ["compare", "token", "php-getset", "--seconds", "1", "--clients", "2", "--json"];
    let results = [
        ("run", shows(&at(&["run", "job", "--", "echo", "ran"]), 0, "ran")),
        ("run -p php-getset", shows(&at(&["run", "-p", "php-getset", "old", "--", "echo", "ran"]), 0, "ran")),
        ("inspect", shows(&at(&["inspect", "lock:a"]), 0, "token")),
        ("scan", shows(&at(&["scan"]), 0, "lock:a")),
        ("doctor", shows(&at(&["doctor"]), 0, "version")),
        ("doctor --fleet", finds_nothing_but_its_age(&at(&["doctor", "--fleet", "fair", "--json"]))),
        ("record", at(&record).code == Some(0)),
        ("compare", shows(&at(&compare), 0, "php-getset")),
        ("races --replay", at(&["races", "double-takeover", "--replay"]).code == Some(0)),
    ];
    let mut fails: Vec<_> =
        results.iter().filter(|(_, works)| !works).map(|(name, _)| format!("not `{name}`")).collect();
    fails.extend(guard_on(server));
    if fails.is_empty() { "all".to_owned() } else { fails.join(", ") }
}

/// Whether the doctor finds nothing about the version of a server for the fair lock but that it is older than that lock's scripts.
fn finds_nothing_but_its_age(examined: &Done) -> bool {
    let json = examined.json();
    let findings = json[0]["findings"].as_array().expect("it lists findings");
    findings.iter().filter(|it| it["subject"] == "version").all(|it| it["says"] == "fair needs Redis 3.2 or later")
}

/// Why an old client does not acquire through a guard before it, if it does not.
fn guard_on(server: &Server) -> Option<String> {
    let guard = GuardProcess::start(&server.url(), &[("old:*".to_owned(), "php-getset")], &[]);
    let client = redis::Client::open(format!("redis://127.0.0.1:{}/", guard.port())).expect("an address");
    let mut connection = client.get_connection().expect("the guard accepts");
    let far = lockshift::driver::host::wall().as_secs() + 600;
    match cmd("SETNX").arg("old:a").arg(far).query::<i64>(&mut connection) {
        Ok(1) => {
            let again = cmd("SETNX").arg("old:a").arg(far).query(&mut server.connect());
            (again != Ok(0)).then(|| "not `guard`".to_owned())
        }
        // The guard passes on what the server says of its script, before which nothing was written.
        Err(error) if error.to_string().contains("Write commands not allowed after non deterministic commands") => {
            assert_eq!(cmd("EXISTS").arg("old:a").query(&mut server.connect()), Ok(0));
            Some("not `guard`: needs Redis 3.2".to_owned())
        }
        other => panic!("{other:?}"),
    }
}
