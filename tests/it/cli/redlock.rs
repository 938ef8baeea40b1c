//! `run` on several independent masters.

use std::process::Command;

use super::command::{Done, done, lockshift};
use crate::redlock::Fleet;

/// What `run` comes to on these servers, with these words before the command.
fn run(fleet: &Fleet, words: &[&str], command: &[&str]) -> Done {
    let mut run: Command = lockshift();
    run.args(["run", "k", "--protocol", "redlock", "--lease", "60s"]);
    run.args(fleet.urls().iter().flat_map(|url| ["--redis", url]));
    done(run, words.iter().chain(&["--"]).chain(command))
}

#[test]
fn a_command_runs_while_most_servers_are_there() {
    let mut fleet = Fleet::of(3);
    let reached = run(&fleet, &[], &["echo", "reached"]);
    assert_eq!((reached.code, reached.stdout.as_str()), (Some(0), "reached\n"), "{reached:?}");
    fleet.kill(&[1]);
    let reached = run(&fleet, &[], &["echo", "reached"]);
    assert_eq!((reached.code, reached.stdout.as_str()), (Some(0), "reached\n"), "{reached:?}");
    assert_eq!(fleet.holders(&[0, 2]), [0, 0], "released");

    fleet.kill(&[2]);
    let refused = run(&fleet, &["--wait", "500ms"], &["echo", "reached"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(3), ""), "{refused:?}");
    let each = "1 of 3 servers granted it, 2 needed (#1 granted, #2 unreachable, #3 unreachable)";
    assert!(refused.stderr.contains(each), "{refused:?}");
    assert_eq!(fleet.holders(&[0]), [0], "nothing is left behind");
}

/// Before an attempt, and after it, `run` looks at the type of the key on every server.
#[test]
fn a_minority_that_refuses_prevents_nothing() {
    let fleet = Fleet::of(3);
    let mut operator = redis::Client::open(fleet.urls()[2].as_str()).unwrap().get_connection().unwrap();
    let mut check = |state: &str, change: &[&str]| {
        let (name, args) = change.split_first().unwrap();
        redis::cmd(name).arg(args).exec(&mut operator).unwrap();
        let reached = run(&fleet, &[], &["echo", "reached"]);
        assert_eq!((reached.code, reached.stdout.as_str()), (Some(0), "reached\n"), "{state}: {reached:?}");
    };
    check("a key of another type", &["RPUSH", "k", "a"]);
    check("a replica", &["REPLICAOF", "127.0.0.1", "1"]);
    check("a replica without its master's data", &["CONFIG", "SET", "replica-serve-stale-data", "no"]);
    check("a login", &["CONFIG", "SET", "requirepass", "secret"]);
}

#[test]
fn a_refusal_names_the_vote_of_each_server() {
    let fleet = Fleet::of(3);
    let inner = format!(
        "{} run k --protocol redlock --nonblock {} -- echo reached",
        env!("CARGO_BIN_EXE_lockshift"),
        fleet.urls().iter().map(|url| format!("--redis {url}")).collect::<Vec<_>>().join(" ")
    );
    let refused = run(&fleet, &[], &["sh", "-c", &inner]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.stderr.contains("is held by another client: 0 of 3 servers granted it, 2 needed"), "{refused:?}");
}

#[test]
fn nodes_of_a_cluster_and_more_than_nine_are_refused() {
    let words = |url: &str, times: usize| -> Vec<String> { vec![format!("--redis={url}"); times] };
    for (urls, says) in [
        (words("redis://127.0.0.1:1/?cluster=true", 1), "is a node of a cluster"),
        (words("redis://127.0.0.1:1/", 10), "has no option `servers=10`"),
    ] {
        let args = ["run", "k", "--protocol", "redlock"].map(str::to_owned).into_iter().chain(urls);
        let refused = done(lockshift(), args.chain(["--".to_owned(), "true".to_owned()]));
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(says), "{refused:?}");
    }
}
