//! What the clients of a fleet have done, by their own log. All moments are of the wall clock of this machine, since 1970.

use std::time::Duration;

/// From before the first command was sent to after the last reply had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begin: Duration,
    pub(super) end: Duration,
}

/// One acquisition.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) acquiring: Span,
    /// The end of the lease, on the client's own account.
    pub(super) lease_ends: Duration,
    /// When the work ended; for a client that died, the end of its lease.
    pub(super) work_ends: Duration,
    /// The release; `None` if the client died, or never came to it.
    pub(super) releasing: Option<Span>,
    /// Whether the release deleted the key.
    pub(super) has_deleted: bool,
}

/// What the clients of a fleet have done.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) holds: Vec<Held>,
    /// The attempts that sent GETSET and did not acquire.
    pub(super) lost_takeovers: Vec<Span>,
    /// The attempts that acquired with a clock that is not right.
    pub(super) skewed: Vec<Span>,
}

impl Span {
    pub(super) fn contains(self, at: Duration) -> bool {
        // The server's clock counts microseconds, and ours nanoseconds.
        self.begin <= at + Duration::from_micros(1) && at <= self.end + Duration::from_micros(1)
    }
}

impl Held {
    /// Whether it was released after the end of its lease.
    pub(super) fn has_overrun(&self) -> bool {
        self.releasing.is_some_and(|releasing| releasing.end > self.lease_ends)
    }

    /// Whether it may still have held the lock then, for all that its client knows: the server acted on its commands at some
    /// moment between sending and reply.
    pub(super) fn may_hold_at(&self, at: Duration) -> bool {
        let begin = Span { begin: self.acquiring.begin, end: Duration::MAX };
        let end = self.releasing.map_or(self.work_ends + (self.acquiring.end - self.acquiring.begin), |span| span.end);
        Span { end, ..begin }.contains(at)
    }

    /// Whether it still worked when that other one had acquired.
    pub(super) fn works_into(&self, next: &Self) -> bool {
        self.acquiring.end < next.acquiring.end
            && self.work_ends > next.acquiring.end
            && self.acquiring != next.acquiring
    }
}

impl Log {
    /// The acquisitions during which another client still worked.
    pub(super) fn double_holds(&self) -> impl Iterator<Item = &Held> {
        self.holds.iter().filter(|next| self.holds.iter().any(|held| held.works_into(next)))
    }

    /// The releases that deleted what another client had acquired meanwhile.
    pub(super) fn wrong_releases(&self) -> impl Iterator<Item = &Held> {
        self.holds.iter().filter(|held| {
            let robbed = |other: &Held| {
                other.acquiring.begin > held.acquiring.begin
                    && held.releasing.is_some_and(|releasing| {
                        other.acquiring.end < releasing.begin
                            && other.releasing.is_none_or(|own| own.begin > releasing.end)
                            && other.work_ends > releasing.end
                    })
            };
            held.has_deleted && self.holds.iter().any(robbed)
        })
    }

    /// Whether a client may have acquired at this moment while another one held.
    pub(super) fn may_double_hold_at(&self, at: Duration) -> bool {
        self.holds.iter().enumerate().any(|(place, next)| {
            let holds = |(other, held): (usize, &Held)| other != place && held.may_hold_at(at);
            next.acquiring.contains(at) && self.holds.iter().enumerate().any(holds)
        })
    }

    /// Whether a release may have deleted at this moment what another client had acquired meanwhile.
    pub(super) fn may_release_wrongly_at(&self, at: Duration) -> bool {
        self.holds.iter().enumerate().any(|(place, held)| {
            let is_robbed = |(other, robbed): (usize, &Held)| {
                other != place && robbed.acquiring.end >= held.acquiring.begin && robbed.may_hold_at(at)
            };
            held.has_deleted
                && held.releasing.is_some_and(|span| span.contains(at))
                && self.holds.iter().enumerate().any(is_robbed)
        })
    }

    pub(super) fn overruns(&self) -> impl Iterator<Item = &Held> {
        self.holds.iter().filter(|held| held.has_overrun())
    }
}
