//! The commands of a busy server: documents, counters, sessions and queues of many clients, and locks in between.

use std::io::{self, Write};

use lockshift::monitor::{Line, Source};
use lockshift::wire::{Command, UnixTime};

use crate::fleet::Fleet;

/// Fifty thousand commands a second.
const STEP_NS: i64 = 20_000;
const CLIENTS: u32 = 500;
const NOON_NS: i64 = 1_700_000_000_000_000_000;

/// A trace, line by line.
pub(crate) struct Traffic {
    chance: fastrand::Rng,
    fleet: Fleet,
    /// One line in so many is about a lock.
    lock_every: u32,
    at_ns: i64,
    lines: u32,
}

impl Traffic {
    pub(crate) fn new(lock_every: u32) -> Self {
        Self { chance: fastrand::Rng::with_seed(7), fleet: Fleet::new(), lock_every, at_ns: NOON_NS, lines: 0 }
    }

    /// Writes the next line.
    pub(crate) fn line(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.at_ns += STEP_NS;
        self.lines += 1;
        let at = UnixTime::from_nanos(self.at_ns);
        if self.lines.is_multiple_of(self.lock_every) || self.fleet.is_in_script() {
            let (client, command) = self.fleet.next(at);
            let source = client.as_ref().map_or(Source::Script, |client| Source::Client(client.as_bytes()));
            return writeln!(out, "{}", Line::new(at, 0, source, &command));
        }
        let number = self.chance.u32(0..CLIENTS);
        let client = format!("10.1.{}.{}:{}", number / 250, number % 250, 40_000 + number);
        let source = Source::Client(client.as_bytes());
        writeln!(out, "{}", Line::new(at, 0, source, &self.unrelated()))
    }

    /// A command that no lock is made of, or only looks like it.
    fn unrelated(&mut self) -> Command {
        let id = self.chance.u32(0..1_000_000);
        let (name, words) = match self.chance.u32(0..20) {
            0..7 => ("GET", vec![format!("user:{id}:profile")]),
            7..9 => ("HGETALL", vec![format!("cart:{id}")]),
            9..11 => {
                let document = format!(r#"{{"id":{id},"name":"customer","roles":["reader","writer"],"since":2019}}"#);
                ("SET", vec![format!("user:{id}:profile"), document])
            }
            11 => ("SET", vec![format!("session:{id}"), "x".repeat(120), "EX".into(), "1800".into()]),
            12 => ("EXPIRE", vec![format!("session:{id}"), "1800".into()]),
            13 => ("INCR", vec![format!("visits:{}", id % 1000)]),
            14 => ("LPUSH", vec!["queue:mail".into(), format!(r#"{{"to":{id},"text":"welcome"}}"#)]),
            15 => ("BRPOP", vec!["queue:mail".into(), "5".into()]),
            16 => ("ZADD", vec!["ranking".into(), (id % 977).to_string(), format!("user:{id}")]),
            17 => ("EXISTS", vec![format!("flag:{}", id % 300)]),
            18 => ("DEL", vec![format!("user:{id}:profile")]),
            _ => ("HMGET", vec![format!("product:{id}"), "price".into(), "stock".into(), "title".into()]),
        };
        words.into_iter().fold(Command::new(name), Command::arg)
    }
}
