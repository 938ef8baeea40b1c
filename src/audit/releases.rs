//! Locks that go, and locks that should have gone: whose they were.

use super::finding::{Certainty, Finding};
use super::hold::Hold;
use super::lock::{Change, Ear, Lock};
use super::said::Said;
use crate::legacy::{Check, Digits, Release};
use crate::race_id::RaceId;
use crate::wire::Printable;

impl Lock {
    /// A command of this talk has removed the key.
    pub(super) fn removed(&mut self, ear: &mut Ear<'_>, place: usize, said: &Said, change: &Change) {
        let Some(written) = &change.written else { return };
        let talk = &self.talks[place];
        let client = talk.client.clone();
        let of = |who: &str| self.hold_of(who);
        let own = of(&client);
        let is_own = written.client == client && !written.by_loser
            || written.by_loser && own.is_some_and(|own| self.holds[own].disturbed.is_some());
        let victim = if written.by_loser { self.live_but(&client, said) } else { of(&written.client) };
        let victim = victim.filter(|victim| self.holds[*victim].is_live(said.at) && Some(*victim) != own);
        let takes_over = !talk.standing().asking.is_empty() && !talk.holds;
        let victim = victim.filter(|_| !is_own);
        match victim {
            Some(victim) if takes_over => self.rob(ear, RaceId::DoubleTakeover, place, victim, said),
            Some(victim) if own.is_some() => {
                let race = self.way_of_release(place);
                self.rob(ear, race, place, victim, said);
            }
            // A pool of connections: the holder gives back over another one.
            Some(victim) => self.end(victim, said.at),
            None => {}
        }
        if let Some(own) = self.hold_of(&client)
            && !takes_over
        {
            // Whoever is at something else by now has not given this back: it takes it over.
            if victim.is_none() && self.talks[place].holds {
                self.overran(ear, &self.holds[own], said);
            }
            self.end(own, said.at);
            self.talks[place].leave();
        }
    }

    /// Whoever else holds the key that is being talked of.
    pub(super) fn live_but(&self, client: &str, said: &Said) -> Option<usize> {
        let here = self.here.number;
        let is_it = |hold: &Hold| *hold.client != *client && hold.is_live(said.at) && hold.spots.has(here);
        self.holds.iter().position(is_it)
    }

    /// How the client came to delete what was not its own.
    fn way_of_release(&self, place: usize) -> RaceId {
        let talk = &self.talks[place];
        let own = self.hold_of(&talk.client).map(|own| &self.holds[own].value);
        match &talk.previous {
            Some(before) if before.is("TTL") || before.is("PTTL") => RaceId::TtlIsNotOwnership,
            Some(before) if before.is("GET") && before.reads() == own.map(Vec::as_slice) => RaceId::CheckThenDel,
            Some(before) if before.is("GET") => RaceId::LaterOwnerSatisfiesGe,
            Some(_) | None => RaceId::LateUnlock,
        }
    }

    fn rob(&mut self, ear: &mut Ear<'_>, race: RaceId, place: usize, victim: usize, said: &Said) {
        let client = &self.talks[place].client;
        let own = self.hold_of(client).map(|own| &self.holds[own]);
        if let Some(finding) = own.and_then(|own| own.robbed).or(self.holds[victim].robbed) {
            ear.shown_by(finding, said.line);
            self.holds[victim].robbed = Some(finding);
            return;
        }
        if own.is_some_and(|own| self.is_shared(ear, own.kinds)) {
            return;
        }
        let own = own.map(|hold| hold.line);
        let looked = self.talks[place].looked().filter(|_| race == RaceId::DoubleTakeover).map(|said| said.line);
        let robbed = &mut self.holds[victim];
        robbed.robbed = Some(ear.findings.next());
        let mut lines: Vec<u64> = own.into_iter().chain(looked).chain([robbed.line, said.line]).collect();
        lines.sort_unstable();
        lines.dedup();
        ear.findings.push(Finding {
            more: 0,
            race: Some(race),
            key: self.here.key.clone(),
            database: self.database,
            at: said.at,
            clients: vec![robbed.client.clone(), client.clone()],
            lines,
            certainty: robbed.certainty.min(self.talks[place].certainty()),
            says: format!("{client} deletes the lock that {} holds since line {}", robbed.client, robbed.line),
        });
    }

    /// The holder at this place has done what it does to give back, and perhaps the key stands.
    pub(super) fn stays_behind(&self, ear: &mut Ear<'_>, index: usize, said: &Said) {
        let hold = &self.holds[index];
        let written = self.here.written.as_ref().filter(|_| self.stored(said.at).is_some());
        let deletes_another =
            said.is("DEL") && said.command.args().first().map(Vec::as_slice) != Some(self.here.key.as_bytes());
        match (written, hold.disturbed) {
            (Some(written), Some(disturbed)) if written.by_loser => {
                let says = format!(
                    "{} cannot give the lock back: the loser {} has put {} in the place of its stamp",
                    hold.client,
                    written.client,
                    Printable(&written.value)
                );
                ear.becomes(disturbed.finding, Some(RaceId::LoserBlocksRelease), Some(said.line), says);
            }
            (Some(written), _) if written.client == hold.client && deletes_another && self.misses_keys(ear, hold) => {
                ear.findings.push(Finding {
                    more: 0,
                    race: Some(RaceId::ReleaseMissesKey),
                    key: self.here.key.clone(),
                    database: self.database,
                    at: said.at,
                    clients: vec![hold.client.clone()],
                    lines: vec![hold.line, said.line],
                    certainty: hold.certainty,
                    says: format!("{} deletes another key than the one it has locked", hold.client),
                });
            }
            _ => {
                self.overran(ear, hold, said);
            }
        }
    }

    /// Whether whoever this may be deletes another key than its own.
    fn misses_keys(&self, ear: &Ear<'_>, hold: &Hold) -> bool {
        let dialect = |kind: usize| ear.grammar.kinds()[kind].dialect();
        hold.kinds.places().filter_map(dialect).any(|dialect| dialect.release == Release::DelSerializedKey)
    }

    /// Whether some of those whom the talk may be have won, and others have not.
    pub(super) fn is_undecided(&self, place: usize) -> bool {
        let standing = self.talks[place].standing();
        !self.talks[place].holds && !standing.won.is_empty()
    }

    /// Whether the talk was about to delete its key.
    pub(super) fn is_leaving(&self, place: usize) -> bool {
        self.talks[place].is_leaving()
    }

    /// The talk has looked at its own value and not deleted it. Those who print a stamp with fewer digits than they compare
    /// it with do so.
    pub(super) fn not_deleted(&mut self, ear: &mut Ear<'_>, place: usize) {
        let talk = &self.talks[place];
        let Some(hold) = self.hold_of(&talk.client).map(|own| &self.holds[own]) else { return };
        let rounds = |kind: usize| {
            let dialect = ear.grammar.kinds()[kind].dialect();
            dialect.is_some_and(|dialect| {
                dialect.form.stamp.digits == Digits::Python2Str
                    && dialect.release == Release::IfValue(Check::NotBelowOwn)
            })
        };
        let last = [talk.said.last(), talk.previous.as_ref()].into_iter().flatten();
        let look = last.filter(|said| said.is("GET")).find(|said| said.reads() == Some(&hold.value)).cloned();
        if let Some(look) = look.filter(|look| hold.is_live(look.at) && hold.kinds.places().any(rounds)) {
            let finding = Finding {
                more: 0,
                race: Some(RaceId::RoundedStampMissesRelease),
                key: self.here.key.clone(),
                database: self.database,
                at: look.at,
                clients: vec![hold.client.clone()],
                lines: vec![hold.line, look.line],
                certainty: Certainty::Possible,
                says: format!("{} reads its own stamp {} and does not delete it", hold.client, Printable(&hold.value)),
            };
            ear.findings.push(finding);
        }
    }

    /// A holder gives back when its lease is over.
    fn overran(&self, ear: &mut Ear<'_>, hold: &Hold, said: &Said) {
        if !hold.has_overrun(said.at) || self.is_shared(ear, hold.kinds) {
            return;
        }
        let next = hold.followed_by.as_ref();
        let meanwhile = next.map_or("nobody came in between".to_owned(), |(client, line)| {
            format!("{client} has held it since line {line}")
        });
        if let Some(finding) = hold.robbed {
            ear.shown_by(finding, said.line);
            return;
        }
        let lines = [Some(hold.line), next.map(|(_, line)| *line), Some(said.line)].into_iter().flatten().collect();
        ear.findings.push(Finding {
            more: 0,
            race: Some(RaceId::Overrun),
            key: self.here.key.clone(),
            database: self.database,
            at: said.at,
            clients: [Some(hold.client.clone()), next.map(|(client, _)| client.clone())]
                .into_iter()
                .flatten()
                .collect(),
            lines,
            certainty: hold.certainty,
            says: format!(
                "the work of {} took longer than its lease: it gives back at line {}, and {meanwhile}",
                hold.client, said.line
            ),
        });
    }

    /// The trace ends, or goes on without this talk: a release that did not come is none.
    pub(super) fn settle(&mut self, ear: &mut Ear<'_>, at: crate::wire::UnixTime) {
        self.lapse(ear, at, None);
        for place in 0..self.talks.len() {
            self.turn_to(self.talks[place].home);
            self.here.tally.undecided += u64::from(self.is_undecided(place));
            if self.is_leaving(place)
                && at.saturating_since(self.talks[place].last_at) > std::time::Duration::from_secs(1)
            {
                self.not_deleted(ear, place);
            }
            let standing = self.talks[place].standing();
            let still_asks = standing.won.is_empty() && !(standing.asking.is_empty() && standing.refused.is_empty());
            let talk = &self.talks[place];
            self.here.tally.unserved += u64::from(still_asks && !talk.holds && talk.asked_at.is_some());
            let stopped = !standing.left.is_empty() && standing.won.is_empty();
            let is_silent = at.saturating_since(self.talks[place].last_at) > std::time::Duration::from_secs(1);
            let last = self.talks[place].said.last().cloned();
            let client = self.talks[place].client.clone();
            let index = self.hold_of(&client);
            if let (true, true, Some(last), Some(index)) = (stopped, is_silent, last, index) {
                let certainty = self.holds[index].certainty.min(Certainty::Likely);
                self.holds[index].certainty = certainty;
                self.stays_behind(ear, index, &last);
                self.end(index, last.at);
                self.talks[place].leave();
            }
        }
        for hold in std::mem::take(&mut self.holds) {
            self.keep(&hold, None);
        }
    }
}
