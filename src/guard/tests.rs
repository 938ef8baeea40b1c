//! Every dialect of the catalogue behind a guard: whatever the client's clock shows, its own function concludes what the guard
//! has decided, and the server holds what follows from that.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::{Answer, ConnectionPart, Guarded, GuardedConnection, Lifetime, Rule, Unguardable};
use crate::bridge::new_key;
use crate::legacy::{Clock, Dialect, Lock, LookOrder, Looks, catalogue, find};
use crate::lock::{Acquired, Hold, Lease, Locker, Owner, Released, Token};
use crate::rehearsal::Rehearsal;
use crate::sim::{Flavour, Server, Session, Value};
use crate::wire::{Command, Key, MonoTime, Pending, Reading, Reply, Transcript, UnixTime};

const CLIENT: Session = Session(1);
const OTHER: Session = Session(2);
/// The server's clock.
const NOW: UnixTime = match UnixTime::from_secs(1_750_000_000) {
    Some(now) => now,
    None => panic!("2025 is before 2262"),
};

fn key() -> Key {
    Key::from("k")
}

fn owner(byte: u8) -> Owner {
    Owner::new(Token::new([byte; 16]), 70 + u32::from(byte), 3)
}

fn guarded(dialect: &'static Dialect, lifetime: Lifetime) -> Result<Guarded, Unguardable> {
    let lease = Lease::new(Duration::from_secs(10)).unwrap();
    let rule = Rule::new(&[dialect], lifetime)?;
    Ok(Guarded::new(Lock::new(dialect, key(), lease), Arc::new(rule)))
}

fn guardable() -> impl Iterator<Item = (&'static Dialect, Guarded)> {
    catalogue().filter_map(|dialect| Some((dialect, guarded(dialect, Lifetime::BeyondStamp).ok()?)))
}

/// The same client behind a guard in bridge mode.
fn bridged(client: &Guarded) -> Guarded {
    let rule = Rule::new(&[client.client.dialect()], Lifetime::BeyondStamp).and_then(Rule::bridged).unwrap();
    Guarded::new(client.client.clone(), Arc::new(rule))
}

/// Acquires once. The host's clock shows `host` until the guard has decided, and after that what `later` says. A client that
/// looks before it claims is decided about when it looks, if the lock is held, and otherwise when it claims.
fn acquire(client: &Guarded, server: &mut Server, host: UnixTime, later: &[UnixTime]) -> Acquired {
    const WORDS_OF_A_LOOK: usize = 4;
    let is_held = value(server, NOW).is_some_and(|value| client.client.looks(&value, at(NOW)) == Looks::Live);
    let looks_first = client.client.dialect().look.is_some_and(|look| look.order == LookOrder::LookFirst);
    let look_decides = is_held || !looks_first;
    let mut redis = Transcript::new();
    let (mut later, mut decided) = (later.iter().cycle(), false);
    loop {
        match client.acquire(&owner(1), redis.rewind()) {
            Ok(acquired) => return acquired,
            Err(Pending::Clock) => {
                let wall = if decided { *later.next().unwrap() } else { host };
                redis.record_clock(Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) });
            }
            Err(Pending::Send(command)) => {
                let is_look = command.words().len() == WORDS_OF_A_LOOK;
                decided |= (command.is("EVAL") || command.is("EVALSHA")) && (look_decides || !is_look);
                redis.record_reply(server.call(CLIENT, &command, NOW));
            }
            Err(pending) => panic!("{pending:?}"),
        }
    }
}

fn at(wall: UnixTime) -> Reading {
    Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) }
}

fn release(client: &Guarded, server: &mut Server, hold: &Hold, at: UnixTime) -> Released {
    let mut redis = Transcript::new();
    loop {
        match client.release(hold, redis.rewind()) {
            Ok(released) => return released,
            Err(Pending::Clock) => {
                redis.record_clock(Reading { wall: at, mono: MonoTime::since_origin(Duration::ZERO) });
            }
            Err(Pending::Send(command)) => redis.record_reply(server.call(CLIENT, &command, at)),
            Err(pending) => panic!("{pending:?}"),
        }
    }
}

fn value(server: &Server, at: UnixTime) -> Option<Vec<u8>> {
    match server.peek(&key(), at)?.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn set(server: &mut Server, value: &[u8]) {
    server.call(OTHER, &Command::new("SET").arg(key()).arg(value), NOW);
}

/// What another client of this dialect wrote so long before now, for ten seconds.
fn stamp_of(dialect: &Dialect, ago: Duration) -> Vec<u8> {
    let began = UnixTime::from_nanos(NOW.as_nanos() - i64::try_from(ago.as_nanos()).unwrap());
    dialect.form.write(dialect.form.stamp.at(began, Duration::from_secs(10)), &owner(9))
}

#[test]
fn which_dialects_cannot_be_guarded_and_why() {
    let refused: Vec<String> = catalogue()
        .filter_map(|dialect| Some(format!("{}: {}", dialect.name, guarded(dialect, Lifetime::BeyondStamp).err()?)))
        .collect();
    let expected: Vec<&str> = include_str!("tests/unguardable.txt").lines().collect();
    assert_eq!(refused, expected);
}

/// Serves a command of the client of this connection, and returns what the client is answered.
fn serve(connection: &mut GuardedConnection, rule: &Rule, command: &Command, server: &mut Server) -> Reply {
    let key = Key::new(command.args()[0].clone());
    let received = connection.part(&key).receive(rule, &key, command);
    let mut redis = Transcript::new();
    loop {
        match received.serve(&owner(1), true, redis.rewind()) {
            Ok((after, answer, _)) => {
                connection.update(&key, after);
                return match answer {
                    Answer::Reply(reply) => reply,
                    Answer::Pass => server.call(CLIENT, command, NOW),
                    Answer::Send(command) => server.call(CLIENT, &command, NOW),
                };
            }
            Err(Pending::Clock) => redis.record_clock(at(NOW)),
            Err(Pending::Send(command)) => redis.record_reply(server.call(CLIENT, &command, NOW)),
            Err(pending) => panic!("{pending:?}"),
        }
    }
}

/// What a client of `php-getset` sends first, for so many seconds.
fn setnx(key: &str, secs: u64) -> Command {
    Command::new("SETNX").arg(key).arg(NOW.saturating_add(Duration::from_secs(secs)).as_secs().to_string())
}

/// A client that claims and does not look at the key when it is refused, as its protocol would.
#[test]
fn of_attempts_that_do_not_go_on_the_latest_are_remembered() {
    const ATTEMPTS: usize = 600;
    let rule = Rule::new(&[find("php-getset").unwrap()], Lifetime::BeyondStamp).unwrap();
    let (mut connection, mut server) = (GuardedConnection::default(), Server::new(Flavour::Redis70));
    let keys: Vec<String> = (0..ATTEMPTS).map(|number| format!("order:{number}")).collect();
    let mut forgets = 0;
    for key in &keys {
        server.call(OTHER, &setnx(key, 10), NOW);
        assert_eq!(serve(&mut connection, &rule, &setnx(key, 10), &mut server), Reply::Int(0));
        if connection.has_too_many() {
            assert_eq!(connection.forget(|_| true), [], "it holds nothing");
            forgets += 1;
        }
    }
    let is_known = |key: &String| connection.part(&Key::from(key.as_str())) != ConnectionPart::default();
    let known: Vec<bool> = keys.iter().map(is_known).collect();
    let (forgotten, latest) = known.split_at(512 - 256);
    assert_eq!((forgets, forgotten.contains(&true), latest.contains(&false)), (1, false, false));
}

/// A client that acquires the same lock again and again, and never releases it.
#[test]
fn of_the_locks_of_one_key_that_were_not_released_the_latest_are_remembered() {
    let rule = Rule::new(&[find("php-getset").unwrap()], Lifetime::BeyondStamp).unwrap();
    let (mut connection, mut server) = (GuardedConnection::default(), Server::new(Flavour::Redis70));
    let delete = Command::new("DEL").arg("cron");
    for secs in 1..=40 {
        server.call(OTHER, &delete, NOW);
        assert_eq!(serve(&mut connection, &rule, &setnx("cron", secs), &mut server), Reply::Int(1));
    }
    let deletions = (1..).find(|_| serve(&mut connection, &rule, &delete, &mut server) == Reply::Int(1));
    assert_eq!(deletions, Some(16), "the earlier ones are not there any more");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_client_concludes_what_was_decided_at_any_clock(
        host in 1_230_800_000_000_000_000_i64..4_900_000_000_000_000_000,
        later in prop::collection::vec(1_230_800_000_000_000_000_i64..4_900_000_000_000_000_000, 1..4),
        lifetime in prop::sample::select(vec![Lifetime::BeyondStamp, Lifetime::Endless]),
        bridges in any::<bool>(),
    ) {
        let later: Vec<UnixTime> = later.into_iter().map(UnixTime::from_nanos).collect();
        for (dialect, _) in guardable() {
            let client = match guarded(dialect, lifetime) {
                Err(Unguardable::NeedsTtl(_)) if lifetime == Lifetime::Endless => continue,
                client => client.unwrap(),
            };
            let client = if bridges && lifetime == Lifetime::BeyondStamp { bridged(&client) } else { client };
            let host = if dialect.clock == Clock::Server { NOW } else { UnixTime::from_nanos(host) };

            let mut free = Server::new(Flavour::Redis70);
            let Acquired::Won(hold) = acquire(&client, &mut free, host, &later) else {
                return Err(TestCaseError::fail(format!("{} does not win a free lock", dialect.name)));
            };
            let stamp = value(&free, NOW).expect("the guard has written its stamp");
            // No client writes this: it is marked, names the attempt, or is of a time beyond every lease.
            let century = Duration::from_secs(100 * 365 * 86_400);
            let is_plain = dialect.expires_at(&stamp).is_some_and(|end| end < NOW.saturating_add(century));
            prop_assert!(!is_plain || dialect.form.names_token(), "{}: {:?}", dialect.name, stamp);
            let end = NOW.saturating_add(Duration::from_millis(9_999));
            prop_assert_eq!(value(&free, end), Some(stamp.clone()), "{}", dialect.name);
            let rival = acquire_at(&client, &mut free, end);
            prop_assert!(matches!(rival, Acquired::Held(_)), "{} does not respect the guard's stamp", dialect.name);
            prop_assert_eq!(value(&free, end), Some(stamp), "{}", dialect.name);
            release(&client, &mut free, &hold, NOW);

            let mut held = Server::new(Flavour::Redis70);
            let live = stamp_of(dialect, Duration::from_secs(1));
            set(&mut held, &live);
            let refused = acquire(&client, &mut held, host, &later);
            prop_assert!(matches!(refused, Acquired::Held(_)), "{} wins a held lock", dialect.name);
            prop_assert_eq!(value(&held, NOW), Some(live), "{} changes a held lock", dialect.name);

            let mut expired = Server::new(Flavour::Redis70);
            let old = stamp_of(dialect, Duration::from_secs(60));
            set(&mut expired, &old);
            let taken = acquire(&client, &mut expired, host, &later);
            if takes_over_alone(dialect, &old) {
                prop_assert!(matches!(taken, Acquired::Won(_)), "{} does not take over", dialect.name);
                prop_assert_ne!(value(&expired, NOW), Some(old), "{} takes over without writing", dialect.name);
            } else {
                prop_assert!(matches!(taken, Acquired::Held(_)), "{} takes over behind a guard alone", dialect.name);
                prop_assert_eq!(value(&expired, NOW), Some(old), "{}", dialect.name);
            }
        }
    }
}

/// Whether an unguarded client of this dialect takes over this value.
fn takes_over_alone(dialect: &'static Dialect, old: &[u8]) -> bool {
    let mut server = Server::new(Flavour::Redis70);
    set(&mut server, old);
    let lock = Lock::new(dialect, key(), Lease::new(Duration::from_secs(10)).unwrap());
    let won = Rehearsal::on(vec![server], NOW).run(CLIENT, |redis| lock.acquire(&owner(1), redis));
    matches!(won, Some(Acquired::Won(_)))
}

/// Another client attempts at this moment of the server's clock, which is also its own.
fn acquire_at(client: &Guarded, server: &mut Server, at: UnixTime) -> Acquired {
    let mut redis = Transcript::new();
    loop {
        match client.acquire(&owner(2), redis.rewind()) {
            Ok(acquired) => return acquired,
            Err(Pending::Clock) => {
                redis.record_clock(Reading { wall: at, mono: MonoTime::since_origin(Duration::ZERO) });
            }
            Err(Pending::Send(command)) => redis.record_reply(server.call(OTHER, &command, at)),
            Err(pending) => panic!("{pending:?}"),
        }
    }
}

#[test]
fn a_release_deletes_the_own_lock_and_no_other() {
    for (dialect, client) in
        guardable().flat_map(|(dialect, client)| [bridged(&client), client].map(|it| (dialect, it)))
    {
        let mut server = Server::new(Flavour::Redis70);
        let Acquired::Won(hold) = acquire(&client, &mut server, NOW, &[NOW]) else { panic!("{}", dialect.name) };
        let deletes = {
            let mut server = server.clone();
            release(&client, &mut server, &hold, NOW);
            let deletes = value(&server, NOW).is_none();
            let new = server.peek(&new_key(&key()), NOW);
            assert!(new.is_none() || !deletes, "{}: the new key is deleted with the old one", dialect.name);
            deletes
        };
        // Some old clients never delete their lock, or another key.
        let deletes_by_itself = {
            let mut alone = Server::new(Flavour::Redis70);
            let (client, me) = (Lock::new(dialect, key(), client.lease()), owner(1));
            let mut rehearsal = Rehearsal::on(vec![alone.clone()], NOW);
            let won = rehearsal.run(CLIENT, |redis| client.acquire(&me, redis));
            let Some(Acquired::Won(hold)) = won else { panic!("{}", dialect.name) };
            rehearsal.run(CLIENT, |redis| client.release(&hold, redis));
            alone = rehearsal.server().clone();
            value(&alone, NOW).is_none()
        };
        assert_eq!(deletes, deletes_by_itself, "{}", dialect.name);

        let later = NOW.saturating_add(Duration::from_secs(30));
        let Acquired::Won(_) = acquire_at(&client, &mut server, later) else { panic!("{}", dialect.name) };
        let theirs = value(&server, later);
        release(&client, &mut server, &hold, later);
        assert_eq!(value(&server, later), theirs, "{} deletes the lock of another client", dialect.name);
    }
}
