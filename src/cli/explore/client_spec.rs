//! One client, as written: `php-getset,lease=3,skew=-250ms`.

use std::str::FromStr;
use std::time::Duration;

use crate::explore::{Client, Times};
use crate::lock::Lease;
use crate::protocols::{Choice, Spec};
use crate::wire::Key;

/// One client, as written.
#[derive(Clone, Debug)]
pub(super) struct ClientSpec {
    pub(super) choice: Choice,
    lease: Lease,
    skew_ms: i64,
}

impl FromStr for ClientSpec {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let Ok(mut spec) = written.parse::<Spec>();
        let lease = spec.take("lease").map_or(Ok(Duration::from_secs(2)), |lease| {
            length(&lease).ok_or_else(|| format!("lease={lease}: pass seconds, as in 3, or a duration, as in 1500ms"))
        })?;
        let skew_ms = spec.take("skew").map_or(Ok(0), |skew| millis(&skew))?;
        let lease = Lease::new(lease).map_err(|error| error.to_string())?;
        Ok(Self { choice: Choice::of(&spec).map_err(|error| error.to_string())?, lease, skew_ms })
    }
}

impl ClientSpec {
    /// The clients of these. Those that differ by name alone share one locker: that is how a search knows them to be
    /// alike.
    pub(super) fn clients(specs: &[Self], rounds: Times) -> Vec<Client> {
        let mut known: Vec<(String, Client)> = Vec::new();
        let mut clients = Vec::new();
        for spec in specs {
            let name = format!("{} {:?} {}", spec.choice, spec.lease, spec.skew_ms);
            let client = match known.iter().find(|(other, _)| *other == name) {
                Some((_, client)) => client.clone(),
                None => {
                    let client = spec.client(rounds);
                    known.push((name, client.clone()));
                    client
                }
            };
            clients.push(client);
        }
        clients
    }

    fn client(&self, rounds: Times) -> Client {
        let locker = self.choice.locker(Key::from("k"), self.lease);
        Client { skew_ms: self.skew_ms, rounds, ..Client::new(self.choice.to_string(), locker) }
    }
}

/// A length of time: whole seconds, or a duration with its unit.
fn length(written: &str) -> Option<Duration> {
    written.parse().map(Duration::from_secs).ok().or_else(|| humantime::parse_duration(written).ok())
}

/// How far a clock is ahead: `1` and `1s` are a second, `-250ms` is a quarter of a second behind.
fn millis(written: &str) -> Result<i64, String> {
    let wanted = || format!("skew={written}: pass seconds, as in 1 or -1, or a duration, as in 250ms or -1500ms");
    let (sign, length) = written.strip_prefix('-').map_or((1, written), |length| (-1, length));
    let ahead = self::length(length).ok_or_else(wanted)?;
    i64::try_from(ahead.as_millis()).map(|ms| sign * ms).map_err(|_| wanted())
}

#[test]
fn skews_are_seconds_or_durations() {
    assert_eq!(millis("1"), Ok(1_000));
    assert_eq!(millis("-2"), Ok(-2_000));
    assert_eq!(millis("250ms"), Ok(250));
    assert_eq!(millis("-1500ms"), Ok(-1_500));
    assert_eq!(
        millis("+-1"),
        Err("skew=+-1: pass seconds, as in 1 or -1, or a duration, as in 250ms or -1500ms".to_owned())
    );
}
