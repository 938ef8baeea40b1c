//! Lua scripts as typed commands: EVALSHA, and EVAL once where the server does not know the script yet.

use alloc::string::ToString;
use core::str;

use crate::{Command, Key, Reply, Transcript, Turn};

/// The text of a Lua script, with its SHA-1 known at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Script {
    text: &'static str,
    sha1_hex: [u8; 40],
}

impl Script {
    /// The script of this text: `Script::new(include_str!("release.lua"))`.
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

    /// `EVALSHA sha1 numkeys key... arg...`.
    pub fn evalsha(&self, keys: &[&Key], args: &[&[u8]]) -> Command {
        with_operands(Command::new("EVALSHA").arg(self.sha1_hex), keys, args)
    }

    /// `EVAL text numkeys key... arg...`.
    pub fn eval(&self, keys: &[&Key], args: &[&[u8]]) -> Command {
        with_operands(Command::new("EVAL").arg(self.text), keys, args)
    }
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

    fn script_answer<T>(
        &mut self,
        script: &Script,
        keys: &[&Key],
        args: &[&[u8]],
        read: impl FnOnce(&Reply) -> Option<T>,
    ) -> Turn<T> {
        let by_hash = script.evalsha(keys, args);
        let mut reply = self.send(by_hash.clone())?;
        if reply.error_code() == Some("NOSCRIPT") {
            reply = self.send(script.eval(keys, args))?;
        }
        if reply.error_code().is_some() {
            return Self::fault(by_hash, reply);
        }
        match read(&reply) {
            Some(answer) => Ok(answer),
            None => Self::fault(by_hash, reply),
        }
    }
}

fn with_operands(command: Command, keys: &[&Key], args: &[&[u8]]) -> Command {
    let command = keys.iter().fold(command.arg(keys.len().to_string()), |command, key| command.arg(key));
    args.iter().fold(command, |command, arg| command.arg(arg))
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
