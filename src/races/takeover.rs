//! Taking a lock that is over: who was first, and what the others have overwritten.

use std::time::Duration;

use super::cast::{Cast, Start};
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Grain, Property};
use crate::legacy::Dialect;
use crate::legacy::catalogue::{csharp, java, node, php, php_article, python, redis_page, ruby};

const DEL_SETNX: Protocol = Protocol::Dialect(&redis_page::SETNX_PAGE_DEL);
const SETNX_PAGE: Protocol = Protocol::Dialect(&redis_page::SETNX_PAGE);
const PHP: Protocol = Protocol::Dialect(&php_article::PHP_GETSET);
const RETOOLS: Protocol = Protocol::Dialect(&python::RETOOLS_EXPIRE);
const YII: Protocol = Protocol::Dialect(&php::YII_REDIS);

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Somebody sent the SETNX of this dialect and died; its stamp is over.
const fn left_behind(dialect: &'static Dialect) -> Start {
    Start::Died { protocol: Protocol::Dialect(dialect), lease: secs(2), ticks_ago: 9, writes: 1 }
}

const GETSET_VERDICT: Remedy = Remedy {
    changes: &[Change::All(SETNX_PAGE)],
    because: "GETSET hands back what it overwrites: whoever finds a live stamp there knows that he was late",
};
const WATCHED: Remedy = Remedy {
    changes: &[Change::All(Protocol::Dialect(&csharp::SERVICESTACK))],
    because: "the transaction writes only if nobody has touched the key since it was read: a loser writes nothing",
};
const TOKEN: Remedy = Remedy {
    changes: &[Change::All(Protocol::Token)],
    because: "Redis itself ends the lease, and nobody writes into a key that is there",
};

pub(super) const RACES: &[Race] = &[
    Race {
        id: "double-takeover",
        title: "Two clients each delete the other's lock",
        sources: &["PHP article, section 5", "Java article", "Redis SETNX page"],
        story: "Two clients read the same stamp that is over. One deletes the key and sets its own; the other, a step behind, \
                deletes that and sets its own.",
        cast: Cast {
            players: &[Player::new(DEL_SETNX, secs(2)), Player::new(DEL_SETNX, secs(2))],
            start: left_behind(&redis_page::SETNX_PAGE_DEL),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark("A", "DEL"), Mark("A", "SETNX"), Mark("B", "DEL"), Mark("B", "SETNX")],
            blame: 2,
        },
        remedies: &[GETSET_VERDICT, WATCHED, TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "loser-moves-lease",
        title: "The loser of a takeover moves the winner's lease",
        sources: &["PHP article, section 5", "Java article"],
        story: "Two clients find the same stamp over. The second GETSET tells its sender that it has lost, and has already put \
                the loser's stamp in the place of the winner's.",
        cast: Cast {
            players: &[Player::new(PHP, secs(3)), Player::new(PHP, secs(3))],
            start: left_behind(&php_article::PHP_GETSET),
            bounds: Bounds::ticks(1),
            ..Cast::NOBODY
        },
        violates: Property::LeaseHonoured,
        sketch: Sketch { marks: &[Mark("B", "GET"), Mark("A", "GETSET"), Mark("B", "GETSET")], blame: 2 },
        remedies: &[WATCHED, TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "stale-stamp-shortens-lease",
        title: "A loser that was held up ends the winner's lease early",
        sources: &["derived from the PHP article and the Java article"],
        story: "A client makes its stamp and is held up before its GETSET. Meanwhile another takes the lock. The late GETSET \
                loses, but leaves a stamp that is over earlier than the winner's, and a third client takes the lock from him.",
        cast: Cast {
            players: &[Player::new(PHP, secs(3)).working(9); 2],
            start: left_behind(&php_article::PHP_GETSET),
            bounds: Bounds::ticks(4),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark("B", "GET"), Mark("A", "GETSET"), Mark("B", "GETSET"), Mark("B", "GETSET")],
            blame: 2,
        },
        remedies: &[WATCHED, TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "loser-clears-ttl",
        title: "The loser of a takeover removes the winner's time to live",
        sources: &["dv/redis-semaphore issue 23"],
        story: "The winner of a takeover has given the key a time to live; the loser's GETSET removes it. If the winner dies \
                now, whoever relies on the time to live waits for ever.",
        cast: Cast {
            players: &[
                Player::new(RETOOLS, secs(1)).trying(1).working(9),
                Player::new(RETOOLS, secs(1)).trying(1).working(9),
                Player::new(Protocol::Token, secs(2)),
            ],
            start: left_behind(&python::RETOOLS_EXPIRE),
            bounds: Bounds { afterwards: Some(100), ..Bounds::ticks(1) },
            ..Cast::NOBODY
        },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "EXPIRE"), Mark("B", "GETSET")], blame: 1 },
        remedies: &[TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "loser-blocks-release",
        title: "The winner cannot release what a loser has overwritten",
        sources: &["kenn/redis-mutex issue 5", "derived"],
        story: "The release deletes the key only if it still holds the own stamp. A loser's GETSET has put another one there, so \
                the lock stays after its holder has left, until the loser's stamp is over.",
        cast: Cast {
            players: &[
                Player::new(Protocol::Dialect(&ruby::REDIS_MUTEX), secs(2)).trying(1),
                Player::new(Protocol::Dialect(&ruby::REDIS_MUTEX), secs(2)).trying(1),
            ],
            start: left_behind(&ruby::REDIS_MUTEX),
            bounds: Bounds::ticks(1),
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch { marks: &[Mark("A", "GETSET"), Mark("B", "GETSET"), Mark("A", "GET")], blame: 1 },
        remedies: &[WATCHED, TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "phantom-after-nil-get",
        title: "A lock that nobody holds, made by a GETSET after an empty GET",
        sources: &["kenn/redis-mutex issue 5", "errorception/redis-lock issue 3"],
        story: "GET finds nothing, because the lock has just been released. The client sends GETSET all the same, takes the \
                missing old value for somebody else's, and leaves its stamp in a lock that nobody holds.",
        cast: Cast {
            players: &[
                Player::new(Protocol::Dialect(&node::NPM_REDIS_LOCK_2012), secs(2)).trying(1),
                Player::new(Protocol::Dialect(&node::NPM_REDIS_LOCK_2012), secs(2)).trying(1),
            ],
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch {
            marks: &[Mark("A", "SETNX"), Mark("B", "SETNX"), Mark("A", "DEL"), Mark("B", "GET"), Mark("B", "GETSET")],
            blame: 4,
        },
        remedies: &[
            Remedy {
                changes: &[Change::All(Protocol::Dialect(&node::NPM_REDIS_LOCK))],
                because: "after an empty GET the client begins again with SETNX",
            },
            TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "equality-loser-phantom",
        title: "A lock that nobody holds, made by a loser of the equality verdict",
        sources: &["derived"],
        story: "Between a client's GET and its GETSET the lock is taken and is over again. GETSET hands back a stamp that is \
                over, but not the one that was read: the client calls itself the loser, and leaves its stamp in a lock that \
                nobody holds.",
        cast: Cast {
            players: &[Player::new(YII, secs(1)).trying(1).working(9); 2],
            start: left_behind(&php::YII_REDIS),
            bounds: Bounds::ticks(2),
            grain: Grain::Fine,
            ..Cast::NOBODY
        },
        violates: Property::NoPhantom,
        sketch: Sketch {
            marks: &[Mark("B", "GET"), Mark("A", "GETSET"), Mark("clock", "passes"), Mark("B", "GETSET")],
            blame: 3,
        },
        remedies: &[
            Remedy {
                changes: &[Change::All(Protocol::Dialect(&ruby::REDIS_MUTEX))],
                because: "its verdict asks whether the old stamp is over, and then has won",
            },
            WATCHED,
            TOKEN,
        ],
        variations: &[],
        remark: Some(
            "The other verdict closes this way only. A loser that wrote while the winner's lease was running leaves the same \
             phantom behind, whatever its verdict: see `loser-outlives-winner`.",
        ),
    },
    Race {
        id: "mine-counts-as-free",
        title: "The loser finds its own name in the winner's lock",
        sources: &["abelaska/jedis-lock issue 8"],
        story: "A losing GETSET has written the loser's name. On its next try it finds that name, takes the lock for its own, \
                and walks in beside the winner.",
        cast: Cast {
            players: &[
                Player::new(Protocol::Dialect(&java::JEDIS_LOCK_2015), secs(2)),
                Player::new(Protocol::Dialect(&java::JEDIS_LOCK_2015), secs(2)),
            ],
            start: left_behind(&java::JEDIS_LOCK_2015),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark("A", "GETSET"), Mark("B", "GETSET"), Mark("B", "GET"), Mark("B", "GETSET")],
            blame: 1,
        },
        remedies: &[
            Remedy {
                changes: &[Change::All(Protocol::Dialect(&java::JEDIS_LOCK))],
                because: "a stamp without a name is nobody's own",
            },
            TOKEN,
        ],
        variations: &[],
        remark: None,
    },
];
