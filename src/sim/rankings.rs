//! Sorted sets: ZADD and the commands that ask for one member or for their number.

use super::call::{Answer, Call, Row, count};
use super::number;
use super::ranking::Ranking;
use super::refusal::Refusal;
use crate::wire::{CommandWord, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::writes("zadd", -4, |call| zadd(call, false)),
    Row::writes("zincrby", 4, |call| zadd(call, true)),
    Row::writes("zrem", -3, zrem),
    Row::reads("zscore", 3, zscore),
    Row::reads("zrank", 3, zrank),
    Row::reads("zcard", 2, |call| Ok(count(ranking(call)?.map_or(0, Ranking::len)))),
];

/// The sorted set that the first argument names.
pub(super) fn ranking<'c>(call: &'c Call<'_>) -> Result<Option<&'c Ranking>, Refusal> {
    call.read(&call.key(0))
}

/// A score as this server writes it.
pub(super) fn score_reply(call: &Call<'_>, score: f64) -> Reply {
    Reply::bulk(number::print(call.state.flavour, score))
}

/// Under which conditions a score is written, and what is answered.
#[derive(Clone, Copy, Debug, Default)]
struct RankingOptions {
    only_new: bool,
    only_existing: bool,
    if_greater: bool,
    if_less: bool,
    count_changed: bool,
    increment: bool,
}

/// What became of one member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ranked {
    Refused,
    Kept,
    Changed,
    Added,
}

fn zadd(call: &mut Call<'_>, increment: bool) -> Answer {
    let (options, rest) = options(&call.args()[1..], increment);
    let pairs = match rest.as_chunks::<2>() {
        ([], _) | (_, [_, ..]) => return Err(Refusal::Syntax),
        (pairs, []) => pairs,
    };
    options.check(pairs.len())?;
    let scores = pairs.iter().map(|[score, member]| Ok((number::float(score).ok_or(Refusal::NotAFloat)?, member)));
    let scores = scores.collect::<Result<Vec<_>, Refusal>>()?;

    let key = call.key(0);
    let results = call.edit(&key, |ranking: &mut Ranking| {
        scores.into_iter().map(|(score, member)| options.put(ranking, member, score)).collect::<Result<Vec<_>, _>>()
    })??;
    let added = results.iter().filter(|(outcome, _)| *outcome == Ranked::Added).count();
    let changed = results.iter().filter(|(outcome, _)| *outcome == Ranked::Changed).count();
    if added + changed > 0 {
        call.touch(&key);
    }
    Ok(match results.last() {
        Some((Ranked::Refused, _)) if options.increment => Reply::Nil,
        Some((_, score)) if options.increment => score_reply(call, *score),
        _ => count(if options.count_changed { added + changed } else { added }),
    })
}

fn options(words: &[CommandWord], increment: bool) -> (RankingOptions, &[CommandWord]) {
    let mut options = RankingOptions { increment, ..RankingOptions::default() };
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        match word.to_ascii_uppercase().as_slice() {
            b"NX" => options.only_new = true,
            b"XX" => options.only_existing = true,
            b"GT" => options.if_greater = true,
            b"LT" => options.if_less = true,
            b"CH" => options.count_changed = true,
            b"INCR" => options.increment = true,
            _ => break,
        }
        rest = behind;
    }
    (options, rest)
}

impl RankingOptions {
    fn check(self, pairs: usize) -> Result<(), Refusal> {
        let Self { only_new, only_existing, if_greater, if_less, increment, count_changed: _ } = self;
        if only_new && only_existing {
            return Err(Refusal::err("XX and NX options at the same time are not compatible"));
        }
        if [only_new, if_greater, if_less].into_iter().filter(|given| *given).count() > 1 {
            return Err(Refusal::err("GT, LT, and/or NX options at the same time are not compatible"));
        }
        if increment && pairs > 1 {
            return Err(Refusal::err("INCR option supports a single increment-element pair"));
        }
        Ok(())
    }

    /// Writes one score: what became of it, and the score that was meant.
    fn put(self, ranking: &mut Ranking, member: &[u8], score: f64) -> Result<(Ranked, f64), Refusal> {
        let Some(old) = ranking.score(member) else {
            if self.only_existing {
                return Ok((Ranked::Refused, score));
            }
            ranking.insert(member.to_vec(), score);
            return Ok((Ranked::Added, score));
        };
        let new = if self.increment { old + score } else { score };
        if new.is_nan() {
            return Err(Refusal::err("resulting score is not a number (NaN)"));
        }
        if self.only_new || (self.if_greater && new <= old) || (self.if_less && new >= old) {
            return Ok((Ranked::Refused, new));
        }
        if new == old {
            return Ok((Ranked::Kept, new));
        }
        ranking.insert(member.to_vec(), new);
        Ok((Ranked::Changed, new))
    }
}

fn zrem(call: &mut Call<'_>) -> Answer {
    let key = call.key(0);
    let members = &call.args()[1..];
    let remove = |ranking: &mut Ranking| members.iter().filter(|member| ranking.remove(member)).count();
    let removed = call.edit(&key, remove)?;
    if removed > 0 {
        call.touch(&key);
    }
    Ok(count(removed))
}

fn zscore(call: &mut Call<'_>) -> Answer {
    Ok(ranking(call)?
        .and_then(|ranking| ranking.score(&call.args()[1]))
        .map_or(Reply::Nil, |score| score_reply(call, score)))
}

fn zrank(call: &mut Call<'_>) -> Answer {
    let Some(ranking) = ranking(call)? else { return Ok(Reply::Nil) };
    let rank = ranking.by_rank().iter().position(|(member, _)| **member == *call.args()[1]);
    Ok(rank.map_or(Reply::Nil, count))
}
