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
        let lease_s = match spec.take("lease") {
            None => 2,
            Some(lease) => lease.parse().map_err(|_| format!("lease={lease}: a whole number of seconds is wanted"))?,
        };
        let skew_ms = spec.take("skew").map_or(Ok(0), |skew| millis(&skew))?;
        let lease = Lease::new(Duration::from_secs(lease_s)).map_err(|error| error.to_string())?;
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

/// How far a clock is ahead: `1` and `1s` are a second, `-250ms` is a quarter of a second behind.
fn millis(written: &str) -> Result<i64, String> {
    let wanted = || format!("skew={written}: pass seconds, as in 1 or -1, or a duration, as in 250ms or -1500ms");
    let (sign, length) = written.strip_prefix('-').map_or((1, written), |length| (-1, length));
    let length = match length.parse() {
        Ok(secs) => Duration::from_secs(secs),
        Err(_) => humantime::parse_duration(length).map_err(|_| wanted())?,
    };
    i64::try_from(length.as_millis()).map(|ms| sign * ms).map_err(|_| wanted())
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
