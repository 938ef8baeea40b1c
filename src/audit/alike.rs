//! When a command that a client has sent is the one that a protocol would send in its place.

use sha1_smol::Sha1;

use super::kinds::Kind;
use super::said::Said;
use crate::legacy::{Clock, Dialect, Form, Keys, Number, Stamp};
use crate::lock::{Owner, Token};
use crate::wire::{Command, Reply};

/// Who is taken to be speaking: one whose words are nobody's.
pub(super) const SPEAKER: Owner = Owner::new(Token::new([0xa5; 16]), 4_099_997, 7);

/// Which of a client's words stand for which of a protocol's: tokens, process ids, the last digits of stamps.
#[derive(Clone, Debug, Default)]
pub(super) struct Alike {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The client's name, as it is part of its values, and the protocol's.
    names: Option<(Vec<u8>, Vec<u8>)>,
}

impl Alike {
    /// Whether the client's command is the protocol's; then its value is known for the protocol's from now on.
    pub(super) fn take(&mut self, kind: &Kind, expected: &Command, actual: &Command) -> Option<()> {
        let (expected, actual) = (canonical(expected), canonical(actual));
        if expected.len() != actual.len() {
            return None;
        }
        let name = expected[0].clone();
        for (place, (expected, actual)) in expected.into_iter().zip(actual).enumerate() {
            if self.is_same(&expected, &actual) {
                continue;
            }
            let is_number = is_lease(&name, place) && of_one_size(&expected, &actual);
            if !is_number && !is_value_of(kind, &expected, &actual) {
                return None;
            }
            if !is_number {
                self.names = self.names.take().or_else(|| names(&actual, &expected));
                self.pairs.push((actual, expected));
            }
        }
        Some(())
    }

    /// Whether a script whose text nobody knows, and that begins with this call, can stand for the protocol's: it looks at
    /// the same key.
    pub(super) fn in_script(&mut self, expected: &Command, first_call: &Said) -> Option<()> {
        let key = if expected.is("EVAL") || expected.is("EVALSHA") { 2 } else { 0 };
        let looks = first_call.is("GET") && first_call.command.args().first() == expected.args().get(key);
        looks.then_some(())
    }

    /// The reply with the protocol's words in it.
    pub(super) fn reply(&self, reply: &Reply) -> Reply {
        match reply {
            Reply::Bulk(bytes) => Reply::Bulk(self.value(bytes)),
            Reply::Array(items) => Reply::Array(items.iter().map(|item| self.reply(item)).collect()),
            Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Error(_) => reply.clone(),
        }
    }

    /// A value as the protocol would have it: its own, or an earlier one of this client's.
    fn value(&self, bytes: &[u8]) -> Vec<u8> {
        if let Some((_, protocols)) = self.pairs.iter().find(|(own, _)| own == bytes) {
            return protocols.clone();
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

/// The client's name in its value, and the speaker's in the protocol's, if they have one that is part of a value.
fn names(actual: &[u8], expected: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let token = SPEAKER.token;
    let known = [token.uuid(), token.hex(), format!("{}-{}", SPEAKER.pid, SPEAKER.thread), SPEAKER.pid.to_string()];
    let known = known.iter().map(String::as_bytes).filter(|name| name.len() < expected.len());
    known.into_iter().find_map(|name| {
        let begin = find(expected, name)?;
        let behind = expected.len() - begin - name.len();
        let own = actual.get(begin..actual.len().checked_sub(behind)?).filter(|own| !own.is_empty())?;
        Some((own.to_vec(), name.to_vec()))
    })
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Whether both are values that this kind writes.
fn is_value_of(kind: &Kind, expected: &[u8], actual: &[u8]) -> bool {
    let protocol = kind.protocol();
    let form = kind.form().filter(|form| form.matches(expected));
    match kind.hand() {
        Some(dialect) if dialect.clock == Clock::Uptime => {
            dialect.form.matches(expected) && dialect.form.matches(actual)
        }
        Some(_) if let Some(form) = form => is_in_hand(&form, expected, actual),
        Some(dialect) if dialect.keys == Keys::OwnerAndExpiry => is_stamp(dialect, expected, actual),
        Some(_) if kind.dialect().is_some() => false,
        // A token is whatever its owner has drawn.
        Some(_) => is_token(actual),
        None if names_speaker(expected) => is_token(actual),
        None => protocol.could_write(expected) && (protocol.could_write(actual) || is_token(actual)),
    }
}

/// Whether the other is written in this form, too.
fn is_in_hand(form: &Form, expected: &[u8], actual: &[u8]) -> bool {
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

/// Whether it is by this word that the speaker is known.
fn names_speaker(word: &[u8]) -> bool {
    let names = [SPEAKER.token.hex().into_bytes(), SPEAKER.token.uuid().into_bytes()];
    names.iter().any(|name| word.windows(name.len()).any(|part| part == name))
}

fn is_token(word: &[u8]) -> bool {
    word.len() >= 8 && !is_decimal(word)
}

const DECADE_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// Whether the word at this place is a length of time.
fn is_lease(name: &[u8], place: usize) -> bool {
    match name {
        b"EXPIRE" | b"PEXPIRE" | b"EXPIREAT" | b"PEXPIREAT" | b"SETEX" | b"PSETEX" => place == 2,
        b"SET" => place > 3,
        b"EVALSHA" => place > 3,
        _ => false,
    }
}

/// Whether both are numbers, and neither is more than some thirty times the other: seconds are no milliseconds.
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

/// The words, with names in capitals, the options of SET in one order, and scripts by their hash.
fn canonical(command: &Command) -> Vec<Vec<u8>> {
    let mut words = command.words().to_vec();
    words[0].make_ascii_uppercase();
    match words[0].as_slice() {
        b"SET" if words.len() > 3 => {
            let mut options = words.split_off(3);
            let is_word = |option: &&mut Vec<u8>| OPTIONS.iter().any(|word| option.eq_ignore_ascii_case(word));
            options.iter_mut().filter(is_word).for_each(|option| option.make_ascii_uppercase());
            let condition = options.iter().position(|option| option == b"NX" || option == b"XX");
            words.extend(condition.map(|place| options.remove(place)));
            words.extend(options);
        }
        b"EVAL" if words.len() > 1 => {
            words[0] = b"EVALSHA".to_vec();
            words[1] = Sha1::from(&words[1]).digest().to_string().into_bytes();
        }
        b"EVALSHA" if words.len() > 1 => words[1].make_ascii_lowercase(),
        _ => {}
    }
    words
}
