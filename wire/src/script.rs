//! Lua scripts as typed commands: EVALSHA, and EVAL once where the server does not know the script yet.

use core::str;

use crate::ask::{Ask, WordSink};
use crate::decimal::Decimal;
use crate::{Command, Key, Reply, Transcript, Turn};

/// The text of a Lua script, with its SHA-1 known at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Script {
    text: &'static str,
    sha1_hex: [u8; 40],
}

impl Script {
    /// The script of exactly this text. For a file with comments use [`script_file!`](crate::script_file).
    pub const fn new(text: &'static str) -> Self {
        Self { text, sha1_hex: hex(const_sha1::sha1(text.as_bytes()).as_bytes()) }
    }

    /// The text that Redis runs.
    pub const fn text(&self) -> &'static str {
        self.text
    }

    /// The name under which Redis caches it: 40 lower-case hex digits.
    pub fn sha1_hex(&self) -> &str {
        str::from_utf8(&self.sha1_hex).expect("hex digits are ASCII")
    }

    /// The name under which Redis caches a script of this text, of which it is known only at run time.
    pub const fn sha1_hex_of(text: &[u8]) -> [u8; 40] {
        hex(const_sha1::sha1(text).as_bytes())
    }

    /// `EVALSHA sha1 numkeys key... arg...`.
    pub fn evalsha(&self, keys: &[&Key], args: &[&[u8]]) -> Command {
        self.by_hash(keys, args).command()
    }

    /// `EVAL text numkeys key... arg...`.
    pub fn eval(&self, keys: &[&Key], args: &[&[u8]]) -> Command {
        self.by_text(keys, args).command()
    }

    fn by_hash<'a>(&'a self, keys: &'a [&'a Key], args: &'a [&'a [u8]]) -> Run<'a> {
        Run { name: "EVALSHA", script: &self.sha1_hex, keys, args }
    }

    fn by_text<'a>(&'a self, keys: &'a [&'a Key], args: &'a [&'a [u8]]) -> Run<'a> {
        Run { name: "EVAL", script: self.text.as_bytes(), keys, args }
    }
}

/// The script of a `.lua` file, given by its path from the calling file, without the lines that are only a comment.
///
/// A comment does not change what a script does, so it must not change the SHA-1 by which servers and audits know it.
///
/// `const RELEASE: Script = script_file!("lua/release.lua");`
#[macro_export]
macro_rules! script_file {
    ($path:expr) => {{
        const FILE: &str = include_str!($path);
        const CODE: [u8; $crate::lua_code_length(FILE)] = $crate::lua_code(FILE);
        $crate::Script::new(match ::core::str::from_utf8(&CODE) {
            Ok(code) => code,
            Err(_) => panic!("whole lines of UTF-8 are UTF-8"),
        })
    }};
}

/// The length of [`lua_code`] in bytes.
#[doc(hidden)]
pub const fn lua_code_length(file: &str) -> usize {
    let (file, mut from, mut length) = (file.as_bytes(), 0, 0);
    while from < file.len() {
        let next = next_line(file, from);
        if !is_comment(file, from) {
            length += next - from;
        }
        from = next;
    }
    length
}

/// The lines of a Lua file that are more than a comment.
#[doc(hidden)]
pub const fn lua_code<const LENGTH: usize>(file: &str) -> [u8; LENGTH] {
    let (file, mut from, mut code, mut length) = (file.as_bytes(), 0, [0; LENGTH], 0);
    while from < file.len() {
        let next = next_line(file, from);
        if is_comment(file, from) {
            from = next;
        }
        while from < next {
            code[length] = file[from];
            length += 1;
            from += 1;
        }
    }
    code
}

/// The index behind the line that begins `from` here.
const fn next_line(file: &[u8], from: usize) -> usize {
    let mut next = from;
    while next < file.len() {
        next += 1;
        if file[next - 1] == b'\n' {
            break;
        }
    }
    next
}

/// Whether the line that begins `from` here is only a comment.
const fn is_comment(file: &[u8], from: usize) -> bool {
    let mut begin = from;
    while begin < file.len() && file[begin] == b' ' {
        begin += 1;
    }
    begin + 1 < file.len() && file[begin] == b'-' && file[begin + 1] == b'-'
}

impl Transcript {
    /// Runs a script by its hash and, where Redis answers NOSCRIPT, once more by its text, which also caches it.
    ///
    /// # Errors
    /// [`Pending`](crate::Pending): a reply is still to come, or Redis refused the script.
    pub fn script(&mut self, script: &Script, keys: &[&Key], args: &[&[u8]]) -> Turn<Reply> {
        self.script_answer(script, keys, args, |reply| Some(reply.clone()))
    }

    /// Runs a script that answers 1 for yes and 0 for no.
    ///
    /// # Errors
    /// [`Pending`](crate::Pending): a reply is still to come, or Redis refused the script.
    pub fn script_flag(&mut self, script: &Script, keys: &[&Key], args: &[&[u8]]) -> Turn<bool> {
        self.script_answer(script, keys, args, |reply| match reply {
            Reply::Int(1) => Some(true),
            Reply::Int(0) => Some(false),
            _ => None,
        })
    }

    /// Runs a script that answers a number.
    ///
    /// # Errors
    /// [`Pending`](crate::Pending): a reply is still to come, or Redis refused the script.
    pub fn script_int(&mut self, script: &Script, keys: &[&Key], args: &[&[u8]]) -> Turn<i64> {
        self.script_answer(
            script,
            keys,
            args,
            |reply| if let Reply::Int(number) = reply { Some(*number) } else { None },
        )
    }

    /// Runs a script, and reads its answer by `read`.
    ///
    /// # Errors
    /// [`Pending`](crate::Pending): a reply is still to come, Redis refused the script, or `read` could not read what it answered.
    pub fn script_answer<T>(
        &mut self,
        script: &Script,
        keys: &[&Key],
        args: &[&[u8]],
        read: impl FnOnce(&Reply) -> Option<T>,
    ) -> Turn<T> {
        let by_hash = script.by_hash(keys, args);
        let (_, mut reply) = self.reply_to(&by_hash)?;
        if reply.error_code() == Some("NOSCRIPT") {
            reply = self.reply_to(&script.by_text(keys, args))?.1;
        }
        let answer = if reply.error_code().is_none() { read(reply) } else { None };
        match answer {
            Some(answer) => Ok(answer),
            None => Self::fault(by_hash.command(), reply.clone()),
        }
    }
}

/// A script with its operands: `name script numkeys key... arg...`.
struct Run<'a> {
    name: &'a str,
    script: &'a [u8],
    keys: &'a [&'a Key],
    args: &'a [&'a [u8]],
}

impl Ask for Run<'_> {
    fn write_words<L: WordSink>(&self, sink: L) -> L {
        let sink = sink.arg(self.name).arg(self.script).arg(Decimal::of_length(self.keys.len() as u64));
        let sink = self.keys.iter().fold(sink, |sink, key| sink.arg(key));
        self.args.iter().fold(sink, |sink, arg| sink.arg(arg))
    }
}

const fn hex(digest: [u8; 20]) -> [u8; 40] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 40];
    let mut index = 0;
    while index < 20 {
        text[2 * index] = DIGITS[(digest[index] >> 4) as usize];
        text[2 * index + 1] = DIGITS[(digest[index] & 15) as usize];
        index += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_are_comments_are_left_out() {
        for (file, code) in [
            ("", ""),
            ("return 1", "return 1"),
            ("return 1 -- one\n", "return 1 -- one\n"),
            ("-- one\n  -- two\nreturn 1\n", "return 1\n"),
            ("return 1\n--", "return 1\n"),
            ("return 1\n    ", "return 1\n    "),
            ("return 1\n-", "return 1\n-"),
            ("x = 2\n- 1\n", "x = 2\n- 1\n"),
            ("x = 2\n/- 1\n", "x = 2\n/- 1\n"),
        ] {
            assert_eq!(lua_code_length(file), code.len(), "{file}");
            let mut expected = [0; 64];
            expected[..code.len()].copy_from_slice(code.as_bytes());
            assert_eq!(lua_code::<64>(file), expected, "{file}");
        }
    }
}
