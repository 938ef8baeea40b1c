//! `lockshift run`: a command under a lock, as flock(1) does it with a file.

mod acquiring;
mod command;
mod events;
mod holding;
mod messages;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use super::exit::{Exit, Failure, Verbosity};
use super::global_options::GlobalOptions;
use super::named::protocol;
use super::output::{self, LinePosition};
use super::run_carrier::{OnRefusal, RunCarrier};
use super::server::ServerChoice;
use super::server_options::ServerOptions;
use super::supervise::channel::Grace;
use super::waiting::WaitPolicy;
use super::{failure, os_error, values};
use crate::connect;
use crate::driver::blocking::{Lock, ReleaseListener};
use crate::lock::Lease;
use crate::protocols::Choice;
use crate::report::Ran;
use crate::wire::Key;

use acquiring::{AcquireEnd, RunAcquisition};
use command::{Limits, OnLost};
use events::RunEvents;
use holding::Holding;
use messages::Messages;

/// Hold a lock while a command runs
///
/// As flock(1): waits for the lock, runs CMD under it, releases it, and ends with CMD's exit status (128 and the number
/// of the signal, if a signal ended it). The lock is renewed while CMD runs, where the protocol can do that. SIGINT,
/// SIGTERM, SIGHUP and SIGQUIT are passed on to CMD and to the processes that it started. CMD finds the key in
/// LOCKSHIFT_KEY and, if the protocol has one, the fencing token in LOCKSHIFT_FENCE. With --json the last line on standard
/// error is one object that says how it went, unless what was typed makes no sense; if CMD ran, a line feed comes before it, in
/// case CMD did not end its line.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The key of the lock
    #[arg(value_parser = values::key(), required_unless_present = "name")]
    key: Option<Key>,
    /// The lock's name in place of its key: the key is what the protocol's own program makes of it, `gorlock:stock` of
    /// `stock` with gorlock
    #[arg(long, value_parser = values::key(), conflicts_with = "key")]
    name: Option<Key>,
    /// How to lock: a name from `lockshift protocols`
    #[arg(long, short, value_name = "P", default_value = "token", value_parser = protocol(), hide_possible_values = true)]
    protocol: Choice,
    /// How long the lock outlives its holder if the holder dies
    #[arg(long, value_name = "D", default_value = "30s", value_parser = values::lease)]
    lease: Lease,
    /// Give up after this long; without it, wait until the lock is free. A server that cannot be used is waited for as long;
    /// without it, for 30s, and only if it has answered before
    #[arg(long, short, value_name = "D", value_parser = values::length, conflicts_with = "nonblock")]
    wait: Option<Duration>,
    /// Try once, do not wait
    #[arg(long, short)]
    nonblock: bool,
    /// How to wait; a lock that publishes no release is tried again after pauses. All clients of a key need the same policy:
    /// behind a holder of `token` with `backoff`, which publishes nothing, one with `notified` may sleep until the lease ends
    #[arg(long, value_enum, default_value_t = WaitPolicy::Backoff)]
    wait_policy: WaitPolicy,
    /// The exit status if another client holds the lock; 0 also means: without a message
    #[arg(long, short = 'E', value_name = "N", default_value_t = 1)]
    conflict_exit_code: u8,
    /// What to do with CMD when the lock is lost, or cannot be renewed before the lease ends
    #[arg(long, value_enum, default_value_t = OnLost::Kill)]
    on_lost: OnLost,
    /// How long before the lease ends CMD gets SIGTERM; SIGKILL follows this long after. Half of the lease at most [default:
    /// a sixth of the lease, 5s at most]
    #[arg(long, value_name = "D", value_parser = values::length)]
    kill_after: Option<Duration>,
    /// End CMD after this long, as --kill-after says
    #[arg(long, value_name = "D", value_parser = values::length)]
    max_runtime: Option<Duration>,
    /// Print no messages: the exit status tells how it went
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    server: ServerOptions,
    /// The command, and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Runs CMD under the lock.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let server = match args.server() {
        Err(failure) if failure.exit() == Exit::Usage => return Err(failure),
        server => server,
    };
    let grace = command::grace(args.lease, args.kill_after).map_err(|error| Failure::new(Exit::Usage, error))?;
    let events = RunEvents::listen()?;
    let messages = Messages::start(args.verbosity())?;
    let key = args.key()?;
    let mut ran = Ran::new(key.to_string(), args.protocol.to_string());
    let exit = server.and_then(|server| args.run_under_lock(&key, &server, grace, &events, &messages, &mut ran));
    let exit = exit.unwrap_or_else(|failure| {
        messages.warn(failure.sentence());
        failure.exit()
    });
    // The note is the last line.
    if global.json {
        let position = if ran.ran_ms.is_some() { LinePosition::Unknown } else { LinePosition::Begin };
        messages.line(output::note(&ran, position));
    }
    messages.finish();
    Ok(exit)
}

impl Args {
    fn server(&self) -> Result<ServerChoice, Failure> {
        if self.protocol.spans_servers() { self.server.masters() } else { self.server.server().map(ServerChoice::One) }
    }

    /// The key, as the environment of CMD can hold it.
    fn key(&self) -> Result<Key, Failure> {
        let key = self.typed_key()?;
        if key.as_bytes().contains(&0) {
            let text = format!("lock key `{key}`: LOCKSHIFT_KEY cannot hold its zero byte: choose another key");
            return Err(Failure::new(Exit::Usage, text));
        }
        Ok(key)
    }

    /// The key, as given or as the protocol's program makes it of the name.
    fn typed_key(&self) -> Result<Key, Failure> {
        let Some(name) = &self.name else {
            return Ok(self.key.clone().expect("clap asks for a key where there is no name"));
        };
        if self.protocol.is_beside_old_key() {
            let text =
                format!("{} locks beside the key of old clients, which a name does not tell: pass KEY", self.protocol);
            return Err(Failure::new(Exit::Usage, text));
        }
        match self.protocol.key_names().as_slice() {
            [rule] => Ok(rule.key_of(name.as_bytes())),
            rules => {
                let rules: Vec<_> = rules.iter().map(ToString::to_string).collect();
                let rules = rules.join(", ");
                let text =
                    format!("the programs of {} make different keys of a name ({rules}): pass KEY", self.protocol);
                Err(Failure::new(Exit::Usage, text))
            }
        }
    }

    fn run_under_lock(
        &self,
        key: &Key,
        server: &ServerChoice,
        grace: Grace,
        events: &RunEvents,
        messages: &Messages,
        ran: &mut Ran,
    ) -> Result<Exit, Failure> {
        let choice = match server {
            ServerChoice::Masters(nodes) => {
                self.protocol.on_servers(nodes.len()).map_err(|error| Failure::new(Exit::Usage, error))?
            }
            ServerChoice::One(_) => self.protocol.clone(),
        };
        let choice = self.wait_policy.suited(&choice);
        ran.protocol = choice.to_string();
        let locker = choice.typed_locker(key.clone(), self.lease);
        let connected = events.unless_stopped(self.connect(server, key)).map_err(|error| {
            Failure::new(Exit::Unusable, format_args!("cannot start a thread: {}", os_error::sentence(&error)))
        })?;
        let (carrier, listener) = match connected {
            Ok(connected) => connected?,
            Err(request) => return Ok(request.exit()),
        };
        let mut lock = Lock::new(carrier, Arc::clone(&locker));
        if let Some(listener) = &listener {
            lock = lock.notified_by(listener);
        }
        let verbosity = if self.conflict_exit_code == 0 { Verbosity::Quiet } else { self.verbosity() };
        let (wait, once, policy) = (self.wait, self.nonblock, self.wait_policy);
        match (RunAcquisition { server, wait, once, policy, verbosity }).acquire(&lock, events, ran)? {
            AcquireEnd::Won(guard) => {
                let limits = Limits { grace, on_lost: self.on_lost, max_runtime: self.max_runtime };
                Holding { server, command: &self.command, limits, messages }.hold(guard, &*locker, events, ran)
            }
            AcquireEnd::Held => Ok(Exit::Of(self.conflict_exit_code)),
            AcquireEnd::Asked(request) => Ok(request.exit()),
        }
    }

    /// Connects, for another thread.
    fn connect(
        &self,
        server: &ServerChoice,
        key: &Key,
    ) -> impl FnOnce() -> Result<(RunCarrier, Option<ReleaseListener>), Failure> + Send + 'static {
        let (server, key, lease) = (server.clone(), key.clone(), self.lease);
        let refusal = if self.wait.is_some() { OnRefusal::OpenLater } else { OnRefusal::Fail };
        let is_notified = self.wait_policy != WaitPolicy::Backoff;
        move || {
            let failed = |error| failure::of_connection(&server, server.is_encrypted(), &key, error);
            let carrier = RunCarrier::to(&server, lease, refusal).map_err(failed)?;
            let listener = match &server {
                ServerChoice::One(server) if is_notified => Some(listener(server, &key, refusal)?),
                ServerChoice::One(_) | ServerChoice::Masters(_) => None,
            };
            Ok((carrier, listener))
        }
    }

    fn verbosity(&self) -> Verbosity {
        if self.quiet { Verbosity::Quiet } else { Verbosity::Normal }
    }
}

/// What learns that the lock is released.
fn listener(server: &connect::Server, key: &Key, refusal: OnRefusal) -> Result<ReleaseListener, Failure> {
    // One that cannot be found now is an error now, unless there is time to wait for it; one that moves later is followed.
    match server.client() {
        Err(error) if !refusal.tolerates(&error) => {
            return Err(failure::of_connection(server, server.is_encrypted(), key, error));
        }
        Err(_) | Ok(_) => {}
    }
    let server = server.clone();
    ReleaseListener::finding(move || server.client()).map_err(|error| Failure::new(Exit::Unusable, error))
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift run nightly-backup -- ./backup.sh
  lockshift run report --nonblock -E 0 -- ./report.sh      do nothing while the lock is held
  lockshift run stock --wait 10s --lease 5s -- sh -c 'echo \"$LOCKSHIFT_KEY\"'
  lockshift run stock --protocol php-getset -- ./import    side by side with old PHP workers
  lockshift run stock -p redlock --redis redis://a --redis redis://b --redis redis://c -- ./import

\x1b[1;4mExit status:\x1b[0m
  CMD's own if it ran; 128 and the number of the signal that ended it
  1      another client holds the lock (or as --conflict-exit-code says); CMD has not run
  2      what was typed makes no sense
  3      the server or the key cannot be used; CMD has not run, or was killed with its supervisor
  4      the outcome is unknown: the reply to an attempt was lost; CMD has not run
  5      the lock was lost while CMD ran, or CMD was ended because its lease was about to end
  124    CMD ran for longer than --max-runtime
  126    CMD cannot be run
  127    CMD cannot be found
  128+N  signal N came before CMD was started

\x1b[1;4mWhat is guaranteed, and what is not:\x1b[0m
  The lock is released only when CMD and all processes that it started have ended. If lockshift is
  killed, they are killed at once, and the lock ends with its lease; one without an expiry stays.
  If lockshift is stopped, or the server cannot be reached, they are killed before the lease ends,
  unless --on-lost warn. A release that fails is repeated for 5s at most, or until a signal comes.

  Not followed: a daemon, which is a process other than CMD that has made a session of its own.
  While CMD runs it is killed with CMD; when CMD ends without being killed, it may run on after
  the lock was released. A process that changes its user may be beyond our right to kill it; the
  lock then stays until its lease ends. If lockshift and its supervisor are killed at the same
  moment, what CMD has started itself runs on. If the whole machine stands still for longer than
  the lease, CMD may work for a moment before it is killed: a fencing token protects against that.

  On systems other than Linux only CMD's process group is followed, and on their terminals only
  CMD itself.";
