//! The smallest permissions with which a protocol runs: which commands, on which keys and channels. They follow from what the
//! protocol sends to a simulated server, and from what its scripts call; no table of commands is kept beside it. The commands
//! of this program that hold no lock are a table, [`ObservingCommand::ALL`].
//!
//! ```
//! use lockshift::permissions::Permissions;
//!
//! let token = Permissions::of(&"token".parse()?, "lock:*");
//! assert_eq!(token.rule(), "resetkeys ~lock:* resetchannels -@all +del +eval +evalsha +get +pexpire +pttl +set");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod observing;
mod rehearsed_key;

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use crate::lock::{Acquired, Lease, Locker, Owner, Token};
use crate::protocols::Choice;
use crate::rehearsal::Rehearsal;
use crate::sim::Session;
use crate::wire::{Command, CommandWord, Key, UnixTime};

pub use observing::ObservingCommand;
use rehearsed_key::{MARK, RehearsedKey};

/// What a user must be allowed for one protocol, or for one command of this program.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Commands, in lower case, as ACL SETUSER names them.
    pub commands: BTreeSet<String>,
    /// Patterns of keys.
    pub keys: BTreeSet<String>,
    /// Patterns of channels.
    pub channels: BTreeSet<String>,
}

/// Two clients.
const PAIR: [Owner; 2] =
    [Owner::new(Token::new([0xa1; 16]), 1_000_001, 1), Owner::new(Token::new([0xb2; 16]), 2_000_002, 2)];
/// Two others: a name that is another with them derives from its owner.
const OTHERS: [Owner; 2] =
    [Owner::new(Token::new([0xc3; 16]), 3_000_003, 3), Owner::new(Token::new([0xd4; 16]), 4_000_004, 4)];
const LEASE: Duration = Duration::from_secs(10);
/// In the middle of 2027: a moment at which every dialect writes stamps of the usual length.
const BEGIN_SECS: i64 = 1_810_000_000;

/// Commands whose first argument is not a key.
const KEYLESS: [&str; 12] = [
    "EVAL", "EVALSHA", "TIME", "INFO", "MULTI", "EXEC", "DISCARD", "UNWATCH", "PUBLISH", "SPUBLISH", "WAIT", "WAITAOF",
];

impl Permissions {
    /// Those of this protocol on the key of this name, or on keys of this pattern of Redis: `lock:*`. What a lock derives from
    /// a key depends on the braces in its name: `{a}b:token` is the new key of `{a}b`, and `{a}:token` that of `a`.
    pub fn of(choice: &Choice, pattern: &str) -> Self {
        let lease = Lease::new(LEASE).expect("ten seconds are a lease");
        let marked = choice.locker(Key::from(MARK), lease);
        // A key that begins as those of the protocol stands in Redis as it is: such a pattern is not begun so twice.
        let key = String::from_utf8_lossy(marked.key().as_bytes()).into_owned();
        let begin = key.strip_suffix(MARK).unwrap_or("");
        let pattern = pattern.strip_prefix(begin).unwrap_or(pattern);
        let marked = sent_by(&*marked, MARK, &PAIR);
        let mut permissions = Self::default();
        for rehearsed in RehearsedKey::all_of(pattern) {
            let locker = choice.locker(Key::from(rehearsed.name()), lease);
            let [own, of_twin] = [&PAIR, &OTHERS].map(|owners| sent_by(&*locker, rehearsed.name(), owners));
            for ((marked, command), twin) in marked.iter().zip(&own).zip(&of_twin) {
                permissions.add(marked, command, twin, &rehearsed);
            }
            permissions.add_channel(&*locker, &rehearsed);
        }
        permissions
    }

    /// As ACL SETUSER takes them, without the name of the user: `resetkeys ~lock:* resetchannels -@all +set`.
    pub fn rule(&self) -> String {
        let mut words = vec!["resetkeys".to_owned()];
        words.extend(patterns('~', &self.keys));
        words.push("resetchannels".to_owned());
        words.extend(patterns('&', &self.channels));
        words.push("-@all".to_owned());
        words.extend(self.commands.iter().map(|command| format!("+{command}")));
        words.join(" ")
    }

    /// As ACL SETUSER takes them to add them to what a user has, in one selector: `(~lock:* -@all +set)`. It takes nothing away,
    /// and permits nothing else on other keys. Redis 7.0 and later.
    pub fn selector(&self) -> String {
        // A selector ends with the first word that ends with a bracket.
        let readable =
            |patterns: &BTreeSet<String>| patterns.iter().map(|pattern| pattern.replace(['(', ')'], "?")).collect();
        let (keys, channels) = (readable(&self.keys), readable(&self.channels));
        format!("({})", Self { keys, channels, commands: self.commands.clone() }.rule())
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.commands.extend(other.commands);
        self.keys.extend(other.keys);
        self.channels.extend(other.channels);
        self
    }

    /// What a command needs; the marked one is the same on the marked key, and its twin the same of other owners.
    fn add(&mut self, marked: &Command, command: &Command, twin: &Command, rehearsed: &RehearsedKey) {
        let name = String::from_utf8_lossy(command.name()).to_lowercase();
        let args = command.args();
        let keys: Range<usize> = if command.is("EVAL") || command.is("EVALSHA") {
            let count = args.get(1).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok()).unwrap_or(0);
            self.add_script(args, count);
            2..2 + count
        } else if KEYLESS.iter().any(|keyless| command.is(keyless)) {
            0..0
        } else {
            // Further words are keys where they derive from the lock's: DEL, WATCH and MSETNX take several.
            let derives = |word: &CommandWord| String::from_utf8_lossy(word).contains(MARK);
            let further = args.iter().zip(marked.args()).skip(1).filter(|(_, marked)| derives(marked));
            self.keys.extend(further.map(|(key, _)| rehearsed.pattern_of(key)));
            0..1
        };
        let pairs = args.iter().zip(twin.args()).skip(keys.start).take(keys.len());
        for (place, (key, twin)) in pairs.enumerate() {
            let key = alike(key, twin, rehearsed);
            // Redisson's scripts derive further keys from this one.
            let is_extended = args[0].windows(10).any(|text| text == format!("KEYS[{}] ..", place + 1).as_bytes());
            self.keys.extend(is_extended.then(|| format!("{key}:*")));
            self.keys.insert(key);
        }
        self.commands.insert(name);
    }

    /// What a script calls by name, or by a name in its arguments.
    fn add_script(&mut self, args: &[CommandWord], keys: usize) {
        let text = String::from_utf8_lossy(&args[0]);
        for call in text.split("call(").skip(1) {
            let Some(quote @ ('\'' | '"')) = call.chars().next() else { continue };
            self.commands.extend(call[1..].split(quote).next().map(str::to_lowercase));
        }
        let publishes =
            |word: &&CommandWord| ["publish", "spublish"].iter().any(|it| word.eq_ignore_ascii_case(it.as_bytes()));
        let named = args.iter().skip(2 + keys).filter(publishes);
        let named: Vec<String> = named.map(|word| String::from_utf8_lossy(word).to_lowercase()).collect();
        // Of PUBSUB, scripts need only how many clients listen where they publish.
        if self.commands.remove("pubsub") {
            let counts = |publish: &String| if publish == "spublish" { "pubsub|shardnumsub" } else { "pubsub|numsub" };
            self.commands.extend(named.iter().map(|publish| counts(publish).to_owned()));
        }
        self.commands.extend(named);
    }

    /// The channel on which waiters listen.
    fn add_channel(&mut self, locker: &dyn Locker, rehearsed: &RehearsedKey) {
        let [one, other] = PAIR.each_ref().map(|owner| locker.release_channel(owner));
        let (Some(one), Some(other)) = (one, other) else { return };
        self.channels.insert(alike(&one.channel, &other.channel, rehearsed));
        let commands = if one.sharded { ["ssubscribe", "sunsubscribe"] } else { ["subscribe", "unsubscribe"] };
        self.commands.extend(commands.map(str::to_owned));
    }
}

/// Patterns as the words of a rule. A server takes none behind the one that covers everything, and no white space.
fn patterns(sign: char, patterns: &BTreeSet<String>) -> Vec<String> {
    const EVERYTHING: &str = "*";
    if patterns.contains(EVERYTHING) {
        return vec![format!("{sign}{EVERYTHING}")];
    }
    // Quotes would have to be quoted where the rule is typed, and within a selector.
    let is_refused = |letter: char| letter.is_ascii_whitespace() || matches!(letter, '\x0b' | '\0' | '"' | '\'');
    patterns.iter().map(|pattern| format!("{sign}{}", pattern.replace(is_refused, "?"))).collect()
}

/// A name of two owners, as a pattern: what differs between them is any text.
fn alike(one: &[u8], other: &[u8], rehearsed: &RehearsedKey) -> String {
    if one == other {
        return rehearsed.pattern_of(one);
    }
    let begins = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let (begin, one, other) = (&one[..begins], &one[begins..], &other[begins..]);
    let ends = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
    format!("{}*{}", rehearsed.pattern_of(begin), rehearsed.pattern_of(&one[one.len() - ends..]))
}

/// What a protocol sends in a life of its lock on the key of this name: free, held, extended, lost to another client, left
/// behind, released.
fn sent_by(locker: &dyn Locker, name: &str, [first, second]: &[Owner; 2]) -> Vec<Command> {
    let begin = UnixTime::from_secs(BEGIN_SECS).expect("it is in the range of the type");
    let mut present = Rehearsal::at(begin);
    let won = present.run(Session(1), |redis| locker.acquire(first, redis));
    let _held = present.run(Session(2), |redis| locker.acquire(second, redis));
    let _withdrawn = present.run(Session(2), |redis| locker.withdraw(second, redis));
    let mut sent = present.sent().to_vec();
    // A client that died without a TTL on its key.
    let persist = Command::new("PERSIST").arg(name);
    let mut abandoned = present.clone();
    let _persisted = abandoned.run(Session(3), |redis| redis.send(persist.clone()));
    for mut later in [present.after(2 * LEASE), abandoned.after(2 * LEASE)] {
        let known = later.sent().len();
        let again = later.run(Session(2), |redis| locker.acquire(second, redis));
        for outcome in [&won, &again] {
            if let Some(Acquired::Won(hold)) = outcome {
                let _extended = later.run(Session(1), |redis| locker.extend(hold, redis));
                let _owned = later.run(Session(1), |redis| locker.ownership(hold, redis));
                let _released = later.run(Session(1), |redis| locker.release(hold, redis));
            }
        }
        let _disclaimed = later.run(Session(2), |redis| locker.disclaim(second, redis));
        sent.extend_from_slice(&later.sent()[known..]);
    }
    if let Some(Acquired::Won(hold)) = &won {
        let known = present.sent().len();
        let _extended = present.run(Session(1), |redis| locker.extend(hold, redis));
        let _owned = present.run(Session(1), |redis| locker.ownership(hold, redis));
        let _released = present.run(Session(1), |redis| locker.release(hold, redis));
        sent.extend_from_slice(&present.sent()[known..]);
    }
    sent
}
