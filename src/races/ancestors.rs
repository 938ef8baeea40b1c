//! The locks before the timestamp: no lease, or a lease that is given too late.

use std::time::Duration;

use super::cast::Cast;
use super::player::Player;
use super::protocol::Protocol;
use super::race::Race;
use super::remedy::{Change, Remedy};
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis};

const LEASE: Duration = Duration::from_secs(2);
const EXISTS_SET: Player = Player::new(Protocol::Dialect(&jedis::NAIVE_EXISTS_SET), LEASE).heedless();
const SETNX: Player = Player::new(Protocol::Dialect(&jedis::NAIVE_SETNX), LEASE).heedless();
const SETNX_EXPIRE: Player = Player::new(Protocol::Dialect(&java::JAVA_SETNX_EXPIRE), LEASE);
const CAREFUL: Player = Player::new(Protocol::Dialect(&java::JAVA_LUA), LEASE);
const CARELESS: Player = Player::new(Protocol::FractionalLease(&java::JAVA_LUA), LEASE);

/// One client may die; then all leases run out.
const A_DEATH: Bounds = Bounds { crashes: 1, afterwards: Some(100), ..Bounds::ticks(1) };

const SET_EX_NX: Remedy = Remedy {
    changes: &[Change::All(Protocol::Dialect(&jedis::NAIVE_SET_EX_NX))],
    because: "SET NX EX writes the value and its end of life in one command",
};
const SCRIPT: Remedy = Remedy {
    changes: &[Change::All(Protocol::Dialect(&java::JAVA_LUA))],
    because: "the script runs SETNX and EXPIRE with nobody in between",
};
const TIMESTAMP: Remedy = Remedy {
    changes: &[Change::All(Protocol::Dialect(&java::JAVA_GETSET))],
    because: "the value says when the lease is over, and whoever finds it over takes it",
};
const TOKEN: Remedy = Remedy {
    changes: &[Change::All(Protocol::Token)],
    because: "SET NX PX writes the token and its end of life in one command",
};

pub(super) const RACES: &[Race] = &[
    Race {
        id: "check-then-set",
        title: "Both look, then both set",
        sources: &["Jedis article"],
        story: "Two clients ask EXISTS before either has sent its SET. Both are told that there is no key, and both set it.",
        cast: Cast { players: &[EXISTS_SET, EXISTS_SET], ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "EXISTS"), Mark("B", "SET"), Mark("A", "SET")], blame: 2 },
        remedies: &[Remedy {
            changes: &[Change::All(Protocol::Dialect(&jedis::NAIVE_SETNX))],
            because: "SETNX looks and sets in one command",
        }],
        variations: &[],
        remark: None,
    },
    Race {
        id: "no-lease-crash",
        title: "The holder dies, and the lock is held for ever",
        sources: &["PHP article, section 5", "Jedis article"],
        story: "A client gets the key by SETNX and dies. Nothing in the key says when it is over, so nobody ever gets it again.",
        cast: Cast { players: &[SETNX, SETNX], bounds: A_DEATH, ..Cast::NOBODY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "dies")], blame: 1 },
        remedies: &[SET_EX_NX, TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "crash-before-expire",
        title: "The client dies between SETNX and EXPIRE",
        sources: &["Java article", "Jedis article"],
        story: "SETNX has run, EXPIRE never will: the key has no time to live, and nobody ever gets it again.",
        cast: Cast { players: &[SETNX_EXPIRE, SETNX_EXPIRE], bounds: A_DEATH, ..Cast::NOBODY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "SETNX"), Mark("A", "dies")], blame: 1 },
        remedies: &[SET_EX_NX, SCRIPT, TIMESTAMP, TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "script-half-applied",
        title: "The script fails after its SETNX",
        sources: &["Java article"],
        story: "A script is not rolled back. If EXPIRE refuses its number, the script ends with an error, and what SETNX has \
                written stays.",
        cast: Cast { players: &[CARELESS, CAREFUL], bounds: Bounds { crashes: 0, ..A_DEATH }, ..Cast::NOBODY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark("A", "EVALSHA")], blame: 0 },
        remedies: &[
            Remedy {
                changes: &[Change::All(Protocol::Dialect(&java::JAVA_LUA))],
                because: "a lease in whole seconds, checked before it is sent, is never refused",
            },
            TOKEN,
        ],
        variations: &[],
        remark: None,
    },
];
