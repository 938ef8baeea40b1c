//! Fleets with bridges, of which the truth is known: beside bridges, beside old clients, beside new ones.

use lockshift::audit::Certainty;
use lockshift::race_id::RaceId;
use lockshift::wire::{Command, Reply, script_file};

use super::beliefs::{check_fleet, no_false_alarm, no_miss, wins_agree};
use super::written::{Listing, audit};

/// The bridge and the token lock on its new key.
const NEW: &str = "token,key=sibling";

/// A bridge, and the old clients that it is there for.
const BRIDGED: [(&str, &str); 4] = [
    ("bridge:php-getset", "php-getset"),
    ("bridge:jedis-lock", "jedis-lock"),
    ("bridge:servicestack", "servicestack"),
    ("bridge:php-getset+java-getset,fleet=any", "java-getset"),
];

#[test]
fn bridges_among_themselves_and_beside_new_clients_raise_no_alarm() {
    for (bridge, _) in BRIDGED {
        check_fleet([bridge, bridge, NEW], false, |audit, truth| {
            wins_agree(audit, truth)?;
            no_false_alarm(audit, truth)
        });
    }
}

#[test]
fn bridges_beside_old_clients_without_delays_raise_no_alarm() {
    for (bridge, old) in BRIDGED {
        check_fleet([bridge, old, old], true, |audit, truth| {
            wins_agree(audit, truth)?;
            no_false_alarm(audit, truth)
        });
    }
}

#[test]
fn what_goes_wrong_between_bridges_and_old_clients_is_seen() {
    for (bridge, old) in BRIDGED {
        check_fleet([bridge, old, old], false, no_miss);
    }
}

const SECOND: i64 = 1_000_000_000;
const NOON: i64 = 1_700_000_000 * SECOND;

/// A trace: the seconds after noon at which each client has sent each command.
fn trace(sent: &[(i64, &str, Command)]) -> String {
    let mut listing = Listing::default();
    let client = |name: &str| format!("10.0.0.{name}:1");
    sent.iter().for_each(|(at, name, command)| listing.list(NOON + at * SECOND, &client(name), command, &Reply::Nil));
    listing.text()
}

fn command(words: &[&str]) -> Command {
    Command::from_words(words.iter().copied()).unwrap()
}

/// A bridge's bid for half a minute, with this stamp.
fn bid(token: &str, stamp: &str) -> Command {
    let text = script_file!("../../../src/bridge/lua/acquire.lua").text();
    command(&["EVAL", text, "2", "{lock}:token", "lock", token, "30000", stamp])
}

const ALICE: &str = "a11ce000a11ce000a11ce000a11ce000";

#[test]
fn an_old_client_in_the_lock_of_a_bridge_is_named_with_the_lines() {
    // Its clock is ahead.
    let audit = audit(&trace(&[
        (-1, "9", command(&["DEL", "lock"])),
        (0, "1", bid(ALICE, "01700000030")),
        (1, "2", command(&["SETNX", "lock", "1700000130"])),
        (1, "2", command(&["GET", "lock"])),
        (1, "2", command(&["GETSET", "lock", "1700000130"])),
        (1, "2", command(&["EXPIRE", "lock", "30"])),
    ]));
    let [found] = audit.findings.as_slice() else { panic!("one race: {:#?}", audit.findings) };
    assert_eq!((found.verdict.race, found.verdict.lines.as_slice()), (Some(RaceId::ClockSkewSteal), &[2, 7, 8][..]));
    assert_eq!(found.verdict.clients.iter().map(AsRef::as_ref).collect::<Vec<_>>(), ["10.0.0.1:1", "10.0.0.2:1"]);
}

#[test]
fn a_bridge_beside_a_new_client_is_named_with_the_lines() {
    // A client has cut the time to live of the token.
    let audit = audit(&trace(&[
        (0, "1", command(&["SET", "{lock}:token", ALICE, "NX", "PX", "30000"])),
        (1, "9", command(&["PEXPIRE", "{lock}:token", "10"])),
        (2, "2", bid("b0b00000b0b00000b0b00000b0b00000", "01700000032")),
    ]));
    let [found] = audit.findings.as_slice() else { panic!("one race: {:#?}", audit.findings) };
    assert_eq!((found.verdict.race, found.verdict.lines.as_slice()), (None, &[1, 3][..]));
    assert_eq!(found.verdict.certainty, Certainty::Possible, "it is unknown what stood in the keys before");
    let acquired: Vec<_> =
        audit.locks.iter().map(|lock| (lock.key.to_string(), lock.statistics.acquisitions)).collect();
    assert_eq!(acquired.len(), 2, "{acquired:?}");
    assert!(acquired.iter().all(|(_, times)| *times == 1), "{acquired:?}");
}

#[test]
fn an_old_lock_and_a_new_one_on_their_own_keys_are_two() {
    // As in shadow mode, with a bridge beside them that is refused.
    let audit = audit(&trace(&[
        (0, "1", command(&["SETNX", "lock", "1700000030"])),
        (0, "1", command(&["EXPIRE", "lock", "30"])),
        (1, "3", bid("b0b00000b0b00000b0b00000b0b00000", "01700000031")),
        (2, "2", command(&["SET", "{lock}:token", ALICE, "NX", "PX", "30000"])),
    ]));
    assert_eq!(audit.findings, []);
    assert_eq!(audit.locks.iter().map(|lock| lock.statistics.acquisitions).sum::<u64>(), 2);
}
