//! What a client's wall clock may have shown when it looked at it.
//!
//! It is unknown by how much it is ahead of the server's, nor how long after the look the next command arrived. The one
//! thing that is known is what the client made of each stamp, and that one and the same clock has to explain all of it.

use crate::wire::UnixTime;

/// By how much a client's wall clock is taken to be ahead of the server's, and by how much it may be, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    taken_ns: i64,
    /// More than this, by what it took for over.
    above_ns: i64,
    /// Less than this, by what it took for running.
    below_ns: i64,
}

/// The server's time between two lines: somewhere there the client has looked at its clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeSpan {
    pub(super) from: UnixTime,
    pub(super) until: UnixTime,
}

/// What the clock may have shown, and what that says about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) wall: UnixTime,
    pub(super) ahead: Ahead,
}

/// A stamp may be judged in whole seconds, on either side of its moment.
const ROUNDING_NS: i64 = 1_001_000_000;

impl Default for Ahead {
    fn default() -> Self {
        Self { taken_ns: 0, above_ns: i64::MIN, below_ns: i64::MAX }
    }
}

impl Ahead {
    /// What the clock may have shown, the likeliest first: what the stamp says that was made of it next; what it is taken to
    /// show; the same a little earlier; a time at which the stamp that is judged by it has expired, or has not.
    pub(super) fn shown(self, span: TimeSpan, judged: Option<UnixTime>, written: Option<UnixTime>) -> Vec<Shown> {
        let written = written.filter(|at| self.may_show(*at, span)).map(|wall| Shown { wall, ahead: self });
        written.into_iter().chain(self.guessed(span, judged)).collect()
    }

    /// Whether it may have shown this somewhere in that time, as it is taken to go.
    fn may_show(self, wall: UnixTime, span: TimeSpan) -> bool {
        let ahead_of =
            |moment: UnixTime| wall.as_nanos().saturating_sub(moment.as_nanos()).saturating_sub(self.taken_ns);
        ahead_of(span.from) > -ROUNDING_NS && ahead_of(span.until) < ROUNDING_NS
    }

    fn guessed(self, span: TimeSpan, stamp: Option<UnixTime>) -> Vec<Shown> {
        let plain = UnixTime::from_nanos(span.until.as_nanos().saturating_add(self.taken_ns));
        let Some(stamp) = stamp else { return vec![Shown { wall: plain, ahead: self }] };
        let before = |moment: UnixTime| stamp.as_nanos().saturating_sub(moment.as_nanos());
        let (late, early) = (before(span.until), before(span.from));
        let over = |taken_ns| Self { taken_ns, above_ns: self.above_ns.max(late.saturating_sub(ROUNDING_NS)), ..self };
        let running =
            |taken_ns| Self { taken_ns, below_ns: self.below_ns.min(early.saturating_add(ROUNDING_NS)), ..self };
        let mut shown = Vec::with_capacity(4);
        let has_expired = self.taken_ns > late;
        let ahead = if has_expired { over(self.taken_ns) } else { running(self.taken_ns) };
        shown.push(Shown { wall: plain, ahead });
        if has_expired && self.taken_ns <= early && span.from < span.until {
            let wall = UnixTime::from_nanos(span.from.as_nanos().saturating_add(self.taken_ns));
            shown.push(Shown { wall, ahead: running(self.taken_ns) });
        }
        let fast = self.above_ns.saturating_add(1).max(late.saturating_add(ROUNDING_NS));
        if fast < self.below_ns {
            let wall = UnixTime::from_nanos(span.until.as_nanos().saturating_add(fast));
            shown.push(Shown { wall, ahead: over(fast) });
        }
        let slow = self.below_ns.saturating_sub(1).min(early.saturating_sub(ROUNDING_NS));
        if slow > self.above_ns {
            let wall = UnixTime::from_nanos(span.from.as_nanos().saturating_add(slow));
            shown.push(Shown { wall, ahead: running(slow) });
        }
        shown
    }
}
