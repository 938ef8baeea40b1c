//! The old clients that share the old key, and how their own readers judge a value.

use std::time::Duration;

use super::marked_form::marked;
use crate::legacy::{Clock, Dialect, Lock, Looks, Moment};
use crate::lock::Lease;
use crate::wire::{Key, MonoTime, Reading, Transcript, Turn, UnixTime};

/// The old clients that share the old key: a lock of each dialect.
#[derive(Clone, Debug)]
pub(crate) struct Fleet(Vec<Lock>);

/// The clock readings: the client's own, and the server's if a dialect uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    pub(crate) host: Reading,
    pub(crate) server: Option<UnixTime>,
}

impl Fleet {
    pub(crate) fn new(dialects: &[&'static Dialect], key: &Key, lease: Lease) -> Self {
        Self(dialects.iter().map(|dialect| Lock::new(dialect, key.clone(), lease)).collect())
    }

    /// The locks of its dialects, in the given order.
    pub(crate) fn members(&self) -> &[Lock] {
        &self.0
    }

    /// Reads the clocks that these dialects use.
    pub(crate) fn clocks(&self, redis: &mut Transcript) -> Turn<Clocks> {
        let host = redis.clock()?;
        let asks_server = self.0.iter().any(|member| member.dialect().clock == Clock::Server);
        Ok(Clocks { host, server: if asks_server { Some(redis.time()?) } else { None } })
    }

    /// How the fleet judges the value. The judges are the dialects that could have written it, or all dialects if none
    /// could: it has expired if one judge considers it expired and none considers it live. A dialect that cannot read it
    /// does not count: it would neither hold the lock nor take it over.
    pub(crate) fn looks(&self, value: &[u8], clocks: &Clocks) -> Looks {
        let writers: Vec<&Lock> = self.0.iter().filter(|member| could_have_written(member, value, clocks)).collect();
        let judges = if writers.is_empty() { self.0.iter().collect() } else { writers };
        let verdicts: Vec<Looks> =
            judges.iter().map(|member| member.looks(value, clocks.of(member.dialect()))).collect();
        [Looks::Live, Looks::Expired].into_iter().find(|looks| verdicts.contains(looks)).unwrap_or(Looks::Raised)
    }

    /// The remaining time of the stamp in the value: the longest by any of its possible writers.
    pub(crate) fn left_of(&self, value: &[u8], clocks: &Clocks) -> Option<Duration> {
        let writers = self.0.iter().filter(|member| could_have_written(member, value, clocks));
        let left = |member: &Lock| {
            Some(member.dialect().expires_at(value)?.saturating_since(clocks.of(member.dialect()).wall))
        };
        writers.filter_map(left).max()
    }

    /// Whether no dialect considers the value an expired lock.
    pub(crate) fn keeps_out(&self, value: &[u8], clocks: &Clocks) -> bool {
        self.0.iter().all(|member| member.looks(value, clocks.of(member.dialect())) != Looks::Expired)
    }
}

/// Whether the dialect, or a bridge in its form, could have written the value by now, for a lease of any length. A stamp
/// further in the future than any lease is in another unit.
pub(crate) fn could_have_written(member: &Lock, value: &[u8], clocks: &Clocks) -> bool {
    let form = member.dialect().form;
    if !form.is_stamped() {
        return form.matches(value);
    }
    let number = form.read(value).or_else(|| marked(form)?.read(value));
    let longest = match form.stamp.moment {
        Moment::Expiry => Lease::MAX,
        Moment::Acquisition => Duration::ZERO,
    };
    let last = clocks.of(member.dialect()).wall.saturating_add(longest).saturating_add(WRONG_CLOCK);
    number.is_some_and(|number| (FIRST..=last).contains(&form.stamp.moment_of(number)))
}

/// The assumed maximum error of a clock.
const WRONG_CLOCK: Duration = Duration::from_secs(86_400);

/// The year 2009, of the first release of Redis: no lock is older.
const FIRST: UnixTime = match UnixTime::from_secs(1_230_768_000) {
    Some(moment) => moment,
    None => panic!("2009 is before 2262"),
};

impl Clocks {
    /// The reading of the clock that this dialect uses.
    pub(crate) fn of(&self, dialect: &Dialect) -> Reading {
        match (dialect.clock, self.server) {
            (Clock::Server, Some(wall)) => Reading { wall, ..self.host },
            (Clock::Server, None) | (Clock::Local | Clock::Uptime, _) => self.host,
        }
    }

    /// The readings after this much time.
    pub(crate) fn after(&self, length: Duration) -> Self {
        let Reading { wall, mono } = self.host;
        let host = Reading { wall: wall.saturating_add(length), mono: mono.saturating_add(length) };
        Self { host, server: self.server.map(|wall| wall.saturating_add(length)) }
    }

    /// The readings of a client whose own wall clock is ahead of this one by this much. There is one server's clock.
    pub(crate) fn ahead(&self, skew: Duration) -> Self {
        Self { host: Reading { wall: self.host.wall.saturating_add(skew), ..self.host }, ..*self }
    }

    /// The readings of a client whose own wall clock is behind this one by this much.
    pub(crate) fn behind(&self, skew: Duration) -> Self {
        Self { host: Reading { wall: self.host.wall.saturating_sub(skew), ..self.host }, ..*self }
    }

    /// All clocks at this moment.
    pub(crate) fn at(wall: UnixTime) -> Self {
        Self { host: Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) }, server: Some(wall) }
    }
}
