//! Whether a command of a client is the one that a protocol would send in its place.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use super::command_name::CommandName;
use super::compare_and_delete;
use super::earlier_scripts::current;
use super::exchange::LockExchange;
use super::scripts::sha1;
use super::stamp;
use super::variants::Variant;
use crate::legacy::{Clock, Dialect, Form, Keys, Number, Stamp};
use crate::lock::{Owner, Token};
use crate::wire::{Command, CommandWord, Reply};

/// The owner as whom protocols are run: no client has its token.
pub(super) const OWNER: Owner = Owner::new(Token::new([0xa5; 16]), 4_099_997, 7);

/// Which words of a client correspond to which of a protocol: tokens, process ids, the last digits of stamps.
#[derive(Clone, Debug, Default)]
pub(super) struct Correspondence {
    pairs: Vec<(CommandWord, CommandWord)>,
    /// The client's name, as it is part of its values, and the protocol's.
    names: Option<(Vec<u8>, Vec<u8>)>,
}

impl Correspondence {
    /// Matches the client's command with the protocol's, and remembers which words correspond; `None` if they differ.
    pub(super) fn match_command(&mut self, variant: &Variant, expected: &Command, actual: &Command) -> Option<()> {
        if !is_comparable(expected, actual) {
            return None;
        }
        if expected.words().len() > actual.words().len() && !is_earlier(actual) {
            return None;
        }
        let (expected, actual) = (canonical(expected), canonical(actual));
        let name = &expected[0];
        for (place, (expected, actual)) in expected.iter().zip(actual.iter()).enumerate() {
            if self.is_same(expected, actual) {
                continue;
            }
            let is_value = || is_value_of(variant, expected, actual);
            // A stamp that a script compares or writes has the size of any other moment.
            // To a guard each moment of its clients' matters.
            let is_stamp =
                || name == b"EVALSHA" && stamp::moment(actual).is_some() && (variant.is_guarded() || is_value());
            let is_length = is_lease(name, place) && of_one_size(expected, actual) && !is_stamp();
            if !is_length && !is_value() {
                return None;
            }
            if !is_length {
                self.names = self.names.take().or_else(|| names(actual, expected));
                self.pairs.push((actual.clone(), expected.clone()));
            }
        }
        Some(())
    }

    /// Whether an unknown script that begins with this call can stand for the protocol's: it reads the same key.
    pub(super) fn match_script(&mut self, expected: &Command, first_call: &LockExchange) -> Option<()> {
        let key = if expected.is("EVAL") || expected.is("EVALSHA") { 2 } else { 0 };
        let looks = first_call.is(CommandName::Get) && first_call.command.args().first() == expected.args().get(key);
        looks.then_some(())
    }

    /// Hashes what of it can matter to these exchanges.
    pub(super) fn hash_those_in(&self, exchanges: &[LockExchange], hasher: &mut impl Hasher) {
        self.pairs.iter().filter(|(own, _)| is_in(exchanges, own)).for_each(|pair| pair.hash(hasher));
        self.names.hash(hasher);
    }

    /// Forgets the words of the client that are not in these exchanges.
    pub(super) fn keep_those_in(&mut self, exchanges: &[LockExchange]) {
        self.pairs.retain(|(own, _)| is_in(exchanges, own));
    }

    /// The reply with the protocol's words in place of the client's.
    pub(super) fn reply(&self, reply: &Reply) -> Reply {
        match reply {
            Reply::Bulk(bytes) => Reply::Bulk(self.value(bytes)),
            Reply::Array(items) => Reply::Array(items.iter().map(|item| self.reply(item)).collect()),
            Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Error(_) => reply.clone(),
        }
    }

    /// A value in the protocol's words: its own, or an earlier one of this client.
    fn value(&self, bytes: &[u8]) -> Vec<u8> {
        if let Some((_, protocols)) = self.pairs.iter().find(|(own, _)| own == bytes) {
            return protocols.to_vec();
        }
        let named = self.names.as_ref().and_then(|(own, protocols)| {
            let begin = find(bytes, own)?;
            Some([&bytes[..begin], protocols, &bytes[begin + own.len()..]].concat())
        });
        named.unwrap_or_else(|| bytes.to_vec())
    }

    fn is_same(&self, expected: &[u8], actual: &[u8]) -> bool {
        expected == actual || self.pairs.iter().any(|(own, protocols)| own == actual && protocols == expected)
    }
}

/// Whether this word is in one of these exchanges.
fn is_in(exchanges: &[LockExchange], word: &CommandWord) -> bool {
    exchanges.iter().any(|it| it.command.args().contains(word) || is_in_reply(&it.reply, word))
}

fn is_in_reply(reply: &Reply, word: &[u8]) -> bool {
    match reply {
        Reply::Bulk(bytes) => bytes == word,
        Reply::Array(items) => items.iter().any(|item| is_in_reply(item, word)),
        Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Error(_) => false,
    }
}

/// The client's name in its value and the owner's in the protocol's, if a name is part of the value.
fn names(actual: &[u8], expected: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    static KNOWN: LazyLock<[String; 4]> = LazyLock::new(|| {
        let Owner { token, pid, thread, .. } = OWNER;
        [token.uuid(), token.hex(), format!("{pid}-{thread}"), pid.to_string()]
    });
    let mut known = KNOWN.iter().map(String::as_bytes).filter(|name| name.len() < expected.len());
    known.find_map(|name| {
        let begin = find(expected, name)?;
        let behind = expected.len() - begin - name.len();
        let own = actual.get(begin..actual.len().checked_sub(behind)?).filter(|own| !own.is_empty())?;
        Some((own.to_vec(), name.to_vec()))
    })
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Whether both are values that this protocol writes.
fn is_value_of(variant: &Variant, expected: &[u8], actual: &[u8]) -> bool {
    let protocol = variant.protocol();
    let form = variant.form().filter(|form| form.matches(expected));
    match variant.hand() {
        Some(dialect) if dialect.clock == Clock::Uptime => {
            dialect.form.matches(expected) && dialect.form.matches(actual)
        }
        Some(_) if form.is_some() => form.is_some_and(|form| is_in_form(&form, expected, actual)),
        Some(dialect) if dialect.keys == Keys::OwnerAndExpiry => is_stamp(dialect, expected, actual),
        Some(_) if variant.dialect().is_some() => false,
        // Any random text is a token.
        Some(_) => may_be_token(actual),
        None if names_owner(expected) => may_be_token(actual),
        None => protocol.could_write(expected) && (protocol.could_write(actual) || may_be_token(actual)),
    }
}

/// Whether both are written in this form.
fn is_in_form(form: &Form, expected: &[u8], actual: &[u8]) -> bool {
    match (form.read(expected), form.read(actual)) {
        (Some(ours), Some(theirs)) => is_of_one_age(&form.stamp, ours, theirs),
        (None, _) | (_, None) => !form.is_stamped() && form.matches(actual),
    }
}

/// Whether both are stamps of this dialect that stand alone.
fn is_stamp(dialect: &Dialect, expected: &[u8], actual: &[u8]) -> bool {
    let stamp = &dialect.form.stamp;
    match (stamp.digits.read(expected), stamp.digits.read(actual)) {
        (Some(ours), Some(theirs)) => is_of_one_age(stamp, ours, theirs),
        (None, _) | (_, None) => false,
    }
}

fn is_of_one_age(stamp: &Stamp, ours: Number, theirs: Number) -> bool {
    stamp.moment_of(ours).as_nanos().abs_diff(stamp.moment_of(theirs).as_nanos()) < DECADE_NS
}

/// Whether this word contains the owner's token.
fn names_owner(word: &[u8]) -> bool {
    static NAMES: LazyLock<[String; 2]> = LazyLock::new(|| [OWNER.token.hex(), OWNER.token.uuid()]);
    NAMES.iter().any(|name| find(word, name.as_bytes()).is_some())
}

/// Whether this may be a random token. One with digits only has to be too long for a counter, and must not name a moment.
fn may_be_token(word: &[u8]) -> bool {
    word.len() >= 8 && !is_decimal(word) || stamp::looks_like_token(word)
}

const DECADE_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// Whether the word at this place is a duration, or a moment.
fn is_lease(name: &[u8], place: usize) -> bool {
    match name {
        b"EXPIRE" | b"PEXPIRE" | b"EXPIREAT" | b"PEXPIREAT" | b"SETEX" | b"PSETEX" => place == 2,
        b"SET" => place > 3,
        b"EVALSHA" => place > 3,
        _ => false,
    }
}

/// Whether both are numbers, and neither is more than thirty times the other: seconds are not milliseconds.
fn of_one_size(one: &[u8], other: &[u8]) -> bool {
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<i64>().ok();
    match (number(one), number(other)) {
        (Some(one), Some(other)) if one > 0 && other > 0 => one / 30 <= other && other / 30 <= one,
        _ => false,
    }
}

fn is_decimal(word: &[u8]) -> bool {
    word.iter().all(u8::is_ascii_digit)
}

const OPTIONS: [&[u8]; 8] = [b"NX", b"XX", b"EX", b"PX", b"EXAT", b"PXAT", b"KEEPTTL", b"GET"];

/// Whether the canonical words of both can be the same: they have the same name, and as many words. Most protocols are
/// ruled out by that. A script of an earlier version may have had fewer arguments.
pub(super) fn is_comparable(expected: &Command, actual: &Command) -> bool {
    let is_script = |command: &Command| command.is("EVAL") || command.is("EVALSHA");
    let is_same_name = expected.name().eq_ignore_ascii_case(actual.name()) || is_script(expected) && is_script(actual);
    is_same_name
        && (expected.words().len() == actual.words().len()
            || is_script(actual) && expected.words().len() > actual.words().len())
}

/// Whether this runs a script as an earlier version of a protocol sent it.
fn is_earlier(command: &Command) -> bool {
    let Some(script) = command.args().first() else { return false };
    let sha1 = match (command.is("EVAL"), command.is("EVALSHA")) {
        (true, _) => sha1(script),
        (_, true) => script.to_ascii_lowercase(),
        (false, false) => return false,
    };
    current(&sha1) != sha1
}

/// The words, with names in capitals, the options of SET in one order, and scripts by their hash.
fn canonical(command: &Command) -> Cow<'_, [CommandWord]> {
    let may_differ = match command.name() {
        b"SET" => command.words().len() > 3,
        name => name.starts_with(b"EVAL") || name.iter().any(u8::is_ascii_lowercase),
    };
    if !may_differ {
        return command.words().into();
    }
    let mut words = command.words().to_vec();
    words[0].make_ascii_uppercase();
    match words[0].as_slice() {
        b"SET" if words.len() > 3 => {
            let mut options = words.split_off(3);
            let is_word = |option: &&mut CommandWord| OPTIONS.iter().any(|word| option.eq_ignore_ascii_case(word));
            options.iter_mut().filter(is_word).for_each(|option| option.make_ascii_uppercase());
            let condition = options.iter().position(|option| option == b"NX" || option == b"XX");
            words.extend(condition.map(|place| options.remove(place)));
            words.extend(options);
        }
        b"EVAL" if words.len() > 1 => {
            words[0] = b"EVALSHA".into();
            words[1] = sha1(&words[1]).as_slice().into();
        }
        b"EVALSHA" if words.len() > 1 => words[1].make_ascii_lowercase(),
        _ => {}
    }
    if words[0] == b"EVALSHA" && words.len() > 1 {
        words[1] = current(&words[1]).into();
    }
    // Clients release a token by one library's script or another's: all that only compare and delete are the same.
    if words[0] == b"EVALSHA" && words.len() == 5 && compare_and_delete::refusal(&words[1]).is_some() {
        words[1] = b"compare and delete".into();
    }
    words.into()
}
