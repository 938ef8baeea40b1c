//! The real newcomer meets what every holder of the matrix leaves, living and dead, and does what the matrix says.

use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::host;
use lockshift::lock::{Lease, Locker};
use lockshift::matrix::Situation;
use lockshift::protocols::{Choice, catalogue};
use lockshift::wire::UnixTime;
use redis::Connection;

use super::Part;
use crate::content::Contents;
use crate::prediction::Outcome;
use crate::testbed::SceneSession;
use crate::wire::At;

/// Half of it is long enough for any newcomer to come.
const LEASE: Duration = Duration::from_secs(3600);

/// Of holders that differ only by their tokens, every so many are met by the real newcomer, and the first of each kind.
const SAMPLE: usize = 16;

pub(super) fn as_the_matrix_says(part: &Part<'_>) {
    let mut meeting = Meeting {
        part,
        newcomer: part.testbed.session(part.client),
        connection: part.testbed.connect(),
        key: part.key("key"),
    };
    for holder in every_holder() {
        meeting.with(&holder);
    }
}

/// All that the command knows; of locks with two sides, both.
fn every_holder() -> impl Iterator<Item = Choice> {
    let sides = |name: &str| [name.to_owned(), format!("{name},side=reader")];
    catalogue().flat_map(move |protocol| sides(protocol.name())).filter_map(|name| name.parse().ok())
}

struct Meeting<'a> {
    part: &'a Part<'a>,
    newcomer: SceneSession<'a>,
    connection: Connection,
    key: String,
}

impl Meeting<'_> {
    fn with(&mut self, choice: &Choice) {
        let holder = choice.locker(self.key.as_str().into(), Lease::new(LEASE).expect("a lease"));
        let newcomer = self.part.spoken.locker(&self.key, LEASE);
        let now = host::wall();
        self.all(choice, &newcomer, now, Situation::living(&holder, now));
        self.all(choice, &newcomer, now, Situation::dead(&holder, now));
    }

    /// Whether the newcomer judges the value that it finds, and not only whether a key is there and of which type.
    fn judges_values(&self) -> bool {
        let choice: Choice = self.part.spoken.protocol.parse().expect("the roster names protocols of the catalogue");
        choice.protocol().dialect().is_some_and(|dialect| dialect.look.is_some())
    }

    /// In each of these situations, of which the verdict of the matrix is made, the real newcomer fares as ours.
    fn all(
        &mut self,
        choice: &Choice,
        ours: &Arc<dyn Locker>,
        now: UnixTime,
        situations: impl Iterator<Item = Situation>,
    ) {
        let mut kinds = Vec::new();
        let step = if self.judges_values() { 1 } else { SAMPLE };
        for (number, situation) in situations.enumerate().step_by(step) {
            let attempt = situation.attempt(&**ours);
            let foreseen = Outcome::of(attempt.wins, attempt.changes);
            if kinds.contains(&foreseen) && number % SAMPLE != 0 {
                continue;
            }
            let met = self.meets(&situation, now);
            assert_eq!(met, foreseen, "behind {choice}, which has left {:?}", attempt.found);
            kinds.push(met);
        }
    }

    /// How the real newcomer fares.
    fn meets(&mut self, situation: &Situation, now: UnixTime) -> Outcome {
        let left = Contents::of(&mut At { server: situation.server().clone(), now }, "");
        left.put(&mut self.connection);
        let found = Contents::of(&mut self.connection, &self.key).in_key(&self.key);
        let wins = self.newcomer.comes(self.part.spoken.protocol, &self.key, LEASE);
        let changes = !wins && Contents::of(&mut self.connection, &self.key).in_key(&self.key) != found;
        Contents::of(&mut self.connection, &self.key).delete(&mut self.connection);
        Outcome::of(wins, changes)
    }
}
