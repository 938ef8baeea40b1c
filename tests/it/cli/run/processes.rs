//! The command and all that it starts: the lock is theirs until the last of them is gone, however `run` ends.

use std::fs;
use std::os::unix::process::CommandExt;

use redis::cmd;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{Scene, UNTIL_GO, value};
use crate::cli::command::{Running, appears, lockshift_at};
use crate::patience::until;

/// Writes its process id into the note `worker`, and works until it is killed: each round it makes the note `work`.
const WORKER: &str = r#"sh -c 'echo $$ > worker.new; mv worker.new worker; while :; do touch work; sleep 0.01; done'"#;
/// The same, deaf to polite requests.
const DEAF_WORKER: &str =
    r#"sh -c 'trap "" TERM HUP; echo $$ > worker.new; mv worker.new worker; while :; do touch work; sleep 0.01; done'"#;

impl Scene {
    /// Holds the lock with a command whose worker runs below it.
    fn hold_with_worker(&self, flags: &[&str], script: &str) -> (Running, Pid) {
        let running = self.start(flags, script);
        appears(&self.note("worker"));
        let worker = fs::read_to_string(self.note("worker")).unwrap();
        (running, Pid::from_raw(worker.trim().parse().unwrap()).unwrap())
    }

    /// Acquires the lock as the next holder; whether anything worked beside it.
    fn next_holder_sees_work(&self) -> bool {
        let next = self.start(&["--wait", "1m"], "rm -f work; sleep 0.2; [ ! -e work ]");
        next.done().code != Some(0)
    }
}

/// Whether it works: a zombie, of which nothing is left but its status, does not.
fn runs(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with('Z'))
}

/// The process that `run` has put between itself and the command.
fn supervisor(running: &Running) -> Pid {
    let children = format!("/proc/{0}/task/{0}/children", running.id());
    let children = until("it has a supervisor", || fs::read_to_string(&children).ok().filter(|text| !text.is_empty()));
    Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
}

#[test]
fn a_process_in_the_background_keeps_the_lock_until_it_ends() {
    let scene = Scene::new();
    let running = scene.hold(&["--json"], &format!("({UNTIL_GO}; touch done) & touch left; exit 3"));
    appears(&scene.note("left"));
    let mut connection = scene.connect();
    assert!(value(&mut connection).is_some());
    assert_eq!(scene.start(&["--nonblock"], "true").done().code, Some(1));
    scene.leave("go");
    let ended = running.done();
    assert_eq!((ended.code, ended.note()["released"].as_str()), (Some(3), Some("freed")), "{ended:?}");
    assert!(scene.note("done").exists(), "it was waited for");
    assert_eq!(value(&mut connection), None);
}

/// Each process starts the next one and ends at once, so that a list of all processes may lack the next one.
#[test]
fn a_chain_of_processes_keeps_the_lock_until_its_last_one_ends() {
    let scene = Scene::new();
    fs::write(scene.note("chain"), "[ $1 -gt 0 ] || { touch done; exit; }\nsh chain $(($1 - 1)) &\n").unwrap();
    for _ in 0..5 {
        let ended = scene.start(&[], "sh chain 200").done();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(scene.note("done").exists(), "the lock was released while the chain went on");
        fs::remove_file(scene.note("done")).unwrap();
    }
}

/// The same where it is killed, because the lock was lost: nothing of it is left once `run` has ended.
#[test]
fn a_chain_of_processes_is_killed_to_its_last_one() {
    let scene = Scene::new();
    fs::write(scene.note("chain"), "touch work\nsh chain &\n").unwrap();
    for _ in 0..3 {
        let running = scene.start(&["--lease", "1s", "--kill-after", "50ms"], "trap '' TERM; sh chain");
        appears(&scene.note("work"));
        cmd("DEL").arg("stock").exec(&mut scene.connect()).unwrap();
        let ended = running.done();
        assert_eq!(ended.code, Some(5), "{ended:?}");
        assert!(!scene.next_holder_sees_work(), "it works on beside the next holder");
    }
}

#[test]
fn a_signal_reaches_every_process_and_the_lock_is_released_when_all_have_ended() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let scene = Scene::new();
        // A shell without job control has its background jobs ignore SIGINT and SIGQUIT: this one starts none.
        let (running, worker) = scene.hold_with_worker(&[], &format!("{WORKER}; exit 9"));
        running.signal(signal);
        running.done();
        assert!(!runs(worker), "{signal:?}");
        assert_eq!(value(&mut scene.connect()), None, "{signal:?}");
    }
}

#[test]
fn what_does_not_heed_a_signal_keeps_the_lock() {
    let scene = Scene::new();
    let (running, worker) = scene.hold_with_worker(&[], &format!("{DEAF_WORKER} & wait"));
    running.signal(Signal::TERM);
    assert_eq!(scene.start(&["--wait", "300ms"], "true").done().code, Some(1));
    assert!(runs(worker));
    kill_process(worker, Signal::KILL).unwrap();
    assert_eq!(running.done().code, Some(128 + 15));
    assert_eq!(value(&mut scene.connect()), None);
}

#[test]
fn killing_lockshift_kills_every_process_while_the_lock_is_still_held() {
    let table = [
        ("a job in the background", format!("{DEAF_WORKER} & wait")),
        ("a process group of its own", format!("set -m; {DEAF_WORKER} & wait")),
        ("a session of its own", format!("setsid {DEAF_WORKER} & wait")),
        ("an orphan", format!("({DEAF_WORKER} &) ; sleep 60")),
    ];
    for (which, script) in table {
        let scene = Scene::new();
        let (running, worker) = scene.hold_with_worker(&["--lease", "3s"], &script);
        running.signal(Signal::KILL);
        let key = until("the worker is dead", || {
            let key = value(&mut scene.connect());
            (!runs(worker)).then_some(key)
        });
        assert!(key.is_some(), "{which}: the lease was still running");
        assert!(!scene.next_holder_sees_work(), "{which}");
    }
}

#[test]
fn killing_the_supervisor_kills_every_process() {
    let scene = Scene::new();
    let (running, worker) = scene.hold_with_worker(&["--json"], &format!("({DEAF_WORKER} &) ; sleep 60"));
    kill_process(supervisor(&running), Signal::KILL).unwrap();
    let ended = running.done();
    assert!(!runs(worker));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("the supervisor of the command was killed"), "{ended:?}");
    assert_eq!(ended.note()["released"].as_str(), Some("freed"), "{ended:?}");
    assert!(!scene.next_holder_sees_work());
}

#[test]
fn killing_lockshift_and_its_supervisor_at_once_kills_the_command() {
    let scene = Scene::new();
    let (running, worker) = scene.hold_with_worker(&["--lease", "3s"], &format!("exec {DEAF_WORKER}"));
    let supervisor = supervisor(&running);
    running.signal(Signal::STOP);
    kill_process(supervisor, Signal::KILL).unwrap();
    running.signal(Signal::KILL);
    until("the command is dead", || (!runs(worker)).then_some(()));
    assert!(!scene.next_holder_sees_work());
}

#[test]
fn the_group_of_lockshift_may_be_killed_as_a_whole() {
    let scene = Scene::new();
    let mut command = lockshift_at(&scene.server);
    command.current_dir(scene.notes.path()).process_group(0);
    let script = format!("{DEAF_WORKER} & wait");
    let running = Running::start(command, ["run", "stock", "--lease", "3s", "--", "sh", "-c", &script]);
    appears(&scene.note("worker"));
    let group = Pid::from_raw(i32::try_from(running.id()).unwrap()).unwrap();
    kill_process_group(group, Signal::KILL).unwrap();
    assert!(!scene.next_holder_sees_work());
}

#[test]
fn a_stopped_lockshift_does_not_keep_its_command_working_without_the_lock() {
    let scene = Scene::new();
    let (running, worker) = scene.hold_with_worker(&["--lease", "2s", "--json"], &format!("{DEAF_WORKER} & wait"));
    running.signal(Signal::STOP);
    until("the worker is dead", || (!runs(worker)).then_some(()));
    assert!(!scene.next_holder_sees_work());
    running.signal(Signal::CONT);
    let ended = running.done();
    assert_eq!((ended.code, ended.note()["ended_early"].as_bool()), (Some(5), Some(true)), "{ended:?}");
}

#[test]
fn a_lost_lock_ends_every_process() {
    let scene = Scene::new();
    let (running, worker) = scene.hold_with_worker(&["--lease", "3s"], &format!("{DEAF_WORKER} & wait"));
    cmd("SET").arg("stock").arg("another holder's").exec(&mut scene.connect()).unwrap();
    assert_eq!(running.done().code, Some(5));
    assert!(!runs(worker));
}

#[test]
fn a_daemon_is_not_waited_for() {
    let scene = Scene::new();
    let (running, daemon) =
        scene.hold_with_worker(&[], &format!("setsid {WORKER} >&- 2>&- & while [ ! -e work ]; do sleep 0.01; done"));
    assert_eq!(running.done().code, Some(0));
    assert_eq!(value(&mut scene.connect()), None);
    assert!(runs(daemon));
    kill_process(daemon, Signal::KILL).unwrap();
}
