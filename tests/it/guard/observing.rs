//! A guard that observes: it changes nothing, and its events have the replies.

use lockshift::driver::host;
use redis::{Commands, cmd};
use serde_json::Value;

use crate::guard_process::GuardProcess;
use crate::schemas::conforms;
use crate::server::Server;

/// Starts an observing guard before this server, which writes its events to this file.
fn observer(server: &Server, events: &str) -> GuardProcess {
    let rules = [("lock:*".to_owned(), "php-getset")];
    GuardProcess::start(&server.url(), &rules, &["--mode", "observe", "--json", "--events", events])
}

/// The events of this kind in a file.
fn events(path: &str, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let event = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(event).filter(|event: &Value| event["event"] == kind).collect()
}

/// An event without its moment and its client.
fn shown(event: &Value) -> String {
    assert!(event["at_us"].as_i64().unwrap() > 1_600_000_000_000_000, "{event}");
    assert!(event["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{event}");
    format!("{} {} {} {}", event["database"], event["event"].as_str().unwrap(), event["command"], event["reply"])
}

#[test]
fn every_command_on_an_observed_key_is_reported_with_its_reply() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("events.jsonl").display().to_string();
    let server = Server::start();
    let guard = observer(&server, &file);
    let [mut one, mut other] = [guard.connect(), guard.connect()];
    cmd("SELECT").arg(3).exec(&mut other).unwrap();
    assert_eq!(one.set_nx("lock:a", "1700000030"), Ok(true));
    assert_eq!(one.set_nx("other", "unseen"), Ok(true));
    assert_eq!(other.get("lock:a"), Ok(None::<String>));
    assert_eq!(one.get("lock:a"), Ok("1700000030".to_owned()), "what was written is read: nothing is changed");
    redis::pipe().atomic().set("plain", 1).get("lock:a").del("lock:a").exec(&mut one).unwrap();
    assert_eq!(cmd("DEL").arg("lock:a").arg("lock:b").query(&mut one), Ok(0));
    cmd("SET").arg("lock:a").arg(vec![0_u8, 8, 255, b'"']).exec(&mut one).unwrap();
    let expected = [
        r#"0 command ["SETNX","lock:a","1700000030"] 1"#,
        r#"3 command ["GET","lock:a"] null"#,
        r#"0 command ["GET","lock:a"] {"bulk":"1700000030"}"#,
        r#"0 command ["GET","lock:a"] {"bulk":"1700000030"}"#,
        r#"0 command ["DEL","lock:a"] 1"#,
        r#"0 command ["EXEC"] {"array":[{"status":"OK"},{"bulk":"1700000030"},1]}"#,
        r#"0 command ["DEL","lock:a"] 0"#,
        r#"0 command ["DEL","lock:b"] 0"#,
        r#"0 command ["SET","lock:a","\\x00\\b\\xff\\\""] {"status":"OK"}"#,
    ];
    assert_eq!(events(&file, "command").iter().map(shown).collect::<Vec<_>>(), expected);
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "keys and values are in it");
    events(&file, "command").iter().for_each(|event| conforms("guard-event", event));
    guard.terminate();
    let (ended, _) = guard.done();
    conforms("guard", &serde_json::from_slice(&ended.stdout).expect("the counts are JSON"));
}

/// A transaction may select a database between two commands, and may fail to select another one.
#[test]
fn a_command_of_a_transaction_is_reported_in_the_database_in_which_it_ran() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("events.jsonl").display().to_string();
    let server = Server::start();
    let guard = observer(&server, &file);
    let mut client = guard.connect();
    let queued: [&[&str]; 6] =
        [&["GET", "lock:a"], &["SELECT", "3"], &["GET", "lock:b"], &["SELECT", "99"], &["PING"], &["GET", "lock:c"]];
    cmd("MULTI").exec(&mut client).unwrap();
    for words in queued {
        assert_eq!(cmd(words[0]).arg(&words[1..]).query(&mut client), Ok("QUEUED".to_owned()));
    }
    let nested = cmd("MULTI").exec(&mut client).unwrap_err();
    assert!(nested.to_string().contains("nested"), "the transaction goes on: {nested}");
    let refused = cmd("EXEC").exec(&mut client).unwrap_err();
    assert!(refused.to_string().contains("DB index is out of range"), "{refused}");
    assert_eq!(client.get("lock:d"), Ok(None::<String>));
    let of_keys = |event: &Value| event["command"][0] == "GET";
    let expected = ["a", "b", "c", "d"].map(|key| {
        let database = if key == "a" { 0 } else { 3 };
        format!(r#"{database} command ["GET","lock:{key}"] null"#)
    });
    let reported: Vec<_> = events(&file, "command").iter().filter(|event| of_keys(event)).map(shown).collect();
    assert_eq!(reported, expected);
    guard.terminate();
}

/// The server refuses a command of a transaction and queues the others: their replies are the replies of EXEC.
#[test]
fn a_command_that_is_refused_inside_multi_has_no_reply_of_exec() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("events.jsonl").display().to_string();
    let server = Server::start();
    let guard = observer(&server, &file);
    let mut client = guard.connect();
    cmd("MULTI").exec(&mut client).unwrap();
    let refused = cmd("WATCH").arg("plain").exec(&mut client).unwrap_err();
    assert!(refused.to_string().contains("inside MULTI"), "the transaction goes on: {refused}");
    cmd("INCR").arg("plain").exec(&mut client).unwrap();
    cmd("SET").arg("lock:a").arg("1700000030").exec(&mut client).unwrap();
    cmd("LPUSH").arg("lock:a").arg("1").exec(&mut client).unwrap();
    cmd("DEL").arg("lock:a").exec(&mut client).unwrap();
    let ran = cmd("EXEC").exec(&mut client).unwrap_err();
    assert!(ran.to_string().contains("WRONGTYPE"), "{ran}");
    let of_keys = |event: &Value| event["command"][1] == "lock:a";
    let reported: Vec<_> = events(&file, "command").iter().filter(|event| of_keys(event)).map(shown).collect();
    let expected = [r#"0 command ["SET","lock:a","1700000030"] {"status":"OK"}"#, r#"0 command ["DEL","lock:a"] 1"#];
    assert_eq!(reported, expected);
    guard.terminate();
}

/// A pool hands a connection on that has subscribed before.
#[test]
fn what_a_connection_sends_after_it_has_subscribed_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("events.jsonl").display().to_string();
    let server = Server::start();
    let guard = observer(&server, &file);
    let mut client = guard.connect();
    let mut subscription = client.as_pubsub();
    subscription.subscribe("news").unwrap();
    drop(subscription);
    assert_eq!(client.set_nx("lock:a", "1700000030"), Ok(true));
    let reported: Vec<_> = events(&file, "command").iter().map(shown).collect();
    assert_eq!(reported, [r#"0 command ["SETNX","lock:a","1700000030"] 1"#]);
    guard.terminate();
}

/// A client that may not send WATCH watches nothing: what ends a transaction of its concerns no lock.
#[test]
fn a_watch_that_is_refused_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("events.jsonl").display().to_string();
    let server = Server::start();
    let permissions = ["on", "nopass", "~*", "&*", "+@all", "-watch"];
    cmd("ACL").arg("SETUSER").arg("plain").arg(&permissions).exec(&mut server.connect()).unwrap();
    let guard = observer(&server, &file);
    let mut client = guard.connect();
    cmd("AUTH").arg("plain").arg("any").exec(&mut client).unwrap();
    assert_eq!(cmd("WATCH").arg("lock:a").exec(&mut client).unwrap_err().code(), Some("NOPERM"));
    redis::pipe().atomic().set("plain", 1).exec(&mut client).unwrap();
    let reported = events(&file, "command");
    assert_eq!(reported.iter().map(|event| event["command"][0].clone()).collect::<Vec<_>>(), ["WATCH"]);
    guard.terminate();
}

/// The order of the events is the order in which the server ran the commands: of all that increment a key by SETNX and DEL,
/// each SETNX that won follows a DEL.
#[test]
fn events_of_one_key_are_in_the_order_of_the_server() {
    const CLIENTS: usize = 4;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("events.jsonl").display().to_string();
    let server = Server::start();
    let guard = observer(&server, &file);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = guard.connect();
                for _ in 0..100 {
                    if client.set_nx::<_, _, bool>("lock:a", 1).unwrap() {
                        client.del::<_, ()>("lock:a").unwrap();
                    }
                }
            });
        }
    });
    let mut is_held = false;
    let mut wins = 0;
    for event in events(&file, "command") {
        let is_claim = event["command"][0] == "SETNX";
        assert_eq!(event["reply"] == 1, is_claim != is_held, "{event}");
        wins += u32::from(is_claim && !is_held);
        is_held = is_claim;
    }
    assert!(wins > 10, "{wins}");
}

#[test]
fn a_file_of_events_that_cannot_be_written_is_refused() {
    let mut command = crate::cli::command::lockshift();
    command.args(["guard", "--listen", "127.0.0.1:0", "--redis", "redis://127.0.0.1:1/", "--mode", "observe"]);
    let done = crate::cli::command::done(command, ["--guard", "lock:*=token", "--events", "/no/such/directory/events"]);
    assert!(done.code == Some(3) && done.stderr.contains("cannot write /no/such/directory/events"), "{done:?}");
}

/// A holder whose lease has ended deletes the lock of the next one.
#[test]
fn the_audit_finds_in_the_events_what_happened() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("events.jsonl").display().to_string();
    let server = Server::start();
    let guard = observer(&server, &file);
    let [mut slow, mut next] = [guard.connect(), guard.connect()];
    let now = || host::wall().as_secs();
    let first = now() + 2;
    assert_eq!(slow.set_nx("lock:a", first), Ok(true));
    assert_eq!(slow.expire("lock:a", 2), Ok(true));
    let mut direct = server.connect();
    crate::patience::until("the lease has ended", || (!direct.exists::<_, bool>("lock:a").unwrap()).then_some(()));
    // An event has the moment of its reply: that may be later than the end of a lease before it.
    crate::patience::pause(std::time::Duration::from_millis(300));
    assert_eq!(next.set_nx("lock:a", now() + 12), Ok(true));
    assert_eq!(next.expire("lock:a", 10), Ok(true));
    assert_eq!(slow.ttl("lock:a"), Ok(10));
    assert_eq!(slow.del("lock:a"), Ok(1));
    guard.until_message("ttl-is-not-ownership on lock:a in database 0, ");
    let live = events(&file, "finding");
    assert_eq!(live.len(), 1, "{live:?}");
    assert_eq!((&live[0]["key"], &live[0]["race"]), (&"lock:a".into(), &"ttl-is-not-ownership".into()), "{live:?}");
    assert_eq!(live[0]["clients"].as_array().map(Vec::len), Some(2), "{live:?}");
    let done = crate::cli::command::done(crate::cli::command::lockshift(), ["audit", "--json", &file]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let audited = done.json();
    assert_eq!(audited["locks"][0]["acquisitions"], 2, "{audited}");
    let found = &audited["findings"][0];
    assert_eq!(
        (found["race"].as_str(), found["certainty"].as_str()),
        (Some("ttl-is-not-ownership"), Some("certain")),
        "{audited}"
    );
}

/// Also where a command or a transaction concerns several keys.
#[test]
fn the_events_of_each_key_are_in_the_order_of_the_server() {
    const ROUNDS: usize = 3_000;
    let directory = tempfile::tempdir().unwrap();
    for in_transaction in [false, true] {
        let file = directory.path().join(format!("events-{in_transaction}.jsonl")).display().to_string();
        let server = Server::start();
        let guard = observer(&server, &file);
        let acquire = |mut client: redis::Connection| {
            for _ in 0..ROUNDS {
                let _: bool = client.set_nx("lock:b", "1700000030").unwrap();
            }
        };
        let delete = |mut client: redis::Connection| {
            let mut transaction = redis::pipe();
            transaction.atomic().del("lock:a").del("lock:b");
            for _ in 0..ROUNDS {
                if in_transaction {
                    transaction.exec(&mut client).unwrap();
                } else {
                    client.del::<_, i64>(&["lock:a", "lock:b"][..]).map(drop).unwrap();
                }
            }
        };
        std::thread::scope(|scope| {
            let [one, two, three] = [guard.connect(), guard.connect(), guard.connect()];
            scope.spawn(move || acquire(one));
            scope.spawn(move || acquire(two));
            scope.spawn(move || delete(three));
        });
        let (mut is_held, mut acquired) = (false, 0);
        for event in events(&file, "command").iter().filter(|event| event["command"][1] == "lock:b") {
            match (event["command"][0].as_str().unwrap(), event["reply"].as_i64()) {
                ("SETNX", Some(1)) => {
                    assert!(!is_held, "in a transaction: {in_transaction}: {event}");
                    (is_held, acquired) = (true, acquired + 1);
                }
                ("DEL", deleted) if deleted != Some(0) => is_held = false,
                _ => {}
            }
        }
        assert!(acquired > ROUNDS / 100, "{acquired}");
    }
}
