//! What a client would conclude from a reply, at any clock: its own function is run on every clock and every reply.

use super::decision::{CLOCKS, Decision, could_acquire, replies, time};
use super::unguardable::Unguardable;
use crate::legacy::Lock;
use crate::lock::{Acquired, Locker, Owner, Token};
use crate::wire::{Command, Entry, MonoTime, Pending, Reading, Reply, Transcript, UnixTime};
use std::time::Duration;

/// The owner as whom protocols are run: no client has its token.
pub(super) const OWNER: Owner = Owner::new(Token::new([0xa7; 16]), 4_099_993, 7);

/// More replies than an attempt has.
const LONGEST: usize = 12;

/// What the guard has decided when a client goes on from here; `None`: nothing yet.
type Decided = Option<Decision>;

/// Whether this protocol can be guarded: whatever its client's clock, there is a reply to each of its commands that leads it
/// to the guard's decision.
pub(super) fn check(lock: &Lock) -> Result<(), Unguardable> {
    settles(lock, vec![Transcript::new()], None, LONGEST)
}

/// Whether this reply leads the client to the decision at any clock, if the guard answers well from then on.
pub(super) fn leads(lock: &Lock, transcript: &Transcript, reply: Reply, decided: Decided) -> bool {
    let mut next = transcript.clone();
    next.record_reply(reply);
    settles(lock, vec![next], decided, LONGEST).is_ok()
}

/// Whether all these clients of one protocol, which were answered alike at different clocks, can be led to the decision.
fn settles(lock: &Lock, clients: Vec<Transcript>, decided: Decided, depth: usize) -> Result<(), Unguardable> {
    let mut asking: Vec<(Command, Vec<Transcript>)> = Vec::new();
    for (client, command) in clients.into_iter().flat_map(|client| at_every_clock(lock, client)) {
        let command = match command {
            Ok(command) => command,
            Err(ended) => {
                // A client that loses before anything was decided has lost by itself.
                if ended == Some(decided.unwrap_or(Decision::Lose)) {
                    continue;
                }
                return Err(obstacle(lock, last_command(&client).as_ref(), decided));
            }
        };
        match asking.iter_mut().find(|(other, _)| other.name() == command.name()) {
            Some((_, group)) => group.push(client),
            None => asking.push((command, vec![client])),
        }
    }
    asking.into_iter().try_for_each(|(command, group)| answer(lock, &command, &group, decided, depth))
}

/// Whether there is a reply to this command for each decision that may follow.
fn answer(
    lock: &Lock,
    command: &Command,
    group: &[Transcript],
    decided: Decided,
    depth: usize,
) -> Result<(), Unguardable> {
    let (win, lose) = (Some(Decision::Win), Some(Decision::Lose));
    // A winner that writes once more counts its lease from a later moment than the guard's stamp does.
    if depth == 0 || decided == win && could_acquire(command) {
        return Err(obstacle(lock, Some(command), decided));
    }
    let next: &[Decided] = match decided {
        Some(_) => &[decided],
        None if could_acquire(command) => &[win, lose],
        None if command.is("GET") || command.is("EXISTS") => &[None, lose],
        None => &[None],
    };
    for after in next {
        let mut result = Err(obstacle(lock, Some(command), *after));
        for reply in replies(lock, command, *after, last_value(&group[0])) {
            let answered = |client: &Transcript| {
                let mut client = client.clone();
                client.record_reply(reply.clone());
                client
            };
            result = settles(lock, group.iter().map(answered).collect(), *after, depth - 1);
            if result.is_ok() {
                break;
            }
        }
        result?;
    }
    Ok(())
}

/// Runs a client to its next command or its end, whatever its clock and the server's show each time.
fn at_every_clock(lock: &Lock, mut client: Transcript) -> Vec<(Transcript, Result<Command, Option<Decision>>)> {
    match lock.acquire(&OWNER, client.rewind()) {
        Err(Pending::Send(command)) if !command.is("TIME") => vec![(client, Ok(command))],
        Err(Pending::Clock | Pending::Send(_)) => {
            CLOCKS.into_iter().flat_map(|clock| at_every_clock(lock, at(&client, clock))).collect()
        }
        Ok(Acquired::Won(_)) => vec![(client, Err(Some(Decision::Win)))],
        Ok(Acquired::Held(_)) => vec![(client, Err(Some(Decision::Lose)))],
        Err(Pending::Fault(_) | Pending::Round(_)) => vec![(client, Err(None))],
    }
}

/// The client, which was asking for the time, at this moment: of its host, or of the server.
fn at(client: &Transcript, wall: UnixTime) -> Transcript {
    let mut client = client.clone();
    match client.asked() {
        Some(_) => client.record_reply(time(wall)),
        None => client.record_clock(Reading { wall, mono: MonoTime::since_origin(Duration::ZERO) }),
    }
    client
}

/// The value that the client was answered last.
pub(super) fn last_value(client: &Transcript) -> Option<&[u8]> {
    client.entries().iter().rev().find_map(|entry| match entry {
        Entry::Exchange(command, Reply::Bulk(value)) if command.is("GET") => Some(value.as_slice()),
        _ => None,
    })
}

fn last_command(client: &Transcript) -> Option<Command> {
    client.entries().iter().rev().find_map(|entry| match entry {
        Entry::Exchange(command, _) => Some(command.clone()),
        _ => None,
    })
}

fn obstacle(lock: &Lock, command: Option<&Command>, decided: Decided) -> Unguardable {
    let dialect = lock.dialect().name;
    let command = command.map_or_else(String::new, |command| String::from_utf8_lossy(command.name()).into_owned());
    match decided {
        Some(Decision::Win) | None => Unguardable::CannotWin { dialect, command },
        Some(Decision::Lose) => Unguardable::CannotLose { dialect, command },
    }
}
