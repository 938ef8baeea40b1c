//! Signals: passed on to the command, heeded while waiting, ignored where they are to be.

use std::process::Command;
use std::time::Duration;

use redis::{Connection, cmd};
use rustix::process::Signal;

use super::{Scene, UNTIL_GO, value};
use crate::cli::command::{Running, appears};
use crate::patience::{PATIENCE, now, pause, until};

#[test]
fn signals_are_passed_on() {
    for (signal, name) in [(Signal::INT, "INT"), (Signal::TERM, "TERM"), (Signal::HUP, "HUP"), (Signal::QUIT, "QUIT")] {
        let scene = Scene::new();
        let trap = format!("trap 'exit 9' {name}; touch ready; {UNTIL_GO}");
        let running = scene.start(&[], &trap);
        appears(&scene.note("ready"));
        running.signal(signal);
        assert_eq!(running.done().code, Some(9), "{name}");
        assert_eq!(value(&mut scene.connect()), None, "{name}");
    }
}

#[test]
fn a_command_ended_by_a_signal_has_the_status_that_a_shell_gives_it() {
    let scene = Scene::new();
    assert_eq!(scene.start(&[], "kill -KILL $$").done().code, Some(128 + 9));
    assert_eq!(value(&mut scene.connect()), None);
}

#[test]
fn an_interrupted_waiter_leaves_nothing_behind() {
    let scene = Scene::new();
    let first = scene.hold(&[], UNTIL_GO);
    let held = value(&mut scene.connect());
    let second = scene.start(&[], "touch never");
    until("the second has tried", || (tries(&scene) > 1).then_some(()));
    second.signal(Signal::INT);
    assert_eq!(second.done().code, Some(128 + 2));
    assert_eq!(value(&mut scene.connect()), held);
    scene.leave("go");
    assert_eq!(first.done().code, Some(0));
    assert!(!scene.note("never").exists());
}

#[test]
fn a_signal_takes_no_reply_away() {
    let scene = Scene::new();
    let mut connection = scene.connect();
    let first = scene.hold(&[], UNTIL_GO);
    let held = value(&mut connection);
    let second = while_a_reply_is_due(&mut connection, || scene.start(&[], "touch never"));
    assert_eq!(second.done().code, Some(128 + 2), "the reply to an attempt");
    assert_eq!(value(&mut connection), held);
    let first = while_a_reply_is_due(&mut connection, || {
        scene.leave("go");
        first
    });
    assert_eq!(first.done().code, Some(0), "the reply to a release");
    assert_eq!(value(&mut connection), None);
    assert!(!scene.note("never").exists());
}

/// Whether it comes before the command is started or after, nothing but the signal has ended it.
#[test]
fn a_signal_right_after_acquiring_ends_it_as_any_other() {
    let scene = Scene::new();
    let mut connection = scene.connect();
    for delay in (0..24).map(Duration::from_millis) {
        let running = scene.start(&[], "exec sleep 60");
        let acquired = || value(&mut connection).is_some();
        until_at_once("it has the lock", acquired);
        pause(delay);
        running.signal(Signal::TERM);
        let ended = running.done();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(128 + 15), ""), "after {delay:?}");
        assert_eq!(value(&mut connection), None, "after {delay:?}");
    }
}

/// A server that hangs keeps `run` connecting, one that is dead keeps it waiting.
#[test]
fn a_signal_is_heeded_where_the_server_cannot_be_used() {
    for (flags, hangs) in
        [(&["--json"][..], true), (&["--json", "--wait", "1m"], true), (&["--json", "--wait", "1m"], false)]
    {
        let mut scene = Scene::new();
        if hangs {
            scene.server.pause()
        } else {
            scene.server.kill()
        }
        let running = scene.start(flags, "touch never");
        handles(&running, Signal::TERM);
        // Long enough for an attempt, and too short for a connection to be given up.
        pause(Duration::from_millis(300));
        let began = now();
        running.signal(Signal::TERM);
        let ended = running.done();
        assert!(began.elapsed() < Duration::from_secs(1), "{flags:?}: after {:?}", began.elapsed());
        assert_eq!((ended.code, ended.note()["acquired"].as_bool()), (Some(128 + 15), Some(false)), "{ended:?}");
    }
}

/// Waits until the process handles this signal, which ended it before.
fn handles(running: &Running, signal: Signal) {
    let status = format!("/proc/{}/status", running.id());
    until("it listens to signals", || {
        let status = std::fs::read_to_string(&status).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        (mask & (1 << (signal.as_raw() - 1)) != 0).then_some(())
    });
}

/// Waits without a pause between two looks.
fn until_at_once(what: &str, mut holds: impl FnMut() -> bool) {
    let began = now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
    }
}

/// Interrupts what this starts while the server keeps it waiting for the reply to a command that writes.
fn while_a_reply_is_due(connection: &mut Connection, start: impl FnOnce() -> Running) -> Running {
    let client = |words: &[&str]| cmd("CLIENT").arg(words).to_owned();
    client(&["PAUSE", "20000", "WRITE"]).exec(connection).unwrap();
    let running = start();
    until("a command waits", || {
        let clients: String = client(&["LIST"]).query(connection).unwrap();
        clients.contains(" flags=b ").then_some(())
    });
    running.signal(Signal::INT);
    // Whatever the signal interrupts has then ended.
    pause(Duration::from_millis(50));
    client(&["UNPAUSE"]).exec(connection).unwrap();
    running
}

/// How often a SET has been sent to the server.
fn tries(scene: &Scene) -> u64 {
    let stats: String = cmd("INFO").arg("commandstats").query(&mut scene.connect()).unwrap();
    let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_set:calls=")?.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

#[test]
fn a_signal_that_is_to_be_ignored_stays_ignored() {
    let scene = Scene::new();
    let mut shell = Command::new("sh");
    // As nohup does it.
    let script = r#"trap '' HUP; exec "$0" run stock -- sh -c 'touch started; while [ ! -e go ]; do sleep 0.01; done'"#;
    shell.args(["-c", script, env!("CARGO_BIN_EXE_lockshift")]);
    shell.current_dir(scene.notes.path()).env("REDIS_URL", scene.server.url());
    let running = Running::start(shell, [""; 0]);
    appears(&scene.note("started"));
    running.signal(Signal::HUP);
    scene.leave("go");
    assert_eq!(running.done().code, Some(0));
}

#[test]
fn these_tests_pass_with_signals_ignored_from_outside() {
    let mut shell = Command::new("sh");
    // As `nohup` and a script's `&` do it.
    shell.args(["-c", r#"trap '' HUP INT QUIT; exec "$0" --exact "$@""#]).arg(std::env::current_exe().unwrap());
    shell.args([
        "cli::run::signals::signals_are_passed_on",
        "cli::run::terminal::ctrl_c_ends_the_command_and_releases_the_lock",
    ]);
    let output = shell.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("2 passed"), "{text}");
}
