//! What stands in a fleet's old key, and who writes it: the names of its bridge and its guards, and an example of the stamp.

use std::time::Duration;

use super::phase::Way;
use super::phase_result::Plan;
use super::scenes::guarded_name;
use crate::bridge::{Bridge, Unbridgeable};
use crate::legacy::Dialect;
use crate::lock::{Lease, Owner, Token};
use crate::protocols::{Choice, Unsuitable};
use crate::wire::{Key, UnixTime};

/// The lease of [`Plan::example_stamp`].
pub const EXAMPLE_LEASE: Duration = Duration::from_secs(30);

/// When it begins: in November 2026.
pub const EXAMPLE_BEGINS: UnixTime = match UnixTime::from_secs(1_795_245_582) {
    Some(moment) => moment,
    None => panic!("2026 is before 2262"),
};

impl Plan {
    /// The stamp that the bridge writes into the old key for a lease of [`EXAMPLE_LEASE`] from [`EXAMPLE_BEGINS`], for
    /// programs that write it themselves.
    pub fn example_stamp(&self) -> Vec<u8> {
        example_stamp(&self.fleet)
    }

    /// The name of its first guarded clients, where it goes that way: `bridge-guard:php-getset+java-getset`.
    pub fn guarded(&self) -> Option<String> {
        (self.way == Way::Guard).then(|| guarded_name(self.fleet[0], &self.fleet))
    }

    /// The bridge's name: `bridge:php-getset+java-getset`.
    pub fn bridge(&self) -> String {
        let names: Vec<&str> = self.fleet.iter().map(|dialect| dialect.name).collect();
        let name = format!("bridge:{}", names.join("+"));
        match name.parse::<Choice>() {
            // The plan says which double holds that accepts.
            Err(Unsuitable::Unbridgeable { because: Unbridgeable::NotExclusive(_), .. }) => format!("{name},fleet=any"),
            Ok(_) | Err(_) => name,
        }
    }
}

fn example_stamp(fleet: &[&'static Dialect]) -> Vec<u8> {
    let lease = Lease::new(EXAMPLE_LEASE).expect("half a minute is a lease");
    let bridge = Bridge::accepting_double_holds(fleet, Key::from("k"), lease).expect("a plan has a bridge");
    bridge.stamp(&Owner::new(Token::new([0xd7; 16]), 1, 1), EXAMPLE_BEGINS)
}

#[test]
fn the_example_of_every_dialect_keeps_its_clients_out_for_the_lease() {
    use crate::legacy::{self, Lock, Looks};
    use crate::wire::{MonoTime, Reading};
    let lease = Lease::new(EXAMPLE_LEASE).unwrap();
    let mut examples = 0;
    for dialect in legacy::catalogue() {
        if Bridge::new(&[dialect], Key::from("k"), lease).is_err() {
            continue;
        }
        let stamp = example_stamp(&[dialect]);
        for elapsed in [Duration::ZERO, EXAMPLE_LEASE - Duration::from_millis(1)] {
            let clock = Reading { wall: EXAMPLE_BEGINS.saturating_add(elapsed), mono: MonoTime::since_origin(elapsed) };
            let looks = Lock::new(dialect, Key::from("k"), lease).looks(&stamp, clock);
            assert_ne!(looks, Looks::Expired, "{}: {stamp:?} after {elapsed:?}", dialect.name);
        }
        examples += 1;
    }
    assert!(examples > 90, "only {examples} dialects have a bridge");
}
