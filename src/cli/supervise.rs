//! `lockshift supervise`: the process between `run` and its command. It starts the command, follows every process that
//! the command starts, ends all of them before the lease does, and outlives `run` for as long as it takes to kill them.
//!
//! `run` alone could not do that: it may be killed or stopped at any moment. Both ends of a socket tell the other side's
//! death; what goes over it is in [`channel`].

pub(super) mod channel;
mod deadline;
mod entry;
mod job;
mod processes;

use std::ffi::OsString;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::exit::{Exit, Failure};
use super::os_error;
use super::signals::{self, Caught};
use crate::driver::host;
use channel::{ChannelReader, SupervisorChannel, SupervisorNote, SupervisorOrder};
use deadline::{Deadline, Due};
use job::Job;

pub(super) use processes::{become_subreaper, children, kill_descendants};

/// How often to look whether the processes are gone, where no signal tells it.
const LOOK: Duration = Duration::from_millis(50);

/// Run CMD for `lockshift run`, which starts this by itself
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(super) struct Args {
    /// Become CMD, below the supervisor of this process id
    #[arg(long, value_name = "PID")]
    enter: Option<u32>,
    /// The command, and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Runs CMD until it and all that it started are gone.
pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let refused = |error| Failure::new(Exit::Usage, format_args!("only `lockshift run` can start this: {error}"));
    if let Some(supervisor) = args.enter {
        let Err(error) = entry::enter(&args.command, supervisor);
        // The supervisor has received it, and `run` reports it.
        log::debug!("cannot become the command: {error}");
        return Ok(Exit::Unusable);
    }
    let (mut channel, reader, stdin) = SupervisorChannel::inherited().map_err(refused)?;
    let failed = |error| {
        Failure::new(Exit::Unusable, format_args!("cannot supervise the command: {}", os_error::sentence(&error)))
    };
    let events = SupervisorEvents::listen(reader)?;
    become_subreaper().map_err(failed)?;
    let Some(SupervisorEvent::Order(SupervisorOrder::Start(start))) = events.next(None) else {
        return Ok(Exit::Unusable);
    };
    let mut deadline = if start.outlives_lock { Deadline::unbounded(start.grace) } else { Deadline::new(start.grace) };
    // Nothing is started before it is known for how long it may run.
    if !start.outlives_lock {
        match until_lease_is_known(&mut deadline, &events, &mut channel) {
            BeforeStart::LeaseKnown => {}
            BeforeStart::Forestalled { signal } => {
                channel.send(&SupervisorNote::Forestalled { signal });
                return Ok(Exit::Yes);
            }
            BeforeStart::Abandoned => return Ok(Exit::Unusable),
        }
    }
    let job = match Job::start(&args.command, stdin, start.group) {
        Ok(job) => job,
        Err(error) => {
            let status = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
            channel.send(&SupervisorNote::NotRun { status, reason: error.to_string() });
            return Ok(Exit::Unusable);
        }
    };
    Supervisor { job, deadline, channel, events, ended: false, abandoned: false }.supervise();
    Ok(Exit::Yes)
}

/// What comes before the command is started.
enum BeforeStart {
    /// For how long the lock is held: it may run.
    LeaseKnown,
    /// A signal, or the order to end: it is not to run.
    Forestalled { signal: Option<i32> },
    /// The end of `run`.
    Abandoned,
}

/// Asks for how long the lock is held.
fn until_lease_is_known(
    deadline: &mut Deadline,
    events: &SupervisorEvents,
    channel: &mut SupervisorChannel,
) -> BeforeStart {
    deadline.note_asked(host::mono());
    channel.send(&SupervisorNote::Ask);
    loop {
        match events.next(None) {
            Some(SupervisorEvent::Order(SupervisorOrder::Lease { left })) => {
                deadline.note_left(left);
                return BeforeStart::LeaseKnown;
            }
            Some(SupervisorEvent::Order(SupervisorOrder::Signal(signal))) => {
                return BeforeStart::Forestalled { signal: Some(signal) };
            }
            Some(SupervisorEvent::Order(SupervisorOrder::End)) => return BeforeStart::Forestalled { signal: None },
            Some(SupervisorEvent::Abandoned) | None => return BeforeStart::Abandoned,
            Some(SupervisorEvent::Order(SupervisorOrder::Start(_)) | SupervisorEvent::ChildChanged) => {}
        }
    }
}

/// The command and all that it started, from start to end.
struct Supervisor {
    job: Job,
    /// When they have to be gone.
    deadline: Deadline,
    channel: SupervisorChannel,
    events: SupervisorEvents,
    /// The command itself has ended, and `run` knows its status.
    ended: bool,
    /// `run` is dead: whatever still runs has to be killed.
    abandoned: bool,
}

impl Supervisor {
    fn supervise(&mut self) {
        self.channel.send(&SupervisorNote::Started);
        loop {
            self.job.reap();
            self.tell_end();
            let killing = self.act();
            if self.job.has_ended(killing) {
                return;
            }
            match self.events.next(self.pause(killing)) {
                Some(SupervisorEvent::Order(order)) => self.obey(order),
                Some(SupervisorEvent::Abandoned) => self.abandoned = true,
                Some(SupervisorEvent::ChildChanged) | None => {}
            }
        }
    }

    /// Does what is due; whether everything is being killed.
    fn act(&mut self) -> bool {
        if self.abandoned {
            self.job.kill();
            return true;
        }
        let now = host::mono();
        match self.deadline.due(now) {
            Due::Later(_) => false,
            Due::Ask => {
                self.deadline.note_asked(now);
                self.channel.send(&SupervisorNote::Ask);
                false
            }
            Due::Terminate => {
                self.deadline.note_terminated(now);
                self.channel.send(&SupervisorNote::Ending);
                self.job.terminate();
                false
            }
            Due::Kill => {
                self.job.kill();
                true
            }
        }
    }

    fn obey(&mut self, order: SupervisorOrder) {
        match order {
            SupervisorOrder::Lease { left } => self.deadline.note_left(left),
            SupervisorOrder::End => {
                self.deadline.note_terminated(host::mono());
                self.job.terminate();
            }
            SupervisorOrder::Signal(signal) => self.job.signal(signal),
            SupervisorOrder::Start(_) => {}
        }
    }

    /// Says how the command ended, once.
    fn tell_end(&mut self) {
        if let Some(status) = self.job.status()
            && !self.ended
        {
            self.ended = true;
            self.channel.send(&SupervisorNote::Ended { status, left_running: self.job.running() });
        }
    }

    fn pause(&self, killing: bool) -> Option<Duration> {
        let due = match self.deadline.due(host::mono()) {
            Due::Later(pause) => pause,
            Due::Ask | Due::Terminate | Due::Kill => Some(Duration::ZERO),
        };
        let look = (killing || self.ended).then_some(LOOK);
        match (due, look) {
            // What is being killed stays due.
            (Some(_), Some(look)) if killing => Some(look),
            (Some(due), Some(look)) => Some(due.min(look)),
            (due, look) => due.or(look),
        }
    }
}

/// Something that happened.
enum SupervisorEvent {
    Order(SupervisorOrder),
    ChildChanged,
    /// `run` has closed its end, as only its death does.
    Abandoned,
}

/// The queue of what happens.
struct SupervisorEvents {
    queue: Receiver<SupervisorEvent>,
    _open: Sender<SupervisorEvent>,
}

impl SupervisorEvents {
    fn listen(reader: ChannelReader) -> Result<Self, Failure> {
        let (send, queue) = channel();
        let orders = send.clone();
        let failed =
            |error| Failure::new(Exit::Unusable, format_args!("cannot start a thread: {}", os_error::sentence(&error)));
        reader
            .each(move |order| drop(orders.send(order.map_or(SupervisorEvent::Abandoned, SupervisorEvent::Order))))
            .map_err(failed)?;
        let changed = send.clone();
        // A request to end is passed on by `run`, which knows whether the command has got it already.
        signals::listen(move |caught| {
            if caught == Caught::ChildChanged {
                let _ = changed.send(SupervisorEvent::ChildChanged);
            }
        })?;
        Ok(Self { queue, _open: send })
    }

    /// The next event; `None` if none comes within `patience`.
    fn next(&self, patience: Option<Duration>) -> Option<SupervisorEvent> {
        match patience {
            None => self.queue.recv().ok(),
            Some(patience) => self.queue.recv_timeout(patience).ok(),
        }
    }
}
