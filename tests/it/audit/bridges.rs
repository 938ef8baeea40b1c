//! Fleets with bridges, of which the truth is known: beside bridges, beside old clients, beside new ones.

use super::truth::{check_fleet, no_false_alarm, no_miss, wins_agree};

/// The bridge and the token lock on its new key.
const NEW: &str = "token,key=sibling";

/// A bridge, and the old clients that it is there for.
const BRIDGED: [(&str, &str); 4] = [
    ("bridge:php-getset", "php-getset"),
    ("bridge:jedis-lock", "jedis-lock"),
    ("bridge:servicestack", "servicestack"),
    ("bridge:php-getset+java-getset", "java-getset"),
];

#[test]
fn bridges_among_themselves_and_beside_new_clients_raise_no_alarm() {
    for (bridge, _) in BRIDGED {
        for fleet in [[bridge; 3], [bridge, bridge, NEW], [bridge, NEW, NEW]] {
            check_fleet(fleet, false, |audit, truth| {
                wins_agree(audit, truth)?;
                no_false_alarm(audit, truth)
            });
        }
    }
}

#[test]
fn bridges_beside_old_clients_without_delays_raise_no_alarm() {
    for (bridge, old) in BRIDGED {
        for fleet in [[bridge, bridge, old], [bridge, old, old]] {
            check_fleet(fleet, true, |audit, truth| {
                wins_agree(audit, truth)?;
                no_false_alarm(audit, truth)
            });
        }
    }
}

#[test]
fn what_goes_wrong_between_bridges_and_old_clients_is_seen() {
    for (bridge, old) in BRIDGED {
        for fleet in [[bridge, bridge, old], [bridge, old, old]] {
            check_fleet(fleet, false, no_miss);
        }
    }
}
