//! Every lock on keys that hold anything.

use std::sync::{Arc, LazyLock};

use lockshift::legacy::catalogue::catalogue as dialects;
use lockshift::legacy::{Candidate, OnError, Takeover};
use lockshift::lock::{Acquired, Locker, Mode, Owner, Token};
use lockshift::protocols::{Choice, catalogue};
use lockshift::rehearsal::Rehearsal;
use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, CommandWord, Key, Reply};

use super::{NOW, lease};

/// Every protocol with a lock on one server, and the ends of the keys that it uses.
static LOCKS: LazyLock<Vec<(Arc<dyn Locker>, String)>> = LazyLock::new(|| {
    let bridges = ["bridge:php-getset", "bridge:servicestack", "bridge:java-getset"].map(String::from);
    let named = catalogue().map(|protocol| protocol.name().to_owned()).filter(|name| !name.starts_with("bridge"));
    let choices = named.chain(bridges).map(|name| name.parse::<Choice>().expect("it is in the catalogue"));
    let alone = choices.filter(|choice| choice.servers() == 1);
    alone.map(|choice| (choice.locker(Key::from("lock"), lease()), choice.to_string())).collect()
});

/// The lock and the rest of the input that are chosen by the first byte.
pub(super) fn chosen(input: &[u8]) -> Option<(&'static Arc<dyn Locker>, &'static str, &[u8])> {
    let (first, rest) = input.split_first()?;
    let (locker, name) = &LOCKS[usize::from(*first) % LOCKS.len()];
    Some((locker, name, rest))
}

pub(super) fn owner(number: u8) -> Owner {
    Owner::new(Token::new([number; 16]), u32::from(number), 1)
}

/// Whatever was in its keys: a client that wins excludes the next one at once, and can extend and release.
pub(crate) fn locks(input: &[u8]) {
    let Some((locker, name, rest)) = chosen(input) else { return };
    let Some((kind, value)) = rest.split_first() else { return };
    let mut server = Server::new(Flavour::ALL[usize::from(*kind >> 4) % 3]);
    for key in keys(locker.as_ref()) {
        let put = match kind % 4 {
            0 => Command::new("SET").arg(key.as_bytes()).arg(value),
            1 => Command::new("SET").arg(key.as_bytes()).arg(value).arg("PX").arg("5000"),
            2 => Command::new("HSET").arg(key.as_bytes()).arg(value).arg("1"),
            _ => Command::new("ZADD").arg(key.as_bytes()).arg("1").arg(value),
        };
        assert!(!matches!(server.call(Session(9), &put, NOW), Reply::Error(_)), "{put}");
    }
    let mut redis = Rehearsal::on(vec![server], NOW);
    let Some(Acquired::Won(hold)) = redis.run(Session(1), |redis| locker.acquire(&owner(1), redis)) else {
        // A waiter that gives up.
        let _ = redis.run(Session(1), |redis| locker.withdraw(&owner(1), redis));
        let _ = redis.run(Session(1), |redis| locker.disclaim(&owner(1), redis));
        return;
    };
    let excludes =
        locker.mode() == Mode::Exclusive && locker.max_sharers().is_none() && !wins_without_writing(name, kind % 4 < 2);
    let second = redis.run(Session(2), |redis| locker.acquire(&owner(2), redis));
    assert!(!excludes || !matches!(second, Some(Acquired::Won(_))), "{name} lets two clients in at once");
    let _ = redis.run(Session(1), |redis| locker.extend(&hold, redis));
    let _ = redis.run(Session(1), |redis| locker.ownership(&hold, redis));
    let _ = redis.run(Session(1), |redis| locker.release(&hold, redis));
}

/// Whether a client of this dialect that wins leaves something there that lets the next one win as well: the expired value
/// that it took over, or a key of another type, whose errors it takes for no value.
fn wins_without_writing(name: &str, is_text: bool) -> bool {
    let row = dialects().find(|dialect| dialect.name == name);
    row.is_some_and(|row| {
        let keeps_what_it_took = row.candidate == Candidate::AsRead || row.takeover == Takeover::WithoutWriting;
        keeps_what_it_took || !is_text && row.on_error == OnError::False
    })
}

/// The keys of a lock: those that an attempt names and that contain the lock's own.
fn keys(locker: &dyn Locker) -> Vec<Key> {
    let commands = lockshift::rehearsal::commands_of_an_attempt(locker, NOW);
    let own = locker.key().as_bytes();
    let is_key = |word: &&CommandWord| word.len() < 40 && word.windows(own.len()).any(|part| part == own);
    let mut keys: Vec<Key> = commands
        .iter()
        .flat_map(|command| command.args().iter().filter(is_key))
        .map(|word| Key::new(word.as_slice()))
        .collect();
    keys.sort();
    keys.dedup();
    keys
}
