//! How to wait for a lock that another client holds: how long between two tries, and for how long altogether. A policy: it
//! knows nothing of the protocol, reads no clock and draws no random numbers itself.

use std::time::Duration;

use lockshift_wire::MonoTime;

use super::error::Error;
use super::outcome::Attempt;

/// How to wait for a lock that another client holds. Without a limit, until it is free.
///
/// ```
/// use std::time::Duration;
/// use lockshift::driver::Wait;
///
/// let patient = Wait::backoff().for_at_most(Duration::from_secs(10));
/// let as_the_old_client_did = Wait::every(Duration::from_secs(2)).tries(30);
/// let woken_by_the_release = Wait::notified().for_at_most(Duration::from_secs(10));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pace: WaitPace,
    at_most: Option<Duration>,
    tries: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum WaitPace {
    Fixed { interval: Duration },
    Backoff { min: Duration, max: Duration, factor: u32 },
    Notified,
}

/// The backoff where none is given, and of waiters that cannot be notified.
const BACKOFF: WaitPace =
    WaitPace::Backoff { min: Duration::from_millis(10), max: Duration::from_millis(500), factor: 2 };

/// How long a waiter may miss a release where the protocol cannot tell when the present lease ends.
const LONGEST_SILENCE: Duration = Duration::from_secs(1);

/// How long nothing but errors is ridden out where no deadline is set.
const LONGEST_OUTAGE: Duration = Duration::from_secs(30);

/// When a holder dies, its waiters come back after the end of its lease, one in this time on average: those of one
/// process know how many they are. The first comes as soon as a single waiter would.
const SPREAD: Duration = Duration::from_millis(10);

/// A lease that ends sooner than this is about to end; unless it says so again and again, as that of a key
/// without a TTL may do.
const SOON: Duration = Duration::from_millis(10);

impl Wait {
    /// Exponential backoff with full jitter: each pause is drawn between zero and a ceiling that grows from 10 ms to
    /// 500 ms, doubling with every try. Where the protocol can tell when the present lease ends, the next try is not
    /// much later than that.
    pub const fn backoff() -> Self {
        Self { pace: BACKOFF, at_most: None, tries: None }
    }

    /// Exponential backoff with full jitter, whose ceiling grows from `min` to `max`, times `factor` with every try.
    pub const fn backoff_between(min: Duration, max: Duration, factor: u32) -> Self {
        Self { pace: WaitPace::Backoff { min, max, factor }, at_most: None, tries: None }
    }

    /// The same pause after every try, as the old clients did. Many clients poll in step then: for anything new, back off.
    /// Only a waiter whose place in a queue would expire meanwhile comes back sooner, when the protocol demands it.
    pub const fn every(interval: Duration) -> Self {
        Self { pace: WaitPace::Fixed { interval }, at_most: None, tries: None }
    }

    /// Until the release is announced, or the present lease has expired. The lock must have been given the `ReleaseListener` of
    /// its driver, and its protocol must announce its releases; wherever that is not so, or the subscription does not stand
    /// (yet, or any more), this is [`backoff`](Self::backoff).
    ///
    /// Waiters of one program take turns where all are refused together, as at a
    /// [`TokenLock`](lockshift_modern::TokenLock). One that comes later sends nothing before its turn, unless for a quarter of
    /// a second none of them has tried or released, or the lease of the holder has ended. Where they queue, as at a
    /// [`FairLock`](lockshift_modern::FairLock), each of them tries once, to take its place.
    ///
    /// Where they do not queue, one of them tries every five seconds in any case, ten at most with threads: the key may have been
    /// deleted by an operator, which announces nothing, and a task that was woken may be one that is not polled.
    pub const fn notified() -> Self {
        Self { pace: WaitPace::Notified, at_most: None, tries: None }
    }

    /// The same, giving up after this long. One last try is made at the very end; a try under way is not cut short,
    /// its length is bounded by the timeouts of the connection.
    #[must_use]
    pub const fn for_at_most(mut self, at_most: Duration) -> Self {
        self.at_most = Some(at_most);
        self
    }

    /// The same, giving up after this many tries. The first is always made. A waiter that is [notified](Self::notified) counts
    /// those that follow a release or the end of a lease, not those by which it makes sure that it has missed none.
    #[must_use]
    pub const fn tries(mut self, tries: u32) -> Self {
        self.tries = Some(tries);
        self
    }

    /// Whether to listen for the release.
    pub(super) fn listens(&self) -> bool {
        self.pace == WaitPace::Notified
    }

    /// The patience of a waiter that begins now.
    pub(crate) fn begin(&self, now: MonoTime) -> Patience<'_> {
        Patience { wait: self, began: now, tries: 0, soon: 0, failing_since: None }
    }
}

impl Default for Wait {
    fn default() -> Self {
        Self::backoff()
    }
}

/// What remains of a waiter's patience.
#[derive(Clone, Debug)]
pub(crate) struct Patience<'a> {
    wait: &'a Wait,
    began: MonoTime,
    tries: u32,
    /// How often in a row the lease was about to end.
    soon: u32,
    /// Since when there have been nothing but errors.
    failing_since: Option<MonoTime>,
}

impl Patience<'_> {
    /// How long to pause after this attempt; `None` if there is to be no other. `waiters` is how many wait on the channel
    /// of the lock in this process, this one included, if a release would wake one of them.
    pub(super) fn after<G>(
        &mut self,
        attempt: &Result<Attempt<G>, Error>,
        waiters: Option<usize>,
        now: MonoTime,
        jitter: impl FnMut(Duration) -> Duration,
    ) -> Option<Duration> {
        let retry_in = match attempt {
            Ok(Attempt::Won(_)) => return None,
            Ok(Attempt::Held(held)) => held.retry_in,
            Ok(Attempt::TooLate) => None,
            Ok(Attempt::Unknown(_)) => return self.after_failure(now, jitter),
            Err(error) if error.kind().is_transient() => return self.after_failure(now, jitter),
            Err(_) => return None,
        };
        self.failing_since = None;
        self.pause(retry_in, waiters, now, jitter)
    }

    /// The attempt that has just ended does not count as a try, unless it is the first.
    pub(super) fn forget_a_try(&mut self) {
        self.tries = self.tries.saturating_sub(1);
    }

    /// For how long a waiter may sleep on where a try would be in vain, and not longer than `at_most`; `None` if it has to
    /// try now: the waiting time has passed, or its tries are counted.
    pub(super) fn without_a_try(&self, at_most: Duration, now: MonoTime) -> Option<Duration> {
        let left = self.wait.at_most.map_or(at_most, |wait| wait.saturating_sub(now.saturating_since(self.began)));
        (self.wait.tries.is_none() && !left.is_zero()).then(|| left.min(at_most))
    }

    /// How long to pause after an error that may pass by itself, or a reply that was lost.
    fn after_failure(&mut self, now: MonoTime, jitter: impl FnMut(Duration) -> Duration) -> Option<Duration> {
        let since = *self.failing_since.get_or_insert(now);
        let is_hopeless = self.wait.at_most.is_none() && now.saturating_since(since) >= LONGEST_OUTAGE;
        // A server that cannot be used announces nothing.
        if is_hopeless { None } else { self.pause(None, None, now, jitter) }
    }

    /// How long to pause after one more try in vain; `None` once the waiting time has passed.
    ///
    /// `lease_left` is for how long the present holder's lease still runs, if that is known; `jitter` draws a duration
    /// up to the one it is given.
    pub(crate) fn pause(
        &mut self,
        lease_left: Option<Duration>,
        waiters: Option<usize>,
        now: MonoTime,
        jitter: impl FnMut(Duration) -> Duration,
    ) -> Option<Duration> {
        self.tries = self.tries.saturating_add(1);
        if self.wait.tries.is_some_and(|tries| self.tries >= tries) {
            return None;
        }
        let lease_left = lease_left.map(|left| self.expected(left));
        let pause = self.wait.pace.pause(self.tries, lease_left, waiters, jitter);
        let Some(at_most) = self.wait.at_most else { return Some(pause) };
        let left = at_most.saturating_sub(now.saturating_since(self.began));
        (!left.is_zero()).then_some(pause.min(left))
    }

    /// For how long to expect the present lease to run: the server's answer the first time, and longer with every further
    /// answer in a row that it ends soon.
    fn expected(&mut self, left: Duration) -> Duration {
        if left >= SOON {
            self.soon = 0;
            return left;
        }
        self.soon = self.soon.saturating_add(1);
        match self.soon {
            1 => left,
            again => left.max(BACKOFF.ceiling(again - 1)),
        }
    }
}

impl WaitPace {
    fn pause(
        &self,
        tries: u32,
        lease_left: Option<Duration>,
        waiters: Option<usize>,
        mut jitter: impl FnMut(Duration) -> Duration,
    ) -> Duration {
        match *self {
            Self::Fixed { interval } => interval,
            Self::Backoff { min, .. } => {
                let pause = jitter(self.ceiling(tries));
                // No attempt can win before that, but the holder may release: a hint shortens a pause, it never extends one.
                lease_left.map_or(pause, |left| pause.min(left.saturating_add(jitter(min))))
            }
            Self::Notified => match waiters {
                Some(waiters) => {
                    let left = lease_left.unwrap_or(LONGEST_SILENCE);
                    // No wider than what is waited for anyway: a place in a queue may last for only some of it.
                    let spread = SPREAD.saturating_mul(u32::try_from(waiters).unwrap_or(u32::MAX));
                    left.saturating_add(jitter(spread.min(left.max(SPREAD))))
                }
                None => BACKOFF.pause(tries, lease_left, None, jitter),
            },
        }
    }

    /// The longest pause after so many attempts, where the pauses grow.
    fn ceiling(&self, tries: u32) -> Duration {
        match *self {
            Self::Fixed { interval } => interval,
            Self::Backoff { min, max, factor } => min.saturating_mul(factor.saturating_pow(tries - 1)).min(max),
            Self::Notified => BACKOFF.ceiling(tries),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use redis::RedisError;

    use super::*;
    use crate::driver::outcome::Unknown;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const fn at(millis: u64) -> MonoTime {
        MonoTime::since_origin(ms(millis))
    }

    /// The longest pause that could be drawn.
    fn longest(most: Duration) -> Duration {
        most
    }

    #[test]
    fn the_ceiling_doubles_up_to_its_maximum() {
        let wait = Wait::backoff();
        let mut patience = wait.begin(at(0));
        let ceilings: Vec<_> =
            (0..8).map(|_| patience.pause(None, None, at(0), longest).unwrap().as_millis()).collect();
        assert_eq!(ceilings, [10, 20, 40, 80, 160, 320, 500, 500]);
    }

    #[test]
    fn a_thousand_tries_overflow_nothing() {
        let wait = Wait::backoff_between(ms(1), Duration::MAX, 10);
        let mut patience = wait.begin(at(0));
        let last = (0..1000).map(|_| patience.pause(None, None, at(0), longest).unwrap()).last();
        assert_eq!(last, Some(ms(1).saturating_mul(u32::MAX)));
    }

    #[test]
    fn any_pause_up_to_the_ceiling_may_be_drawn() {
        let wait = Wait::backoff();
        assert_eq!(wait.begin(at(0)).pause(None, None, at(0), |most| most / 4), Some(Duration::from_micros(2500)));
        assert_eq!(wait.begin(at(0)).pause(None, None, at(0), |_| Duration::ZERO), Some(Duration::ZERO));
    }

    #[test]
    fn the_end_of_the_present_lease_shortens_a_pause_and_never_extends_it() {
        let wait = Wait::backoff_between(ms(100), ms(100), 1);
        assert_eq!(wait.begin(at(0)).pause(Some(ms(30)), None, at(0), |most| most * 2 / 3), Some(ms(100) * 2 / 3));
        assert_eq!(wait.begin(at(0)).pause(Some(ms(0)), None, at(0), |most| most / 2), Some(ms(50)));
        assert_eq!(wait.begin(at(0)).pause(Some(ms(9000)), None, at(0), longest), Some(ms(100)));
        assert_eq!(
            Wait::every(ms(70)).begin(at(0)).pause(Some(ms(1)), None, at(0), longest),
            Some(ms(70)),
            "fixed is fixed"
        );
    }

    #[test]
    fn no_pause_goes_past_the_deadline_and_none_is_made_after_it() {
        let wait = Wait::every(ms(40)).for_at_most(ms(100));
        let mut patience = wait.begin(at(1000));
        assert_eq!(patience.pause(None, None, at(1000), longest), Some(ms(40)));
        assert_eq!(patience.pause(None, None, at(1075), longest), Some(ms(25)), "what is left");
        assert_eq!(patience.pause(None, None, at(1100), longest), None);
        assert_eq!(patience.pause(None, None, at(9000), longest), None);
    }

    #[test]
    fn a_waiter_sleeps_without_a_try_until_its_deadline_and_not_where_its_tries_are_counted() {
        let wait = Wait::notified().for_at_most(ms(100));
        let patience = wait.begin(at(1000));
        let without = |millis| patience.without_a_try(ms(50), at(millis));
        assert_eq!([1000, 1080, 1100].map(without), [Some(ms(50)), Some(ms(20)), None]);
        assert_eq!(Wait::notified().begin(at(0)).without_a_try(ms(50), at(9000)), Some(ms(50)));
        assert_eq!(Wait::notified().tries(3).begin(at(0)).without_a_try(ms(50), at(0)), None);
    }

    #[test]
    fn a_transient_error_and_a_lost_reply_are_ridden_out_and_another_error_is_not() {
        let failed =
            |kind: io::ErrorKind| Err::<Attempt<()>, _>(Error::connection(&"k".into(), io::Error::from(kind).into()));
        let denied: RedisError = redis::parse_redis_value(b"-NOAUTH no\r\n").unwrap().extract_error().unwrap_err();
        let denied = Err::<Attempt<()>, _>(Error::connection(&"k".into(), denied));
        let wait = Wait::every(ms(40)).for_at_most(ms(100));
        let mut patience = wait.begin(at(0));
        assert_eq!(patience.after(&denied, None, at(0), longest), None);
        let reset = failed(io::ErrorKind::ConnectionReset);
        assert_eq!(patience.after(&reset, None, at(0), longest), Some(ms(40)));
        assert_eq!(patience.after(&reset, Some(1), at(90), longest), Some(ms(10)), "up to the deadline");
        assert_eq!(patience.after(&reset, None, at(100), longest), None);

        let unknown = || {
            let command = lockshift_wire::Command::new("SET");
            let source = io::Error::from(io::ErrorKind::ConnectionReset).into();
            Ok::<Attempt<()>, Error>(Attempt::Unknown(Unknown { key: "k".into(), command, source }))
        };
        let mut patience = wait.begin(at(0));
        assert_eq!(patience.after(&unknown(), Some(1), at(0), longest), Some(ms(40)));
        assert_eq!(patience.after(&unknown(), None, at(100), longest), None);

        let wait = Wait::every(ms(40));
        let mut patience = wait.begin(at(0));
        let refused = failed(io::ErrorKind::ConnectionRefused);
        assert_eq!(patience.after(&refused, None, at(0), longest), Some(ms(40)));
        assert_eq!(patience.after(&refused, None, at(29_999), longest), Some(ms(40)));
        assert_eq!(patience.after::<()>(&Ok(Attempt::TooLate), None, at(29_999), longest), Some(ms(40)));
        assert_eq!(patience.after(&refused, None, at(50_000), longest), Some(ms(40)), "it had answered meanwhile");
        assert_eq!(patience.after(&refused, None, at(80_000), longest), None);
    }

    #[test]
    fn so_many_tries_and_no_more() {
        let wait = Wait::every(ms(40)).tries(3);
        let mut patience = wait.begin(at(0));
        let pauses: Vec<_> = (0..3).map(|_| patience.pause(None, None, at(0), longest)).collect();
        assert_eq!(pauses, [Some(ms(40)), Some(ms(40)), None]);
        assert_eq!(Wait::every(ms(40)).tries(0).begin(at(0)).pause(None, None, at(0), longest), None);
    }

    #[test]
    fn a_listening_waiter_waits_for_the_release_and_no_longer_than_the_lease() {
        let wait = Wait::notified();
        let mut patience = wait.begin(at(0));
        assert_eq!(patience.pause(Some(ms(9000)), Some(1), at(0), longest), Some(ms(9010)), "not all at once");
        assert_eq!(patience.pause(None, Some(1), at(0), longest), Some(ms(1010)), "a holder may die unheard");
        assert_eq!(patience.pause(Some(ms(9000)), None, at(0), longest), Some(ms(40)), "the third try backs off");
        let wait = Wait::notified().for_at_most(ms(100));
        assert_eq!(wait.begin(at(0)).pause(Some(ms(9000)), Some(1), at(70), longest), Some(ms(30)));
    }

    #[test]
    fn a_lease_that_is_about_to_end_again_and_again_is_waited_for_longer_each_time() {
        let wait = Wait::notified();
        let mut patience = wait.begin(at(0));
        let waits = [(); 4].map(|()| patience.expected(ms(1)));
        assert_eq!(waits, [ms(1), BACKOFF.ceiling(1), BACKOFF.ceiling(2), BACKOFF.ceiling(3)]);
        assert_eq!([SOON, ms(1)].map(|left| patience.expected(left)), [SOON, ms(1)], "it was extended meanwhile");
    }

    #[test]
    fn the_waiters_of_a_dead_holder_come_back_one_after_another() {
        let wait = Wait::notified();
        let latest = |waiters, left| wait.begin(at(0)).pause(Some(left), Some(waiters), at(0), longest).unwrap() - left;
        assert_eq!(latest(1, ms(9000)), ms(10));
        assert_eq!(latest(500, ms(9000)), ms(5000), "one in 10 ms");
        assert_eq!(latest(5000, ms(9000)), ms(9000), "never later than twice the time");
        assert_eq!(latest(5000, ms(1)), ms(10));
    }

    #[test]
    fn a_lease_that_is_always_about_to_end_is_not_asked_for_in_a_busy_loop() {
        for (wait, waiters) in [(Wait::notified(), Some(1)), (Wait::notified(), None), (Wait::backoff(), None)] {
            let mut patience = wait.begin(at(0));
            let mut pause = || patience.pause(Some(ms(1)), waiters, at(0), longest).unwrap();
            assert!(pause() <= ms(11), "it is expected once");
            let later = (0..20).map(|_| pause()).last().unwrap();
            assert!((ms(500)..=ms(510)).contains(&later), "{wait:?}: {later:?}");
            assert!(patience.pause(Some(ms(5000)), waiters, at(0), longest).unwrap() >= ms(500));
            assert!(patience.pause(Some(ms(1)), waiters, at(0), longest).unwrap() <= ms(11), "another lease");
        }
    }
}
