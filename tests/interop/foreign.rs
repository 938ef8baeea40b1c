//! A foreign client as a child process, and the questions that it answers, a line each on its standard input and output.
//!
//! A line is a session and a question; the answer is the same session and what came of it. Sessions are clients of their
//! own, as far as the library tells clients apart. Words are separated by single spaces.
//!
//! ```text
//! version                                              names and versions of what is spoken through
//! acquire PROTOCOL KEY LEASE_MS                        won | held
//! lock PROTOCOL KEY LEASE_MS PATIENCE_MS               won | held           the library's own waiting
//! release KEY                                          released | refused
//! extend KEY LEASE_MS                                  extended | lost | unspoken
//! work PROTOCOL KEY WITNESS CYCLES HOLD_MS LEASE_MS    worked CYCLES DOUBLE_HOLDS OVERRUNS
//! hold PROTOCOL KEY LEASE_MS UNTIL                     done | lost | intruded   the scoped form, renewed until UNTIL exists
//! crash                                                nothing: the process ends at once
//! ```
//!
//! Anything may be answered by `failed` and what the library has thrown.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockshift::matrix::LAPS;

use crate::roster::Client;

/// Longer than any request takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A running client. It ends when its last session is dropped.
pub(crate) struct Process {
    child: Mutex<Child>,
    questions: Mutex<Option<ChildStdin>>,
    answers: Arc<Mutex<BTreeMap<u32, Sender<String>>>>,
}

/// One session with a client.
pub(crate) struct Session {
    pub(crate) client: &'static str,
    process: Arc<Process>,
    number: u32,
    answers: Receiver<String>,
    /// Requests whose answer nobody has waited for yet.
    unanswered: Cell<u32>,
}

impl Process {
    /// Starts a client against the server on this port.
    pub(crate) fn start(client: &Client, port: u16) -> Arc<Self> {
        Self::on(client, &[port])
    }

    /// Starts a client against the servers on these ports.
    pub(crate) fn on(client: &Client, ports: &[u16]) -> Arc<Self> {
        let mut command = Command::new(ready(client.name));
        command.args(ports.iter().map(u16::to_string)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", client.name));
        let questions = Mutex::new(child.stdin.take());
        let lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let answers: Arc<Mutex<BTreeMap<u32, Sender<String>>>> = Arc::default();
        let sessions = Arc::clone(&answers);
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                deliver(&sessions, &line);
            }
            // A client that has ended answers no session.
            sessions.lock().expect("no thread panics while it holds this").clear();
        });
        Arc::new(Self { child: Mutex::new(child), questions, answers })
    }

    /// A session of this number with it.
    pub(crate) fn session(self: &Arc<Self>, client: &'static str, number: u32) -> Session {
        let (sender, answers) = channel();
        self.answers.lock().expect("no thread panics while it holds this").insert(number, sender);
        Session { client, process: Arc::clone(self), number, answers, unanswered: Cell::new(0) }
    }
}

fn deliver(sessions: &Mutex<BTreeMap<u32, Sender<String>>>, line: &str) {
    let answer = line.split_once(' ').and_then(|(number, answer)| Some((number.parse().ok()?, answer)));
    let (number, answer): (u32, _) = answer.unwrap_or_else(|| panic!("no answer of a session: {line}"));
    if let Some(session) = sessions.lock().expect("no thread panics while it holds this").get(&number) {
        // A session that has ended may have left a request behind.
        let _ = session.send(answer.to_owned());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.questions.lock().expect("no thread panics while it holds this").take());
        let child = self.child.get_mut().expect("no thread panics while it holds this");
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Session {
    /// Sends a request and waits for the answer.
    pub(crate) fn ask(&self, question: &str) -> String {
        self.begin(question);
        self.answer(question)
    }

    /// Sends a request.
    pub(crate) fn begin(&self, question: &str) {
        let mut questions = self.process.questions.lock().expect("no thread panics while it holds this");
        let questions = questions.as_mut().expect("it is there until the process is dropped");
        self.unanswered.set(self.unanswered.get() + 1);
        writeln!(questions, "{} {question}", self.number).unwrap_or_else(|error| panic!("{}: {error}", self.client));
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer(&self, question: &str) -> String {
        let answer = self.answers.recv_timeout(PATIENCE);
        let answer = answer.unwrap_or_else(|error| panic!("{}: {question}: {error}", self.client));
        self.unanswered.set(self.unanswered.get() - 1);
        answer
    }

    /// Whether it has answered everything: another scene can go on with it.
    pub(crate) fn is_idle(&self) -> bool {
        self.unanswered.get() == 0
    }

    /// One attempt: whether it won. A client that fails was not refused.
    pub(crate) fn acquires(&self, protocol: &str, key: &str, lease: Duration) -> bool {
        match self.attempt(protocol, key, lease).as_str() {
            "won" => true,
            "held" => false,
            failed => panic!("{} acquires {key}: {failed}", self.client),
        }
    }

    fn attempt(&self, protocol: &str, key: &str, lease: Duration) -> String {
        self.ask(&format!("acquire {protocol} {key} {}", lease.as_millis()))
    }

    /// Releases what it holds.
    pub(crate) fn release(&self, key: &str) {
        assert_eq!(self.ask(&format!("release {key}")), "released", "{} releases {key}", self.client);
    }

    /// As many attempts as the matrix allows a newcomer: whether it wins. It may fail at a value that it cannot read, and
    /// does not release what it wins.
    pub(crate) fn comes(&self, protocol: &str, key: &str, lease: Duration) -> bool {
        (0..LAPS).any(|_| self.attempt(protocol, key, lease) == "won")
    }

    /// Ends the client as a power failure would, and with it all sessions with it.
    pub(crate) fn crash(self) {
        self.begin("crash");
        let ended = self.answers.recv_timeout(PATIENCE);
        assert!(ended.is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Disconnected), "it ends");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.process.answers.lock().expect("no thread panics while it holds this").remove(&self.number);
    }
}

/// The program beside a client that runs the tests of its package.
pub(crate) fn own_tests(name: &'static str) -> PathBuf {
    ready(name).with_file_name("own-tests")
}

/// Whether the client of this name is ready to run.
pub(crate) fn is_ready(name: &'static str) -> bool {
    prepared(name).is_ok()
}

/// The program that runs the client of this name. One that is not ready fails the test.
fn ready(name: &'static str) -> PathBuf {
    prepared(name).unwrap_or_else(|reason| panic!("{reason}"))
}

/// Asked once: what is ready stays so while the tests run.
fn prepared(name: &'static str) -> Result<PathBuf, String> {
    static KNOWN: Mutex<BTreeMap<&str, Result<PathBuf, String>>> = Mutex::new(BTreeMap::new());
    KNOWN.lock().expect("no thread panics while it holds this").entry(name).or_insert_with(|| find(name)).clone()
}

fn find(name: &str) -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/prepare");
    let output = Command::new(script).args(["--offline", name]).output().expect("bash runs the script");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() { Ok(PathBuf::from(text(&output.stdout))) } else { Err(text(&output.stderr)) }
}
