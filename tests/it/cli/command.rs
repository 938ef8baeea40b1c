//! The built command, run to its end or in the background.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Once};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};

use crate::patience::{PATIENCE, until};
use crate::schemas;
use crate::server::Server;

/// The command, with nothing in its environment that could lead it astray.
pub(crate) fn lockshift() -> Command {
    default_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    for name in ["REDIS_URL", "RUST_LOG", "RUST_BACKTRACE", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Has the commands that are started from now on heed their signals, even if this process was started with some ignored, as
/// by `nohup` or in the background of a script. A signal that is handled here is no longer ignored in a new program.
pub(super) fn default_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
        let ignored = u64::from_str_radix(ignored.trim(), 16).expect("the mask is a number");
        for signal in
            [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP].into_iter().filter(|it| ignored & (1 << (it - 1)) != 0)
        {
            signal_hook::flag::register(signal, Arc::default()).expect("the signal can be handled");
        }
    });
}

/// The command for this server.
pub(crate) fn lockshift_at(server: &Server) -> Command {
    let mut command = lockshift();
    command.env("REDIS_URL", server.url());
    command
}

/// How a command came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// Its standard output, read as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The last line of its standard error, read as JSON.
    pub(crate) fn note(&self) -> Value {
        let line = self.stderr.lines().last().unwrap_or_default();
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command prints text");
        let done = Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!done.stderr.contains("panicked"), "{done:?}");
        done
    }
}

/// Runs it with these arguments to its end.
pub(crate) fn done<A: AsRef<OsStr>>(command: Command, args: impl IntoIterator<Item = A>) -> Done {
    done_within(3 * PATIENCE, command, args)
}

/// Runs what takes its time with these arguments to its end.
pub(crate) fn done_within<A: AsRef<OsStr>>(
    patience: Duration,
    mut command: Command,
    args: impl IntoIterator<Item = A>,
) -> Done {
    command.args(args);
    let args: Vec<_> = command.get_args().map(OsStr::to_owned).collect();
    let output = assert_cmd::Command::from_std(command).timeout(patience).output();
    let done = output.expect("the command ends in time").into();
    schemas::hold(&args, &done);
    done
}

/// A command that runs in the background; ended when dropped.
pub(super) struct Running {
    child: Option<Child>,
    args: Vec<OsString>,
}

impl Running {
    /// Starts it with these arguments.
    pub(super) fn start<A: AsRef<OsStr>>(command: Command, args: impl IntoIterator<Item = A>) -> Self {
        Self::start_with(Stdio::piped(), command, args)
    }

    /// Starts it with this standard error, and these arguments.
    pub(super) fn start_with<A: AsRef<OsStr>>(
        stderr: Stdio,
        mut command: Command,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let child = command.args(args).stdout(Stdio::piped()).stderr(stderr).spawn();
        let args = command.get_args().map(OsStr::to_owned).collect();
        Self { child: Some(child.expect("the command was built")), args }
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.child()), signal).expect("it runs");
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child().id()
    }

    /// Waits for its end.
    pub(super) fn done(mut self) -> Done {
        let running = self.child.as_mut().expect("it has not ended");
        until("the command ends", || running.try_wait().expect("the child is ours"));
        let child = self.child.take().expect("it ends once");
        let done = child.wait_with_output().expect("its output can be read").into();
        schemas::hold(&self.args, &done);
        done
    }

    fn child(&self) -> &Child {
        self.child.as_ref().expect("it has not ended")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // At worst it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until a client has made this file.
pub(super) fn appears(file: &Path) {
    until(format_args!("{} appears", file.display()), || file.exists().then_some(()));
}
