//! The locks before the timestamp: no end of life in the key, or one that comes a command too late.

use super::participant::Participant;
use super::protocol::RaceProtocol;
use super::race::Race;
use super::remedy::Remedy;
use super::scenario::Scenario;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{java_article as java, jedis_article as jedis};
use crate::race_id::RaceId;

const EXISTS_SET: Participant = Participant::old(&jedis::NAIVE_EXISTS_SET, 2).heedless();
const SETNX: Participant = Participant::old(&jedis::NAIVE_SETNX, 2).heedless();
const SETNX_EXPIRE: Participant = Participant::old(&java::JAVA_SETNX_EXPIRE, 2);
const CAREFUL: Participant = Participant::old(&java::JAVA_LUA, 2);
const CARELESS: Participant = Participant { protocol: RaceProtocol::FractionalLease(&java::JAVA_LUA), ..CAREFUL };

/// Time passes, in the end until every lease has expired.
const TIME_PASSES: Bounds = Bounds::ticks(3).afterwards(100);
const A_DEATH: Bounds = TIME_PASSES.crashes(1);

const SET_EX_NX: Remedy =
    Remedy::old(&jedis::NAIVE_SET_EX_NX, "SET NX EX writes the value and its end of life in one command");

pub(super) const RACES: &[Race] = &[
    Race {
        id: RaceId::CheckThenSet,
        title: "Both look, then both set",
        sources: &["Jedis article"],
        story: "Two clients ask EXISTS before either has sent its SET. Both read that there is no key, and both set it.",
        scenario: Scenario { participants: &[EXISTS_SET; 3], ..Scenario::EMPTY },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark::Runs("A", "EXISTS"), Mark::Runs("B", "SET"), Mark::Runs("A", "SET")],
            blame: 2,
        },
        remedies: &[Remedy::old(&jedis::NAIVE_SETNX, "SETNX looks and sets in one command")],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::NoLeaseCrash,
        title: "The holder dies, and the lock is held for ever",
        sources: &["PHP article, section 5", "Jedis article"],
        story: "A client gets the key by SETNX and dies. Nothing in the key says when it expires, so no client ever acquires it again.",
        scenario: Scenario { participants: &[SETNX; 3], bounds: A_DEATH, ..Scenario::EMPTY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark::Runs("A", "SETNX"), Mark::Crashes("A")], blame: 1 },
        remedies: &[SET_EX_NX, Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::LostReplyLocksForEver,
        title: "A lock is held for ever although no client has died",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "SETNX has run, and its reply is lost. The client does not know that it holds the lock and will never release \
                it; a constant in the key does not tell the others either.",
        scenario: Scenario { participants: &[SETNX; 3], bounds: TIME_PASSES.lost_replies(1), ..Scenario::EMPTY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark::LosesReply("A")], blame: 0 },
        remedies: &[
            Remedy::old(&jedis::NAIVE_SET_EX_NX, "the lease ends it"),
            Remedy::all(
                RaceProtocol::TOKEN,
                "the client deletes its token if it is there, and if it cannot the lease ends it",
            ),
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::CrashBeforeExpire,
        title: "The client dies between SETNX and EXPIRE",
        sources: &["Java article", "Jedis article"],
        story: "SETNX has run, EXPIRE never will. The key has no time to live, and no client ever acquires it again.",
        scenario: Scenario { participants: &[SETNX_EXPIRE; 3], bounds: A_DEATH, ..Scenario::EMPTY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark::Runs("A", "SETNX"), Mark::Crashes("A")], blame: 1 },
        remedies: &[
            SET_EX_NX,
            Remedy::old(&java::JAVA_LUA, "no other command runs between the SETNX and the EXPIRE of a script"),
            Remedy::old(
                &java::JAVA_GETSET,
                "the value says when the lease expires, and a client that finds it expired takes it over",
            ),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: RaceId::ScriptHalfApplied,
        title: "The script fails after its SETNX",
        sources: &["Java article"],
        story: "A script is not rolled back. If EXPIRE refuses its number, the script ends with an error, and what SETNX has \
                written stays.",
        scenario: Scenario { participants: &[CARELESS, CAREFUL, CAREFUL], bounds: TIME_PASSES, ..Scenario::EMPTY },
        violates: Property::CanBeTakenAgain,
        sketch: Sketch { marks: &[Mark::Runs("A", "EVALSHA")], blame: 0 },
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
