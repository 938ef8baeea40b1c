//! The clients, and which of our protocols each of them speaks.

use lockshift::protocols::Choice;

/// A foreign client, by the name that `tests/interop/prepare` knows it by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) speaks: &'static [Spoken],
    /// Whether one process serves many sessions at once: machines that are slow to start.
    pub(crate) serves_many: bool,
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

/// All of them.
pub(crate) const CLIENTS: &[Client] = &[
    Client { name: "phpredis", speaks: php_article!("php-del-takeover", "php-getset"), serves_many: false },
    Client { name: "predis", speaks: php_article!("predis-del-takeover", "predis-getset"), serves_many: false },
    Client { name: "php-7.4-phpredis", speaks: php_article!("php7-del-takeover", "php7-getset"), serves_many: false },
    Client {
        name: "php-7.4-predis",
        speaks: php_article!("predis7-del-takeover", "predis7-getset"),
        serves_many: false,
    },
    Client { name: "laravel", speaks: &[Spoken::of("token").with_own_value()], serves_many: false },
    Client { name: "symfony", speaks: &[Spoken::of("token").with_own_value()], serves_many: false },
    Client {
        name: "spring",
        speaks: &[Spoken::of("java-getset"), Spoken::of("java-lua"), Spoken::of("java-token")],
        serves_many: true,
    },
    Client { name: "jedis", speaks: &[Spoken::of("redis-distributed-lock")], serves_many: true },
    Client { name: "jedis-lock", speaks: &[Spoken::of("jedis-lock")], serves_many: true },
    Client { name: "redis-py-2.9", speaks: &[Spoken::of("redis-py-2.8-python3")], serves_many: false },
    Client { name: "redis-py", speaks: &[Spoken::of("token")], serves_many: false },
    Client { name: "npm-redis-lock", speaks: &[Spoken::of("npm-redis-lock")], serves_many: false },
    Client { name: "redlock", speaks: &[Spoken::of("token")], serves_many: false },
];
