//! One client, as written: `php-getset,lease=3,skew=-250ms`, `token,work=5,extend=1`.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::explore::{Client, Times};
use crate::lock::{Lease, Locker};
use crate::protocols::{Choice, Spec};
use crate::wire::Key;

/// The most ticks of a clock that ends.
pub(super) const MAX_TICKS: u16 = 1_000;

/// One client, as written.
#[derive(Clone, Debug)]
pub(super) struct ClientSpec {
    pub(super) choice: Choice,
    lease: Lease,
    skew_ms: i64,
    work: Option<Work>,
}

/// For how long a client works before it releases, and how it extends meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Work {
    length: Duration,
    /// So long after each lease began; `None`: never.
    extends_after: Option<Duration>,
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
        let work = Work::of(&mut spec)?;
        let choice = Choice::of(&spec).map_err(|error| error.to_string())?;
        let cannot_extend = format!("extend: an old client of {choice} cannot extend its lock");
        let spec = Self { choice, lease, skew_ms, work };
        if spec.locker().is_none() { Err(cannot_extend) } else { Ok(spec) }
    }
}

impl Work {
    fn of(spec: &mut Spec) -> Result<Option<Self>, String> {
        let mut take = |option: &str| {
            let written = spec.take(option);
            let read = |written: String| {
                let length = length(&written).filter(|length| !length.is_zero());
                length.ok_or_else(|| {
                    format!("{option}={written}: pass seconds, as in 3, or a duration, as in 1500ms; not zero")
                })
            };
            written.map(read).transpose()
        };
        match (take("work")?, take("extend")?) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err("extend: pass work=D, too: for how long the client works".to_owned()),
            (Some(length), Some(after)) if after >= length => {
                Err(format!("extend: the client has worked for {length:?} before it extends for the first time"))
            }
            (Some(length), extends_after) => Ok(Some(Self { length, extends_after })),
        }
    }
}

impl ClientSpec {
    /// The clients of these. Those that differ by name alone share one locker: that is how a search knows them to be
    /// alike.
    pub(super) fn clients(specs: &[Self], rounds: Times) -> Vec<Client> {
        let mut known: Vec<(String, Client)> = Vec::new();
        let mut clients = Vec::new();
        for spec in specs {
            let name = format!("{} {:?} {} {:?}", spec.choice, spec.lease, spec.skew_ms, spec.work);
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
        let locker = self.locker().unwrap_or_else(|| self.choice.locker(Key::from("k"), self.lease));
        Client { skew_ms: self.skew_ms, rounds, ..Client::new(self.choice.to_string(), locker) }
    }

    /// `None` if it is to extend and cannot.
    fn locker(&self) -> Option<Arc<dyn Locker>> {
        let key = Key::from("k");
        match self.work.and_then(|work| work.extends_after) {
            None => Some(self.choice.locker(key, self.lease)),
            Some(_) => self.choice.extending_locker(key, self.lease),
        }
    }

    /// Whether it works for a stated time.
    pub(super) fn has_work(&self) -> bool {
        self.work.is_some()
    }

    /// This client, which works and extends in ticks of this length.
    pub(super) fn working(&self, client: Client, tick: Duration) -> Result<Client, String> {
        let ticks = |length: Duration| {
            let (whole, rest) = (length.as_nanos() / tick.as_nanos(), length.as_nanos() % tick.as_nanos());
            let name = &self.choice;
            match u16::try_from(whole).ok().filter(|ticks| *ticks <= MAX_TICKS) {
                _ if rest > 0 => Err(format!(
                    "{name}: {length:?} is not a multiple of a tick, which is {tick:?}; pass a --tick that divides it"
                )),
                Some(ticks) => Ok(ticks),
                None => Err(format!("{name}: {length:?} is longer than {MAX_TICKS} ticks of {tick:?}")),
            }
        };
        let Some(work) = self.work else { return Ok(client) };
        Ok(Client { work: ticks(work.length)?, renew_after: work.extends_after.map(ticks).transpose()?, ..client })
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
