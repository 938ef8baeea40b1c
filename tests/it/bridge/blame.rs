//! In no schedule of old clients and a bridge is the bridge the cause of a violation.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lockshift::bridge::Bridge;
use lockshift::explore::{Bounds, Client, End, Findings, Grain, Property, Scene, Search, Times};
use lockshift::legacy::{self, Dialect};
use lockshift::report::explanation;
use lockshift::wire::{Command, Key};

use super::{bridge, fleet, seconds};

const TWO: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

/// The properties that a step of a client can violate.
const RULES: [Property; 4] =
    [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

/// Two of the old clients and a bridge, with these leases in seconds, on an empty key, or after a client crashed and left a
/// lock that never expires. The bridge releases at any time, or extends before it does.
struct Meeting {
    old: [Client; 2],
    bridges: [Client; 2],
    ticks: u16,
}

impl Meeting {
    fn of(dialects: [&'static Dialect; 2], old_secs: u64, bridge: Bridge, ticks: u16) -> Self {
        let lock = |dialect| Arc::new(legacy::Lock::new(dialect, Key::from("k"), seconds(old_secs)));
        let [one, other] = dialects;
        let first = Client::new(one.name, lock(one));
        let second = if one == other { first.clone() } else { Client::new(other.name, lock(other)) };
        let bridge = Client::new("bridge", Arc::new(bridge));
        let extending = Client { work: 2, renew_after: Some(1), ..bridge.clone() };
        Self { old: [first, second], bridges: [bridge, extending], ticks }
    }

    fn scenes(&self) -> impl Iterator<Item = Scene> {
        let empty = || Scene::new(Bounds::ticks(self.ticks)).grain(Grain::Coarse);
        let persist = Command::new("PERSIST").arg("k");
        let after_a_death = empty().after_death_of(&self.old[0], 9).after_command(9, &persist);
        let begun = [empty(), after_a_death];
        self.bridges.iter().flat_map(move |bridge| {
            begun.clone().map(|scene| {
                let clients = self.old.iter().chain([bridge]);
                clients.fold(scene, |scene, client| scene.client(client.clone()))
            })
        })
    }

    /// Explores every schedule. Returns the number of states, and the violations that the bridge caused.
    fn blamed(&self) -> (usize, Vec<String>) {
        let mut states = 0;
        let mut blamed = Vec::new();
        for scene in self.scenes() {
            let search = Search::new(&scene).properties(&RULES).symmetry(true).threads(TWO);
            let Findings { states: seen, end, violations, .. } = search.caused_by("bridge").run(&mut |_| {});
            assert_eq!(end, End::Exhausted);
            states += seen;
            let described =
                violations.into_iter().map(|it| format!("{}: {:?}: {}", it.property, it.cause, explanation(&it.trace)));
            blamed.extend(described);
        }
        (states, blamed)
    }
}

/// The bridge's lease is a second longer, so that a stamp written a second later by an old client ends at the same moment.
#[test]
fn a_bridge_causes_no_violation_beside_any_old_dialect() {
    let mut bridged = 0;
    for dialect in legacy::catalogue() {
        let Ok(bridge) = bridge(dialect.name, 2) else { continue };
        let (states, blamed) = Meeting::of([dialect; 2], 1, bridge, 2).blamed();
        assert_eq!(blamed, [""; 0], "{}, {states} states", dialect.name);
        bridged += 1;
    }
    assert_eq!(bridged, legacy::catalogue().count() - 5, "all except those that cannot be bridged");
}

/// Longer leases, and longer schedules.
#[test]
fn a_bridge_causes_no_violation_beside_two_dialects_or_with_longer_leases() {
    for (names, old_secs, bridge_secs) in [
        ("php-del-takeover+php-del-takeover", 2, 2),
        ("php-acquired-at+php-acquired-at", 2, 2),
        ("jedis-lock+jedis-lock", 1, 3),
        ("jedis-lock+jedis-lock", 3, 1),
        ("java-getset+java-getset", 2, 3),
        ("java-getset+java-getset", 6, 2),
        ("php-getset+java-getset", 1, 2),
        ("java-getset+thinkphp-lockup", 2, 3),
        ("redis-py-2.8+servicestack", 2, 3),
    ] {
        let dialects = fleet(names);
        let mut distinct = dialects.clone();
        distinct.dedup_by_key(|dialect| dialect.name);
        let bridge =
            Bridge::accepting_double_holds(&distinct, Key::from("k"), seconds(bridge_secs)).expect("it can be bridged");
        let (states, blamed) = Meeting::of([dialects[0], dialects[1]], old_secs, bridge, 3).blamed();
        assert_eq!(blamed, [""; 0], "{names}, {old_secs} s and {bridge_secs} s, {states} states");
    }
}

/// The late DEL of an old client may run while the reply to the bridge's extension is on its way.
#[test]
fn a_bridge_is_not_blamed_for_what_happens_to_its_lock_once_an_extension_ran() {
    for name in ["faye-redis", "jedis-lock"] {
        let dialect = legacy::find(name).expect("it is in the catalogue");
        let old = Client::new(name, Arc::new(legacy::Lock::new(dialect, Key::from("k"), seconds(1))));
        let bridge = Client::new("bridge", Arc::new(bridge(name, 1).expect("it can be bridged")));
        let scene = Scene::new(Bounds::ticks(3))
            .grain(Grain::Fine)
            .client(Client { rounds: Times::Of(2), ..old })
            .client(Client { work: 2, renew_after: Some(1), ..bridge });
        let search = Search::new(&scene).properties(&RULES).threads(TWO).caused_by("bridge");
        let Findings { states, end, violations, .. } = search.run(&mut |_| {});
        assert_eq!(end, End::Exhausted);
        let blamed: Vec<_> =
            violations.iter().map(|it| format!("{:?}: {}", it.cause, explanation(&it.trace))).collect();
        assert_eq!(blamed, [""; 0], "{name}, {states} states");
    }
}
