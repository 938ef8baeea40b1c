//! Findings, held against the log: which are right, and what was missed.

use std::fmt::Write;
use std::time::Duration;

use lockshift::audit::{Audit, Certainty, Evidence, Finding};

use super::topology::Topology;
use super::truth::{Held, Log};

/// What a finding says that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    DoubleHold,
    Overrun,
    WrongRelease,
    LostTakeover,
}

impl Kind {
    const ALL: [Self; 4] = [Self::DoubleHold, Self::Overrun, Self::WrongRelease, Self::LostTakeover];

    fn of(evidence: &Evidence) -> Option<Self> {
        match evidence {
            Evidence::DoubleHold { .. } | Evidence::Vanished { .. } => Some(Self::DoubleHold),
            Evidence::Overrun { .. } => Some(Self::Overrun),
            Evidence::Deleted { .. } | Evidence::DeletedFromOutside { .. } => Some(Self::WrongRelease),
            Evidence::LoserMovedLease { .. }
            | Evidence::Phantom { .. }
            | Evidence::LoserOutlivesWinner { .. }
            | Evidence::LoserBlocksRelease { .. }
            | Evidence::LoserClearedTtl => Some(Self::LostTakeover),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::DoubleHold => "double hold",
            Self::Overrun => "overrun",
            Self::WrongRelease => "wrong release",
            Self::LostTakeover => "lost takeover",
        }
    }
}

/// Counts of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    happened: u64,
    /// How many of them are found.
    found: u64,
    findings: u64,
    /// How many of these are right.
    right: u64,
}

/// How right an audit was.
#[derive(Clone, Debug, Default)]
pub(super) struct Score {
    pub(super) acquisitions: u64,
    pub(super) counted: u64,
    pub(super) certain: u64,
    kinds: [Counts; 4],
    pub(super) certain_and_wrong: Vec<String>,
    /// The keys on which two clients held at once, or one deleted the lock of another, without a finding or a doubt.
    pub(super) false_all_clears: Vec<String>,
}

impl Score {
    pub(super) fn add(&mut self, other: &Self) {
        self.acquisitions += other.acquisitions;
        self.counted += other.counted;
        self.certain += other.certain;
        for (own, other) in self.kinds.iter_mut().zip(other.kinds) {
            own.happened += other.happened;
            own.found += other.found;
            own.findings += other.findings;
            own.right += other.right;
        }
        self.certain_and_wrong.extend(other.certain_and_wrong.iter().cloned());
        self.false_all_clears.extend(other.false_all_clears.iter().cloned());
    }
}

/// The findings on one key, held against the log of its fleet.
pub(super) fn scored(key: &str, log: &Log, audit: &Audit) -> Score {
    let mut score = Score { acquisitions: log.holds.len() as u64, ..Score::default() };
    let lock = audit.locks.iter().find(|lock| lock.key.as_bytes() == key.as_bytes());
    score.counted = lock.map_or(0, |lock| lock.statistics.acquisitions);
    let findings: Vec<&Finding> = audit.findings.iter().filter(|it| it.key.as_bytes() == key.as_bytes()).collect();
    for finding in &findings {
        let Some(kind) = Kind::of(&finding.verdict.evidence) else { continue };
        let is_right = is_right(kind, finding, log);
        let counts = &mut score.kinds[kind as usize];
        counts.findings += 1;
        counts.right += u64::from(is_right);
        if finding.verdict.certainty == Certainty::Certain {
            score.certain += 1;
            if !is_right {
                score.certain_and_wrong.push(format!("{key}: {finding:?}"));
            }
        }
    }
    let found = |kind: Kind, is_it: &dyn Fn(&Finding) -> bool| {
        findings.iter().any(|finding| Kind::of(&finding.verdict.evidence) == Some(kind) && is_it(finding))
    };
    let releases_at = |held: &Held, finding: &Finding| held.releasing.is_some_and(|span| span.contains(at(finding)));
    let mut count = |kind: Kind, all: Vec<bool>| {
        score.kinds[kind as usize].happened = all.len() as u64;
        score.kinds[kind as usize].found = all.iter().filter(|found| **found).count() as u64;
    };
    let double_holds = log.double_holds().map(|next| {
        let before: Vec<&Held> = log.holds.iter().filter(|held| held.works_into(next)).collect();
        found(Kind::DoubleHold, &|finding| next.acquiring.contains(at(finding)))
            || found(Kind::Overrun, &|finding| before.iter().any(|held| releases_at(held, finding)))
            || found(Kind::WrongRelease, &|finding| before.iter().any(|held| releases_at(held, finding)))
    });
    count(Kind::DoubleHold, double_holds.collect());
    let late = |held: &Held| {
        found(Kind::Overrun, &|finding| releases_at(held, finding))
            || found(Kind::WrongRelease, &|finding| releases_at(held, finding))
    };
    count(Kind::Overrun, log.overruns().map(late).collect());
    count(Kind::WrongRelease, log.wrong_releases().map(late).collect());
    let lost = log.lost_takeovers.iter();
    let lost = lost.map(|span| found(Kind::LostTakeover, &|finding| span.contains(at(finding))));
    count(Kind::LostTakeover, lost.collect());
    let has_gone_wrong = log.double_holds().next().is_some() || log.wrong_releases().next().is_some();
    let is_in_doubt = lock.is_none_or(|lock| lock.statistics.guessed + lock.statistics.lapsed > 0);
    if has_gone_wrong && findings.is_empty() && !is_in_doubt {
        score.false_all_clears.push(key.to_owned());
    }
    score
}

/// When a finding happened, since 1970.
fn at(finding: &Finding) -> Duration {
    Duration::from_nanos(u64::try_from(finding.verdict.at.as_nanos()).expect("it is after 1970"))
}

/// Whether the log allows it. A client whose thread stood still between sending and reply does not know in which order the
/// server acted on its command and on those of others, so its log rules neither out.
fn is_right(kind: Kind, finding: &Finding, log: &Log) -> bool {
    let at = at(finding);
    match kind {
        Kind::DoubleHold => log.may_double_hold_at(at),
        Kind::Overrun => log.overruns().any(|held| held.releasing.is_some_and(|span| span.contains(at))),
        Kind::WrongRelease => log.may_release_wrongly_at(at),
        Kind::LostTakeover => log.lost_takeovers.iter().any(|span| span.contains(at)),
    }
}

/// A table of all scores.
pub(super) fn table(rows: &[(Topology, &str, Score)]) -> String {
    let mut text =
        "| clients and connections | source | finding | happened | recall | findings | precision |\n".to_owned();
    text += "|---|---|---|--:|--:|--:|--:|\n";
    let share = |part: u64, all: u64| {
        if all == 0 { "-".to_owned() } else { format!("{:.0} %", part as f64 * 100.0 / all as f64) }
    };
    for (topology, source, score) in rows {
        for kind in Kind::ALL {
            let Counts { happened, found, findings, right } = score.kinds[kind as usize];
            if happened + findings > 0 {
                let (recall, precision) = (share(found, happened), share(right, findings));
                let name = topology.name();
                let _ = writeln!(
                    text,
                    "| {name} | {source} | {} | {happened} | {recall} | {findings} | {precision} |",
                    kind.name()
                );
            }
        }
    }
    let certain: u64 = rows.iter().map(|(.., score)| score.certain).sum();
    let wrong: usize = rows.iter().map(|(.., score)| score.certain_and_wrong.len()).sum();
    let (acquisitions, counted) =
        rows.iter().fold((0, 0), |(all, counted), (.., score)| (all + score.acquisitions, counted + score.counted));
    let _ = writeln!(
        text,
        "\n{certain} findings are *certain*, {wrong} of these are wrong. Of {acquisitions} acquisitions {counted} are counted."
    );
    text
}
