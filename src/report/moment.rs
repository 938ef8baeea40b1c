//! Moments and lengths of time, as people and programs write them.

use std::time::Duration;

use chrono::{DateTime, Local, SecondsFormat, Utc};

use crate::wire::UnixTime;

/// The moment in UTC, as ISO 8601 has it: `2026-11-21T09:30:12.500Z`.
pub(super) fn iso8601(moment: UnixTime) -> String {
    utc(moment).to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// The moment in the time zone of this machine: `2026-11-21 10:30:12 +01:00`.
pub(super) fn local(moment: UnixTime) -> String {
    utc(moment).with_timezone(&Local).format("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// A length of time to a tenth of a second; from a minute on, in its two largest units.
pub(super) fn length(length: Duration) -> String {
    if length < Duration::from_secs(60) {
        return format!("{:.1} s", length.as_secs_f64());
    }
    let whole = humantime::format_duration(Duration::from_secs(length.as_secs())).to_string();
    whole.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn utc(moment: UnixTime) -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(moment.as_nanos())
}

#[test]
fn moments_and_lengths() {
    let moment = UnixTime::from_nanos(1_700_000_000_500_000_000);
    assert_eq!(iso8601(moment), "2023-11-14T22:13:20.500Z");
    assert_eq!(iso8601(UnixTime::from_nanos(0)), "1970-01-01T00:00:00Z");
    assert_eq!(length(Duration::from_millis(27_949)), "27.9 s");
    assert_eq!(length(Duration::from_secs(3_700)), "1h 1m");
}
