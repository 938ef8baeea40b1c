//! Random tokens in the forms in which programs of other projects write them.
//!
//! The token of this project is 32 hex digits, and some rows of the catalogue write a UUID: both are known by themselves.
//! Others encode their random bytes in another way, and such a value is a token by three signs: its length and alphabet are those of a program, it looks random (a capital, a small letter and a
//! digit), and Redis will delete its key, because these programs send SET NX with an expiry. Session ids and cached
//! secrets can have the same signs, so a lock that is known by them is *likely* one, never certain. Of random tokens of
//! 22 characters, 1 in 50 has no digit and is not recognised; of Laravel's 16, 1 in 17.

/// A form of random tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenForm {
    /// Its alphabet.
    pub alphabet: TokenAlphabet,
    /// Number of characters, padding included.
    pub length: usize,
    /// The programs that write it, and the versions at which that was read or recorded.
    pub programs: &'static [&'static str],
}

/// The characters of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenAlphabet {
    /// Digits and letters.
    Base62,
    /// Base64 with `+` and `/`, padded.
    Base64,
    /// Base64 with `-` and `_`, without padding.
    Base64Url,
}

/// All forms.
const FORMS: &[TokenForm] = &[
    TokenForm { alphabet: TokenAlphabet::Base64Url, length: 22, programs: &["bsm/redislock 0.9"] },
    TokenForm { alphabet: TokenAlphabet::Base62, length: 22, programs: &["redlock-py 1.0.8"] },
    TokenForm {
        alphabet: TokenAlphabet::Base64,
        length: 24,
        programs: &["redsync 4", "node-redis-warlock 1.0.2", "python-redis-lock 4.0.1"],
    },
    TokenForm { alphabet: TokenAlphabet::Base64, length: 44, programs: &["symfony/lock 5.4"] },
    TokenForm { alphabet: TokenAlphabet::Base62, length: 16, programs: &["illuminate/cache 8"] },
];

impl TokenForm {
    /// The form of this value, if it looks like a random token. Whether Redis will delete its key is another question.
    pub fn of(value: &[u8]) -> Option<&'static Self> {
        FORMS.iter().find(|form| form.length == value.len() && form.alphabet.could_write(value))
    }
}

impl TokenAlphabet {
    /// In prose.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base62 => "base62",
            Self::Base64 => "base64",
            Self::Base64Url => "base64url",
        }
    }

    fn could_write(self, value: &[u8]) -> bool {
        match self {
            Self::Base62 => is_mixed(value) && value.iter().all(u8::is_ascii_alphanumeric),
            Self::Base64 => is_mixed(value) && is_base64(value, b"+/", true),
            Self::Base64Url => is_mixed(value) && is_base64(value, b"-_", false),
        }
    }
}

/// Words and names rarely have all three.
fn is_mixed(value: &[u8]) -> bool {
    [u8::is_ascii_uppercase, u8::is_ascii_lowercase, u8::is_ascii_digit].iter().all(|is| value.iter().any(is))
}

/// Whether this is base64 of whole bytes: the bits that the last character has too many are zero.
fn is_base64(value: &[u8], signs: &[u8; 2], is_padded: bool) -> bool {
    let padding = value.iter().rev().take_while(|byte| **byte == b'=').count();
    let text = &value[..value.len() - padding];
    let sextet = |byte: &u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        _ => signs.iter().position(|sign| sign == byte).map(|place| 62 + u8::from(place == 1)),
    };
    let unused = match text.len() % 4 {
        0 => 0,
        2 => 0b1111,
        3 => 0b11,
        _ => return false,
    };
    let is_whole = text.last().and_then(sextet).is_some_and(|last| last & unused == 0);
    let expected = if is_padded { (4 - text.len() % 4) % 4 } else { 0 };
    is_whole && padding == expected && text.iter().all(|byte| sextet(byte).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_programs_wrote_are_known_by_their_form() {
        for (value, alphabet, program) in [
            ("Rva_bi1OZAFd357UISVzrQ", "base64url", "bsm/redislock 0.9"),
            ("Pdn-oPtdd8fIPFmjC86kaQ", "base64url", "bsm/redislock 0.9"),
            ("knkqIdOiq4qKEPK23ySehw==", "base64", "redsync 4"),
            ("y4aBIdZ0Rq1mCNn8xJvT7u", "base62", "redlock-py 1.0.8"),
            ("q+9VZ1yHkcQOeD0sXhU/7aLt", "base64", "redsync 4"),
            ("rjwQdXxbyDLYgSXqgWuUVnMP0EBl6GfJ8Xn6kqVfVOk=", "base64", "symfony/lock 5.4"),
            ("oY5W0ZkD2l3pQmRc", "base62", "illuminate/cache 8"),
        ] {
            let form = TokenForm::of(value.as_bytes()).unwrap_or_else(|| panic!("{value}"));
            assert_eq!((form.alphabet.name(), form.programs[0]), (alphabet, program), "{value}");
        }
    }

    #[test]
    fn words_numbers_and_cut_tokens_are_not_tokens() {
        for value in [
            "",
            "hello, world of a cache",
            "MyApplicationContextAB",
            "1700000060.1234567890123",
            "1234567890123456",
            "abcdefghijklmnop",
            "Rva_bi1OZAFd357UISVzrR",
            "Rva_bi1OZAFd357UISVzr",
            "knkqIdOiq4qKEPK23ySehx==",
            "knkqIdOiq4qKEPK23ySeh===",
        ] {
            assert_eq!(TokenForm::of(value.as_bytes()), None, "{value}");
        }
    }
}
