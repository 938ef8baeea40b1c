//! One acquisition under way: what follows from the outcome of each attempt. It sends nothing.

use std::sync::Arc;
use std::time::Duration;

use lockshift_lock::{Held, Hold, Locker, Owner, RefusalScope, ReleaseChannel};
use lockshift_wire::{MonoTime, Reading, Transcript};

use super::counters::Counters;
use super::error::Error;
use super::events::ACQUIRE;
use super::host;
use super::interrupted::Interrupted;
use super::outcome::{Attempt, Unknown};

/// One acquisition under way: the attempts of one wait.
///
/// Each attempt has a token of its own, so that a command of one attempt that arrives late cannot delete what the next one
/// has won. Only a place in a queue keeps its token from one attempt to the next, as long as each of them was answered.
pub(super) struct Acquisition {
    locker: Arc<dyn Locker>,
    counters: Arc<Counters>,
    owner: Owner,
    began: MonoTime,
    /// The last attempt was refused, and may have left a place in a queue.
    is_refused: bool,
    /// It waits for its turn to try, and has made no attempt since.
    awaits_its_turn: bool,
    /// When the last attempt began that was refused with this token.
    last_refused: Option<MonoTime>,
    /// The longest time between two such attempts: from when one began until the next was refused.
    longest_gap: Duration,
}

impl Acquisition {
    /// One that begins now, for this thread or task.
    pub(super) fn begin(locker: &Arc<dyn Locker>, counters: &Arc<Counters>, thread: u64) -> Result<Self, Error> {
        let owner = host::owner(thread).map_err(|error| Error::no_randomness(locker.key(), error))?;
        let (locker, counters) = (Arc::clone(locker), Arc::clone(counters));
        let began = host::mono();
        Ok(Self {
            locker,
            counters,
            owner,
            began,
            is_refused: false,
            awaits_its_turn: false,
            last_refused: None,
            longest_gap: Duration::ZERO,
        })
    }

    /// The owner of the next attempt.
    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    /// When it began.
    pub(super) fn began(&self) -> MonoTime {
        self.began
    }

    /// Where a release would be announced.
    pub(super) fn release_channel(&self) -> Option<ReleaseChannel> {
        self.locker.release_channel(&self.owner)
    }

    /// What a refusal says about others that wait where it does.
    pub(super) fn refusal_scope(&self) -> RefusalScope {
        self.locker.refusal_scope()
    }

    /// What it holds by this message, which was read at `now`, counting from the last attempt. `None` if another attempt has to
    /// be made, which finds the lock its own and begins the lease anew: where less than nine tenths of a lease are left, or where
    /// the message may be an old one.
    ///
    /// Had the lock been handed over before the last attempt, that would have found it its own, unless the lease had ended
    /// between two attempts.
    pub(super) fn granted(&self, message: &[u8], now: Reading) -> Option<Hold> {
        let since = self.last_refused.unwrap_or(self.began);
        let wall = now.wall.saturating_sub(now.mono.saturating_since(since));
        let hold = self.locker.granted(&self.owner, Reading { wall, mono: since }, message)?;
        let enough = self.locker.lease().validity() / 10 * 9;
        let is_enough = hold.valid_until().saturating_since(now.mono) >= enough;
        (is_enough && self.longest_gap < hold.lease.validity()).then_some(hold)
    }

    /// How long a waiter that no notification reaches may pause to keep its place in a queue.
    pub(super) fn longest_pause(&self) -> Option<Duration> {
        self.locker.longest_pause()
    }

    /// Others try before it: that is a wait too, if it is given up.
    pub(super) fn await_its_turn(&mut self) {
        self.awaits_its_turn = true;
    }

    /// An attempt begins.
    pub(super) fn begin_attempt(&mut self) {
        self.awaits_its_turn = false;
    }

    /// The attempt has won just now, and its lease still runs.
    pub(super) fn won<G>(&mut self, guard: G, now: MonoTime) -> Attempt<G> {
        (self.is_refused, self.awaits_its_turn) = (false, false);
        self.counters.note_acquired(now.saturating_since(self.began));
        log::debug!(target: ACQUIRE, "lock key `{}`: acquired", self.locker.key());
        Attempt::Won(guard)
    }

    /// The attempt has won, and what it won was released: too few replicas have it, or its lease had ended.
    pub(super) fn not_kept<G>(&mut self, replicated: Result<(), Error>) -> Result<Attempt<G>, Error> {
        self.is_refused = replicated.is_ok();
        self.renew_token()?;
        replicated.map(|()| Attempt::TooLate)
    }

    /// The attempt that began then has been refused.
    pub(super) fn refused<G>(&mut self, held: Held, began: MonoTime, now: MonoTime) -> Result<Attempt<G>, Error> {
        if let Some(previous) = self.last_refused.replace(began) {
            self.longest_gap = self.longest_gap.max(now.saturating_since(previous));
        }
        let attempt = Attempt::refused(self.locker.key(), held);
        self.is_refused = attempt.is_ok();
        if !self.has_a_place() {
            self.renew_token()?;
        }
        attempt
    }

    /// The attempt broke off, and was disclaimed if it may have acted.
    pub(super) fn interrupted<G>(&mut self, interrupted: Interrupted) -> Result<Attempt<G>, Error> {
        if interrupted.may_have_acted {
            self.is_refused = false;
            self.renew_token()?;
        }
        Unknown::or_error(self.locker.key(), interrupted).map(Attempt::Unknown)
    }

    /// Gives up, unless it has won: whether there is something to withdraw on the server.
    pub(super) fn give_up(&mut self) -> bool {
        let (was_refused, awaited_its_turn) =
            (std::mem::take(&mut self.is_refused), std::mem::take(&mut self.awaits_its_turn));
        if !was_refused && !awaited_its_turn {
            return false;
        }
        self.counters.note_refused(host::mono().saturating_since(self.began));
        log::debug!(target: ACQUIRE, "lock key `{}`: not acquired", self.locker.key());
        was_refused && self.has_a_place()
    }

    fn renew_token(&mut self) -> Result<(), Error> {
        let owner = host::owner(self.owner.thread);
        self.owner = owner.map_err(|error| Error::no_randomness(self.locker.key(), error))?;
        (self.last_refused, self.longest_gap) = (None, Duration::ZERO);
        Ok(())
    }

    /// Whether an attempt that was refused leaves a place in a queue: then the protocol has something to withdraw.
    pub(super) fn has_a_place(&self) -> bool {
        self.locker.withdraw(&self.owner, &mut Transcript::new()).is_err()
    }
}

#[cfg(test)]
mod tests {
    use lockshift_lock::{Acquired, Extended, LateRelease, Lease, Ownership, Refusal, Released};
    use lockshift_wire::{Command, Key, Turn, UnixTime};

    use super::super::interrupted::Cause;
    use super::*;

    /// A lock with a queue, whose messages say for how many milliseconds it is handed over. Its lease is 10 s.
    struct Queue(Key);

    impl Locker for Queue {
        fn key(&self) -> &Key {
            &self.0
        }

        fn lease(&self) -> Lease {
            lease(10_000)
        }

        fn acquire(&self, _: &Owner, _: &mut Transcript) -> Turn<Acquired> {
            Ok(Acquired::Held(Held::because(Refusal::Live)))
        }

        fn release(&self, _: &Hold, _: &mut Transcript) -> Turn<Released> {
            Ok(Released::Freed)
        }

        fn late_release(&self) -> LateRelease {
            LateRelease::Harmless
        }

        fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
            Ok(Extended::Lost)
        }

        fn ownership(&self, _: &Hold, _: &mut Transcript) -> Turn<Ownership> {
            Ok(Ownership::Free)
        }

        fn granted(&self, owner: &Owner, since: Reading, message: &[u8]) -> Option<Hold> {
            let granted_ms = std::str::from_utf8(message).ok()?.parse().ok()?;
            Some(Hold { value: owner.token.hex().into_bytes(), since, lease: lease(granted_ms), fence: None })
        }

        fn withdraw(&self, _: &Owner, redis: &mut Transcript) -> Turn<()> {
            redis.send(Command::new("LEAVE")).map(drop)
        }
    }

    fn lease(millis: u64) -> Lease {
        Lease::new(Duration::from_millis(millis)).unwrap()
    }

    const fn at(millis: u64) -> MonoTime {
        MonoTime::since_origin(Duration::from_millis(millis))
    }

    /// One that began at 0 and was refused in these attempts: when each began, and when it was refused.
    fn refused(attempts: &[(u64, u64)]) -> Acquisition {
        let locker: Arc<dyn Locker> = Arc::new(Queue("k".into()));
        let mut acquisition = Acquisition::begin(&locker, &Arc::default(), 0).unwrap();
        acquisition.began = at(0);
        for (began, ended) in attempts {
            let refused = acquisition.refused::<()>(Held::because(Refusal::Live), at(*began), at(*ended));
            assert!(matches!(refused, Ok(Attempt::Held(_))));
        }
        acquisition
    }

    /// From when the lease counts, in ms, by a message that is read then and says for how long the lock is handed over.
    fn counts_from(acquisition: &Acquisition, granted_ms: &str, read_at_ms: u64) -> Option<u64> {
        let wall = UnixTime::from_nanos(1_700_000_000_000_000_000);
        let now = Reading { wall: wall.saturating_add(Duration::from_millis(read_at_ms)), mono: at(read_at_ms) };
        let since = acquisition.granted(granted_ms.as_bytes(), now)?.since;
        let from = since.mono.saturating_since(at(0));
        assert_eq!(since.wall, wall.saturating_add(from), "both clocks");
        Some(u64::try_from(from.as_millis()).unwrap())
    }

    #[test]
    fn a_lease_that_is_handed_over_counts_from_the_last_attempt() {
        assert_eq!(counts_from(&refused(&[(100, 110)]), "10000", 600), Some(100));
        assert_eq!(counts_from(&refused(&[(100, 110), (6000, 6010), (12_000, 12_010)]), "11000", 13_000), Some(12_000));
    }

    #[test]
    fn it_is_not_taken_where_it_could_have_ended_between_two_attempts() {
        // Of 10 s 9.898 are valid.
        let gap = |ended| refused(&[(1000, 1010), (10_800, ended)]);
        assert_eq!(counts_from(&gap(10_897), "10000", 10_900), Some(10_800));
        assert_eq!(counts_from(&gap(10_898), "10000", 10_900), None);
        assert_eq!(counts_from(&gap(10_898), "20000", 10_900), Some(10_800), "a longer one could not");
        let also_later = refused(&[(0, 10), (25_000, 25_010), (26_000, 26_010)]);
        assert_eq!(counts_from(&also_later, "20000", 26_100), None);
    }

    #[test]
    fn too_little_of_a_lease_is_not_taken() {
        let once = refused(&[(100, 110)]);
        // Nine tenths of what is valid of its own lease are 8.9082 s.
        assert_eq!(counts_from(&once, "10000", 1089), Some(100));
        assert_eq!(counts_from(&once, "10000", 1090), None);
        assert_eq!(counts_from(&once, "5000", 200), None, "another client's lease is shorter");
    }

    /// Of the attempt, or of the command that disclaims it, something may arrive later.
    #[test]
    fn an_attempt_that_may_have_acted_is_followed_by_one_with_another_token() {
        let mut acquisition = refused(&[(100, 110)]);
        let mut is_other_after = |may_have_acted| {
            let token = acquisition.owner().token;
            let source = redis::RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut));
            let cause = Cause::NoReply { command: Command::new("SET"), source };
            let ended = acquisition.interrupted::<()>(Interrupted { cause, may_have_acted });
            assert_eq!(matches!(ended, Ok(Attempt::Unknown(_))), may_have_acted, "{ended:?}");
            token != acquisition.owner().token
        };
        assert_eq!([false, true].map(&mut is_other_after), [false, true]);
    }

    #[test]
    fn attempts_with_another_token_say_nothing() {
        let mut acquisition = refused(&[(100, 110), (20_000, 20_010)]);
        assert!(matches!(acquisition.not_kept::<()>(Ok(())), Ok(Attempt::TooLate)));
        assert_eq!((acquisition.last_refused, acquisition.longest_gap), (None, Duration::ZERO));
    }
}
