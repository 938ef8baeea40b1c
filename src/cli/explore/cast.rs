//! One client, as written: `php-getset,lease=3,skew=-1`.

use std::str::FromStr;
use std::time::Duration;

use crate::explore::{Client, Times};
use crate::lock::Lease;
use crate::protocols::{Choice, Spec};
use crate::wire::Key;

/// One client, as written.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    pub(super) choice: Choice,
    lease: Lease,
    skew: i32,
}

impl FromStr for Cast {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let Ok(mut spec) = written.parse::<Spec>();
        let lease_s = match spec.take("lease") {
            None => 2,
            Some(lease) => lease.parse().map_err(|_| format!("lease={lease}: a whole number of seconds is wanted"))?,
        };
        let skew = match spec.take("skew") {
            None => 0,
            Some(skew) => skew.parse().map_err(|_| format!("skew={skew}: a whole number of seconds is wanted"))?,
        };
        let lease = Lease::new(Duration::from_secs(lease_s)).map_err(|error| error.to_string())?;
        Ok(Self { choice: Choice::of(&spec).map_err(|error| error.to_string())?, lease, skew })
    }
}

impl Cast {
    /// The clients of these. Those that differ by name alone share one locker: that is how a search knows them to be
    /// alike.
    pub(super) fn clients(casts: &[Self], rounds: Times) -> Vec<Client> {
        let mut known: Vec<(String, Client)> = Vec::new();
        let mut clients = Vec::new();
        for cast in casts {
            let name = format!("{} {:?} {}", cast.choice, cast.lease, cast.skew);
            let client = match known.iter().find(|(other, _)| *other == name) {
                Some((_, client)) => client.clone(),
                None => {
                    let client = cast.client(rounds);
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
        Client { skew: self.skew, rounds, ..Client::new(self.choice.to_string(), locker) }
    }
}
