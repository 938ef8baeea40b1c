//! Random commands: few keys of every type, arguments that are right most of the time.

use lockshift::sim::Flavour;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::steps::{Phrase, Word};
use super::terms::Terms;

/// Commands of all families. A word in small letters stands for what [`words`] makes of it.
const DATA: &str = "
    GET key | SET key value | SET key value setopt | SET key value setopt setopt | SETNX key value |
    GETSET key value | GETDEL key | MGET key key | MSET key value | MSET key value key value |
    MSETNX key value key value | APPEND key value | STRLEN key | INCR key | DECR key | INCRBY key int |
    DECRBY key int | DEL key | DEL key key | UNLINK key | EXISTS key key | TYPE key | KEYS pattern | SCAN cursor |
    SCAN cursor scanopt | SCAN cursor scanopt scanopt | HSET key field value | HSET key field value field value |
    HMSET key field value | HSETNX key field value | HGET key field | HMGET key field field | HGETALL key |
    HDEL key field | HDEL key field field | HEXISTS key field | HINCRBY key field int | HLEN key | HKEYS key |
    HVALS key | SADD key field | SADD key field field | SREM key field | SISMEMBER key field | SCARD key |
    SMEMBERS key | ZADD key score field | ZADD key score field score field | ZADD key zaddopt score field |
    ZADD key zaddopt zaddopt score field | ZINCRBY key score field | ZREM key field | ZREM key field field |
    ZSCORE key field | ZRANK key field | ZCARD key | ZRANGE key index index | ZRANGE key index index zrangeopt |
    ZRANGE key bound bound BYSCORE zrangeopt | ZREVRANGE key index index WITHSCORES | ZRANGEBYSCORE key bound bound |
    ZRANGEBYSCORE key bound bound zrangeopt | ZCOUNT key bound bound | ZREMRANGEBYSCORE key bound bound |
    LPUSH key value | RPUSH key value | RPUSH key value value | LPOP key | RPOP key | LPOP key int | RPOP key int |
    LINDEX key index | LREM key amount value | LLEN key | LRANGE key index index
";

const EXPIRY: &str = "
    SET key value | SET key value setopt | SET key value setopt setopt | SETEX key secs value |
    PSETEX key millis value | EXPIRE key secs | EXPIRE key secs expireopt | PEXPIRE key millis |
    PEXPIRE key millis expireopt | PEXPIRE key millis expireopt expireopt | EXPIREAT key at_secs |
    PEXPIREAT key at_millis | PEXPIREAT key at_millis expireopt | PERSIST key | TTL key | PTTL key | EXPIRETIME key |
    PEXPIRETIME key
";

/// Commands that meet keys with an expiry in an interesting way.
const MEETING_EXPIRY: &str = "
    GET key | SETNX key value | GETSET key value | INCR key | APPEND key value | DEL key | EXISTS key |
    RPUSH key value | LPOP key | KEYS pattern | WATCH key | MULTI | EXEC
";

/// One key only, so that what is watched is what expires.
const WATCHING: &str = "
    SET a value PX short | SET a value PX short | PEXPIRE a short | SET a value | GET a | PTTL a | WATCH a | WATCH a |
    WATCH a | MULTI | MULTI | EXEC | EXEC | UNWATCH
";

const SET_IF_EQUAL: &str = "SET key int IFEQ int | SET key int IFEQ int setopt | SET key int setopt IFEQ int";
const DELIFEQ: &str = "DELIFEQ key int";
const DELEX: &str = "
    DELEX key | DELEX key IFEQ int | DELEX key IFNE int | DELEX key name int | DELEX key name |
    SET key int IFNE int | SET key int IFNE int setopt
";

const TRANSACTIONS: &str = "
    MULTI | MULTI | EXEC | EXEC | EXEC | DISCARD | WATCH key | WATCH key key | UNWATCH | SELECT database | RESET |
    FLUSHDB | FLUSHALL
";

const CONNECTION: &str = "
    PING | PING value | ECHO value | SELECT database | AUTH name | AUTH name name | CLIENT SETNAME name |
    CLIENT GETNAME | CLIENT name | SCRIPT name | COMMAND name name | WAIT 0 amount | NOSUCH name name |
    HELLO 2 name name | HELLO wrong_version
";

const CHANNELS: &str = "
    PUBLISH channel value | SPUBLISH channel value | PUBSUB CHANNELS | PUBSUB CHANNELS pattern |
    PUBSUB NUMSUB channel channel | PUBSUB NUMPAT | PUBSUB SHARDNUMSUB channel | PUBSUB SHARDCHANNELS
";

/// Not between MULTI and EXEC: there a confirmation becomes part of EXEC's reply, and so do messages.
const LISTENING: &str = "
    SUBSCRIBE channel | PSUBSCRIBE pattern | SSUBSCRIBE channel | UNSUBSCRIBE channel | PUNSUBSCRIBE pattern |
    SUNSUBSCRIBE channel | PING | PING value | RESET | GET key | EXEC value | MULTI
";

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Transactions on keys that come and go.
pub(super) fn watching() -> impl Strategy<Value = Phrase> {
    right(WATCHING)
}

/// The native compare commands, as far as this server has them or is known to refuse them.
pub(super) fn comparing(terms: Terms) -> impl Strategy<Value = Phrase> {
    let has = |flavour| terms.compares && terms.flavour == flavour || terms.flavour == Flavour::Redis70;
    let shown = [
        (terms.compares || terms.flavour == Flavour::Redis70, SET_IF_EQUAL),
        (has(Flavour::Valkey9), DELIFEQ),
        (has(Flavour::Redis84), DELEX),
        (true, EXPIRY),
    ];
    let shown: Vec<_> = shown.into_iter().filter_map(|(is_chosen, templates)| is_chosen.then_some(templates)).collect();
    Union::new(shown.into_iter().map(|templates| mostly_right(templates).boxed()))
}

/// Commands of all families.
pub(super) fn everything() -> impl Strategy<Value = Phrase> {
    prop_oneof![
        12 => mostly_right(DATA),
        3 => mostly_right(EXPIRY),
        2 => mostly_right(TRANSACTIONS),
        1 => mostly_right(CONNECTION),
        1 => mostly_right(CHANNELS),
    ]
}

/// Keys that come and go.
pub(super) fn expiry() -> impl Strategy<Value = Phrase> {
    prop_oneof![3 => mostly_right(EXPIRY), 2 => right(MEETING_EXPIRY)]
}

/// Transactions with a bit of everything in between.
pub(super) fn transactions() -> impl Strategy<Value = Phrase> {
    prop_oneof![4 => right(TRANSACTIONS), 1 => mostly_right(TRANSACTIONS), 3 => right(DATA), 1 => right(EXPIRY)]
}

/// Publishing.
pub(super) fn publishing() -> impl Strategy<Value = Phrase> {
    prop_oneof![5 => right(CHANNELS), 1 => mostly_right(CHANNELS), 1 => right(TRANSACTIONS)]
}

/// Listening.
pub(super) fn listening() -> impl Strategy<Value = Phrase> {
    right(LISTENING)
}

/// Data commands, all of them well formed.
pub(super) fn data() -> impl Strategy<Value = Phrase> {
    prop_oneof![4 => right(DATA), 1 => right(EXPIRY)]
}

fn right(templates: &'static str) -> impl Strategy<Value = Phrase> {
    let templates: Vec<_> = templates.split('|').map(str::trim).collect();
    select(templates).prop_flat_map(|template| {
        let words: Vec<_> = template.split(' ').map(words).collect();
        words.prop_map(|words| Phrase(words.concat()))
    })
}

/// With a word too many, too few or out of place now and then.
fn mostly_right(templates: &'static str) -> impl Strategy<Value = Phrase> {
    let damage =
        prop_oneof![12 => Just(None), 1 => (0..3u8, any::<prop::sample::Index>(), select(&NAMES[..])).prop_map(Some)];
    (right(templates), damage).prop_map(|(Phrase(mut words), damage)| {
        match damage {
            Some((0, index, _)) if words.len() > 1 => drop(words.remove(1 + index.index(words.len() - 1))),
            Some((1, index, junk)) => words.insert(1 + index.index(words.len()), Word::text(junk)),
            Some((2, index, junk)) if words.len() > 1 => {
                let place = 1 + index.index(words.len() - 1);
                words[place] = Word::text(junk);
            }
            _ => {}
        }
        Phrase(words)
    })
}

/// What a word of a template may become: one word or several.
fn words(placeholder: &str) -> BoxedStrategy<Vec<Word>> {
    let of = |texts: &'static [&'static str]| {
        select(texts).prop_map(|text| text.split(' ').map(Word::text).collect::<Vec<_>>()).boxed()
    };
    match placeholder {
        "key" => of(&["a", "b", "c"]),
        "value" => prop_oneof![
            8 => of(&["1", "2", "10", "-7", "x", "y", "a", "9223372036854775807", "-9223372036854775808", "3.5", "007"]),
            1 => Just(vec![Word::text("")]),
            1 => Just(vec![Word::text(b"\xff\x00 \r\n")]),
        ]
        .boxed(),
        "field" => of(&["a", "b", "1", "2", "x"]),
        "name" => of(&NAMES),
        "int" => of(&["1", "2", "0", "-1", "5", "9223372036854775807", "-9223372036854775808", "x", "1.5", "+1"]),
        "amount" => of(&["0", "1", "-1", "2", "x"]),
        "index" => of(&["0", "1", "-1", "2", "-2", "100", "-100", "9223372036854775807", "-9223372036854775808", "x"]),
        "score" => of(&["1", "2", "-1", "0", "1.5", "0.1", "1e20", "-inf", "inf", "+5", "x", "1e-5", "-0"]),
        "bound" => of(&["-inf", "+inf", "1", "(1", "2", "(2.5", "0", "x", "(x"]),
        "cursor" => of(&["0", "0", "0", "x"]),
        "database" => of(&["0", "0", "1", "15", "16", "-1", "x"]),
        "wrong_version" => of(&["1", "4", "x"]),
        "channel" => of(&["a", "b", "ab"]),
        "pattern" => of(&["*", "a*", "[ab]", "?", "[^a]", "c", "\\*"]),
        "secs" => of(&["1", "100", "0", "-1", "9223372036854775", "9223372036854776", "x"]),
        "millis" => of(&["1", "5", "10", "20", "40", "100000", "0", "-1", "9223372036854775807", "x"]),
        "short" => of(&["1", "2", "5", "10"]),
        "at_millis" => (-20..40i64).prop_map(|millis| vec![Word::AtMillis(millis)]).boxed(),
        "at_secs" => (-1..3i64).prop_map(|secs| vec![Word::AtSecs(secs)]).boxed(),
        "expireopt" => of(&["NX", "XX", "GT", "LT", "gt"]),
        "scanopt" => of(&["MATCH a*", "MATCH *", "TYPE string", "type HASH", "COUNT 100", "COUNT 0", "COUNT x", "MATCH"]),
        "zaddopt" => of(&["NX", "XX", "GT", "LT", "CH", "INCR"]),
        "zrangeopt" => of(&["WITHSCORES", "REV", "LIMIT 0 1", "LIMIT 1 -1", "LIMIT 1 2", "LIMIT x 1", "withscores"]),
        "setopt" => set_option(),
        literal => Just(vec![Word::text(literal)]).boxed(),
    }
}

fn set_option() -> BoxedStrategy<Vec<Word>> {
    let relative = (select(&["PX", "EX", "px"][..]), prop_oneof![words("millis"), words("secs")]);
    prop_oneof![
        3 => select(&["NX", "XX", "GET", "KEEPTTL", "get"][..]).prop_map(|option| vec![Word::text(option)]),
        3 => relative.prop_map(|(option, amount)| [vec![Word::text(option)], amount].concat()),
        1 => words("at_millis").prop_map(|moment| [vec![Word::text("PXAT")], moment].concat()),
        1 => words("at_secs").prop_map(|moment| [vec![Word::text("EXAT")], moment].concat()),
    ]
    .boxed()
}
