//! What `run` and its supervisor tell each other: one JSON object a line, over a socket pair.
//!
//! The socket is the supervisor's standard input, since a child inherits nothing else by safe means. `run`'s own
//! standard input, which belongs to the command, comes over the socket as a file descriptor.

use std::io::{self, BufRead, BufReader, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread::Builder;
use std::time::Duration;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What `run` wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SupervisorOrder {
    /// Start the command.
    Start(Start),
    /// The answer to [`SupervisorNote::Ask`]: for how long the lock is held from now on.
    Lease { left: Duration },
    /// The lock is lost, or the command took too long: end it, and kill it after the grace.
    End,
    /// Pass on this signal.
    Signal(i32),
}

/// How to start the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// The process group that it joins; `None` for one of its own.
    pub(crate) group: Option<u32>,
    /// How to end it.
    pub(crate) grace: Grace,
    /// Whether it may run on when the lease has ended.
    pub(crate) outlives_lock: bool,
}

/// How much time it takes to end a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grace {
    /// From SIGTERM to SIGKILL.
    pub(crate) kill_after: Duration,
    /// From SIGKILL to the end of the lease.
    pub(crate) margin: Duration,
}

/// What the supervisor reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SupervisorNote {
    /// For how long is the lock held?
    Ask,
    /// The command runs.
    Started,
    /// The command could not be run.
    NotRun { status: u8, reason: String },
    /// The command was not started: before that came this signal, or the order to end it.
    Forestalled { signal: Option<i32> },
    /// The lease is about to end: the command was asked to end.
    Ending,
    /// The command has ended; so many processes that it started have not.
    Ended { status: u8, left_running: usize },
}

/// The sending end.
pub(crate) struct SupervisorChannel(UnixStream);

/// The receiving end.
pub(crate) struct ChannelReader(BufReader<UnixStream>);

impl SupervisorChannel {
    /// `run`'s end, and what the supervisor gets as its standard input.
    pub(crate) fn pair() -> io::Result<(Self, ChannelReader, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        pass(&ours, io::stdin())?;
        Ok((Self(ours.try_clone()?), ChannelReader(BufReader::new(ours)), theirs.into()))
    }

    /// The supervisor's end, and the standard input of the command.
    pub(super) fn inherited() -> io::Result<(Self, ChannelReader, OwnedFd)> {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let stdin = passed(&socket)?;
        Ok((Self(socket.try_clone()?), ChannelReader(BufReader::new(socket)), stdin))
    }

    /// Sends this. The reader notices the other side's death.
    pub(crate) fn send(&mut self, message: &impl Serialize) {
        let mut line = serde_json::to_vec(message).expect("every message can be written as JSON");
        line.push(b'\n');
        if let Err(error) = self.0.write_all(&line) {
            log::debug!("the other side of the channel is closed: {error}");
        }
    }
}

impl ChannelReader {
    /// Hands on each message, and `None` once the other side is dead, from a thread of its own.
    pub(crate) fn each<T: DeserializeOwned>(
        self,
        mut hand_on: impl FnMut(Option<T>) + Send + 'static,
    ) -> io::Result<()> {
        let read = move || {
            for line in self.0.lines().map_while(Result::ok) {
                match serde_json::from_str(&line) {
                    Ok(message) => hand_on(Some(message)),
                    Err(error) => log::warn!("not a message: {line}: {error}"),
                }
            }
            hand_on(None);
        };
        Builder::new().name("lockshift-channel".into()).spawn(read).map(drop)
    }
}

/// Sends one byte, and a file descriptor with it.
pub(super) fn pass(socket: &UnixStream, descriptor: impl AsFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)), "there is room for one");
    sendmsg(socket, &[IoSlice::new(b"\n")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives that byte, and the file descriptor.
pub(super) fn passed(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::empty())?;
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let descriptor = descriptors.flatten().next().ok_or_else(|| io::Error::other("no standard input was passed"))?;
    // The kernel sets no close-on-exec flag by itself.
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC)?;
    Ok(descriptor)
}
