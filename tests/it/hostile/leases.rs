//! Leases at the ends of what there is.

use std::sync::Arc;

use std::time::Duration;

use lockshift::driver::Attempt;
use lockshift::lock::Lease;
use redis::cmd;

use super::{key, through_every_driver};
use crate::drivers::Driver;
use crate::patience::{now, until};
use crate::protocols::every;
use crate::server::{Options, Server, fetched};

through_every_driver! {
    the_longest_lease_overflows_nothing,
    the_shortest_lease_expires_or_is_released,
}

#[test]
fn a_lease_of_nothing_or_of_ages_is_rejected() {
    let too_short = [Duration::ZERO, Duration::from_nanos(999_999)];
    let too_long = [
        Lease::MAX + Duration::from_nanos(1),
        Duration::from_millis(1 << 63),
        Duration::from_secs(1 << 63),
        Duration::MAX,
    ];
    for length in too_short {
        assert!(Lease::new(length).unwrap_err().to_string().contains("too short: the shortest is 1 ms"));
    }
    for length in too_long {
        assert!(
            Lease::new(length).unwrap_err().to_string().contains("too long: the longest is 3153600000s, 100 years")
        );
    }
}

fn the_longest_lease_overflows_nothing<D: Driver>() {
    let server = Server::start();
    let mut operator = server.connect();
    let driver = D::default();
    for protocol in every(&key(), Lease::new(Lease::MAX).unwrap()) {
        let (name, locker) = &protocol;
        cmd("FLUSHALL").exec(&mut operator).unwrap();
        let guard = match driver.try_acquire(&driver.lock(&server.client(), Arc::clone(locker))) {
            Ok(Attempt::Won(guard)) => guard,
            other => panic!("{name}: the lock is free, but: {other:?}"),
        };
        driver.ownership(&guard).unwrap_or_else(|error| panic!("{name}: {error}"));
        driver.release(guard).map(drop).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// A millisecond less the drift is nothing: no holder may count on it, but no driver may fail on it either.
fn the_shortest_lease_expires_or_is_released<D: Driver>() {
    let server = Server::start();
    let mut operator = server.connect();
    let driver = D::default();
    for protocol in every(&key(), Lease::new(Lease::MIN).unwrap()) {
        let (name, locker) = &protocol;
        cmd("FLUSHALL").exec(&mut operator).unwrap();
        match driver.try_acquire(&driver.lock(&server.client(), Arc::clone(locker))) {
            Ok(Attempt::Won(guard)) => {
                driver.release(guard).map(drop).unwrap_or_else(|error| panic!("{name}: {error}"))
            }
            Ok(Attempt::TooLate) => {}
            other => panic!("{name}: the lock is free, but: {other:?}"),
        }
    }
}

/// Since 8.0 Redis may remove a key at the beginning of the millisecond of its deadline. If the key was set at the end of a
/// millisecond, it has lived for less than its lease, but never for less than its holder relies on.
#[test]
fn a_key_may_go_before_its_lease_ends_but_not_while_it_is_valid_on_redis_8_4() {
    let server = Server::with(&Options::new().program(fetched("redis-8.4")).line("hz 500"));
    let mut connection = server.connect();
    let lease = Lease::new(Duration::from_millis(5)).unwrap();
    until("a key lives for less than its lease", || {
        let before_set = now();
        cmd("SET").arg("lock").arg("token").arg("PX").arg(5).exec(&mut connection).unwrap();
        let lived = loop {
            let exists: bool = cmd("EXISTS").arg("lock").query(&mut connection).unwrap();
            if !exists {
                break before_set.elapsed();
            }
        };
        assert!(lived >= lease.validity(), "{lived:?}");
        (lived < lease.length()).then_some(())
    });
}
