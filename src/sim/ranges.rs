//! Sorted sets, by range: ZRANGE, ZRANGEBYSCORE, ZREVRANGE, ZCOUNT, ZREMRANGEBYSCORE.

use super::call::{Answer, Call, Row, count, range};
use super::number;
use super::ranking::Ranking;
use super::rankings::{ranking, score_reply};
use super::refusal::Refusal;
use crate::wire::{CommandWord, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::reads("zrange", -4, |call| zrange(call, Range::default(), true)),
    Row::reads("zrevrange", -4, |call| zrange(call, Range { reversed: true, ..Range::default() }, false)),
    Row::reads("zrangebyscore", -4, |call| zrange(call, Range { by_score: true, ..Range::default() }, false)),
    Row::reads("zcount", 4, zcount),
    Row::writes("zremrangebyscore", 4, zremrangebyscore),
];

/// What is asked for, beside the two ends.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    by_score: bool,
    reversed: bool,
    with_scores: bool,
    limit: Option<(i64, i64)>,
}

fn zrange(call: &mut Call<'_>, defaults: Range, may_choose: bool) -> Answer {
    let asked = parse(defaults, may_choose, &call.args()[3..])?;
    if asked.limit.is_some_and(|(_, most)| most != -1) && !asked.by_score {
        return Err(Refusal::err("syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"));
    }
    let found = if asked.by_score { by_score(call, asked)? } else { by_index(call, asked)? };
    let show = |(member, score)| {
        let score = asked.with_scores.then(|| score_reply(call, score));
        [Some(Reply::Bulk(member)), score].into_iter().flatten()
    };
    Ok(Reply::Array(found.into_iter().flat_map(show).collect()))
}

fn parse(defaults: Range, may_choose: bool, words: &[CommandWord]) -> Result<Range, Refusal> {
    let mut asked = defaults;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_ascii_uppercase().as_slice() {
            b"WITHSCORES" => asked.with_scores = true,
            b"REV" if may_choose && !asked.reversed => asked.reversed = true,
            b"BYSCORE" if may_choose && !asked.by_score => asked.by_score = true,
            b"BYLEX" if may_choose => return Err(Refusal::err("BYLEX is not simulated")),
            b"LIMIT" if words.len() >= 2 => {
                let mut operand = || words.next().and_then(|word| number::integer(word)).ok_or(Refusal::NotAnInteger);
                asked.limit = Some((operand()?, operand()?));
            }
            _ => return Err(Refusal::Syntax),
        }
    }
    Ok(asked)
}

type Ranked = Vec<(Vec<u8>, f64)>;

fn by_index(call: &Call<'_>, asked: Range) -> Result<Ranked, Refusal> {
    let (first, last) = (call.integer(1)?, call.integer(2)?);
    let mut ranked = ranked(ranking(call)?);
    if asked.reversed {
        ranked.reverse();
    }
    let wanted = range(first, last, ranked.len());
    Ok(ranked.drain(wanted).collect())
}

fn by_score(call: &Call<'_>, asked: Range) -> Result<Ranked, Refusal> {
    let (low, high) = if asked.reversed { (2, 1) } else { (1, 2) };
    let within = Interval::parse(&call.args()[low], &call.args()[high])?;
    let mut ranked = ranked(ranking(call)?);
    if asked.reversed {
        ranked.reverse();
    }
    ranked.retain(|(_, score)| within.contains(*score));
    let (skipped, most) = asked.limit.unwrap_or((0, -1));
    let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
    Ok(ranked.into_iter().skip(skipped).take(usize::try_from(most).unwrap_or(usize::MAX)).collect())
}

fn ranked(ranking: Option<&Ranking>) -> Ranked {
    let pairs = ranking.map(Ranking::by_rank).unwrap_or_default();
    pairs.into_iter().map(|(member, score)| (member.to_vec(), score)).collect()
}

fn zcount(call: &mut Call<'_>) -> Answer {
    let within = Interval::parse(&call.args()[1], &call.args()[2])?;
    Ok(count(ranked(ranking(call)?).iter().filter(|(_, score)| within.contains(*score)).count()))
}

fn zremrangebyscore(call: &mut Call<'_>) -> Answer {
    let within = Interval::parse(&call.args()[1], &call.args()[2])?;
    let key = call.key(0);
    let removed = call.edit(&key, |ranking: &mut Ranking| {
        let removed: Ranked = ranked(Some(ranking)).into_iter().filter(|(_, score)| within.contains(*score)).collect();
        removed.iter().filter(|(member, _)| ranking.remove(member)).count()
    })?;
    if removed > 0 {
        call.touch(&key);
    }
    Ok(count(removed))
}

/// Scores between two ends, each with whether it is left out: `5`, `(5`, `-inf`.
#[derive(Clone, Copy, Debug)]
struct Interval {
    low: (f64, bool),
    high: (f64, bool),
}

impl Interval {
    fn parse(low: &[u8], high: &[u8]) -> Result<Self, Refusal> {
        let end = |bytes: &[u8]| {
            let (text, open) = bytes.strip_prefix(b"(").map_or((bytes, false), |text| (text, true));
            Some((number::float(text)?, open))
        };
        let ends = end(low).zip(end(high)).map(|(low, high)| Self { low, high });
        ends.ok_or_else(|| Refusal::err("min or max is not a float"))
    }

    fn contains(self, score: f64) -> bool {
        let (low, without_low) = self.low;
        let (high, without_high) = self.high;
        (score > low || (score == low && !without_low)) && (score < high || (score == high && !without_high))
    }
}
