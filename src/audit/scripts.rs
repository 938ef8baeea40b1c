//! The scripts that the protocols run, by their SHA-1.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use sha1_smol::Sha1;

use super::compare_and_delete;
use super::script_args::script_keys;
use super::variants::Variant;
use crate::guard::GuardScript;
use crate::lock::{Hold, Lease, Owner, Token};
use crate::rehearsal::Rehearsal;
use crate::sim::Session;
use crate::wire::{Command, CommandWord, MonoTime, Reading, Reply, Transcript, Turn, UnixTime};

/// A script of a protocol.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// Its text.
    pub(super) text: Vec<u8>,
    /// Whether an attempt begins with it.
    pub(super) claims: bool,
    /// Whether it excludes every other holder, so that an acquisition changes the lock's key.
    pub(super) excludes: bool,
    /// Number of keys that it names before that of the lock. Each of them is also the key of another lock.
    pub(super) before: usize,
    /// Indexes of the keys behind it that the protocol also uses in commands that do not name the lock's key.
    pub(super) parts: Vec<usize>,
    /// Its reply when it deletes nothing, if all it does is compare and delete.
    pub(super) refusal: Option<Reply>,
    /// Which of a guard's scripts it is, if it is one.
    pub(super) of_guard: Option<GuardScript>,
}

impl Script {
    /// A script of a guard. Some of its clients look before they try to acquire, so that an attempt begins with the look.
    fn of_guard(script: GuardScript) -> Self {
        let excludes = script.moments_at().is_some();
        Self {
            text: script.script().text().as_bytes().to_vec(),
            claims: excludes || script == GuardScript::Look,
            excludes,
            // That of the lock is the last one.
            before: script.keys() - 1,
            parts: Vec::new(),
            refusal: None,
            of_guard: Some(script),
        }
    }

    /// The script of an EVAL for the lock with this key, whose protocol uses these keys by themselves.
    fn of(command: &Command, name: &str, alone: &[CommandWord], claims: bool) -> Option<Self> {
        let text = command.args().first().filter(|_| command.is("EVAL"))?;
        let keys = keys_of(command);
        let before = keys.iter().position(|key| key == name.as_bytes()).unwrap_or(0);
        let parts = (before + 1..keys.len()).filter(|place| alone.contains(&keys[*place])).collect();
        Some(Self {
            text: text.to_vec(),
            claims,
            excludes: claims,
            before,
            parts,
            refusal: compare_and_delete::refusal(&sha1(text)),
            of_guard: None,
        })
    }
}

/// The keys that a command names, as far as those of a lock matter.
fn keys_of(command: &Command) -> &[CommandWord] {
    match command.is("EVAL") || command.is("EVALSHA") {
        true => script_keys(command),
        false => command.args().get(..1).unwrap_or_default(),
    }
}

/// The scripts of all variants, by their SHA-1 in small hex digits.
pub(super) fn scripts() -> &'static HashMap<Vec<u8>, Script> {
    static ALL: LazyLock<HashMap<Vec<u8>, Script>> = LazyLock::new(|| scripts_of(Variant::all()));
    &ALL
}

fn scripts_of(variants: &[Variant]) -> HashMap<Vec<u8>, Script> {
    const NAME: &str = "lock";
    let of_guards = GuardScript::ALL.map(Script::of_guard);
    let mut scripts: HashMap<_, _> = of_guards.into_iter().map(|script| (sha1(&script.text), script)).collect();
    for variant in variants.iter().filter(|variant| !variant.is_guarded()) {
        let Ok(lease) = Lease::new(Duration::from_secs(10)) else { continue };
        let locker = variant.locker(NAME.into(), lease, None);
        let hold = Hold {
            value: STRANGER.token.hex().into_bytes(),
            since: Reading { wall: NOON, mono: MonoTime::since_origin(Duration::ZERO) },
            lease,
            fence: None,
        };
        let claimed = commands(|redis| locker.acquire(&STRANGER, redis));
        let others = [
            commands(|redis| locker.release(&hold, redis)),
            commands(|redis| locker.extend(&hold, redis)),
            commands(|redis| locker.withdraw(&STRANGER, redis)),
        ]
        .concat();
        let alone =
            claimed.iter().chain(&others).map(keys_of).filter(|keys| !keys.iter().any(|key| key == NAME.as_bytes()));
        let alone: Vec<CommandWord> = alone.flatten().cloned().collect();
        for script in others.iter().filter_map(|command| Script::of(command, NAME, &alone, false)) {
            scripts.entry(sha1(&script.text)).or_insert(script);
        }
        for script in claimed.iter().filter_map(|command| Script::of(command, NAME, &alone, true)) {
            let excludes = !variant.is_shared();
            scripts.insert(sha1(&script.text), Script { excludes, ..script });
        }
    }
    scripts
}

/// The name by which Redis knows a script.
pub(super) fn sha1(text: &[u8]) -> Vec<u8> {
    Sha1::from(text).digest().to_string().into_bytes()
}

const STRANGER: Owner = Owner::new(Token::new([0xde; 16]), 4_099_996, 1);
const NOON: UnixTime = UnixTime::from_nanos(43_200_000_000_000);

/// The commands of an operation on an empty server that knows no script.
fn commands<T>(operation: impl Fn(&mut Transcript) -> Turn<T>) -> Vec<Command> {
    let mut rehearsal = Rehearsal::at(NOON);
    let _outcome = rehearsal.run(Session(0), operation);
    rehearsal.sent().to_vec()
}

#[test]
fn every_script_of_the_catalogue_is_known() {
    let scripts = scripts();
    let claims = scripts.values().filter(|script| script.claims).count();
    assert!(claims >= 5 && scripts.len() > claims + 4, "{claims} of {}", scripts.len());
}
