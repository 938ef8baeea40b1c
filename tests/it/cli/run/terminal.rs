//! `run` on a terminal: job control is the shell's, as it is without `run`.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{Scene, UNTIL_GO, value};
use crate::cli::command::{appears, default_signals};
use crate::patience::until;

/// An interactive shell on a terminal of its own.
struct Terminal {
    shell: Child,
    keys: File,
    screen: Arc<Mutex<String>>,
}

impl Terminal {
    fn open(scene: &Scene) -> Self {
        let (shell, keys) = lead_session(scene, &["bash", "--norc", "--noprofile", "-i"]);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut output, shown) = (keys.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { shell, keys, screen }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn shows(&self, text: &str) {
        until(format_args!("the terminal shows {text:?}"), || self.screen.lock().unwrap().contains(text).then_some(()));
    }
}

/// A program that leads the session of a new terminal, and our end of the terminal.
fn lead_session(scene: &Scene, words: &[&str]) -> (Child, File) {
    default_signals();
    // A program that inherited our end would keep the terminal open.
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(std::ffi::OsStr::from_bytes(name.as_bytes())).unwrap();
    let end = || Stdio::from(theirs.try_clone().unwrap());
    // `--ctty` makes it the controlling terminal of a new session.
    let leader = Command::new("setsid")
        .args(["--ctty", "--wait"])
        .args(words)
        .current_dir(scene.notes.path())
        .env("REDIS_URL", scene.server.url())
        .env("LOCKSHIFT", env!("CARGO_BIN_EXE_lockshift"))
        .env("PS1", "> ")
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .unwrap();
    (leader, File::from(ours))
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.screen.lock().unwrap());
        }
        // At worst it has ended already.
        let _ = self.keys.write_all(b"\x03\nexit\nexit\n");
        until("the shell ends", || self.shell.try_wait().unwrap());
    }
}

#[test]
fn ctrl_c_ends_the_command_and_releases_the_lock() {
    let scene = Scene::new();
    let mut terminal = Terminal::open(&scene);
    terminal.press("$LOCKSHIFT run stock -- sh -c ': > started; exec sleep 60'; echo status $?\n");
    appears(&scene.note("started"));
    terminal.press("\x03");
    terminal.shows("status 130\r\n");
    assert_eq!(value(&mut scene.connect()), None);
}

#[test]
fn ctrl_z_stops_the_command_and_fg_continues_it() {
    let scene = Scene::new();
    let mut terminal = Terminal::open(&scene);
    terminal.press("$LOCKSHIFT run stock -- sh -c ': > started; read line; echo \"read $line\"'; echo status $?\n");
    appears(&scene.note("started"));
    terminal.press("\x1a");
    terminal.shows("Stopped");
    assert!(value(&mut scene.connect()).is_some(), "the lease goes on");
    terminal.press("fg\n");
    terminal.shows("sh -c ': > started");
    terminal.press("from the terminal\n");
    terminal.shows("read from the terminal\r\n");
    until("the lock is released", || value(&mut scene.connect()).is_none().then_some(()));
}

#[test]
fn a_command_that_stays_stopped_is_killed_before_the_lease_ends() {
    let scene = Scene::new();
    let mut terminal = Terminal::open(&scene);
    terminal.press("$LOCKSHIFT run stock --lease 3s -- sh -c ': > started; sleep 60; touch never'; echo status $?\n");
    appears(&scene.note("started"));
    terminal.press("\x1a");
    terminal.shows("Stopped");
    until("the lease has ended", || value(&mut scene.connect()).is_none().then_some(()));
    terminal.press("fg; echo then $?\n");
    terminal.shows("then 5\r\n");
    assert!(!scene.note("never").exists());
}

#[test]
fn a_pager_behind_it_has_the_terminal() {
    let scene = Scene::new();
    let mut terminal = Terminal::open(&scene);
    terminal.press("$LOCKSHIFT run stock -- sh -c 'echo out; sleep 0.1' | (cat; read key < /dev/tty; echo key $key)\n");
    terminal.shows("out\r\n");
    terminal.press("q\n");
    terminal.shows("key q\r\n");
}

/// The system tells the end of a terminal to the leader of the session alone.
#[test]
fn the_end_of_a_terminal_is_passed_on_by_the_leader_of_its_session() {
    let scene = Scene::new();
    let lockshift = env!("CARGO_BIN_EXE_lockshift");
    let script = format!("trap 'touch hung-up; exit 9' HUP; touch started; {UNTIL_GO}");
    let (mut leader, terminal) = lead_session(&scene, &[lockshift, "run", "stock", "--", "sh", "-c", &script]);
    appears(&scene.note("started"));
    drop(terminal);
    appears(&scene.note("hung-up"));
    assert_eq!(until("the leader ends", || leader.try_wait().unwrap()).code(), Some(9));
    assert_eq!(value(&mut scene.connect()), None);
}

/// It is no daemon: it has left nobody, and `run` waits for it.
#[test]
fn a_command_in_a_session_of_its_own_gets_signals_with_all_that_it_started() {
    let scene = Scene::new();
    let lockshift = env!("CARGO_BIN_EXE_lockshift");
    let script =
        "trap 'exit 9' TERM; sh -c \"trap 'touch reached; exit' TERM; touch started; while :; do sleep 0.01; done\"";
    let words = [lockshift, "run", "stock", "--", "setsid", "sh", "-c", script];
    let (mut leader, _terminal) = lead_session(&scene, &words);
    appears(&scene.note("started"));
    kill_process(Pid::from_child(&leader), Signal::TERM).unwrap();
    appears(&scene.note("reached"));
    assert_eq!(until("it ends", || leader.try_wait().unwrap()).code(), Some(9));
    assert_eq!(value(&mut scene.connect()), None);
}
