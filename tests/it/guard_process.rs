//! `lockshift guard` as a process of its own before a server.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};

use crate::patience::until;

/// A running guard. It ends when this is dropped.
pub(crate) struct GuardProcess {
    process: Option<Child>,
    /// What it has written to standard error since it began to listen.
    messages: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
    /// Its standard error, if nobody reads that.
    unread: Option<Box<dyn Iterator<Item = String> + Send + Sync>>,
    address: String,
}

impl GuardProcess {
    /// Starts a guard on a free port before this server, with these rules (patterns and protocols) and arguments.
    pub(crate) fn start(server: &str, rules: &[(String, &str)], args: &[&str]) -> Self {
        Self::listening_on("127.0.0.1:0", server, rules, args)
    }

    /// Starts a guard that listens here.
    pub(crate) fn listening_on(listen: &str, server: &str, rules: &[(String, &str)], args: &[&str]) -> Self {
        Self::spawn(Self::command(listen, server, rules, args).env_remove("RUST_LOG"))
    }

    /// Starts a guard that logs all that it can log.
    pub(crate) fn logging_all(server: &str, rules: &[(String, &str)], args: &[&str]) -> Self {
        Self::spawn(Self::command("127.0.0.1:0", server, rules, args).env("RUST_LOG", "trace"))
    }

    /// Starts a guard that may open this many files.
    pub(crate) fn limited_to(files: u32, server: &str, rules: &[(String, &str)]) -> Self {
        let unlimited = Self::command("127.0.0.1:0", server, rules, &[]);
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -n {files}; exec \"$0\" \"$@\"")).arg(unlimited.get_program());
        Self::spawn(command.args(unlimited.get_args()).env_remove("RUST_LOG"))
    }

    /// Starts a guard of which nobody reads the messages.
    pub(crate) fn unheard(server: &str, rules: &[(String, &str)], args: &[&str]) -> Self {
        Self::reading(Self::command("127.0.0.1:0", server, rules, args).env_remove("RUST_LOG"), false)
    }

    fn command(listen: &str, server: &str, rules: &[(String, &str)], args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
        command.args(["guard", "--listen", listen, "--redis", server]).args(args);
        for (pattern, protocol) in rules {
            command.arg("--guard").arg(format!("{pattern}={protocol}"));
        }
        command
    }

    fn spawn(command: &mut Command) -> Self {
        Self::reading(command, true)
    }

    fn reading(command: &mut Command, is_read: bool) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command was built");
        let mut lines = BufReader::new(process.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
        let mut before = Vec::new();
        let address = lines.by_ref().find_map(|line| {
            let address = line.strip_prefix("lockshift guard: listening on ").map(str::to_owned);
            before.extend(address.is_none().then_some(line));
            address
        });
        let address = address.unwrap_or_else(|| panic!("it does not listen: {before:?}"));
        let messages = Arc::new(Mutex::new(before));
        let kept = Arc::clone(&messages);
        let (reader, unread) = if is_read {
            let read = move || lines.for_each(|line| kept.lock().expect("no panic").push(line));
            (Some(std::thread::spawn(read)), None)
        } else {
            (None, Some(Box::new(lines) as Box<dyn Iterator<Item = String> + Send + Sync>))
        };
        Self { process: Some(process), messages, reader, unread, address }
    }

    /// Waits until it has written a line with this text to standard error.
    pub(crate) fn until_message(&self, text: &str) {
        until(format_args!("the guard writes {text}"), || {
            let messages = self.messages.lock().expect("no panic");
            messages.iter().any(|message| message.contains(text)).then_some(())
        });
    }

    /// Where clients connect, by TCP.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address.parse().expect("it listens on TCP")
    }

    /// The port where clients connect.
    pub(crate) fn port(&self) -> u16 {
        self.address().port()
    }

    /// A raw connection to it.
    pub(crate) fn stream(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port())).expect("it listens")
    }

    /// A client's connection to it.
    pub(crate) fn connect(&self) -> redis::Connection {
        let client = redis::Client::open(format!("redis://{}/", self.address)).expect("it is an address");
        client.get_connection().expect("it listens")
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.as_ref().expect("it runs").id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.process.as_ref().expect("it runs")), signal).expect("it runs");
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits for its end. Returns its output, and what it has written to standard error since it began to listen.
    pub(crate) fn done(mut self) -> (Output, Vec<String>) {
        let mut process = self.process.take().expect("it ends once");
        until("the guard ends", || process.try_wait().expect("the child is ours"));
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the thread does not panic");
        }
        self.messages.lock().expect("no panic").extend(self.unread.take().into_iter().flatten());
        let messages = std::mem::take(&mut *self.messages.lock().expect("no panic"));
        (process.wait_with_output().expect("its output can be read"), messages)
    }
}

impl Drop for GuardProcess {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
