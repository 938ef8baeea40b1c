//! What a client that waits leaves on the server, and what becomes of it: marks, places, and entries of readers that died.

use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::{blocking::run, host};
use lockshift::lock::{Acquired, Hold, Lease, Locker, Mode, Owner};
use lockshift::modern::{FairLock, Publish, ReadWriteLock};
use lockshift::wire::{Key, Transcript};
use redis::{Connection, cmd};

use crate::server::Server;

fn lease(secs: u64) -> Lease {
    Lease::new(Duration::from_secs(secs)).unwrap()
}

fn side(mode: Mode, secs: u64) -> ReadWriteLock {
    ReadWriteLock::new(Key::from("k"), mode, lease(secs))
}

fn owners<const N: usize>() -> [Owner; N] {
    std::array::from_fn(|thread| host::owner(thread as u64).unwrap())
}

fn try_acquire(locker: &dyn Locker, owner: &Owner, connection: &mut Connection) -> Acquired {
    run(connection, &|redis: &mut Transcript| locker.acquire(owner, redis)).unwrap()
}

fn win(locker: &dyn Locker, owner: &Owner, connection: &mut Connection) -> Hold {
    match try_acquire(locker, owner, connection) {
        Acquired::Won(hold) => hold,
        Acquired::Held(held) => panic!("the lock is free, but: {held:?}"),
    }
}

fn pttl(key: &str, connection: &mut Connection) -> i64 {
    cmd("PTTL").arg(key).query(connection).unwrap()
}

/// Its entry stays among the readers until another attempt removes it.
#[test]
fn the_last_release_is_announced_though_an_earlier_reader_died() {
    let server = Server::start();
    let mut connection = server.connect();
    let reader: Arc<dyn Locker> = Arc::new(side(Mode::Shared, 600).announced(Publish::Everywhere));
    let [owner] = owners();
    let hold = win(&*reader, &owner, &mut connection);
    cmd("ZADD").arg("{k}:readers").arg(1).arg("a reader whose lease has ended").exec(&mut connection).unwrap();
    let mut listener = server.connect();
    let mut messages = listener.as_pubsub();
    messages.subscribe("{k}:released").unwrap();
    messages.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    run(&mut connection, &|redis: &mut Transcript| reader.release(&hold, redis)).unwrap();
    messages.get_message().expect("all waiters are woken when the last reader releases");
}

#[test]
fn a_writer_that_waits_keeps_new_readers_out_for_as_long_as_the_present_ones_extend() {
    let server = Server::start();
    let mut connection = server.connect();
    let [present, new, writer, other] = owners();
    let hold = win(&side(Mode::Shared, 5), &present, &mut connection);
    let write = side(Mode::Exclusive, 5);
    let Acquired::Held(held) = try_acquire(&write, &writer, &mut connection) else { panic!("a reader holds") };
    assert!(held.retry_in.unwrap() < Duration::from_secs(4), "before new readers are let in: {held:?}");

    let longer = side(Mode::Shared, 600);
    run(&mut connection, &|redis: &mut Transcript| longer.extend(&hold, redis)).unwrap();
    assert!(matches!(try_acquire(&write, &writer, &mut connection), Acquired::Held(_)));
    assert!(pttl("{k}:writer-waits", &mut connection) > 500_000, "until the present reader's lease ends");
    assert!(matches!(try_acquire(&longer, &new, &mut connection), Acquired::Held(_)));

    assert!(matches!(try_acquire(&write, &other, &mut connection), Acquired::Held(_)));
    let waits: String = cmd("GET").arg("{k}:writer-waits").query(&mut connection).unwrap();
    assert_eq!(waits, writer.token.hex(), "the first writer waits first");
}

#[test]
fn a_writer_leaves_a_key_of_another_type_as_it_is() {
    let server = Server::start();
    let mut connection = server.connect();
    let [writer] = owners();
    cmd("RPUSH").arg("{k}:writer-waits").arg("a").exec(&mut connection).unwrap();
    let lock = side(Mode::Exclusive, 5);
    let refused = run(&mut connection, &|redis: &mut Transcript| lock.acquire(&writer, redis));
    assert!(refused.is_err(), "{refused:?}");
    let (length, is_held): (u8, u8) =
        redis::pipe().cmd("LLEN").arg("{k}:writer-waits").cmd("EXISTS").arg("k").query(&mut connection).unwrap();
    assert_eq!((length, is_held), (1, 0));
}

#[test]
fn a_place_is_kept_though_another_client_keeps_its_own_for_less() {
    let server = Server::start();
    let mut connection = server.connect();
    let [holder, patient, hasty] = owners();
    let fair = || FairLock::new(Key::from("k"), lease(600));
    win(&fair(), &holder, &mut connection);
    let longer = fair().keeping_places_for(lease(60));
    assert!(matches!(try_acquire(&longer, &patient, &mut connection), Acquired::Held(_)));
    assert!(matches!(try_acquire(&fair(), &hasty, &mut connection), Acquired::Held(_)));
    for key in ["{k}:queue", "{k}:places"] {
        assert!(pttl(key, &mut connection) > 100_000, "{key} lasts as long as its longest place");
    }
}
