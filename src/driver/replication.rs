//! How many replicas must have received a lock before it counts as acquired.

use std::fmt;
use std::time::Duration;

use lockshift_wire::{Command, Fault, Key, Reply};

use super::error::Error;
use super::interrupted::{Cause, Unanswered};

/// How many replicas must have received a lock before it counts as acquired: `WAIT`, or with [`on_disk`](Self::on_disk)
/// `WAITAOF`, sent after the attempt that won and on its connection.
///
/// The lease runs meanwhile, so the time that the replicas take is taken off what remains of it. If too few acknowledge in
/// time the lock is released, and the attempt ends with [`ErrorKind::NotReplicated`](crate::driver::ErrorKind), which
/// [`acquire`](crate::driver::blocking::Lock::acquire) rides out until its deadline.
///
/// # What it does not promise
///
/// It makes the loss of a lock in a failover unlikely and does not exclude it. Replication stays asynchronous: a failover
/// promotes the replica that Sentinel or the cluster prefers, by priority and by how much it has received, and nothing
/// obliges it to be one that acknowledged. With as many replicas as there are, each of them had the lock when it was
/// acquired. `WAIT` counts what was received, not what is on a disk: a replica that restarts with an empty memory has
/// forgotten it. Only the acquisition waits, not extensions and releases: a new master may still have the TTL of before
/// the last extension, or a lock that was released. And a replica that is cut off refuses nothing. A caller that cannot accept
/// two holders needs a [fence](crate::lock::Hold::fence) at the resource.
///
/// ```
/// use std::time::Duration;
/// use lockshift::driver::Replication;
///
/// let one_replica = Replication::to(1, Duration::from_millis(100));
/// let on_its_disk_and_the_masters = Replication::to(1, Duration::from_millis(100)).on_disk();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replication {
    replicas: u32,
    within: Duration,
    on_disk: bool,
}

impl Replication {
    /// To this many replicas, each of which has acknowledged within this time. It must be shorter than the time within
    /// which the connection wants its replies, and is rounded up to a millisecond: zero would mean for ever.
    pub fn to(replicas: u32, within: Duration) -> Self {
        Self { replicas, within: within.max(Duration::from_millis(1)), on_disk: false }
    }

    /// The same, on the disks of the master and of these replicas: `WAITAOF`, of Redis 7.2 and later. Each of them needs
    /// `appendonly yes`.
    #[must_use]
    pub fn on_disk(self) -> Self {
        Self { on_disk: true, ..self }
    }

    /// For how long the replicas may take.
    pub(crate) fn within(&self) -> Duration {
        self.within
    }

    /// The question whether they have it.
    pub(super) fn command(&self) -> Command {
        let command = if self.on_disk { Command::new("WAITAOF").arg_int(1) } else { Command::new("WAIT") };
        let within_ms = i64::try_from(self.within.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX);
        command.arg_int(i64::from(self.replicas)).arg_int(within_ms)
    }

    /// Whether they have it, by this answer.
    ///
    /// # Errors
    /// They have not, the server refused the question, or no reply came.
    pub(super) fn judge(&self, key: &Key, answer: Result<Reply, Unanswered>) -> Result<(), Error> {
        let command = self.command();
        let (local, replicas) = match answer {
            Ok(Reply::Int(replicas)) if !self.on_disk => (1, replicas),
            Ok(Reply::Array(items)) if self.on_disk => match items.as_slice() {
                [Reply::Int(local), Reply::Int(replicas)] => (*local, *replicas),
                _ => return Err(Error::because(key, Fault::new(command, Reply::Array(items)).into())),
            },
            Ok(other) => return Err(Error::because(key, Fault::new(command, other).into())),
            Err(Unanswered { source, .. }) => return Err(Error::because(key, Cause::NoReply { command, source })),
        };
        if local >= 1 && replicas >= i64::from(self.replicas) {
            return Ok(());
        }
        Err(Error::not_replicated(key, TooFewReplicas { wanted: *self, local, replicas }))
    }
}

/// How many have acknowledged, where more were wanted.
#[derive(Debug, thiserror::Error)]
pub(super) struct TooFewReplicas {
    wanted: Replication,
    local: i64,
    replicas: i64,
}

impl fmt::Display for TooFewReplicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replication { replicas, within, .. } = self.wanted;
        write!(f, "{} of {replicas} replicas have acknowledged the lock within {within:?}", self.replicas)?;
        if self.local < 1 { f.write_str(", and the master's own disk has not") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(replication: Replication) -> Vec<String> {
        let command = replication.command();
        command.words().iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    #[test]
    fn zero_would_wait_for_ever_and_is_never_sent() {
        assert_eq!(words(Replication::to(2, Duration::ZERO)), ["WAIT", "2", "1"]);
        assert_eq!(Replication::to(2, Duration::ZERO).within(), Duration::from_millis(1));
        assert_eq!(words(Replication::to(2, Duration::from_micros(1500)).on_disk()), ["WAITAOF", "1", "2", "2"]);
    }

    #[test]
    fn too_few_are_an_error_that_says_how_many() {
        let (key, wait) = (Key::from("k"), Replication::to(2, Duration::from_millis(50)));
        assert!(wait.judge(&key, Ok(Reply::Int(2))).is_ok());
        let error = wait.judge(&key, Ok(Reply::Int(1))).unwrap_err();
        assert_eq!(error.kind(), crate::driver::ErrorKind::NotReplicated);
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(source, "1 of 2 replicas have acknowledged the lock within 50ms");
        let pair = |local, replicas| Ok(Reply::Array(vec![Reply::Int(local), Reply::Int(replicas)]));
        assert!(wait.on_disk().judge(&key, pair(1, 2)).is_ok());
        let not_on_disk = wait.on_disk().judge(&key, pair(0, 2)).unwrap_err();
        let source = std::error::Error::source(&not_on_disk).unwrap().to_string();
        assert!(source.ends_with("within 50ms, and the master's own disk has not"), "{source}");
        assert!(wait.on_disk().judge(&key, Ok(Reply::Int(2))).is_err(), "not a reply to WAITAOF");
        assert!(wait.judge(&key, pair(1, 2)).is_err(), "not a reply to WAIT");
    }
}
