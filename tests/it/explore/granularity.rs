//! How long a tick is for a clock that never ends.

use std::sync::Arc;
use std::time::Duration;

use lockshift::explore::{Bounds, Client, Grain, Scene, Times};
use lockshift::legacy::{self, Dialect, Lock};
use lockshift::lock::Lease;
use lockshift::wire::Key;

use super::locks::token;

/// Two clients of this dialect, one of which has a clock that is so far ahead.
fn pair(dialect: &'static Dialect, skew_ms: i64) -> Scene {
    let lease = Lease::new(Duration::from_secs(1)).unwrap();
    let lock = Arc::new(Lock::new(dialect, Key::from("k"), lease));
    let client = Client { tries: Times::Of(2), ..Client::new(dialect.name, lock) };
    let ahead = Client { skew_ms, ..client.clone() };
    Scene::new(Bounds::ticks(0)).grain(Grain::Coarse).client(client).client(ahead)
}

#[test]
fn a_tick_is_half_of_what_leases_skews_and_roundings_are_multiples_of() {
    let tick_ms = |scene: Scene| scene.finely_timed().unwrap().tick.as_millis();
    let of = |name: &str, skew_ms| tick_ms(pair(legacy::find(name).unwrap(), skew_ms));
    assert_eq!(of("php-getset", 0), 500);
    assert_eq!(of("php-getset", 2_000), 500);
    assert_eq!(of("php-getset", 250), 125);
    assert_eq!(of("jedis-lock", 0), 500);
    assert_eq!(of("redis-py-2.8", 0), 500);
    // These turn between two seconds: the one is rounded to the nearest, the other has a margin of a second and a half.
    assert_eq!(of("node-resque", 0), 250);
    assert_eq!(of("servicestack-distributed-lock", 0), 250);
    // No client reads another's clock.
    let client = Client::new("token", token(2));
    let ahead = Client { skew_ms: 250, ..client.clone() };
    assert_eq!(tick_ms(Scene::new(Bounds::ticks(0)).client(client).client(ahead)), 1_000);
}
