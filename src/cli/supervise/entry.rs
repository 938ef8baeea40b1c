//! The moment between the supervisor and the command: a process that asks to be killed when the supervisor dies, and then
//! becomes the command. The system keeps that wish across the change of program, unless the new one changes its user.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, Stdio};

use rustix::process::Pid;

use super::channel::{pass, passed};
use crate::cli::program::this_program;
use crate::cli::signals;

/// Starts a command that dies with this process, in that process group or, if it is 0, in one of its own.
///
/// # Errors
/// Those of starting a command: it cannot be found or run.
pub(super) fn start(words: &[OsString], stdin: &OwnedFd, group: i32) -> io::Result<Pid> {
    let (mut ours, theirs) = UnixStream::pair()?;
    pass(&ours, stdin)?;
    let mut entry = this_program()?;
    entry.args(["supervise", "--enter", &std::process::id().to_string(), "--"]).args(words);
    let child = signals::spawn(entry.stdin(Stdio::from(OwnedFd::from(theirs))).process_group(group))?;
    // The other end was `entry`'s alone: it closes when the command starts, and carries an error number if it cannot.
    drop(entry);
    let mut number = Vec::new();
    ours.read_to_end(&mut number)?;
    match <[u8; 4]>::try_from(number) {
        Ok(number) => Err(io::Error::from_raw_os_error(i32::from_be_bytes(number))),
        Err(_) => Ok(Pid::from_child(&child)),
    }
}

/// Becomes the command, unless the supervisor has died meanwhile.
///
/// # Errors
/// The supervisor did not start this process, or is dead.
pub(super) fn enter(words: &[OsString], supervisor: u32) -> io::Result<Infallible> {
    let mut socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let stdin = passed(&socket)?;
    die_with_parent()?;
    if parent_id() != supervisor {
        return Err(io::Error::other("the supervisor is dead"));
    }
    let [program, args @ ..] = words else { unreachable!("the command line requires a command") };
    let error = Command::new(program).args(args).stdin(Stdio::from(stdin)).exec();
    socket.write_all(&error.raw_os_error().unwrap_or_default().to_be_bytes())?;
    Err(error)
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?)
}

/// Other systems have no such wish.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn die_with_parent() -> io::Result<()> {
    Ok(())
}
