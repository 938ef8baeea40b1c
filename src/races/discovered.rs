//! What exploring has found and no article mentions.

use std::time::Duration;

use super::cast::{Cast, Guarding, Start};
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::Dialect;
use crate::legacy::catalogue::{csharp, go, java, java_article, jedis_article, php, php_article, python};

const BY_EXPLORATION: &[&str] = &["found by exploration"];

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn dialect(dialect: &'static Dialect) -> Protocol {
    Protocol::Dialect(dialect)
}

/// Somebody sent the SETNX of this dialect and died; its stamp is over.
const fn left_behind(of: &'static Dialect) -> Start {
    Start::Died { protocol: dialect(of), lease: secs(2), ticks_ago: 9, writes: 1 }
}

const TOKEN: Remedy = Remedy {
    changes: &[Change::All(Protocol::Token)],
    because: "Redis itself ends the lease, and nobody writes into a key that is there",
};
const WATCHED: Remedy = Remedy {
    changes: &[Change::All(dialect(&csharp::SERVICESTACK))],
    because: "the transaction writes only if nobody has touched the key since it was read: a loser writes nothing",
};

const PHP: Player = Player::new(dialect(&php_article::PHP_GETSET), secs(2));
const PHP_DEL: Player = Player::new(dialect(&php_article::PHP_DEL_TAKEOVER), secs(2));
const JAVA: Player = Player::new(dialect(&java_article::JAVA_GETSET), secs(2)).trying(1);
const SETNX: Player = Player::new(dialect(&jedis_article::NAIVE_SETNX), secs(2)).heedless();

pub(super) const RACES: &[Race] = &[
    Race {
        id: "stamp-written-back",
        title: "The taker writes back the stamp that is over",
        sources: BY_EXPLORATION,
        story: "The loop of the PHP article's section 5 puts what GET returns into the variable that it then hands to SETNX. \
                Whoever takes over a lock writes the old stamp again, and the next client finds it over and takes it from him.",
        cast: Cast { players: &[PHP_DEL; 2], start: left_behind(&php_article::PHP_DEL_TAKEOVER), ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "DEL"), Mark("A", "SETNX"), Mark("B", "GET"), Mark("B", "DEL")], blame: 3 },
        remedies: &[
            Remedy {
                changes: &[Change::All(dialect(&php_article::PHP_GETSET))],
                because: "the value is made once for each try, and GET's answer has a variable of its own",
            },
            TOKEN,
        ],
        variations: &[],
        remark: Some("No second client needs to be in a hurry: each newcomer evicts the one before, for as long as they come."),
    },
    Race {
        id: "phantom-after-release",
        title: "A lock that nobody holds, because its holder was quick",
        sources: BY_EXPLORATION,
        story: "Between a client's GET and its GETSET the lock is taken and given back. GETSET finds no old value, the client of \
                the equality verdict calls itself the loser, and its stamp stays in a lock that nobody holds.",
        cast: Cast { players: &[JAVA; 2], start: left_behind(&java_article::JAVA_GETSET), ..Cast::NOBODY },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("B", "GET"), Mark("A", "GETSET"), Mark("A", "DEL"), Mark("B", "GETSET")], blame: 3 },
        remedies: &[
            Remedy {
                changes: &[Change::All(dialect(&php_article::PHP_GETSET))],
                because: "no old value counts as one that is over, and wins",
            },
            WATCHED,
            TOKEN,
        ],
        variations: &[],
        remark: Some("GET found a value, so that the known remedy for an empty GET does not help."),
    },
    Race {
        id: "loser-outlives-winner",
        title: "A lock that nobody holds, because its loser's stamp is later",
        sources: BY_EXPLORATION,
        story: "A loser has moved the winner's lease to a later moment. When the winner's lease is over and the winner has not \
                released, everybody waits for the end of a lease that nobody has.",
        cast: Cast {
            players: &[PHP.trying(1).working(9); 2],
            start: left_behind(&php_article::PHP_GETSET),
            bounds: Bounds::ticks(3),
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "GETSET"), Mark("B", "GETSET"), Mark("clock", "passes")], blame: 1 },
        remedies: &[WATCHED, TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "late-expire",
        title: "A late EXPIRE cuts somebody else's lease",
        sources: BY_EXPLORATION,
        story: "A client wins by SETNX and is held up before its EXPIRE. Meanwhile its stamp is over, another client with a \
                longer lease takes the lock, and the late EXPIRE gives that one's key its own short time to live.",
        cast: Cast {
            players: &[
                Player { lease: secs(1), ..PHP }.trying(1).working(9),
                Player { lease: secs(4), ..PHP }.trying(1).working(9),
                Player { lease: secs(4), ..PHP }.trying(1).working(9),
            ],
            bounds: Bounds::ticks(4),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark("A", "SETNX"), Mark("B", "GETSET"), Mark("B", "EXPIRE"), Mark("A", "EXPIRE"), Mark("clock", "passes"), Mark("C", "SETNX")],
            blame: 4,
        },
        remedies: &[TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "get-then-set",
        title: "Two takers overwrite each other and both win",
        sources: &["cameronmaske/celery-once issue 7", "actionhero/node-resque issue 192"],
        story: "Two clients find the lock over, or missing. Each writes its own stamp by SET or SETEX, which never refuses and \
                hands nothing back.",
        cast: Cast { players: &[Player::new(dialect(&python::CELERY_ONCE), secs(2)); 2], ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "GET"), Mark("B", "SETEX"), Mark("A", "SETEX")], blame: 2 },
        remedies: &[WATCHED, TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "taken-without-writing",
        title: "An expired lock is handed to everybody who asks",
        sources: &["phpnode/YiiRedis pull request 18"],
        story: "A client that finds a stamp that is over calls the lock its own and writes nothing. The next one finds the same \
                stamp.",
        cast: Cast {
            players: &[Player::new(dialect(&php::YII_REDIS_UNWRITTEN), secs(2)); 2],
            start: left_behind(&php::YII_REDIS_UNWRITTEN),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "GET"), Mark("B", "GET")], blame: 1 },
        remedies: &[
            Remedy {
                changes: &[Change::All(dialect(&php::YII_REDIS))],
                because: "GETSET writes, and tells the second that he is the second",
            },
            WATCHED,
            TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "newer-stamp-wins",
        title: "Whoever comes a second later has a newer stamp",
        sources: BY_EXPLORATION,
        story: "The verdict asks whether the old stamp is below the own one. A second later it always is.",
        cast: Cast {
            players: &[Player::new(dialect(&go::L2MET), secs(2)).trying(1); 2],
            bounds: Bounds::ticks(1),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "GETSET"), Mark("clock", "passes"), Mark("B", "GETSET")], blame: 2 },
        remedies: &[TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "release-misses-key",
        title: "The release deletes another key",
        sources: BY_EXPLORATION,
        story: "The acquiring half sends the key's raw bytes, the releasing half sends them as Java writes a serialised string. \
                The DEL hits nothing, and everybody sits out the lease.",
        cast: Cast {
            players: &[Player::new(dialect(&java::SPRING_REDIS_CALLBACK), secs(2)).trying(1)],
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "DEL")], blame: 0 },
        remedies: &[
            Remedy {
                changes: &[Change::All(dialect(&java::SPRING_REDIS_CALLBACK_STRING))],
                because: "a StringRedisTemplate sends the same bytes both times",
            },
            TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "lost-reply-locks-for-ever",
        title: "Nobody needs to die for a lock to be held for ever",
        sources: BY_EXPLORATION,
        story: "SETNX has run, and its reply is lost. The client does not know that it holds the lock, so it will never release \
                it; a constant in the key tells nobody else either.",
        cast: Cast {
            players: &[SETNX; 2],
            bounds: Bounds { lost_replies: 1, afterwards: Some(100), ..Bounds::ticks(1) },
            ..Cast::NOBODY
        },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "never gets the reply")], blame: 0 },
        remedies: &[
            Remedy {
                changes: &[Change::All(dialect(&jedis_article::NAIVE_SET_EX_NX))],
                because: "the lease ends it",
            },
            Remedy {
                changes: &[Change::All(Protocol::Token)],
                because: "the client deletes its token if it is there; if it cannot, the lease ends it",
            },
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "failover-loses-fence",
        title: "The replica counts the fence again",
        sources: BY_EXPLORATION,
        story: "The counter of the fence is in the same Redis as the lock. A failover that loses the lock loses the count as \
                well, so that two holders have the same number, and the resource takes both.",
        cast: Cast {
            players: &[Player { writes: true, ..Player::new(Protocol::FencedToken, secs(2)) }; 2],
            bounds: Bounds { failovers: 1, ..Bounds::ticks(0) },
            guard: Some(Guarding::ChecksFence),
            ..Cast::NOBODY
        },
        violates: Property::NoStaleWrite,
        sketch: Sketch {
            marks: &[
                Mark("A", "EVALSHA"),
                Mark("server", "fails over"),
                Mark("B", "EVALSHA"),
                Mark("B", "writes to the guarded resource"),
                Mark("A", "writes to the guarded resource"),
            ],
            blame: 1,
        },
        remedies: &[],
        variations: &[],
        remark: Some("A fence needs a counter that survives what the lock does not."),
    },
];
