//! Who could have written a value: whose hand it is, and at a believable time.

use std::time::Duration;

use crate::legacy::{Clock, Dialect, Moment};
use crate::lock::Lease;
use crate::protocols::{Protocol, catalogue};
use crate::wire::UnixTime;

/// A protocol that could have written the value, and when it would be over by what stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) protocol: Protocol,
    pub(super) ends_at: Option<UnixTime>,
}

/// The year 2009, when Redis was first published: no lock is older.
const FIRST: UnixTime = match UnixTime::from_secs(1_230_768_000) {
    Some(moment) => moment,
    None => panic!("2009 is before 2262"),
};

/// Every protocol that could have written this value by now.
///
/// A clock that counts a machine's uptime makes any number believable. Such hands are only named where no other is.
pub(super) fn writers(value: &[u8], now: UnixTime) -> Vec<Writer> {
    let hands: Vec<_> = catalogue().filter_map(|protocol| Writer::of(protocol, value, now)).collect();
    let (certain, vague): (Vec<_>, Vec<_>) = hands.into_iter().partition(|writer| !writer.counts_uptime());
    if certain.is_empty() { vague } else { certain }
}

/// Every protocol that could have written this hash.
pub(super) fn writers_of_hash(fields: &[(Vec<u8>, Vec<u8>)]) -> Vec<Writer> {
    let could = catalogue().filter(|protocol| protocol.holders(fields).is_some());
    could.map(|protocol| Writer { protocol, ends_at: None }).collect()
}

impl Writer {
    fn of(protocol: Protocol, value: &[u8], now: UnixTime) -> Option<Self> {
        if !protocol.could_write(value) {
            return None;
        }
        match protocol.dialect() {
            Some(dialect) if dialect.form.is_stamped() => Self::of_stamp(protocol, dialect, value, now),
            Some(_) | None => Some(Self { protocol, ends_at: None }),
        }
    }

    fn of_stamp(protocol: Protocol, dialect: &Dialect, value: &[u8], now: UnixTime) -> Option<Self> {
        let stamp = dialect.form.stamp;
        let moment = stamp.moment_of(dialect.form.read(value)?);
        let ends_at = match (dialect.clock, stamp.moment) {
            (Clock::Uptime, _) => return Some(Self { protocol, ends_at: None }),
            (Clock::Local | Clock::Server, Moment::Acquisition) => None,
            (Clock::Local | Clock::Server, Moment::Expiry) => Some(moment),
        };
        // The longest lease, and a day for a clock that is wrong.
        let last = now.saturating_add(Lease::MAX).saturating_add(Duration::from_secs(86_400));
        (FIRST <= moment && moment <= last).then_some(Self { protocol, ends_at })
    }

    fn counts_uptime(&self) -> bool {
        self.protocol.dialect().is_some_and(|dialect| dialect.clock == Clock::Uptime)
    }
}
