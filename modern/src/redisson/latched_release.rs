//! A release and its latch.

use alloc::string::{String, ToString};
use core::time::Duration;

use lockshift_lock::Released;
use lockshift_wire::{Command, Key, Reply, Script, Transcript, Turn};

use super::hold_value::HoldValue;
use super::names::prefixed;
use crate::Publish;

/// The TTL of a latch that its owner does not remove: the time for which Redisson, with the defaults of 4.7, may repeat a
/// command, which is four timeouts of three seconds and four pauses of at most two seconds.
const LATCH: Duration = Duration::from_secs(20);

/// A release with a latch: the part that all kinds of lock share.
#[derive(Clone, Debug)]
pub(super) struct LatchedRelease {
    /// The common prefix of the lock's latch keys.
    latches: Key,
    latch_ms: String,
    /// The command that publishes the release; `None` if it is not published.
    pub(super) publish: Option<Publish>,
}

impl LatchedRelease {
    /// The release of the lock of this name.
    pub(super) fn of(name: &Key, publish: Option<Publish>) -> Self {
        let latches = prefixed("redisson_unlock_latch", name).with_suffix(":");
        Self { latches, latch_ms: LATCH.as_millis().to_string(), publish }
    }

    /// Runs the script and then deletes the latch; the result of the deletion does not matter. The latch is appended to the
    /// keys; the publishing command and the latch's TTL are appended to the arguments.
    pub(super) fn run<const KEYS: usize, const ARGS: usize>(
        &self,
        script: &Script,
        keys: [&Key; KEYS],
        args: [&[u8]; ARGS],
        value: HoldValue<'_>,
        redis: &mut Transcript,
    ) -> Turn<Released> {
        let latch = Key::new([self.latches.as_bytes(), value.release].concat());
        let mut all_keys = keys.to_vec();
        all_keys.push(&latch);
        let mut all_args = args.to_vec();
        all_args.extend(self.publish.map(Publish::command));
        all_args.push(self.latch_ms.as_bytes());
        let released = match redis.script(script, &all_keys, &all_args)? {
            Reply::Nil => Released::Lost,
            Reply::Int(0) => Released::StillHeld,
            Reply::Int(1) => Released::Freed,
            other => return Transcript::fault(script.evalsha(&all_keys, &all_args), other),
        };
        redis.send(Command::new("DEL").arg(&latch))?;
        Ok(released)
    }
}
