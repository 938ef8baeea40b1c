//! How to renew a lock in the background: when, and for how long. A policy: it knows nothing of the protocol.

use std::time::Duration;

use lockshift_lock::{Extended, Lease};
use lockshift_wire::{Key, MonoTime};

use super::error::Error;
use super::events::RENEW;
use super::outcome::Answer;

/// How to renew a lock in the background. Without a limit, until it is released or lost.
///
/// ```
/// use std::time::Duration;
/// use lockshift::driver::Renewal;
///
/// let for_an_hour = Renewal::every_third().for_at_most(Duration::from_secs(3600));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewal {
    pace: RenewalPace,
    at_most: Option<Duration>,
    times: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RenewalPace {
    /// After a third of what is left.
    #[default]
    Third,
    /// At this interval, sooner after a failure.
    Interval(Duration),
    /// At this interval, whatever happens.
    Timer(Duration),
    /// At once, and then after every whole lease.
    WholeLease(Duration),
}

/// Shorter pauses than this would not save a lock, only keep the server busy.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

impl Renewal {
    /// After a third of the lease; after a failure, after a third of what is left of it.
    pub const fn every_third() -> Self {
        Self::at(RenewalPace::Third)
    }

    /// At this interval; after a failure sooner. An interval as long as the lease, which some old clients use, renews
    /// nothing: the lease has expired by then.
    pub const fn every(interval: Duration) -> Self {
        Self::at(RenewalPace::Interval(interval))
    }

    /// At this interval, whatever the last extension came to: the timer of the re-entrant hash lock's article, which asks
    /// whether the lock is still there and then sets its expiry anew, for as long as the process lives. The article
    /// does not name the interval; one that is longer than the lease renews nothing.
    pub const fn timer(interval: Duration) -> Self {
        Self::at(RenewalPace::Timer(interval))
    }

    /// At once, then after every whole `lease`, and `times` altogether: the background thread of the Jedis article, which
    /// sleeps for as long as it has just set the expiry to, four times by default. So the lock expires when
    /// it wakes, and only the first extension is of any use: as a policy to be compared with, not to be used.
    pub const fn whole_lease(lease: Lease, times: u32) -> Self {
        Self::at(RenewalPace::WholeLease(lease.length())).times(times)
    }

    const fn at(pace: RenewalPace) -> Self {
        Self { pace, at_most: None, times: None }
    }

    /// The same, but not later than this long after it began: a holder that hangs does not keep the lock for ever, but
    /// at most for that long and a lease.
    #[must_use]
    pub const fn for_at_most(mut self, at_most: Duration) -> Self {
        self.at_most = Some(at_most);
        self
    }

    /// The same, but not more often than this.
    #[must_use]
    pub const fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// A renewal that begins now.
    pub(super) fn begin(&self, now: MonoTime) -> RenewalProgress {
        RenewalProgress {
            renewal: self.clone(),
            began: now,
            confirmed: 0,
            last_failed: false,
            has_begun: false,
            has_ended: false,
        }
    }
}

/// How far a renewal has come.
pub(super) struct RenewalProgress {
    renewal: Renewal,
    began: MonoTime,
    confirmed: u32,
    last_failed: bool,
    /// Whether an extension has been sent.
    has_begun: bool,
    has_ended: bool,
}

impl RenewalProgress {
    /// How long to pause before the next extension is sent, if the holder may still work for `term_left`; `None` if
    /// there is to be none.
    pub(super) fn pause(&self, term_left: Duration, now: MonoTime) -> Option<Duration> {
        let Renewal { pace, at_most, times } = self.renewal;
        if self.has_ended || term_left.is_zero() || times.is_some_and(|times| self.confirmed >= times) {
            return None;
        }
        let third = term_left / 3;
        let pause = match pace {
            RenewalPace::Third => third.max(SHORTEST_PAUSE),
            RenewalPace::Interval(interval) if self.last_failed => interval.min(third).max(SHORTEST_PAUSE),
            RenewalPace::Interval(interval) | RenewalPace::Timer(interval) => interval.max(SHORTEST_PAUSE),
            RenewalPace::WholeLease(_) if !self.has_begun => Duration::ZERO,
            RenewalPace::WholeLease(lease) => lease,
        };
        let then = now.saturating_since(self.began).saturating_add(pause);
        at_most.is_none_or(|at_most| then <= at_most).then_some(pause)
    }

    /// Takes note of how an extension ended.
    pub(super) fn note(&mut self, key: &Key, extended: &Result<Answer<Extended>, Error>) {
        self.last_failed = false;
        self.has_begun = true;
        match extended {
            Ok(Answer::Known(Extended::Until(_))) => {
                self.confirmed = self.confirmed.saturating_add(1);
                log::debug!(target: RENEW, "lock key `{key}`: renewed");
            }
            Ok(Answer::Known(Extended::Lost)) => {
                self.has_ended = true;
                log::warn!(target: RENEW, "lock key `{key}`: lost, and no longer renewed");
            }
            Ok(Answer::Known(Extended::Intruded(_))) => {
                self.has_ended = true;
                log::warn!(target: RENEW, "lock key `{key}`: another client has written into it, so it is no longer renewed");
            }
            Ok(Answer::Known(Extended::Unsupported)) => {
                self.has_ended = true;
                log::warn!(target: RENEW, "lock key `{key}`: this protocol has no safe extension, so it is not renewed");
            }
            Ok(Answer::Unknown(unknown)) => {
                self.last_failed = true;
                log::warn!(target: RENEW, "could not renew, trying again: {unknown}");
            }
            Err(error) => {
                self.last_failed = true;
                log::warn!(target: RENEW, "could not renew, trying again: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use lockshift_lock::{Hold, Lease};
    use lockshift_wire::{Reading, UnixTime};

    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const fn at(millis: u64) -> MonoTime {
        MonoTime::since_origin(ms(millis))
    }

    fn confirmed() -> Result<Answer<Extended>, Error> {
        let since = Reading { wall: UnixTime::from_nanos(0), mono: at(0) };
        let lease = Lease::new(ms(900)).unwrap();
        Ok(Answer::Known(Extended::Until(Hold { value: vec![], since, lease, fence: None })))
    }

    fn failed() -> Result<Answer<Extended>, Error> {
        let broken = io::Error::from(io::ErrorKind::ConnectionReset);
        Err(Error::connection(&Key::from("k"), broken.into()))
    }

    #[test]
    fn a_third_of_what_is_left_and_after_failures_ever_sooner() {
        let renewal = Renewal::every_third();
        let mut renewing = renewal.begin(at(0));
        assert_eq!(renewing.pause(ms(900), at(0)), Some(ms(300)));
        renewing.note(&Key::from("k"), &failed());
        assert_eq!(renewing.pause(ms(600), at(300)), Some(ms(200)));
        renewing.note(&Key::from("k"), &failed());
        assert_eq!(renewing.pause(ms(2), at(898)), Some(ms(1)), "never busier than this");
        assert_eq!(renewing.pause(ms(0), at(900)), None);
    }

    #[test]
    fn a_fixed_interval_is_shortened_only_after_a_failure() {
        let renewal = Renewal::every(ms(700));
        let mut renewing = renewal.begin(at(0));
        assert_eq!(renewing.pause(ms(900), at(0)), Some(ms(700)));
        renewing.note(&Key::from("k"), &failed());
        assert_eq!(renewing.pause(ms(210), at(690)), Some(ms(70)));
        renewing.note(&Key::from("k"), &confirmed());
        assert_eq!(renewing.pause(ms(900), at(770)), Some(ms(700)));
    }

    #[test]
    fn a_timer_keeps_its_interval_whatever_happens() {
        let renewal = Renewal::timer(ms(300));
        let mut renewing = renewal.begin(at(0));
        for _ in 0..3 {
            assert_eq!(renewing.pause(ms(200), at(0)), Some(ms(300)));
            renewing.note(&Key::from("k"), &failed());
        }
    }

    #[test]
    fn the_jedis_article_renews_at_once_and_then_when_the_lock_has_expired() {
        let renewal = Renewal::whole_lease(Lease::new(ms(900)).unwrap(), 4);
        let mut renewing = renewal.begin(at(0));
        assert_eq!(renewing.pause(ms(889), at(0)), Some(ms(0)));
        renewing.note(&Key::from("k"), &confirmed());
        assert_eq!(renewing.pause(ms(889), at(0)), Some(ms(900)), "longer than there is left");
        renewing.note(&Key::from("k"), &Ok(Answer::Known(Extended::Lost)));
        assert_eq!(renewing.pause(ms(0), at(900)), None);

        let mut renewing = renewal.begin(at(0));
        (0..4).for_each(|_| renewing.note(&Key::from("k"), &confirmed()));
        assert_eq!(renewing.pause(ms(889), at(0)), None, "four times, as the class has it");
    }

    #[test]
    fn no_extension_is_sent_after_the_maximum() {
        let renewal = Renewal::every_third().for_at_most(ms(1000));
        let renewing = renewal.begin(at(5000));
        assert_eq!(renewing.pause(ms(900), at(5700)), Some(ms(300)));
        assert_eq!(renewing.pause(ms(900), at(5701)), None);
    }

    #[test]
    fn so_many_times_and_no_more() {
        let renewal = Renewal::every_third().times(2);
        let mut renewing = renewal.begin(at(0));
        renewing.note(&Key::from("k"), &confirmed());
        assert_eq!(renewing.pause(ms(900), at(0)), Some(ms(300)));
        renewing.note(&Key::from("k"), &confirmed());
        assert_eq!(renewing.pause(ms(900), at(0)), None);
    }

    #[test]
    fn what_is_lost_or_cannot_be_extended_is_not_renewed_again() {
        for ended in [Extended::Lost, Extended::Unsupported] {
            let renewal = Renewal::every_third();
            let mut renewing = renewal.begin(at(0));
            renewing.note(&Key::from("k"), &Ok(Answer::Known(ended)));
            assert_eq!(renewing.pause(ms(900), at(0)), None);
        }
    }
}
