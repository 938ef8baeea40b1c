//! What a command can have done to the server, judged by the command itself and by its reply.

use crate::{Command, Reply};

impl Command {
    /// Whether losing the reply loses nothing: the command only reads.
    pub fn only_reads(&self) -> bool {
        const READERS: [&str; 16] = [
            "GET", "EXISTS", "TYPE", "TTL", "PTTL", "STRLEN", "TIME", "PING", "HGET", "HEXISTS", "HGETALL", "COMMAND",
            "INFO", "WATCH", "UNWATCH", "MULTI",
        ];
        self.is_one_of(&READERS)
    }

    /// Whether `reply` shows that this command left the server as it was. Where that is open the answer is no.
    pub fn changed_nothing(&self, reply: &Reply) -> bool {
        // 0 says: there was no such key or field, or there was one already.
        const ZERO_IS_NOTHING: [&str; 13] = [
            "SETNX",
            "MSETNX",
            "HSETNX",
            "DEL",
            "UNLINK",
            "HDEL",
            "DELEX",
            "DELIFEQ",
            "EXPIRE",
            "PEXPIRE",
            "EXPIREAT",
            "PEXPIREAT",
            "PERSIST",
        ];
        self.only_reads()
            || match reply {
                // A script that fails has done what stands before the failure.
                Reply::Error(_) => !self.is_one_of(&["EVAL", "EVALSHA"]) || reply.error_code() == Some("NOSCRIPT"),
                Reply::Int(number) => *number == 0 && self.is_one_of(&ZERO_IS_NOTHING),
                // With GET, nil is the value before, whether or not a new one was written.
                Reply::Nil => self.is("EXEC") || self.is("SET") && !self.args().iter().any(|word| is_word(word, "GET")),
                Reply::Status(text) => text == "QUEUED",
                Reply::Bulk(_) | Reply::Array(_) => false,
            }
    }

    fn is_one_of(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is(name))
    }
}

fn is_word(bytes: &[u8], word: &str) -> bool {
    bytes.eq_ignore_ascii_case(word.as_bytes())
}
