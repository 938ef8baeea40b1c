//! What a server says of itself in INFO.

use std::time::Duration;

use super::finding::DoctorFinding;
use crate::wire::{Reply, UnixTime};

/// What a server says of itself. A field that INFO does not have is empty or zero, or `None` where that would say something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// `redis` or `valkey`; empty if the user may not run INFO.
    pub software: &'static str,
    /// Its version.
    pub version: String,
    /// The version of Redis whose commands it has.
    pub redis_version: String,
    /// `standalone`, `cluster` or `sentinel`.
    pub mode: String,
    /// `master` or `slave`; empty for a Sentinel.
    pub role: String,
    master: String,
    is_loading: bool,
    snapshot_failed: bool,
    append_failed: bool,
    has_saved: bool,
    used_memory: u64,
    /// Its limit in bytes, and what it does there, where these are known: not every version has both in INFO.
    pub(super) max_memory: Option<u64>,
    pub(super) policy: Option<String>,
    /// How many replicas have confirmed in time, where it wants some of them to write at all.
    pub(super) replicas_in_time: Option<u64>,
}

/// What it could not write to its disk the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveFailure {
    /// The append-only file: it refuses writes then.
    Appending,
    /// A snapshot: it refuses writes then where it is configured so.
    Snapshot,
}

impl ServerFacts {
    /// Those in the text of INFO.
    pub fn of(info: &str) -> Self {
        let field = |name: &str| {
            let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.map(|value| value.trim().to_owned()).unwrap_or_default()
        };
        let number = |name: &str| field(name).parse::<u64>().unwrap_or(0);
        let (redis_version, valkey_version) = (field("redis_version"), field("valkey_version"));
        let is_valkey = !valkey_version.is_empty();
        Self {
            software: if is_valkey { "valkey" } else { "redis" },
            version: if is_valkey { valkey_version } else { redis_version.clone() },
            redis_version,
            mode: field("redis_mode"),
            role: field("role"),
            master: format!("{}:{}", field("master_host"), field("master_port")),
            is_loading: number("loading") == 1,
            snapshot_failed: field("rdb_last_bgsave_status") == "err",
            append_failed: field("aof_last_write_status") == "err",
            // Before 7.0 it does not count its snapshots.
            has_saved: number("aof_enabled") == 1 || field("rdb_saves") != "0",
            used_memory: number("used_memory"),
            max_memory: field("maxmemory").parse().ok(),
            policy: Some(field("maxmemory_policy")).filter(|policy| !policy.is_empty()),
            replicas_in_time: field("min_slaves_good_slaves").parse().ok(),
        }
    }

    /// None: the user may not run INFO.
    pub(super) fn unknown() -> Self {
        Self { software: "", ..Self::of("") }
    }

    /// Whether it is a Sentinel, which knows of masters and keeps no keys.
    pub fn is_sentinel(&self) -> bool {
        self.mode == "sentinel"
    }

    /// Whether it is older than this version of Redis. One that does not say is not.
    pub fn is_before(&self, major: u64, minor: u64) -> bool {
        let mut parts = self.redis_version.split('.').map_while(|part| part.parse::<u64>().ok());
        match (parts.next(), parts.next()) {
            (Some(is_major), Some(is_minor)) => (is_major, is_minor) < (major, minor),
            _ => false,
        }
    }

    /// What it could not write to its disk the last time, if anything.
    pub fn failure(&self) -> Option<SaveFailure> {
        let failures = [(self.append_failed, SaveFailure::Appending), (self.snapshot_failed, SaveFailure::Snapshot)];
        failures.into_iter().find_map(|(has_failed, failure)| has_failed.then_some(failure))
    }

    /// What fits no fleet, as far as INFO says it.
    pub(super) fn findings(&self, in_cluster: bool) -> Vec<DoctorFinding> {
        let (used, limit) = (self.used_memory, self.max_memory.unwrap_or(0));
        let refuses = self.policy.as_deref() == Some("noeviction");
        let is_nearly_full = limit > 0 && refuses && used / 9 >= limit / 10;
        let findings = [
            (self.role == "slave").then(|| DoctorFinding::IsReplica { master: self.master.clone() }),
            (self.mode == "cluster" && !in_cluster).then_some(DoctorFinding::IsClusterNode),
            self.is_loading.then_some(DoctorFinding::IsLoading),
            is_nearly_full.then_some(DoctorFinding::NearlyFull { used, limit }),
            (self.failure().is_none() && !self.has_saved).then_some(DoctorFinding::HasSavedNothing),
        ];
        findings.into_iter().flatten().collect()
    }
}

/// The moment in a reply of TIME.
pub(super) fn moment(words: &[Reply]) -> Option<UnixTime> {
    let number = |reply: &Reply| match reply {
        Reply::Bulk(word) => std::str::from_utf8(word).ok()?.parse::<i64>().ok(),
        _ => None,
    };
    let [secs, micros] = words else { return None };
    let micros = u64::try_from(number(micros)?).ok()?;
    Some(UnixTime::from_secs(number(secs)?)?.saturating_add(Duration::from_micros(micros)))
}

#[test]
fn info_shows_what_fits_no_fleet() {
    let found = |info: &str| ServerFacts::of(info).findings(false);
    let fine = "redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nloading:0\r\naof_enabled:1\r\n\
                rdb_saves:0\r\nrdb_last_bgsave_status:ok\r\naof_last_write_status:ok\r\nused_memory:950\r\n\
                maxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
    assert_eq!(found(fine), []);
    let replica = fine.replace("role:master", "role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6379");
    assert_eq!(found(&replica), [DoctorFinding::IsReplica { master: "10.0.0.1:6379".to_owned() }]);
    assert_eq!(found(&fine.replace("standalone", "cluster")), [DoctorFinding::IsClusterNode]);
    assert_eq!(found(&fine.replace("loading:0", "loading:1")), [DoctorFinding::IsLoading]);
    let full = fine.replace("maxmemory:0", "maxmemory:1000");
    assert_eq!(found(&full), [DoctorFinding::NearlyFull { used: 950, limit: 1000 }]);
    assert_eq!(found(&full.replace("950", "890")), []);
    assert_eq!(found(&full.replace("noeviction", "allkeys-lru")), [], "that it evicts is another finding");
    let failure = |info: &str| ServerFacts::of(info).failure();
    let unsaved = fine.replace("bgsave_status:ok", "bgsave_status:err");
    assert_eq!((failure(fine), failure(&unsaved)), (None, Some(SaveFailure::Snapshot)));
    assert_eq!(failure(&unsaved.replace("write_status:ok", "write_status:err")), Some(SaveFailure::Appending));
    assert_eq!(found(&fine.replace("aof_enabled:1", "aof_enabled:0")), [DoctorFinding::HasSavedNothing]);
    assert!(ServerFacts::of(&fine.replace("7.0.15", "2.8.17")).is_before(3, 2));
    assert!(!ServerFacts::of(fine).is_before(3, 2) && !ServerFacts::of("").is_before(3, 2));
}
