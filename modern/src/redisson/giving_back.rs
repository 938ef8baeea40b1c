//! A release and its latch.

use alloc::string::{String, ToString};
use core::time::Duration;

use lockshift_lock::Released;
use lockshift_wire::{Command, Key, Reply, Script, Transcript, Turn};

use super::mark::Mark;
use super::names::prefixed;
use crate::Publish;

/// How long a latch stays if its owner never comes to remove it: as long as Redisson, with the defaults of 4.7, may still
/// repeat a command, which is four times three seconds and as often a pause of at most two.
const LATCH: Duration = Duration::from_secs(20);

/// How a lock is given back: what all kinds have in common.
#[derive(Clone, Debug)]
pub(super) struct GivingBack {
    /// What the names of all latches of the lock begin with.
    latches: Key,
    latch_ms: String,
    /// By which command it is announced; `None` if it is not.
    pub(super) publish: Option<Publish>,
}

impl GivingBack {
    /// How the lock of this name is given back.
    pub(super) fn of(name: &Key, publish: Option<Publish>) -> Self {
        let latches = prefixed("redisson_unlock_latch", name).with_suffix(":");
        Self { latches, latch_ms: LATCH.as_millis().to_string(), publish }
    }

    /// Runs the script, with the latch behind the keys, and behind the arguments the command that announces and the
    /// latch's time to live. Then it removes the latch; whether that was done is of no account.
    pub(super) fn by<const KEYS: usize, const ARGS: usize>(
        &self,
        script: &Script,
        keys: [&Key; KEYS],
        args: [&[u8]; ARGS],
        mark: Mark<'_>,
        redis: &mut Transcript,
    ) -> Turn<Released> {
        let latch = Key::new([self.latches.as_bytes(), mark.release].concat());
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
