//! What keys hold: read from one server, written to another.

use std::collections::BTreeMap;

use lockshift::wire::{Command, Reply};

use crate::wire::Redis;

/// The keys of a server, and what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents(pub(crate) BTreeMap<Vec<u8>, Content>);

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// The command that puts it there, without the key: its name first.
    put: Vec<Vec<u8>>,
    /// When it ends, in milliseconds of the wall clock; `None`: never.
    pub(crate) ends_ms: Option<i64>,
}

impl Contents {
    /// What a server holds under this name, and under longer ones with this in it: `{name}:readers`.
    pub(crate) fn of(redis: &mut impl Redis, name: &str) -> Self {
        let keys = words(redis.call(&Command::new("KEYS").arg(format!("*{name}*"))));
        Self(keys.into_iter().filter_map(|key| Some((key.clone(), Content::of(redis, &key)?))).collect())
    }

    /// Puts it all on another server.
    pub(crate) fn put(&self, redis: &mut impl Redis) {
        for (key, content) in &self.0 {
            content.put(redis, key);
        }
    }

    /// What is written in this one.
    pub(crate) fn in_key(&self, name: &str) -> Option<Vec<Vec<u8>>> {
        self.0.get(name.as_bytes()).map(|content| content.put.clone())
    }

    /// Deletes all of it.
    pub(crate) fn delete(self, redis: &mut impl Redis) {
        for key in self.0.into_keys() {
            redis.call(&Command::new("DEL").arg(key));
        }
    }

    /// What is written, whenever it ends.
    pub(crate) fn written(&self) -> BTreeMap<&[u8], &[Vec<u8>]> {
        self.0.iter().map(|(key, content)| (key.as_slice(), content.put.as_slice())).collect()
    }
}

impl Content {
    fn of(redis: &mut impl Redis, key: &[u8]) -> Option<Self> {
        let kind = match redis.call(&Command::new("TYPE").arg(key)) {
            Reply::Status(kind) => kind,
            other => panic!("TYPE answers a status, not {other}"),
        };
        let (put, get): (&str, &[&str]) = match kind.as_str() {
            "string" => ("SET", &["GET"]),
            "hash" => ("HSET", &["HGETALL"]),
            "set" => ("SADD", &["SMEMBERS"]),
            "list" => ("RPUSH", &["LRANGE", "0", "-1"]),
            "zset" => ("ZADD", &["ZRANGE", "0", "-1", "WITHSCORES"]),
            // It has expired meanwhile.
            "none" => return None,
            other => panic!("no lock is a {other}"),
        };
        let mut values = words(redis.call(&get[1..].iter().fold(Command::new(get[0]).arg(key), Command::arg)));
        if kind == "zset" {
            values = values.chunks(2).flat_map(|pair| [pair[1].clone(), pair[0].clone()]).collect();
        }
        if kind == "set" {
            values.sort();
        }
        if kind == "hash" {
            let fields: BTreeMap<_, _> = values.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
            values = fields.into_iter().flat_map(|(field, value)| [field, value]).collect();
        }
        let ends_ms = match redis.call(&Command::new("PEXPIRETIME").arg(key)) {
            // It has expired since its type was read: what was read after that may be nothing.
            Reply::Int(-2) => return None,
            Reply::Int(ends_ms) => (ends_ms >= 0).then_some(ends_ms),
            other => panic!("PEXPIRETIME answers a number, not {other}"),
        };
        Some(Self { put: [vec![put.into()], values].concat(), ends_ms })
    }

    fn put(&self, redis: &mut impl Redis, key: &[u8]) {
        let command = Command::from_words([vec![self.put[0].clone(), key.to_vec()], self.put[1..].to_vec()].concat());
        redis.call(&command.expect("it has a name"));
        if let Some(ends_ms) = self.ends_ms {
            redis.call(&Command::new("PEXPIREAT").arg(key).arg_int(ends_ms));
        }
    }

    /// All texts in it.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.put[1..].iter().filter_map(|word| std::str::from_utf8(word).ok())
    }
}

/// The strings of a reply, in its order.
fn words(reply: Reply) -> Vec<Vec<u8>> {
    match reply {
        Reply::Bulk(bytes) => vec![bytes],
        Reply::Array(replies) => replies.into_iter().flat_map(words).collect(),
        Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Error(_) => Vec::new(),
    }
}
