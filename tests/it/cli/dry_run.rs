//! `lockshift dry-run`: what a trace shows, and what would have happened under another lock.

use std::io::Write;
use std::process::Stdio;

use redis::cmd;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::command::{Done, Running, done, lockshift, lockshift_at};
use super::traces::{BESIDE, file};
use crate::patience::until;
use crate::server::Server;

/// A works for 2.9 s on a lease of two; B comes in after 2.5 s, and A deletes B's lock. C holds when the trace ends, and
/// D has asked in vain.
const OVERRUN: &str = r#"OK
1700000000.000001 [0 10.0.0.1:50000] "SETNX" "lock" "1700000002"
1700000000.000201 [0 10.0.0.1:50000] "EXPIRE" "lock" "2"
1700000002.500000 [0 10.0.0.2:50000] "SETNX" "lock" "1700000004"
1700000002.500200 [0 10.0.0.2:50000] "EXPIRE" "lock" "2"
1700000002.900000 [0 10.0.0.1:50000] "TTL" "lock"
1700000002.900200 [0 10.0.0.1:50000] "DEL" "lock"
1700000003.500000 [0 10.0.0.2:50000] "TTL" "lock"
1700000003.500200 [0 10.0.0.2:50000] "DEL" "lock"
1700000004.000000 [0 10.0.0.3:50000] "SETNX" "lock" "1700000006"
1700000004.000200 [0 10.0.0.3:50000] "EXPIRE" "lock" "2"
1700000004.100000 [0 10.0.0.4:50000] "SETNX" "lock" "1700000006"
1700000004.100200 [0 10.0.0.4:50000] "GET" "lock"
1700000004.200000 [0 10.0.0.5:50000] "PING"
"#;

fn played(trace: &str, args: &[&str]) -> Done {
    let file = file(trace);
    let mut command = lockshift();
    command.arg("dry-run").arg(file.path());
    done(command, args)
}

fn lock(done: &Done) -> Value {
    done.json()["locks"][0].clone()
}

/// Acquisitions, refusals where they are known beforehand, double holds and overruns.
fn counted(figures: &Value) -> [Option<u64>; 4] {
    ["acquisitions", "gave_up", "double_holds", "overruns"].map(|name| figures[name].as_u64())
}

#[test]
fn a_lease_that_is_long_enough_ends_the_overrun_and_the_double_hold() {
    let done = played(OVERRUN, &["--to", "token", "--lease", "10s", "--json"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let lock = lock(&done);
    assert_eq!(counted(&lock["before"]), [Some(3), Some(1), Some(1), Some(1)]);
    assert_eq!(lock["before"]["refusals"], 1);
    assert_eq!((&lock["before"]["wait_p50_ms"], &lock["before"]["wait_p99_ms"]), (&json!(0.0), &json!(0.0)));
    assert_eq!(counted(&lock["after"]), [Some(3), Some(0), Some(0), Some(0)]);
    // B waits from 2.5 s to the end of A's work at 2.9 s, and a pause of half a second at most.
    let longest = lock["after"]["wait_p99_ms"].as_f64().unwrap();
    assert!((400.0..=1000.0).contains(&longest), "{longest}");
}

#[test]
fn with_the_lease_of_old_the_token_lock_is_overrun_as_well() {
    let done = played(OVERRUN, &["--to", "token", "--lease", "2s", "--json"]);
    assert_eq!(done.code, Some(1), "and that is no yes");
    let lock = lock(&done);
    assert_eq!(counted(&lock["after"]), [Some(3), Some(0), Some(1), Some(1)]);
    assert_eq!(lock["after"]["refusals"], 0, "A's lease has expired when B comes, and B has ended when C does");
    assert_eq!(lock["after"]["wait_p99_ms"], json!(0.2), "a round trip");
}

#[test]
fn the_lease_that_the_work_asks_for_and_what_the_trace_cuts_off() {
    let done = played(OVERRUN, &["--to", "token", "--lease", "10s", "--json"]);
    let lock = lock(&done);
    // Twice 2.9 s, in whole seconds. Only when C came was it certain that the key was empty.
    let advice = json!({"lease_ms": 6000.0, "longest_ms": 2900.199, "measured": 3, "certain": 1, "censored": 1, "covered": 0.3684, "p99_ms": [1000.2, null]});
    assert_eq!(lock["advice"], advice);
    let cut = ["held_at_end", "never_given_back", "unserved"].map(|name| lock[name].as_u64());
    assert_eq!(cut, [Some(1), Some(0), Some(1)]);

    let text = played(OVERRUN, &["--to", "token", "--lease", "10s"]).stdout;
    for words in [
        "lock  as traced          3        1        1             1        1",
        "token, 10s",
        "lock asks for a lease of 6s: twice the longest of 3 holds, 2900 ms; 1 of them certain.",
        "36.8 % of all holds are not longer, and the 99th percentile is at least",
        "1 held when the trace ended: played as released then.",
        "1 tried to acquire and, as far as the trace shows, never did: not played.",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
}

#[test]
fn the_token_lock_refuses_clients_that_the_old_one_let_in() {
    // Both leases have ended when the trace does, so neither hold is merely cut off by its end.
    let beside = BESIDE.to_owned() + "1700000100.000000 [0 10.0.0.3:50000] \"PING\"\n";
    let beside = beside.as_str();
    let done = played(beside, &["--to", "token", "--lease", "10s", "--json"]);
    assert_eq!(done.code, Some(0));
    let lock = lock(&done);
    assert_eq!(counted(&lock["before"]), [Some(2), Some(0), Some(1), Some(0)]);
    assert_eq!(counted(&lock["after"]), [Some(2), Some(0), Some(0), Some(0)]);
    // The first never releases: the second waits for the end of its lease, less the 0.1 s that it came later.
    let waited = lock["after"]["wait_p99_ms"].as_f64().unwrap();
    assert!((9_899.0..=10_500.0).contains(&waited), "{waited}");
    assert!(lock["after"]["refusals"].as_u64() > Some(19), "it asks at least every half second: {lock}");

    let impatient = played(beside, &["--to", "token", "--lease", "10s", "--wait", "3s", "--json"]);
    assert_eq!(counted(&impatient.json()["locks"][0]["after"]), [Some(1), Some(1), Some(0), Some(0)]);
}

#[test]
fn every_protocol_can_be_played_and_comes_out_the_same_each_time() {
    for protocol in ["php-getset", "java-getset", "redis-py-2.8", "redisson", "fair", "redlock", "bridge:php-getset"] {
        let once = played(OVERRUN, &["--to", protocol, "--lease", "10s", "--json"]);
        assert_eq!((once.code, once.stderr.as_str()), (Some(0), ""), "{protocol}");
        assert_eq!(counted(&lock(&once)["after"]), [Some(3), Some(0), Some(0), Some(0)], "{protocol}");
        assert_eq!(once, played(OVERRUN, &["--to", protocol, "--lease", "10s", "--json"]), "{protocol}");
    }
}

#[test]
fn what_cannot_be_used_is_named() {
    let missing = done(lockshift(), ["dry-run", "/no/such/trace", "--to", "token", "--lease", "10s"]);
    assert_eq!(missing.code, Some(3));
    assert!(missing.stderr.contains("/no/such/trace: "), "{missing:?}");
    for (args, sent) in [
        (["--to", "tokn", "--lease", "10s", "--wait", "1m"], "did you mean `token`"),
        (["--to", "token", "--lease", "0s", "--wait", "1m"], "too short"),
        (["--to", "token", "--lease", "10s", "--wait", "2d"], "at most a day"),
    ] {
        let refused = played(OVERRUN, &args);
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains(sent), "{refused:?}");
    }
    let cut = played(&OVERRUN[..OVERRUN.len() - 40], &["--to", "token", "--lease", "10s"]);
    assert_eq!(cut.code, Some(0));
    assert!(cut.stderr.contains(":14: passed over: "), "{cut:?}");
    // An acquisition that only begins says nothing of how long it takes, and one that ends says it once.
    let one: String = OVERRUN.lines().take(3).map(|line| line.to_owned() + "\n").collect();
    let begun = played(&one, &["--to", "token", "--lease", "10s"]);
    assert!(begun.stdout.contains("\nlock says nothing of a lease: no work was seen to its end\n"), "{begun:?}");
    assert_eq!(lock(&played(&one, &["--to", "token", "--lease", "10s", "--json"]))["advice"], Value::Null);
    let once = played(&(one + OVERRUN.lines().nth(6).unwrap()), &["--to", "token", "--lease", "10s"]);
    assert!(once.stdout.contains("lock asks for a lease of 6s: twice the only hold, 2900 ms; "), "{once:?}");

    let empty = played("OK\n", &["--to", "token", "--lease", "10s"]);
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(3), "no lock was acquired\n"));
    assert!(empty.stderr.contains("the trace is empty"), "{empty:?}");
}

#[test]
fn a_trace_comes_through_a_pipe_and_the_output_may_be_closed() {
    for hears in [true, false] {
        let mut command = lockshift();
        command.args(["dry-run", "-", "--to", "token", "--lease", "10s"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if !hears {
            drop(child.stdout.take());
        }
        child.stdin.take().unwrap().write_all(OVERRUN.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stdout).contains("token, 10s"), hears);
    }
}

/// One client holds when the trace ends, and others wait: under another lease it must not keep them out any longer.
#[test]
fn a_hold_that_is_open_when_the_trace_ends_blocks_nobody_for_a_lease() {
    let mut trace = String::from("OK\n");
    let mut line = |at_ms: u64, client: u32, words: &str| {
        let (secs, millis) = (1_700_000_000 + at_ms / 1_000, at_ms % 1_000);
        trace += &format!("{secs}.{millis:03}000 [0 10.0.0.{client}:50000] {words}\n");
    };
    for round in 0..10_u64 {
        let stamp = 1_700_000_030 + round * 200 / 1_000;
        line(round * 200, 1, &format!("\"SETNX\" \"lock\" \"{stamp}\""));
        line(round * 200 + 100, 1, "\"DEL\" \"lock\"");
    }
    line(1_950, 2, "\"SETNX\" \"lock\" \"1700000031\"");
    line(2_000, 3, "\"PING\"");
    for lease in ["1s", "30s"] {
        let done = played(&trace, &["--to", "token", "--lease", lease, "--json"]);
        let after = lock(&done)["after"].clone();
        assert!(after["wait_p99_ms"].as_f64().unwrap() < 1_000.0, "{lease}: {after}");
        assert_eq!(after["acquisitions"], 11, "{lease}: {after}");
    }
}

#[test]
fn without_knowing_what_a_client_is_there_is_no_advice() {
    let pooled = "\
1700000000.000001 [0 10.0.0.1:50001] \"SETNX\" \"lock\" \"1700000010\"
1700000000.700001 [0 10.0.0.1:50002] \"DEL\" \"lock\"
1700000001.000001 [0 10.0.0.1:50001] \"SETNX\" \"lock\" \"1700000011\"
1700000001.700001 [0 10.0.0.1:50003] \"DEL\" \"lock\"
";
    let terms = ["--to", "token", "--lease", "10s", "--json"];
    let guessed = lock(&played(pooled, &terms));
    assert_eq!((&guessed["advice"], &guessed["identity"]), (&Value::Null, &json!("guessed")));
    let given = lock(&played(pooled, &[&terms[..], &["--clients-by", "address"]].concat()));
    assert_eq!((&given["advice"]["measured"], &given["identity"]), (&json!(2), &json!("known")));
}

#[test]
fn a_trace_of_semaphores_only_is_not_played_and_not_clean() {
    let server = Server::start();
    let recording = Running::start(lockshift_at(&server), ["record"]);
    let mut operator = server.connect();
    until("it watches", || {
        let clients: String = cmd("CLIENT").arg("LIST").query(&mut operator).unwrap();
        clients.contains("cmd=monitor").then_some(())
    });
    for _ in 0..2 {
        let run = ["run", "stock", "--protocol", "semaphore,permits=2", "--", "true"];
        assert_eq!(done(lockshift_at(&server), run).code, Some(0));
    }
    recording.signal(Signal::INT);
    let trace = recording.done().stdout;
    let played = played(&trace, &["--to", "token", "--lease", "10s", "--json"]);
    assert_eq!((played.code, &played.json()["shared"]), (Some(3), &json!(1)), "{trace}{}", played.stderr);
    assert!(played.stderr.contains("not played: 1 read/write lock or semaphore"), "{}", played.stderr);
}

#[test]
fn more_locks_than_are_kept_apart_are_no_clean_play() {
    let mut trace = String::new();
    for number in 0..20_000_u32 {
        let (second, micros) = (1_700_000_000 + number / 1000, number % 1000 * 1000);
        let set = format!(r#""SET" "lock:{number}" "{number:032x}" "NX" "PX" "30000""#);
        trace += &format!("{second}.{micros:06} [0 10.0.0.1:{}] {set}\n", 10_000 + number);
    }
    let cut = played(&trace, &["--to", "token", "--lease", "1m", "--json"]);
    assert_eq!(cut.code, Some(3), "{}", cut.stderr);
    assert!(cut.stderr.contains("not played: ") && cut.stderr.contains("other keys"), "{}", cut.stderr);
    let json = cut.json();
    let played = json["locks"].as_array().map(Vec::len).unwrap() as u64;
    assert_eq!(json["others"].as_u64().unwrap() + played, 20_000);
    assert_eq!(json["shared"], 0);
}
