//! Losers of a takeover: they have written over the winner's value all the same.

use std::sync::Arc;

use super::finding::{Certainty, Finding};
use super::findings::Place;
use super::hold::Disturbed;
use super::lock::{Ear, Lock};
use super::said::Said;
use super::stamp;
use super::talk::Talk;
use crate::race_id::RaceId;
use crate::wire::{Printable, Reply, UnixTime};

impl Lock {
    /// The talk has lost with the GETSET that it said last.
    pub(super) fn lose(&mut self, ear: &mut Ear<'_>, place: usize, said: &Said) {
        let talk = &self.talks[place];
        let Some(overwrote) = talk.overwrote.clone().filter(|overwrote| overwrote.line == said.line) else { return };
        let looked = talk.looked().map(|looked| (looked.line, looked.reads().is_some()));
        let client = talk.client.clone();
        if let Some(written) = &mut self.here.written {
            Arc::make_mut(written).by_loser = true;
        }
        let winner = self.live_but(&client, said);
        if winner.is_some_and(|winner| self.is_giving_back(winner)) {
            return;
        }
        let Some(winner) = winner else {
            self.phantom(ear, &client, looked, said);
            return;
        };
        let is_same = overwrote.before.as_ref().is_some_and(|before| said.writes() == Some(&before.value));
        if overwrote.had_ttl {
            self.holds[winner].ttl_cleared = Some(said.line);
        }
        let hold = &self.holds[winner];
        if is_same || hold.disturbed.is_some() {
            return;
        }
        let old = overwrote.before.as_ref().map(|before| before.value.clone()).unwrap_or_default();
        let finding = Finding {
            more: 0,
            race: Some(RaceId::LoserMovesLease),
            key: self.here.key.clone(),
            database: self.database,
            at: said.at,
            clients: vec![hold.client.clone(), client.clone()],
            lines: vec![hold.line, said.line],
            certainty: hold.certainty.min(self.certainty()).min(talk.certainty()),
            says: format!(
                "{client} lost the takeover to {} and left {} in the place of {}",
                hold.client,
                Printable(said.writes().unwrap_or_default()),
                Printable(&old)
            ),
        };
        let disturbed = Disturbed { finding: ear.findings.push(finding) };
        self.holds[winner].disturbed = Some(disturbed);
    }

    /// Whether a holder is in the middle of its release.
    fn is_giving_back(&self, hold: usize) -> bool {
        let talk = self.talk_with(&self.holds[hold].client);
        talk.is_some_and(Talk::is_leaving)
    }

    /// Nobody holds, and the loser has left a lock behind.
    fn phantom(&self, ear: &mut Ear<'_>, client: &Arc<str>, looked: Option<(u64, bool)>, said: &Said) {
        let (race, why) = match (looked, &said.reply) {
            (Some((_, false)), _) => (RaceId::PhantomAfterNilGet, "its GET had found nothing"),
            (_, Reply::Nil) => (RaceId::PhantomAfterRelease, "the lock had been given back since its GET"),
            (_, _) => (RaceId::EqualityLoserPhantom, "the lock had been taken, and was over again, since its GET"),
        };
        let lines = looked.map(|(line, _)| line).into_iter().chain([said.line]).collect();
        // Without a look it may have been at something else.
        let of_talk = self.talk_with(client).filter(|_| looked.is_some()).map_or(Certainty::Possible, Talk::certainty);
        let certainty = self.certainty().min(of_talk);
        ear.findings.push(Finding {
            more: 0,
            race: Some(race),
            key: self.here.key.clone(),
            database: self.database,
            at: said.at,
            clients: vec![client.clone()],
            lines,
            certainty,
            says: format!(
                "{client} takes itself for the loser and leaves {} in a lock that nobody holds: {why}",
                Printable(said.writes().unwrap_or_default())
            ),
        });
    }

    /// The lease of a disturbed holder is over: what the loser has left may be longer.
    pub(super) fn outlived(
        &self,
        ear: &mut Ear<'_>,
        finding: Place,
        home: u8,
        ends_at: UnixTime,
        at: UnixTime,
        line: Option<u64>,
    ) {
        let spot = self.spot(home);
        let Some(written) = spot.written.as_ref().filter(|written| written.by_loser) else { return };
        let is_later = stamp::moment(&written.value).is_some_and(|moment| moment > ends_at);
        let stands = self.server.holds(&spot.key, at);
        let told = ear.findings.get_mut(finding).filter(|told| told.race == Some(RaceId::LoserMovesLease));
        if let (true, true, Some(told)) = (is_later, stands, told) {
            let says = format!(
                "the winner's lease is over, and {} of the loser {} keeps everybody out beyond it",
                Printable(&written.value),
                written.client
            );
            told.becomes(Some(RaceId::LoserOutlivesWinner), line, says);
        }
    }
}
