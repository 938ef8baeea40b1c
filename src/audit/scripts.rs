//! The scripts that the protocols run, by their SHA-1.

use std::collections::HashMap;
use std::time::Duration;

use sha1_smol::Sha1;

use super::kinds::Kind;
use super::said::keys_of_script;
use crate::lock::{Acquired, Hold, Lease, Owner, Token};
use crate::wire::{Command, Heard, Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// A script of a protocol.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// Its text.
    pub(super) text: Vec<u8>,
    /// Whether a try begins with it.
    pub(super) claims: bool,
    /// How many keys it names before that of the lock. Each of them is a lock of somebody else's, too.
    pub(super) before: usize,
}

impl Script {
    /// What an EVAL runs for the lock of this key.
    fn of(command: &Command, key: &Key, claims: bool) -> Option<Self> {
        let (text, keys) = (command.args().first()?, keys_of_script(command.args())?);
        let before = command.args()[2..].iter().take(keys).position(|named| named == key.as_bytes()).unwrap_or(0);
        Some(Self { text: text.clone(), claims, before })
    }
}

/// The scripts of these kinds, by their SHA-1 in small hex digits.
pub(super) fn scripts(kinds: &[Kind]) -> HashMap<Vec<u8>, Script> {
    let mut scripts = HashMap::new();
    for kind in kinds {
        let Ok(lease) = Lease::new(Duration::from_secs(10)) else { continue };
        let locker = kind.locker("lock".into(), lease, None);
        let hold = Hold { value: STRANGER.token.hex().into_bytes(), since: NOON, lease, fence: None };
        let asked = [
            commands(&|redis: &mut Transcript| locker.release(&hold, redis).map(drop)),
            commands(&|redis: &mut Transcript| locker.extend(&hold, redis).map(drop)),
        ];
        let claimed = commands(&|redis: &mut Transcript| locker.acquire(&STRANGER, redis).map(|_: Acquired| ()));
        for script in asked.iter().flatten().filter_map(|command| Script::of(command, locker.key(), false)) {
            scripts.entry(sha1(&script.text)).or_insert(script);
        }
        for script in claimed.iter().filter_map(|command| Script::of(command, locker.key(), true)) {
            scripts.insert(sha1(&script.text), script);
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

/// The EVALs that an operation sends to a server that knows no script and refuses every one.
fn commands(operation: &dyn Fn(&mut Transcript) -> Turn<()>) -> Vec<Command> {
    let mut said = Transcript::new();
    let mut evals = Vec::new();
    for _ in 0..32 {
        match operation(said.rewind()) {
            Ok(()) | Err(Pending::Fault(_)) => break,
            Err(Pending::Clock) => said.record_clock(NOON),
            Err(Pending::Send(command)) => said.record_reply(refusal(&command, &mut evals)),
            Err(Pending::Round(commands)) => {
                for command in commands {
                    said.record_heard(command.node(), Heard::Reply(refusal(&command, &mut evals)));
                }
            }
        }
    }
    evals
}

fn refusal(command: &Command, evals: &mut Vec<Command>) -> Reply {
    if command.is("EVALSHA") {
        return Reply::Error("NOSCRIPT No matching script.".to_owned());
    }
    if command.is("EVAL") {
        evals.push(command.clone());
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
