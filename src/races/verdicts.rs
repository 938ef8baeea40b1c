//! Taking a lock that is over without asking whether somebody was faster, or by asking the wrong question.

use super::cast::{Cast, Start};
use super::player::Player;
use super::race::Race;
use super::remedy::Remedy;
use super::sketch::{Mark, Sketch};
use crate::explore::{Bounds, Property};
use crate::legacy::catalogue::{go, php, php_article, python};

const PHP_DEL: Player = Player::old(&php_article::PHP_DEL_TAKEOVER, 2);
const CELERY: Player = Player::old(&python::CELERY_ONCE, 2);
const YII: Player = Player::old(&php::YII_REDIS_UNWRITTEN, 2);
const L2MET: Player = Player::old(&go::L2MET, 2).trying(1);

pub(super) const RACES: &[Race] = &[
    Race {
        id: "stamp-written-back",
        title: "The taker writes back the stamp that is over",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "The loop of the PHP article's section 5 puts what GET returns into the variable that it then hands to SETNX. \
                Whoever takes over a lock writes the old stamp again, and the next client finds it over and takes the lock.",
        cast: Cast {
            players: &[PHP_DEL; 2],
            start: Start::left_behind(&php_article::PHP_DEL_TAKEOVER),
            ..Cast::NOBODY
        },
        violates: Property::MutualExclusion,
        sketch: Sketch {
            marks: &[Mark("A", "DEL"), Mark("A", "SETNX"), Mark("B", "GET"), Mark("B", "DEL"), Mark("B", "SETNX")],
            blame: 3,
        },
        remedies: &[
            Remedy::old(&php_article::PHP_GETSET, "the stamp is made anew for each try, and GET's answer is not kept"),
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: Some("Nobody needs to be in a hurry: each newcomer evicts the one before, for as long as they come."),
    },
    Race {
        id: "get-then-set",
        title: "Two takers overwrite each other, and both win",
        sources: &["cameronmaske/celery-once issue 7", "actionhero/node-resque issue 192"],
        story: "Two clients find the lock over, or missing. Each writes its stamp by SET or SETEX, which never refuses and hands \
                nothing back.",
        cast: Cast { players: &[CELERY; 3], ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "GET"), Mark("B", "SETEX"), Mark("A", "SETEX")], blame: 2 },
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
    Race {
        id: "taken-without-writing",
        title: "A lock that is over is handed to everybody who asks",
        sources: &["phpnode/YiiRedis pull request 18"],
        story: "A client that finds a stamp that is over calls the lock its own and writes nothing. The next one finds the same \
                stamp.",
        cast: Cast { players: &[YII; 3], start: Start::left_behind(&php::YII_REDIS_UNWRITTEN), ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "GET"), Mark("B", "GET")], blame: 1 },
        remedies: &[
            Remedy::old(&php::YII_REDIS, "GETSET writes, and tells the second one that he is the second"),
            Remedy::WATCHED,
            Remedy::TOKEN,
        ],
        variations: &[],
        remark: None,
    },
    Race {
        id: "newer-stamp-wins",
        title: "Whoever comes a second later has a newer stamp",
        sources: Race::FOUND_BY_EXPLORATION,
        story: "The verdict asks whether the old stamp is below the own one. A second later it always is, whether or not the \
                lease is running.",
        cast: Cast { players: &[L2MET; 2], bounds: Bounds::ticks(1), ..Cast::NOBODY },
        violates: Property::MutualExclusion,
        sketch: Sketch { marks: &[Mark("A", "GETSET"), Mark("clock", "passes"), Mark("B", "GETSET")], blame: 2 },
        remedies: &[Remedy::WATCHED, Remedy::TOKEN],
        variations: &[],
        remark: None,
    },
];
