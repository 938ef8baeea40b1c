//! The old clients that share the old key: what they make of a value, judged by their own readers.

use std::time::Duration;

use super::mark::marked;
use crate::legacy::{Clock, Dialect, Lock, Looks, Moment};
use crate::lock::Lease;
use crate::wire::{Key, MonoTime, Reading, Transcript, Turn, UnixTime};

/// The old clients that share the old key: a lock of each dialect.
#[derive(Clone, Debug)]
pub(super) struct Fleet(Vec<Lock>);

/// What the clocks say: our own, and the server's where a dialect goes by that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    pub(super) host: Reading,
    pub(super) server: Option<UnixTime>,
}

impl Fleet {
    pub(super) fn new(dialects: &[&'static Dialect], key: &Key, lease: Lease) -> Self {
        Self(dialects.iter().map(|dialect| Lock::new(dialect, key.clone(), lease)).collect())
    }

    /// Its dialects' locks, in the order in which they were named.
    pub(super) fn members(&self) -> &[Lock] {
        &self.0
    }

    /// Reads the clocks that somebody here goes by.
    pub(super) fn clocks(&self, redis: &mut Transcript) -> Turn<Clocks> {
        let host = redis.clock()?;
        let asks_server = self.0.iter().any(|member| member.dialect().clock == Clock::Server);
        Ok(Clocks { host, server: if asks_server { Some(redis.time()?) } else { None } })
    }

    /// What the value is to the fleet. Those who could have written it are asked, or everybody if nobody could: it is
    /// over if one of them says so and nobody says that it is live. Whoever cannot read it has no say: it would neither
    /// hold the lock nor take it.
    pub(super) fn looks(&self, value: &[u8], clocks: &Clocks) -> Looks {
        let writers: Vec<&Lock> = self.0.iter().filter(|member| could_have_written(member, value, clocks)).collect();
        let judges = if writers.is_empty() { self.0.iter().collect() } else { writers };
        let verdicts: Vec<Looks> =
            judges.iter().map(|member| member.looks(value, clocks.of(member.dialect()))).collect();
        [Looks::Live, Looks::Expired].into_iter().find(|looks| verdicts.contains(looks)).unwrap_or(Looks::Raised)
    }

    /// How long the stamp in the value is still ahead, by the one of its possible writers who says longest.
    pub(super) fn left_of(&self, value: &[u8], clocks: &Clocks) -> Option<Duration> {
        let writers = self.0.iter().filter(|member| could_have_written(member, value, clocks));
        let left = |member: &Lock| {
            Some(member.dialect().expires_at(value)?.saturating_since(clocks.of(member.dialect()).wall))
        };
        writers.filter_map(left).max()
    }

    /// Whether nobody here takes the value for a lock that is over.
    pub(super) fn keeps_out(&self, value: &[u8], clocks: &Clocks) -> bool {
        self.0.iter().all(|member| member.looks(value, clocks.of(member.dialect())) != Looks::Expired)
    }
}

/// Whether the dialect's own hand could have written the value by now, or a bridge's in its form, for a lease of any length. A stamp that is ahead of
/// every lease is in another unit.
fn could_have_written(member: &Lock, value: &[u8], clocks: &Clocks) -> bool {
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

/// By so much a clock may be wrong.
const WRONG_CLOCK: Duration = Duration::from_secs(86_400);

/// The year 2009, when Redis was first published: no lock is older.
const FIRST: UnixTime = match UnixTime::from_secs(1_230_768_000) {
    Some(moment) => moment,
    None => panic!("2009 is before 2262"),
};

impl Clocks {
    /// The reading that this dialect goes by.
    pub(super) fn of(&self, dialect: &Dialect) -> Reading {
        match (dialect.clock, self.server) {
            (Clock::Server, Some(wall)) => Reading { wall, ..self.host },
            (Clock::Server, None) | (Clock::Local | Clock::Uptime, _) => self.host,
        }
    }

    /// What they will say after so long.
    pub(super) fn after(&self, length: Duration) -> Self {
        let Reading { wall, mono } = self.host;
        let host = Reading { wall: wall.saturating_add(length), mono: mono.saturating_add(length) };
        Self { host, server: self.server.map(|wall| wall.saturating_add(length)) }
    }

    /// Every clock at this moment.
    pub(super) fn at(wall: UnixTime) -> Self {
        Self { host: Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) }, server: Some(wall) }
    }
}
