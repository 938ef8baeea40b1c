//! What a bridge learns of the two keys: who holds them and for how long, and what it has written itself.

use std::time::Duration;

use lockshift::lock::{Acquired, Held, Hold, Locker, Ownership, Refusal};
use lockshift::rehearsal::Rehearsal;
use lockshift::sim::{Server, Session};
use lockshift::wire::{Command, Key, Pending, Reply, Transcript};

use super::{ME, bridge, now};

const BRIDGE: Session = Session(1);
const OTHER: Session = Session(2);
const STRANGER: &str = "0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e:01800000010";

/// Sends these commands as another client; words are separated by spaces.
fn write(server: &mut Rehearsal, commands: &[&str]) {
    for command in commands {
        let (name, words) = command.split_once(' ').expect("a command and its arguments");
        let command = words.split(' ').fold(Command::new(name), |command, word| command.arg(word));
        server.run(OTHER, |redis| redis.send(command.clone())).expect("the server replies");
    }
}

/// A server after these commands.
fn after(commands: &[&str]) -> Rehearsal {
    let mut server = Rehearsal::on(vec![Server::default()], now());
    write(&mut server, commands);
    server
}

fn acquire(locker: &dyn Locker, server: &mut Rehearsal) -> Acquired {
    server.run(BRIDGE, |redis| locker.acquire(&ME, redis)).expect("it ends")
}

fn win(locker: &dyn Locker, server: &mut Rehearsal) -> Hold {
    match acquire(locker, server) {
        Acquired::Won(hold) => hold,
        Acquired::Held(held) => panic!("the lock should be free: {held:?}"),
    }
}

#[test]
fn a_refusal_says_who_is_in_the_way_and_for_how_long() {
    let bridge = bridge("php-getset+jedis-lock", 10).expect("it can be bridged");
    let refused = |reason, seen: Option<&str>, retry_in| {
        let seen = seen.map(|seen| seen.as_bytes().to_vec());
        Acquired::Held(Held { seen, retry_in, ..Held::because(reason) })
    };
    let millis = |millis| Some(Duration::from_millis(millis));
    for (before, outcome) in [
        ("SET k 1800000007", refused(Refusal::Live, Some("1800000007"), millis(7000))),
        ("SET k 1800000007250", refused(Refusal::Live, Some("1800000007250"), millis(7250))),
        // PHP 8 compares a word with a number as text, and no dialect here writes words.
        ("SET k junk", refused(Refusal::Live, Some("junk"), None)),
        ("RPUSH k 1800000007", refused(Refusal::Unreadable, None, None)),
        (&format!("SET {{k}}:token {STRANGER} PX 4321"), refused(Refusal::Live, None, millis(4321))),
        (&format!("SET {{k}}:token {STRANGER}"), refused(Refusal::Live, None, None)),
    ] {
        let mut server = after(&[before]);
        let keys = [Key::from("k"), Key::from("{k}:token")];
        let content = keys.each_ref().map(|key| server.content(key));
        assert_eq!(acquire(&bridge, &mut server), outcome, "{before}");
        assert_eq!(keys.each_ref().map(|key| server.content(key)), content, "{before}: nothing is written");
    }
}

#[test]
fn ownership_is_read_from_both_keys() {
    let bridge = bridge("php-getset", 10).expect("it can be bridged");
    let left = Some(Duration::from_secs(10));
    let stranger = format!("SET {{k}}:token {STRANGER}");
    for (commands, ownership) in [
        (&[][..], Ownership::Ours { left }),
        (&["SET k 1800000020"], Ownership::Intruded { left }),
        (&["DEL k"], Ownership::Intruded { left }),
        (&["DEL k", "RPUSH k 1800000020"], Ownership::Intruded { left }),
        (&[&stranger], Ownership::Theirs),
        (&["DEL {k}:token"], Ownership::Theirs),
        (&["DEL {k}:token k"], Ownership::Free),
    ] {
        let mut server = after(&[]);
        let hold = win(&bridge, &mut server);
        write(&mut server, commands);
        let found = server.run(BRIDGE, |redis| bridge.ownership(&hold, redis));
        assert_eq!(found, Some(ownership), "{commands:?}");
    }
}

/// A server that is still loading its data has not said that the old key is not a string.
#[test]
fn ownership_is_not_judged_by_a_server_that_cannot_answer() {
    let bridge = bridge("php-getset", 10).expect("it can be bridged");
    let hold = win(&bridge, &mut after(&[]));
    let loading = Reply::Error("LOADING Redis is loading the dataset in memory".into());
    let mut redis = Transcript::new();
    for reply in [Reply::Int(10_000), Reply::bulk(&hold.value), loading] {
        let asked = bridge.ownership(&hold, redis.rewind());
        assert!(matches!(asked, Err(Pending::Send(_))), "{asked:?}");
        redis.record_reply(reply);
    }
    let Err(Pending::Fault(fault)) = bridge.ownership(&hold, redis.rewind()) else { panic!("it is judged") };
    assert_eq!(fault.code(), Some("LOADING"));
}

#[test]
fn each_hold_of_a_fenced_bridge_has_a_greater_fence() {
    let plain = bridge("php-getset", 10).expect("it can be bridged");
    let fenced = plain.clone().fenced();
    let mut server = after(&[]);
    let mut fence = |locker: &dyn Locker| {
        let hold = win(locker, &mut server);
        server.run(BRIDGE, |redis| locker.release(&hold, redis)).expect("it is released");
        hold.fence
    };
    assert_eq!(fence(&plain), None);
    let first = fence(&fenced).expect("it is fenced");
    let second = fence(&fenced).expect("it is fenced");
    assert!(second > first, "{first}, {second}");
}
