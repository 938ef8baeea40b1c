//! The clients, and which of our protocols each of them speaks.

use lockshift::protocols::Choice;

/// A foreign client, by the name that `tests/interop/prepare` knows it by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) speaks: &'static [Spoken],
    /// Whether one process serves many sessions at once: machines that are slow to start.
    pub(crate) serves_many: bool,
    /// Whether its version is written down here, and not that of the machine's own packages.
    pub(crate) is_pinned: bool,
}

impl Client {
    /// A client in PHP, which comes from the machine's own packages.
    const fn php(name: &'static str, speaks: &'static [Spoken]) -> Self {
        Self { name, speaks, serves_many: false, is_pinned: false }
    }

    /// A client that is quick to start.
    const fn quick(name: &'static str, speaks: &'static [Spoken]) -> Self {
        Self { name, speaks, serves_many: false, is_pinned: true }
    }

    /// A client in Java.
    const fn java(name: &'static str, speaks: &'static [Spoken]) -> Self {
        Self { name, speaks, serves_many: true, is_pinned: true }
    }
}

/// One of our protocols, spoken by somebody else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spoken {
    /// Our name of it.
    pub(crate) protocol: &'static str,
    /// Whether what it writes is, byte for byte, what ours writes.
    pub(crate) same_bytes: bool,
    /// Whether the protocol lets two in although nobody outlasts a lease.
    pub(crate) doubles_by_itself: bool,
}

impl Spoken {
    const fn of(protocol: &'static str) -> Self {
        Self { protocol, same_bytes: true, doubles_by_itself: false }
    }

    /// It holds and yields as ours does, with a value of its own making.
    const fn with_own_value(self) -> Self {
        Self { same_bytes: false, ..self }
    }

    /// It deletes what it does not find: a lock that was taken meanwhile goes with it.
    const fn that_doubles(self) -> Self {
        Self { doubles_by_itself: true, ..self }
    }

    /// Our protocol.
    pub(crate) fn choice(self) -> Choice {
        self.protocol.parse().expect("the roster names protocols of the catalogue")
    }
}

/// The three locks of the PHP article; the second deletes what it does not find.
macro_rules! php_article {
    ($by_del:literal, $by_getset:literal) => {
        &[Spoken::of("php-setnx"), Spoken::of($by_del).that_doubles(), Spoken::of($by_getset)]
    };
}

const TOKEN: &[Spoken] = &[Spoken::of("token")];
const TOKEN_OF_ITS_OWN: &[Spoken] = &[Spoken::of("token").with_own_value()];
const JAVA_ARTICLE: &[Spoken] = &[Spoken::of("java-getset"), Spoken::of("java-lua"), Spoken::of("java-token")];

/// All of them.
pub(crate) const CLIENTS: &[Client] = &[
    Client::php("phpredis", php_article!("php-del-takeover", "php-getset")),
    Client::php("predis", php_article!("predis-del-takeover", "predis-getset")),
    Client::php("php-7.4-phpredis", php_article!("php7-del-takeover", "php7-getset")),
    Client::php("php-7.4-predis", php_article!("predis7-del-takeover", "predis7-getset")),
    Client::php("laravel", TOKEN_OF_ITS_OWN),
    Client::php("symfony", TOKEN_OF_ITS_OWN),
    Client::java("spring", JAVA_ARTICLE),
    Client::java("jedis", &[Spoken::of("redis-distributed-lock")]),
    Client::java("jedis-lock", &[Spoken::of("jedis-lock")]),
    Client::quick("redis-py-2.9", &[Spoken::of("redis-py-2.8-python3")]),
    Client::quick("redis-py", TOKEN),
    Client::quick("npm-redis-lock", &[Spoken::of("npm-redis-lock")]),
    Client::quick("redlock", TOKEN),
];
