//! The bridge lock: which fleets it can keep out and with which stamp, what it does on a real server beside old clients,
//! and what remains possible beside them.

#[cfg(feature = "cli")]
mod blame;
mod fleets;
#[cfg(feature = "sim")]
mod outcomes;
#[cfg(feature = "cli")]
mod residual;
#[cfg(feature = "sim")]
mod skew;
#[cfg(feature = "sim")]
mod stamps;

use std::time::Duration;

use lockshift::bridge::{Bridge, Unbridgeable};
use lockshift::legacy::{self, Dialect};
use lockshift::lock::{Lease, Owner, Token};
use lockshift::wire::{Key, UnixTime};

const ME: Owner = Owner::new(Token::new([7; 16]), 77, 1);

/// The dialects of these names: `php-getset+java-getset`.
fn fleet(names: &str) -> Vec<&'static Dialect> {
    names.split('+').map(|name| legacy::find(name).unwrap_or_else(|| panic!("the catalogue has no {name}"))).collect()
}

fn seconds(seconds: u64) -> Lease {
    Lease::new(Duration::from_secs(seconds)).expect("some seconds are a lease")
}

/// Accepts a fleet whose members do not exclude each other: most of these tests are about which stamp keeps each out.
fn bridge(names: &str, lease_secs: u64) -> Result<Bridge, Unbridgeable> {
    Bridge::accepting_double_holds(&fleet(names), Key::from("k"), seconds(lease_secs))
}

fn now() -> UnixTime {
    UnixTime::from_secs(1_800_000_000).expect("2027 is before 2262")
}
