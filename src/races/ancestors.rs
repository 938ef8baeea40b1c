//! The locks before the timestamp: no end of life in the key, or one that comes a command too late.

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis};

const EXISTS_SET: Player = Player::old(&jedis::NAIVE_EXISTS_SET, 2).heedless();
const SETNX: Player = Player::old(&jedis::NAIVE_SETNX, 2).heedless();
const SETNX_EXPIRE: Player = Player::old(&java::JAVA_SETNX_EXPIRE, 2);
const CAREFUL: Player = Player::old(&java::JAVA_LUA, 2);
const CARELESS: Player = Player { protocol: Protocol::FractionalLease(&java::JAVA_LUA), ..CAREFUL };

/// Time passes, in the end as much as it takes for every lease to be over.
const TIME_PASSES: Bounds = Bounds { afterwards: Some(100), ..Bounds::ticks(3) };
const A_DEATH: Bounds = Bounds { crashes: 1, ..TIME_PASSES };

const SET_EX_NX: Remedy =
    Remedy::old(&jedis::NAIVE_SET_EX_NX, "SET NX EX writes the value and its end of life in one command");

pub(super) const RACES: &[Race] = &[
    Race {
        id: "check-then-set",
        title: "Both look, then both set",
        sources: &["Jedis article"],
        story: "Two clients ask EXISTS before either has sent its SET. Both are told that there is no key, and both set it.",
        cast: Cast { players: &[EXISTS_SET; 3], ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "EXISTS"), Mark("B", "SET"), Mark("A", "SET")], blame: 2 },
        remedies: &[Remedy::old(&jedis::NAIVE_SETNX, "SETNX looks and sets in one command")],
        variations: &[],
        remark: None,
    },
    Race {
        id: "no-lease-crash",
        title: "The holder dies, and the lock is held for ever",
        sources: &["PHP article, section 5", "Jedis article"],
        story: "A client gets the key by SETNX and dies. Nothing in the key says when it is over, so nobody gets it again.",
        cast: Cast { players: &[SETNX; 3], bounds: A_DEATH, ..Cast::NOBODY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "dies")], blame: 1 },
        remedies: &[SET_EX_NX, Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "lost-reply-locks-for-ever",
        title: "Nobody needs to die for a lock to be held for ever",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "SETNX has run, and its reply is lost. The client does not know that it holds the lock and will never release \
                it; a constant in the key tells nobody else either.",
        cast: Cast { players: &[SETNX; 3], bounds: Bounds { lost_replies: 1, ..TIME_PASSES }, ..Cast::NOBODY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "never gets the reply")], blame: 0 },
        remedies: &[
            Remedy::old(&jedis::NAIVE_SET_EX_NX, "the lease ends it"),
            Remedy::all(
                Protocol::Token,
                "the client deletes its token if it is there, and if it cannot the lease ends it",
            ),
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "crash-before-expire",
        title: "The client dies between SETNX and EXPIRE",
        sources: &["Java article", "Jedis article"],
        story: "SETNX has run, EXPIRE never will. The key has no time to live, and nobody gets it again.",
        cast: Cast { players: &[SETNX_EXPIRE; 3], bounds: A_DEATH, ..Cast::NOBODY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "dies")], blame: 1 },
        remedies: &[
            SET_EX_NX,
            Remedy::old(&java::JAVA_LUA, "the script runs SETNX and EXPIRE with nobody in between"),
            Remedy::old(
                &java::JAVA_GETSET,
                "the value says when the lease is over, and whoever finds it over takes it",
            ),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "script-half-applied",
        title: "The script fails after its SETNX",
        sources: &["Java article"],
        story: "A script is not rolled back. If EXPIRE refuses its number, the script ends with an error, and what SETNX has \
                written stays.",
        cast: Cast { players: &[CARELESS, CAREFUL, CAREFUL], bounds: TIME_PASSES, ..Cast::NOBODY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "EVALSHA")], blame: 0 },
        remedies: &[
            Remedy::old(&java::JAVA_LUA, "a lease in whole seconds, checked before it is sent, is never refused"),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: Some(
            "The article takes this for a crash of the server. One careless caller is enough, and its try ends with an error \
             that says nothing of the lock it has left.",
        ),
    },
];
