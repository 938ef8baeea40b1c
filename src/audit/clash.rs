//! Somebody wins while another one still holds: which documented race that was.

use std::cmp::Ordering;

use super::finding::Finding;
use super::findings::Place;
use super::hold::{Hold, Written};
use super::kinds::Kinds;
use super::lock::{Ear, Lock};
use super::stamp;
use super::talk::Talk;
use crate::race_id::RaceId;
use crate::wire::Printable;

impl Lock {
    /// The talk has won with this hold, which is not among the holds yet.
    /// Hands back the finding that tells so.
    pub(super) fn clash(&mut self, ear: &mut Ear<'_>, place: usize, hold: &Hold) -> Option<Place> {
        let is_together = |rival: &usize| {
            let rival = &self.holds[*rival];
            let (earlier, later) = if rival.line < hold.line { (rival, hold) } else { (hold, rival) };
            earlier.is_live(later.since) && earlier.spots.meet(later.spots)
        };
        let rivals: Vec<usize> = (0..self.holds.len()).filter(is_together).collect();
        let mut told = None;
        for rival in rivals {
            let finding = match self.holds[rival].robbed {
                Some(finding) => {
                    ear.shown_by(finding, hold.line);
                    finding
                }
                None if self.holds[rival].line < hold.line => {
                    self.double_hold(ear, &self.talks[place], hold, &self.holds[rival])
                }
                // That this one had won was seen later than that the other one had.
                None => {
                    let rival = &self.holds[rival];
                    let talk = self.talk_with(&rival.client).unwrap_or(&self.talks[place]);
                    self.double_hold(ear, talk, rival, hold)
                }
            };
            self.holds[rival].robbed = Some(finding);
            told = Some(finding);
        }
        told
    }

    /// Whether the winner has written a stamp that was over, as it had read it; the finding that tells so.
    pub(super) fn written_back(&self, ear: &mut Ear<'_>, place: usize, hold: &Hold) -> Option<Place> {
        let talk = &self.talks[place];
        let is_as_read = talk.looked().is_some_and(|looked| looked.reads() == Some(&hold.value));
        let by_setnx = talk.wrote().is_some_and(|wrote| wrote.is("SETNX"));
        if !is_as_read || !by_setnx || stamp::over(&hold.value, hold.since) != Some(Ordering::Less) {
            return None;
        }
        let is_told = |finding: &Place| {
            ear.findings.get(*finding).is_some_and(|told| told.race == Some(RaceId::StampWrittenBack))
        };
        if let Some(finding) = self.holds.iter().filter_map(|other| other.robbed).find(is_told) {
            ear.shown_by(finding, hold.line);
            return Some(finding);
        }
        let finding = Finding {
            more: 0,
            race: Some(RaceId::StampWrittenBack),
            key: self.here.key.clone(),
            database: self.database,
            at: hold.since,
            clients: vec![hold.client.clone()],
            lines: vec![hold.line],
            certainty: hold.certainty,
            says: format!(
                "{} takes the lock and writes back the stamp {}, which is over: whoever comes next takes it again",
                hold.client,
                Printable(&hold.value)
            ),
        };
        Some(ear.findings.push(finding))
    }

    /// Whether these are sides of read/write locks, whose holders are not judged here.
    pub(super) fn is_shared(&self, ear: &Ear<'_>, kinds: Kinds) -> bool {
        kinds.places().all(|kind| ear.grammar.kinds()[kind].is_read_write())
    }

    /// The first of these has won, as its talk tells, while the other one held.
    fn double_hold(&self, ear: &mut Ear<'_>, talk: &Talk, hold: &Hold, rival: &Hold) -> Place {
        let before = talk.overwrote.as_ref().and_then(|overwrote| overwrote.before.clone());
        let by_loser = before.as_ref().is_some_and(|before| before.by_loser);
        let race = race_of(talk, before.as_deref(), hold);
        let says = format!(
            "{} holds since line {} and {} since line {}: {}",
            rival.client,
            rival.line,
            hold.client,
            hold.line,
            reason(race, rival, &hold.client)
        );
        if let (true, Some(disturbed)) = (by_loser, rival.disturbed) {
            ear.becomes(disturbed.finding, race, Some(hold.line), says);
            return disturbed.finding;
        }
        let looked = talk.looked().map(|said| said.line);
        let mut lines: Vec<u64> = [Some(rival.line), looked, Some(hold.line)].into_iter().flatten().collect();
        lines.sort_unstable();
        lines.dedup();
        ear.findings.push(Finding {
            more: 0,
            race,
            key: self.here.key.clone(),
            database: self.database,
            at: hold.since,
            clients: vec![rival.client.clone(), hold.client.clone()],
            lines,
            certainty: hold.certainty.min(rival.certainty),
            says,
        })
    }
}

fn race_of(talk: &Talk, before: Option<&Written>, hold: &Hold) -> Option<RaceId> {
    let has = |name: &str| talk.said.iter().any(|said| said.is(name));
    let Some(wrote) = talk.wrote() else { return Some(RaceId::TakenWithoutWriting) };
    if wrote.is("SET") && has("EXISTS") {
        return Some(RaceId::CheckThenSet);
    }
    if (wrote.is("SET") || wrote.is("SETEX") || wrote.is("PSETEX")) && before.is_some() {
        return Some(RaceId::GetThenSet);
    }
    let before = before.filter(|_| wrote.is("GETSET"))?;
    if before.by_loser {
        let is_mine = before.client == talk.client && stamp::over(&before.value, hold.since) != Some(Ordering::Less);
        return Some(if is_mine { RaceId::MineCountsAsFree } else { RaceId::StaleStampShortensLease });
    }
    Some(match (form(&before.value), form(&hold.value)) {
        (Form::Token, Form::Seconds | Form::Millis | Form::Binary) => RaceId::TokenReadAsStamp,
        (Form::Binary, Form::Seconds | Form::Millis) => RaceId::BinaryReadAsStamp,
        (Form::Seconds, Form::Millis) => RaceId::SecondsReadAsMillis,
        _ if !has("GET") => RaceId::NewerStampWins,
        _ => RaceId::ClockSkewSteal,
    })
}

/// What a value is, as far as foreign readers are concerned.
enum Form {
    Seconds,
    Millis,
    Binary,
    Token,
    Other,
}

fn form(value: &[u8]) -> Form {
    let value = stamp::unmarked(value);
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match (value.len(), digits, stamp::moment(value)) {
        (8, ..8, Some(_)) => Form::Binary,
        (_, 10, Some(_)) => Form::Seconds,
        (_, 13, Some(_)) => Form::Millis,
        (16.., _, None) => Form::Token,
        _ => Form::Other,
    }
}

fn reason(race: Option<RaceId>, rival: &Hold, newcomer: &str) -> String {
    let value = Printable(&rival.value);
    let Some(race) = race else { return "no documented race explains it".to_owned() };
    match race {
        RaceId::CheckThenSet => "both had found no key before either had set it".to_owned(),
        RaceId::GetThenSet => "both had looked before either had written, and a plain SET refuses nobody".to_owned(),
        RaceId::MineCountsAsFree => {
            format!("{newcomer} took the value that it had left there as a loser for a lock of its own")
        }
        RaceId::StaleStampShortensLease => "a loser's stamp had ended the lease early".to_owned(),
        RaceId::TokenReadAsStamp => format!("{newcomer} read the token {value} as a stamp that is over"),
        RaceId::BinaryReadAsStamp => format!("{newcomer} read the eight bytes {value} as a stamp that is over"),
        RaceId::SecondsReadAsMillis => format!("{newcomer} read the seconds {value} as milliseconds"),
        RaceId::NewerStampWins => format!("{newcomer} wrote over the running lease {value} without having looked"),
        RaceId::ClockSkewSteal => {
            format!("to {newcomer} the stamp {value} was over, and by the server's clock it was not")
        }
        RaceId::TakenWithoutWriting => "neither has written anything that the other could see".to_owned(),
        _ => "no documented race explains it".to_owned(),
    }
}
