//! The bridge lock: among bridges, and beside the old clients that it keeps out.

use std::sync::Arc;
use std::time::Duration;

use lockshift::bridge::Bridge;
use lockshift::legacy::{Lock, catalogue};
use lockshift::lock::{Lease, Locker};
use lockshift::wire::Key;

use super::stage::{Again, Cast, Clock};
use super::{Row, alike, holds};

/// The tables, for the test that none is missing.
pub(super) const TABLES: &[&str] = &[include_str!("bridge/bridge.txt")];

#[test]
fn the_bridge_lock() {
    let rows: Vec<Row> = [
        "php-getset",
        "java-getset",
        "jedis-lock-2015",
        "redis-py-2.8",
        "servicestack",
        "redis-semaphore",
        "php-getset+java-getset",
    ]
    .into_iter()
    .flat_map(rows)
    .collect();
    holds(TABLES[0], &rows);
}

/// Two bridges to this fleet; a bridge, then an old client; an old client, then a bridge.
fn rows(fleet: &str) -> Vec<Row> {
    let lease = Lease::new(Duration::from_secs(10)).expect("ten seconds are a lease");
    let dialects: Vec<_> =
        fleet.split('+').map(|name| catalogue::find(name).expect("it is in the catalogue")).collect();
    let bridge: Arc<dyn Locker> =
        Arc::new(Bridge::accepting_double_holds(&dialects, Key::from("k"), lease).expect("it can be bridged"));
    let mut rows = vec![alike(&format!("bridge:{fleet}"), Clock::Set, Arc::clone(&bridge))];
    for dialect in dialects {
        let old: Arc<dyn Locker> = Arc::new(Lock::new(dialect, Key::from("k"), lease));
        let cast = |alice: &Arc<dyn Locker>, bob: &Arc<dyn Locker>| Cast {
            alice: Arc::clone(alice),
            bob: Arc::clone(bob),
            clock: Clock::Set,
            again: Again::NothingNew,
        };
        rows.push((format!("bridge:{fleet}, then {}", dialect.name), cast(&bridge, &old)));
        rows.push((format!("{}, then bridge:{fleet}", dialect.name), cast(&old, &bridge)));
    }
    rows
}
