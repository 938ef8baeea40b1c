//! Which keys a command of Redis writes, by their places among its words: the table that `COMMAND` of the servers has.

use std::iter::StepBy;
use std::ops::Range;

use super::line::Line;

/// Where keys stand among the words of a command; its name is at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlaces {
    /// The word at this place.
    At(usize),
    /// Every so many-th word from this place on, without the last so many.
    Range { first: usize, without: usize, step: usize },
    /// As many as the word at this place says, every so many-th behind it.
    Counted { count: usize, step: usize },
    /// The word behind this option, which may stand from this place on.
    Behind { option: &'static str, from: usize },
    /// All words behind this option.
    AllBehind { option: &'static str, from: usize },
}

/// The longest name in the table has so many letters.
const LONGEST: usize = 17;

impl KeyPlaces {
    /// Where the command of this name has the keys that it writes, in whatever case the name was written.
    pub(crate) fn of(name: &[u8]) -> &'static [Self] {
        use KeyPlaces::{AllBehind, At, Behind, Counted, Range};
        let mut small = [0_u8; LONGEST];
        let Some(small) = small.get_mut(..name.len()) else { return &[] };
        small.copy_from_slice(name);
        small.make_ascii_lowercase();
        match &*small {
            b"append" | b"bitfield" | b"decr" | b"decrby" | b"delex" | b"delifeq" | b"expire" | b"expireat"
            | b"geoadd" | b"geosearchstore" | b"getdel" | b"getex" | b"getset" | b"hdel" | b"hexpire"
            | b"hexpireat" | b"hgetdel" | b"hgetex" | b"hincrby" | b"hincrbyfloat" | b"hmset" | b"hpersist"
            | b"hpexpire" | b"hpexpireat" | b"hset" | b"hsetex" | b"hsetnx" | b"incr" | b"incrby" | b"incrbyfloat"
            | b"linsert" | b"lpop" | b"lpush" | b"lpushx" | b"lrem" | b"lset" | b"ltrim" | b"move" | b"persist"
            | b"pexpire" | b"pexpireat" | b"pfadd" | b"pfmerge" | b"psetex" | b"restore" | b"restore-asking"
            | b"rpop" | b"rpush" | b"rpushx" | b"sadd" | b"sdiffstore" | b"set" | b"setbit" | b"setex" | b"setnx"
            | b"setrange" | b"sinterstore" | b"spop" | b"srem" | b"sunionstore" | b"vadd" | b"vrem" | b"vsetattr"
            | b"xack" | b"xackdel" | b"xadd" | b"xautoclaim" | b"xcfgset" | b"xclaim" | b"xdel" | b"xdelex"
            | b"xidmprecord" | b"xsetid" | b"xtrim" | b"zadd" | b"zdiffstore" | b"zincrby" | b"zinterstore"
            | b"zpopmax" | b"zpopmin" | b"zrangestore" | b"zrem" | b"zremrangebylex" | b"zremrangebyrank"
            | b"zremrangebyscore" | b"zunionstore" => &[At(1)],
            b"bitop" | b"copy" | b"pfdebug" | b"xgroup" => &[At(2)],
            b"blmove" | b"brpoplpush" | b"lmove" | b"rename" | b"renamenx" | b"rpoplpush" | b"smove" => &[At(1), At(2)],
            b"del" | b"unlink" => &[Range { first: 1, without: 0, step: 1 }],
            b"blpop" | b"brpop" | b"bzpopmax" | b"bzpopmin" => &[Range { first: 1, without: 1, step: 1 }],
            b"mset" | b"msetnx" => &[Range { first: 1, without: 0, step: 2 }],
            b"lmpop" | b"zmpop" => &[Counted { count: 1, step: 1 }],
            b"blmpop" | b"bzmpop" => &[Counted { count: 2, step: 1 }],
            b"msetex" => &[Counted { count: 1, step: 2 }],
            b"georadius" => &[Behind { option: "STORE", from: 6 }, Behind { option: "STOREDIST", from: 6 }],
            b"georadiusbymember" => &[Behind { option: "STORE", from: 5 }, Behind { option: "STOREDIST", from: 5 }],
            b"sort" => &[Behind { option: "STORE", from: 2 }],
            b"migrate" => &[At(3), AllBehind { option: "KEYS", from: 6 }],
            // What the command of a module does to the key that it names is not known.
            name if name.contains(&b'.') => &[At(1)],
            _ => &[],
        }
    }

    /// The places of the keys in this line.
    pub(crate) fn places(self, line: &Line<'_>) -> StepBy<Range<usize>> {
        let all = line.words().len();
        let (first, end, step) = match self {
            Self::At(place) => (place, (place + 1).min(all), 1),
            Self::Range { first, without, step } => (first, all.saturating_sub(without), step),
            Self::Counted { count, step } => {
                let keys = number(line, count).unwrap_or(0).saturating_mul(step);
                (count + 1, keys.saturating_add(count + 1).min(all), step)
            }
            Self::Behind { .. } => self.marker(line).map_or((0, 0, 1), |at| (at + 1, (at + 2).min(all), 1)),
            Self::AllBehind { .. } => self.marker(line).map_or((0, 0, 1), |at| (at + 1, all, 1)),
        };
        (first..end).step_by(step)
    }

    /// The place of the word that says where the keys are: their number, or an option.
    pub(crate) fn marker(self, line: &Line<'_>) -> Option<usize> {
        let is = |at: &usize, option: &str| {
            line.word(*at).is_some_and(|word| word.quoted().eq_ignore_ascii_case(option.as_bytes()))
        };
        match self {
            Self::At(_) | Self::Range { .. } => None,
            Self::Counted { count, .. } => number(line, count).map(|_| count),
            // Where an option is given twice, the last one counts.
            Self::Behind { option, from } => (from..line.words().len()).rev().find(|at| is(at, option)),
            Self::AllBehind { option, from } => (from..line.words().len()).find(|at| is(at, option)),
        }
    }
}

impl Line<'_> {
    /// The places of the words that are keys which the command writes; its name is at 0.
    pub fn written_keys(self) -> Vec<usize> {
        let places = self.word(0).map_or(&[][..], |name| KeyPlaces::of(name.quoted()));
        places.iter().flat_map(|it| it.places(&self)).collect()
    }
}

fn number(line: &Line<'_>, place: usize) -> Option<usize> {
    std::str::from_utf8(line.word(place)?.quoted()).ok()?.parse().ok()
}
