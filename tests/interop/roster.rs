//! The clients, and which of our protocols each of them speaks.

use std::sync::Arc;
use std::time::Duration;

use lockshift::lock::{Lease, Locker};
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

/// One of our protocols, spoken by a foreign client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spoken {
    /// Our name of it.
    pub(crate) protocol: &'static str,
    /// What ours speaks against it: the same, or the other side of a read/write lock.
    pub(crate) against: &'static str,
    /// Whether what it writes is, byte for byte, what ours writes.
    pub(crate) same_bytes: bool,
    /// Whether it judges every value as ours does.
    pub(crate) judges_alike: bool,
    /// Whether the protocol admits two holders although none outlasts its lease.
    pub(crate) doubles_by_itself: bool,
    /// Whether the client extends what it holds, by as much as its lease.
    pub(crate) extends: bool,
}

impl Spoken {
    const fn of(protocol: &'static str) -> Self {
        Self {
            protocol,
            against: protocol,
            same_bytes: true,
            judges_alike: true,
            doubles_by_itself: false,
            extends: false,
        }
    }

    /// One side of a read/write lock against this other side of it.
    const fn against(self, against: &'static str) -> Self {
        Self { against, ..self }
    }

    /// It holds and yields as ours does, with a value of its own making.
    const fn with_own_value(self) -> Self {
        Self { same_bytes: false, ..self }
    }

    /// A bridge that judges a stamp expired a unit later than ours, and takes no value over that its fleet does not write.
    const fn with_own_judgement(self) -> Self {
        Self { same_bytes: false, judges_alike: false, ..self }
    }

    /// Two clients can win at once: it looks and then writes, or it deletes a key that it found expired, together with a
    /// lock that was acquired meanwhile.
    const fn that_doubles(self) -> Self {
        Self { doubles_by_itself: true, ..self }
    }

    /// It extends its lease, and ours extends.
    const fn that_extends(self) -> Self {
        Self { extends: true, ..self }
    }

    /// Whether at most one client holds the lock, theirs or ours.
    pub(crate) fn is_exclusive(self) -> bool {
        self.protocol == self.against && !self.protocol.contains("side=reader")
    }

    /// Whether what it reads and writes is looked at here: once, if it is played against two sides.
    pub(crate) fn is_judged_once(self) -> bool {
        self.protocol == self.against || self.protocol.contains("side=reader")
    }

    /// Whether its two sides have a key each. A foreign value is in one of them, and the matrix speaks of both.
    pub(crate) fn is_on_a_pair(self) -> bool {
        self.protocol.starts_with("rw-pair")
    }

    /// In the table and in the names of tests.
    pub(crate) fn label(self) -> String {
        if self.protocol == self.against {
            self.protocol.into()
        } else {
            format!("{} / {}", self.protocol, self.against)
        }
    }

    /// The locker that speaks as they do.
    pub(crate) fn locker(self, key: &str, lease: Duration) -> Arc<dyn Locker> {
        locker(self.protocol, key, lease)
    }

    /// The locker that ours is in the scenes with them.
    pub(crate) fn opponent(self, key: &str, lease: Duration) -> Arc<dyn Locker> {
        locker(self.against, key, lease)
    }
}

/// How all keys begin. Some packages put parts of it before every name: one `lock.`, another a namespace and `/locks/`.
pub(crate) const KEYS_BEGIN: &str = "lock./locks/";

fn locker(protocol: &str, key: &str, lease: Duration) -> Arc<dyn Locker> {
    let choice: Choice = protocol.parse().expect("the roster names protocols of the catalogue");
    choice.locker(key.into(), Lease::new(lease).expect("scenes have leases that can be had"))
}

/// The three locks of the PHP article; the second deletes what it does not find.
macro_rules! php_article {
    ($by_del:literal, $by_getset:literal) => {
        &[Spoken::of("php-setnx"), Spoken::of($by_del).that_doubles(), Spoken::of($by_getset)]
    };
}

const TOKEN: &[Spoken] = &[Spoken::of("token").that_extends()];
const TOKEN_OF_ITS_OWN: &[Spoken] = &[Spoken::of("token").with_own_value().that_extends()];

/// What the articles begin with, and the locks that they end with.
const ARTICLES: &[Spoken] = &[
    Spoken::of("redis-distributed-lock").that_extends(),
    Spoken::of("java-setnx-expire"),
    Spoken::of("naive-exists-set").that_doubles(),
    Spoken::of("naive-setnx"),
    Spoken::of("naive-set-ex-nx"),
    Spoken::of("naive-check-del"),
    Spoken::of("reentrant").that_extends(),
    Spoken::of("rw-pair"),
    Spoken::of("rw-pair").against("rw-pair,side=reader"),
    Spoken::of("rw-pair,side=reader").against("rw-pair"),
    Spoken::of("rw-stamps"),
    Spoken::of("rw-stamps").against("rw-stamps,side=reader"),
    Spoken::of("rw-stamps,side=reader").against("rw-stamps"),
];
const JAVA_ARTICLE: &[Spoken] = &[Spoken::of("java-getset"), Spoken::of("java-lua"), Spoken::of("java-token")];
const REDISSON: &[Spoken] = &[
    Spoken::of("redisson"),
    Spoken::of("redisson,kind=fenced"),
    Spoken::of("redisson,kind=fair"),
    Spoken::of("redisson-rw"),
    Spoken::of("redisson-rw").against("redisson-rw,side=reader"),
    Spoken::of("redisson-rw,side=reader").against("redisson-rw"),
];

/// This project's packages. What their bridges write and judge is shown by `packages`.
const PACKAGE: &[Spoken] = &[Spoken::of("token"), Spoken::of("bridge:php-getset").with_own_judgement()];
const PACKAGE_IN_MILLIS: &[Spoken] = &[Spoken::of("token"), Spoken::of("bridge:jedis-lock").with_own_judgement()];

/// All of them.
pub(crate) const CLIENTS: &[Client] = &[
    Client::php("phpredis", php_article!("php-del-takeover", "php-getset")),
    Client::php("predis", php_article!("predis-del-takeover", "predis-getset")),
    Client::php("php-7.4-phpredis", php_article!("php7-del-takeover", "php7-getset")),
    Client::php("php-7.4-predis", php_article!("predis7-del-takeover", "predis7-getset")),
    Client::php("laravel", &[Spoken::of("token").with_own_value()]),
    Client::php("symfony", TOKEN_OF_ITS_OWN),
    Client::java("spring", JAVA_ARTICLE),
    Client::java("jedis", ARTICLES),
    Client::java("jedis-lock", &[Spoken::of("jedis-lock")]),
    Client::java("redisson-3", REDISSON),
    Client::java("redisson-4", REDISSON),
    Client::quick("redis-py-2.9", &[Spoken::of("redis-py-2.8-python3")]),
    Client::quick("redis-py-2.10", &[Spoken::of("redis-py-2.10"), Spoken::of("redis-py-2.10-lua")]),
    Client::quick("redis-py", &[Spoken::of("token").that_extends(), Spoken::of("token,expiry=none")]),
    // Its clock has more digits than that of Python 2, in which the row is written.
    Client::quick("redset", &[Spoken::of("redset-repr").with_own_value()]),
    Client::quick("retools", &[Spoken::of("retools-0.4")]),
    Client::quick("celery-once", &[Spoken::of("celery-once").that_doubles()]),
    Client::quick("npm-redis-lock", &[Spoken::of("npm-redis-lock")]),
    Client::quick("npm-redis-lock-0.0.8", &[Spoken::of("npm-redis-lock")]),
    Client::quick("npm-redis-lock-0.0.9", &[Spoken::of("npm-redis-lock")]),
    Client::quick("npm-redis-lock-0.1.0", &[Spoken::of("npm-redis-lock-0.1.0")]),
    Client::quick("npm-redislock", TOKEN_OF_ITS_OWN),
    Client::quick("faye-redis", &[Spoken::of("faye-redis")]),
    Client::quick("redlock", TOKEN),
    Client::quick("bsm-redislock", TOKEN_OF_ITS_OWN),
    Client::quick("redsync", TOKEN_OF_ITS_OWN),
    Client::php("lockshift-phpredis", PACKAGE),
    Client::php("lockshift-predis", PACKAGE),
    Client::quick("lockshift-python", PACKAGE),
    Client::quick("lockshift-node", PACKAGE),
    Client::java("lockshift-jedis", PACKAGE_IN_MILLIS),
    Client::java("lockshift-lettuce", PACKAGE),
    Client::java("lockshift-spring", PACKAGE),
];
