//! `lockshift guard` as a process of its own before a server.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};

use crate::patience::until;

/// A running guard. It ends when this is dropped.
pub(crate) struct GuardProcess {
    process: Option<Child>,
    messages: Option<JoinHandle<Vec<String>>>,
    address: String,
}

impl GuardProcess {
    /// Starts a guard on a free port before this server, with these rules (patterns and protocols) and arguments.
    pub(crate) fn start(server: &str, rules: &[(String, &str)], args: &[&str]) -> Self {
        Self::listening_on("127.0.0.1:0", server, rules, args)
    }

    /// Starts a guard that listens here.
    pub(crate) fn listening_on(listen: &str, server: &str, rules: &[(String, &str)], args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
        command.args(["guard", "--listen", listen, "--redis", server]).args(args).env_remove("RUST_LOG");
        for (pattern, protocol) in rules {
            command.arg("--guard").arg(format!("{pattern}={protocol}"));
        }
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command was built");
        let mut lines = BufReader::new(process.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
        let first = lines.next().unwrap_or_default();
        let address = first.strip_prefix("lockshift guard: listening on ").map(str::to_owned);
        let address = address.unwrap_or_else(|| panic!("it does not listen: {first}"));
        // What it writes later must not block it.
        let messages = std::thread::spawn(move || lines.collect());
        Self { process: Some(process), messages: Some(messages), address }
    }

    /// The port where clients connect.
    pub(crate) fn port(&self) -> u16 {
        self.address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("it listens on TCP")
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

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        kill_process(Pid::from_child(self.process.as_ref().expect("it runs")), Signal::TERM).expect("it runs");
    }

    /// Waits for its end. Returns its output, and what it has written to standard error since it began to listen.
    pub(crate) fn done(mut self) -> (Output, Vec<String>) {
        let mut process = self.process.take().expect("it ends once");
        until("the guard ends", || process.try_wait().expect("the child is ours"));
        let messages = self.messages.take().expect("it ends once").join().expect("the thread does not panic");
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
