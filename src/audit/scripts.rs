//! The scripts that the protocols run, by their SHA-1.

use std::collections::HashMap;
use std::time::Duration;

use sha1_smol::Sha1;

use super::kinds::Kind;
use crate::lock::{Acquired, Hold, Lease, Owner, Token};
use crate::wire::{Command, Heard, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// A script of a protocol.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// Its text.
    pub(super) text: Vec<u8>,
    /// Whether a try begins with it.
    pub(super) claims: bool,
}

/// The scripts of these kinds, by their SHA-1 in small hex digits.
pub(super) fn scripts(kinds: &[Kind]) -> HashMap<Vec<u8>, Script> {
    let mut scripts = HashMap::new();
    for kind in kinds {
        let Ok(lease) = Lease::new(Duration::from_secs(10)) else { continue };
        let locker = kind.locker("lock".into(), lease);
        let hold = Hold { value: STRANGER.token.hex().into_bytes(), since: NOON, lease, fence: None };
        let asked = [
            texts(&|redis: &mut Transcript| locker.release(&hold, redis).map(drop)),
            texts(&|redis: &mut Transcript| locker.extend(&hold, redis).map(drop)),
        ];
        let claimed = texts(&|redis: &mut Transcript| locker.acquire(&STRANGER, redis).map(|_: Acquired| ()));
        for text in asked.into_iter().flatten() {
            scripts.entry(sha1(&text)).or_insert(Script { text, claims: false });
        }
        for text in claimed {
            scripts.insert(sha1(&text), Script { text, claims: true });
        }
    }
    scripts
}

/// The name by which Redis knows a script.
pub(super) fn sha1(text: &[u8]) -> Vec<u8> {
    Sha1::from(text).digest().to_string().into_bytes()
}

const STRANGER: Owner = Owner::new(Token::new([0xde; 16]), 4_099_996, 1);
const NOON: Reading =
    Reading { wall: UnixTime::from_nanos(43_200_000_000_000), mono: MonoTime::since_origin(Duration::ZERO) };

/// The texts that an operation sends to a server that knows no script and refuses every one.
fn texts(operation: &dyn Fn(&mut Transcript) -> Turn<()>) -> Vec<Vec<u8>> {
    let mut said = Transcript::new();
    let mut texts = Vec::new();
    for _ in 0..32 {
        match operation(said.rewind()) {
            Ok(()) | Err(Pending::Fault(_)) => break,
            Err(Pending::Clock) => said.record_clock(NOON),
            Err(Pending::Send(command)) => said.record_reply(refusal(&command, &mut texts)),
            Err(Pending::Round(commands)) => {
                for command in commands {
                    said.record_heard(command.node(), Heard::Reply(refusal(&command, &mut texts)));
                }
            }
        }
    }
    texts
}

fn refusal(command: &Command, texts: &mut Vec<Vec<u8>>) -> Reply {
    if command.is("EVALSHA") {
        return Reply::Error("NOSCRIPT No matching script.".to_owned());
    }
    if command.is("EVAL") {
        texts.extend(command.args().first().cloned());
        return Reply::Int(0);
    }
    Reply::Int(0)
}

#[test]
fn the_scripts_of_the_catalogue() {
    let scripts = scripts(&Kind::all());
    let claims = scripts.values().filter(|script| script.claims).count();
    assert!(claims >= 5 && scripts.len() > claims + 4, "{claims} of {}", scripts.len());
}
