//! Values replaced by keyed hashes, in such a way that the trace can still be audited.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::LazyLock;

use siphasher::sip128::{Hasher128, SipHasher};

use crate::legacy::Part;
use crate::legacy::catalogue::catalogue;
use crate::monitor::{KeyPlaces, Line, Word};
use crate::wire::{Command, UnixTime};

/// Replaces the values in a trace: the same text by the same text everywhere, and none that can be traced back without the
/// key.
///
/// What an audit needs stays: times, clients, command names, keys, options, the texts of scripts, and in the values of
/// commands that locks send the numbers that can be a time, single letters, and the other digits if the value has at most
/// seven of them. A word of letters or of letters and digits becomes one of the same length and alphabet, so that a token
/// still looks like one, and the parts of a value correspond to the same parts elsewhere. A number becomes none that can
/// be a time. Of commands that no lock sends every argument becomes one hash, except the first and the keys that the
/// command writes. Of AUTH, ECHO, HELLO and PING every argument becomes one.
#[derive(Clone, Debug)]
pub struct Redaction {
    key: [u8; 16],
}

/// Which arguments of a command stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// All: keys and numbers.
    All,
    /// The first, a key, and of the others what an audit reads in a value.
    First,
    /// Every other one is a key.
    Pairs,
    /// Every other one behind their number is a key: MSETEX.
    CountedPairs,
    /// The third one, or all behind KEYS: MIGRATE.
    Migrated,
    /// A script, the number of its keys, and those keys.
    Script,
    /// The first, and the keys that the command writes.
    Keys,
    /// None.
    Nothing,
}

/// Words that are options of commands, not values, or commands that scripts are given.
const OPTIONS: [&[u8]; 14] = [
    b"NX",
    b"XX",
    b"GT",
    b"LT",
    b"EX",
    b"PX",
    b"EXAT",
    b"PXAT",
    b"KEEPTTL",
    b"GET",
    b"IFEQ",
    b"IFNE",
    b"PUBLISH",
    b"SPUBLISH",
];

/// The words that dialects write into every value, such as the names of JSON fields.
static FIXED: LazyLock<HashSet<&'static [u8]>> = LazyLock::new(|| {
    let parts = catalogue().flat_map(|dialect| dialect.form.parts);
    let texts = parts.filter_map(|part| if let Part::Text(text) = part { Some(text.as_bytes()) } else { None });
    texts.flat_map(|text| text.split(|byte| !byte.is_ascii_alphanumeric())).collect()
});

/// Before the text in a string that Java has serialized; two bytes of length follow.
const JAVA: &[u8] = b"\xac\xed\x00\x05t";
/// So many digits of a value stay: a lease, a process, the fraction of a second.
const SHORT: usize = 7;
/// A number in exponential notation has at most so many bytes.
const LONGEST_NUMBER: usize = 24;
/// No number becomes one that can be a time between these years, in seconds since 1970: 1990 and 2100.
const TIMES: Range<i128> = 631_152_000..4_102_444_800;
/// Numbers that are a time this near to that of the line stay, in nanoseconds: ten years.
const NEAR_NS: i128 = 10 * 366 * 86_400 * 1_000_000_000;

impl Redaction {
    /// A redaction with this key. Two with the same key replace the same values alike.
    pub fn new(key: [u8; 16]) -> Self {
        Self { key }
    }

    /// The line, redacted, without its line feed.
    pub fn line(&self, line: &Line<'_>) -> String {
        let words = self.words(line);
        let command = &Command::from_words(words).expect("a line has at least one word");
        Line::new(line.at, line.database, line.source, command).to_string()
    }

    fn words(&self, line: &Line<'_>) -> Vec<Vec<u8>> {
        let words: Vec<Cow<'_, [u8]>> = line.words().map(Word::bytes).collect();
        let name = words[0].to_ascii_lowercase();
        let kept = kept(&name);
        let count = |place: usize| words.get(place).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        let keys: usize = match kept {
            Kept::Script => count(2).unwrap_or(0),
            Kept::CountedPairs => count(1).unwrap_or(0),
            Kept::Migrated => place_of_word_keys(&words).unwrap_or(words.len()),
            _ => 0,
        };
        let written = match kept {
            Kept::Keys => written_keys(&name, line),
            _ => Vec::new(),
        };
        let redacted = words.iter().enumerate().map(|(place, word)| {
            let stays = match kept {
                _ if place == 0 => true,
                Kept::All => true,
                Kept::Nothing => false,
                Kept::First => place == 1,
                Kept::Keys => place == 1 || written.contains(&place),
                Kept::Pairs => place % 2 == 1,
                Kept::CountedPairs => place == 1 || place % 2 == 0 && place / 2 <= keys,
                Kept::Migrated => place == 3 || place >= keys,
                Kept::Script => place < keys.saturating_add(3),
            };
            match kept {
                _ if stays => word.to_vec(),
                Kept::Keys | Kept::Migrated | Kept::Nothing => {
                    format!("redacted:{:016x}", self.hash(word, 0) as u64).into_bytes()
                }
                _ => self.value(word, line.at),
            }
        });
        redacted.collect()
    }

    /// A value of a lock: its stamps stay, its words are replaced.
    fn value(&self, value: &[u8], at: UnixTime) -> Vec<u8> {
        let is_option = OPTIONS.iter().any(|option| value.eq_ignore_ascii_case(option));
        if is_option || is_exponential(value, at) {
            return value.to_vec();
        }
        let header = if value.starts_with(JAVA) { value.len().min(JAVA.len() + 2) } else { 0 };
        let (header, text) = value.split_at(header);
        let of_word = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        let uuids: Vec<usize> =
            (0..text.len()).filter(|begin| text[*begin..].get(..UUID).is_some_and(is_uuid)).collect();
        let mut begin = 0;
        let parts = text.chunk_by(|one, next| of_word(*one) && of_word(*next)).map(|bytes| {
            let at = begin;
            begin += bytes.len();
            let is_of_uuid = uuids.iter().any(|uuid| (*uuid..uuid + UUID).contains(&at));
            ValuePart { bytes, is_of_uuid, is_word: bytes.iter().all(|byte| of_word(*byte)) }
        });
        let parts: Vec<ValuePart<'_>> = parts.collect();
        let digits: usize = parts.iter().filter(|part| part.is_short_number(at)).map(|part| part.bytes.len()).sum();
        let digits_stay = digits <= SHORT || is_stamped(text, &parts, at);
        let redacted = parts.iter().flat_map(|part| self.part(part, digits_stay, at));
        let mut redacted: Vec<u8> = header.iter().copied().chain(redacted).collect();
        // The digits by which a random UUID can be recognised are the same in all of them.
        for begin in uuids {
            for place in [14, 19].map(|place| header.len() + begin + place) {
                redacted[place] = value[place];
            }
        }
        redacted
    }

    /// A part of a value.
    fn part(&self, part: &ValuePart<'_>, digits_stay: bool, at: UnixTime) -> Vec<u8> {
        let bytes = part.bytes;
        let digits = part.is_number();
        let stays = match part.is_of_uuid || !part.is_word {
            true => !part.is_word,
            false if digits => is_near(bytes, at) || digits_stay && bytes.len() <= SHORT,
            false => bytes.len() == 1 || FIXED.contains(bytes),
        };
        if stays {
            return bytes.to_vec();
        }
        let hexadecimal = [b'a'..=b'f', b'A'..=b'F']
            .map(|letters| bytes.iter().all(|byte| byte.is_ascii_digit() || letters.contains(byte)));
        let alphabet: &dyn Fn(u8) -> &'static [u8] = match hexadecimal {
            _ if digits => &|_| b"0123456789",
            [true, _] => &|_| b"0123456789abcdef",
            [_, true] => &|_| b"0123456789ABCDEF",
            _ => &|byte| match byte {
                b'0'..=b'9' => b"0123456789",
                b'a'..=b'z' => b"abcdefghijklmnopqrstuvwxyz",
                _ => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            },
        };
        let drawn = |draw: u64| -> Vec<u8> {
            let chosen = |(place, byte): (usize, &u8)| {
                let letters = alphabet(*byte);
                letters[(self.hash(bytes, draw << 32 | place as u64) % letters.len() as u128) as usize]
            };
            bytes.iter().enumerate().map(chosen).collect()
        };
        // Which draw it is depends on nothing but the part, so that it becomes the same everywhere.
        (0..).map(drawn).find(|drawn| !can_be_time(drawn)).expect("most numbers are no time")
    }

    fn hash(&self, word: &[u8], number: u64) -> u128 {
        let mut hasher = SipHasher::new_with_key(&self.key);
        hasher.write_u64(number);
        hasher.write(word);
        hasher.finish128().as_u128()
    }
}

/// A part of a value: letters and digits, or what stands between them.
struct ValuePart<'a> {
    bytes: &'a [u8],
    is_word: bool,
    /// A UUID is replaced in the same way wherever it stands, so its digits do not count.
    is_of_uuid: bool,
}

impl ValuePart<'_> {
    fn is_number(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_digit)
    }

    /// Whether it is a number that would stay by itself, and is not a time.
    fn is_short_number(&self, at: UnixTime) -> bool {
        self.is_number() && !self.is_of_uuid && self.bytes.len() <= SHORT && !is_near(self.bytes, at)
    }
}

/// Whether a value has the form of a lock's value in the catalogue, with a time near this one.
fn is_stamped(text: &[u8], parts: &[ValuePart<'_>], at: UnixTime) -> bool {
    let forms = || catalogue().map(|dialect| dialect.form).filter(|form| form.is_stamped());
    parts.iter().any(|part| part.is_number() && is_near(part.bytes, at)) && forms().any(|form| form.matches(text))
}

/// Whether it is a number in exponential notation that is short or a time near this one, as some languages write times.
fn is_exponential(value: &[u8], at: UnixTime) -> bool {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    let Some(number) = number.filter(|number| number.is_finite() && value.len() <= LONGEST_NUMBER) else {
        return false;
    };
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    value.iter().any(|byte| matches!(byte, b'e' | b'E')) && (digits <= SHORT || is_near_number(number as i128, at))
}

/// The places of the keys that a command writes, and of the words that say where they are.
fn written_keys(name: &[u8], line: &Line<'_>) -> Vec<usize> {
    let places = KeyPlaces::of(name).iter();
    places.flat_map(|it| it.places(line).chain(it.marker(line))).collect()
}

/// What stays of a command with this name, in small letters.
fn kept(name: &[u8]) -> Kept {
    match name {
        b"del" | b"unlink" | b"exists" | b"watch" | b"rename" | b"renamenx" | b"move" | b"expire" | b"pexpire"
        | b"expireat" | b"pexpireat" | b"persist" | b"ttl" | b"pttl" | b"get" | b"getdel" | b"getex" | b"incr"
        | b"flushall" | b"flushdb" | b"swapdb" | b"copy" | b"bitop" | b"sort" => Kept::All,
        b"set" | b"setnx" | b"getset" | b"setex" | b"psetex" | b"append" | b"delex" | b"delifeq" | b"hget"
        | b"hset" | b"hsetnx" | b"hmset" | b"hdel" | b"hexists" | b"hincrby" | b"zadd" | b"zrem" | b"publish" => {
            Kept::First
        }
        b"mset" | b"msetnx" => Kept::Pairs,
        b"msetex" => Kept::CountedPairs,
        b"migrate" => Kept::Migrated,
        b"eval" | b"evalsha" | b"eval_ro" | b"evalsha_ro" | b"fcall" | b"fcall_ro" => Kept::Script,
        b"auth" | b"echo" | b"hello" | b"ping" => Kept::Nothing,
        _ => Kept::Keys,
    }
}

/// The place of the word KEYS. A password may be that word, too.
fn place_of_word_keys(words: &[Cow<'_, [u8]>]) -> Option<usize> {
    let is = |place: usize, name: &str| words[place].eq_ignore_ascii_case(name.as_bytes());
    let mut place = 6;
    while place < words.len() {
        place += match () {
            () if is(place, "KEYS") => return Some(place),
            () if is(place, "AUTH") => 2,
            () if is(place, "AUTH2") => 3,
            () => 1,
        };
    }
    None
}

/// The length of a UUID.
const UUID: usize = 36;

fn is_uuid(text: &[u8]) -> bool {
    text.iter().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// The digits as a number.
fn number(digits: &[u8]) -> Option<i128> {
    std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit))?.parse().ok()
}

/// The nanoseconds in the units in which times are counted.
const UNITS: [i128; 4] = [1_000_000_000, 1_000_000, 1_000, 1];

/// Whether the digits are a time near this one, in seconds or a fraction of them.
fn is_near(digits: &[u8], at: UnixTime) -> bool {
    number(digits).is_some_and(|number| is_near_number(number, at))
}

fn is_near_number(number: i128, at: UnixTime) -> bool {
    UNITS
        .iter()
        .any(|unit| number.saturating_mul(*unit).saturating_sub(at.as_nanos().into()).saturating_abs() < NEAR_NS)
}

/// Whether the digits can be a time, whenever the trace was recorded.
fn can_be_time(digits: &[u8]) -> bool {
    let seconds = |number: i128| UNITS.map(|unit| number.saturating_mul(unit) / 1_000_000_000);
    number(digits).is_some_and(|number| seconds(number).iter().any(|seconds| TIMES.contains(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Parser;

    fn redacted(line: &str) -> String {
        let line = format!("1700000000.000001 [0 127.0.0.1:5] {line}");
        let text = Redaction::new([7; 16]).line(&Parser::new().parse(line.as_bytes()).unwrap());
        text.strip_prefix("1700000000.000001 [0 127.0.0.1:5] ").unwrap().to_owned()
    }

    #[test]
    fn what_an_audit_reads_stays() {
        for line in [
            r#""SETNX" "lock:orders" "1700000010""#,
            r#""SET" "lock:orders" "1700000010.5" "NX" "PX" "10000""#,
            r#""GETSET" "k" "1700000010000000""#,
            r#""SET" "k" "1.70000001E9""#,
            r#""SETNX" "k" "\xac\xed\x00\x05t\x00\n1700000010""#,
            r#""EVAL" "if redis.call('get', KEYS[1]) == ARGV[1] then return 1 end" "1" "k""#,
            r#""DEL" "orders:alice@example.com""#,
            r#""RENAMENX" "other" "lock:orders""#,
            r#""MOVE" "lock:orders" "1""#,
            r#""COPY" "other" "lock:orders" "DB" "1" "REPLACE""#,
            r#""SMOVE" "other" "lock:orders""#,
            r#""XGROUP" "CREATE" "lock:orders""#,
            r#""BITOP" "AND" "lock:orders" "one" "other""#,
            r#""SORT" "waiters" "STORE" "lock:orders""#,
            r#""MSETEX" "2" "lock:orders" "1" "lock:mails" "1" "EX" "60""#,
            r#""MULTI""#,
        ] {
            assert_eq!(redacted(line), line);
        }
    }

    #[test]
    fn a_token_keeps_its_form_and_what_is_equal_stays_equal() {
        let [set, eval] = [
            r#""SET" "k" "5f3c1b9e-2d4a-48c0-a1b2-c3d4e5f60718:1700000010" "NX""#,
            r#""EVALSHA" "0123456789abcdef" "1" "k" "5f3c1b9e-2d4a-48c0-a1b2-c3d4e5f60718""#,
        ]
        .map(redacted);
        let token = eval.rsplit('"').nth(1).unwrap();
        assert_eq!(token.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(
            token.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)),
            "{token}"
        );
        assert!(!token.contains("5f3c1b9e") && !token.contains("c3d4e5f60718"), "{token}");
        assert_eq!(set, format!(r#""SET" "k" "{token}:1700000010" "NX""#));
    }

    #[test]
    fn migrate_keeps_its_keys_and_no_password() {
        let kept =
            |line| redacted(line).split(' ').filter(|word| !word.contains("redacted:")).collect::<Vec<_>>().join(" ");
        let one = kept(r#""MIGRATE" "10.0.0.2" "6379" "lock:orders" "0" "5000" "AUTH" "KEYS""#);
        assert_eq!(one, r#""MIGRATE" "lock:orders""#);
        let several = r#""migrate" "10.0.0.2" "6379" "" "0" "5000" "AUTH2" "me" "keys" "KEYS" "lock:orders" "keys""#;
        assert_eq!(kept(several), r#""migrate" "" "KEYS" "lock:orders" "keys""#);
    }

    #[test]
    fn nothing_secret_is_left() {
        for line in [
            r#""MSETEX" "1" "k" "Secret" "EX" "60""#,
            r#""SET" "user:1" "{\"name\":\"Secret\",\"card\":4111111111111111}""#,
            r#""HSET" "user:1" "Secret" "4111111111111111""#,
            r#""RPUSH" "mails" "Secret" "4111111111111111""#,
            r#""EVAL" "return 1" "1" "k" "Secret" "4111111111111111""#,
            r#""MSET" "k" "Secret" "l" "4111111111111111""#,
            r#""CONFIG" "SET" "requirepass" "Secret""#,
            r#""AUTH" "Secret""#,
            r#""ECHO" "Secret""#,
            r#""SET" "k" "\xc3\xa4Secret4111111111111111\xff""#,
        ] {
            let redacted = redacted(line);
            assert!(!redacted.contains("Secret") && !redacted.contains("4111111111111111"), "{redacted}");
        }
    }

    #[test]
    fn no_number_becomes_a_time() {
        for digits in [10, 13, 16, 19] {
            for first in 4_321_000_000_u64..4_321_000_200 {
                let value = &format!("{first:0<digits$}")[..digits];
                let line = redacted(&format!(r#""SETNX" "lock" "{value}""#));
                let number = line.rsplit('"').nth(1).unwrap();
                assert!(number != value && number.len() == digits && !can_be_time(number.as_bytes()), "{line}");
            }
        }
    }

    #[test]
    fn a_value_keeps_few_digits_unless_it_is_that_of_a_lock() {
        for value in [
            "4111-1111-1111-1111",
            "4 1 1 1 1 1 1 1 1",
            "192.168.17.4",
            "1984-03-12",
            "123-45-6789",
            "4111111111111111e0",
        ] {
            let redacted = redacted(&format!(r#""SET" "k" "{value}""#));
            let kept = redacted.rsplit('"').nth(1).unwrap().bytes().zip(value.bytes());
            let kept = kept.filter(|(new, old)| new == old && old.is_ascii_digit()).count();
            assert!(kept <= SHORT, "{redacted}");
        }
        for value in ["host:4711", "1700000010:4711", "1.5e3", "4711", "1700000010-4711-140234", "1700000010.123456"] {
            let line = format!(r#""SET" "k" "{value}""#);
            let redacted = redacted(&line);
            let digits = |text: &str| text.matches(|letter: char| letter.is_ascii_digit()).collect::<String>();
            assert_eq!(digits(&redacted), digits(&line), "{redacted}");
        }
    }

    #[test]
    fn another_key_hashes_otherwise() {
        let mut parser = Parser::new();
        let line = parser.parse(br#"1700000000.000001 [0 a:1] "SET" "k" "token""#).unwrap();
        assert_ne!(Redaction::new([1; 16]).line(&line), Redaction::new([2; 16]).line(&line));
    }
}
