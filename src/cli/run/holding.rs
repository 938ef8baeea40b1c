//! While the lock is held: renew it, run CMD, give it back.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command};

use super::child::{OnLost, Running};
use super::news::News;
use crate::cli::exit::{Exit, Failure, warn};
use crate::cli::failure;
use crate::cli::server::Server;
use crate::cli::wires::Wires;
use crate::driver::blocking::Guard;
use crate::driver::{Answer, Renewal, host};
use crate::lock::{Extended, Locker, Released};
use crate::report::{self, Ran, whole_millis};
use crate::wire::Transcript;

/// What to do with the lock.
pub(super) struct Holding<'a> {
    pub(super) server: &'a Server,
    pub(super) command: &'a [OsString],
    pub(super) on_lost: OnLost,
}

impl Holding<'_> {
    /// Runs the command under the lock, and gives it back whatever happens.
    pub(super) fn hold(
        &self,
        mut guard: Guard<Wires>,
        locker: &dyn Locker,
        news: &News,
        ran: &mut Ran,
    ) -> Result<Exit, Failure> {
        self.renew(&mut guard, locker).map_err(|error| failure::of_lock(self.server, &error))?;
        let began = host::mono();
        let exit = self.run(&guard, news, ran);
        if ran.status.is_some() {
            ran.ran_ms = Some(whole_millis(host::mono().saturating_since(began)));
        }
        ran.released = Some(self.release(guard, ran.lost));
        exit
    }

    /// Renews in the background, if the protocol knows how to.
    fn renew(&self, guard: &mut Guard<Wires>, locker: &dyn Locker) -> Result<(), crate::driver::Error> {
        // Without a reply a protocol gets no further than its first command; one that has none cannot extend.
        if let Ok(Extended::Unsupported) = locker.extend(&guard.hold(), &mut Transcript::new()) {
            let lease = humantime::format_duration(guard.hold().lease.length());
            warn(format_args!("this protocol cannot extend a lock: the command has {lease}"));
            return Ok(());
        }
        guard.renew(Renewal::every_third())
    }

    fn run(&self, guard: &Guard<Wires>, news: &News, ran: &mut Ran) -> Result<Exit, Failure> {
        let failed = |error| Failure::new(Exit::Unusable, format_args!("the system fails us: {error}"));
        let child = self.spawn(guard)?;
        let running = Running { child, key: guard.key(), on_lost: self.on_lost };
        news.watch(guard.watch()).map_err(failed)?;
        let (status, lost) = running.wait(news).map_err(failed)?;
        (ran.status, ran.lost) = (Some(status), lost);
        Ok(Exit::Of(status))
    }

    fn spawn(&self, guard: &Guard<Wires>) -> Result<Child, Failure> {
        let [program, args @ ..] = self.command else { unreachable!("the command line requires a command") };
        let mut command = Command::new(program);
        command.args(args).env("LOCKSHIFT_KEY", OsStr::from_bytes(guard.key().as_bytes()));
        match guard.hold().fence {
            Some(fence) => command.env("LOCKSHIFT_FENCE", fence.to_string()),
            // One from around us belongs to another lock.
            None => command.env_remove("LOCKSHIFT_FENCE"),
        };
        command.spawn().map_err(|error| {
            let status = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
            Failure::new(Exit::Of(status), format_args!("cannot run `{}`: {error}", program.display()))
        })
    }

    fn release(&self, guard: Guard<Wires>, was_lost: bool) -> report::Released {
        let key = guard.key().clone();
        match guard.release() {
            Ok(Answer::Known(Released::Freed)) => report::Released::Freed,
            Ok(Answer::Known(Released::LeftAlone)) => report::Released::LeftAlone,
            Ok(Answer::Known(Released::StillHeld)) => report::Released::StillHeld,
            Ok(Answer::Known(Released::Lost)) => {
                if !was_lost {
                    warn(format_args!("lock key `{key}` had been lost before the command ended"));
                }
                report::Released::Lost
            }
            Ok(Answer::Known(Released::Intruded)) => {
                if !was_lost {
                    warn(format_args!("lock key `{key}`: somebody else wrote into it while the command ran"));
                }
                report::Released::Intruded
            }
            Ok(Answer::Unknown(unknown)) => {
                warn(format_args!("{unknown}: if the lock was not released, its lease ends it"));
                report::Released::Unknown
            }
            Err(error) => {
                warn(format_args!("{error}: the lock was not released, its lease ends it"));
                report::Released::Unknown
            }
        }
    }
}
