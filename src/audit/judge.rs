//! After each command: who holds now, who has lost, who has given back.

use std::time::Duration;

use super::episode::Episode;
use super::finding::Certainty;
use super::hold::{Disturbed, Hold};
use super::kinds::Kinds;
use super::lock::{Change, Ear, Lock};
use super::said::Said;
use super::spot::Spot;
use super::stamp;
use super::talk::Went;
use crate::sim::{Stored, Value};
use crate::wire::{Reply, UnixTime};

/// Whoever has not asked for so long has given up; the next time is another wait.
const GIVEN_UP: Duration = Duration::from_secs(60);
/// So many holders whose lease is over are remembered: they may still come back.
const MOST_PAST: usize = 16;

impl Lock {
    /// Thinks about what was said last in a talk.
    pub(super) fn judge(&mut self, ear: &mut Ear<'_>, place: usize, went: Went, said: &Said, change: &Change) {
        self.settle_win(ear, place, went, said);
        self.changed(ear, place, said, change);
        self.script_failed(ear, place, said, change);
        let standing = self.talks[place].standing();
        let is_open = !standing.asking.is_empty() || !standing.refused.is_empty();
        let talk = &mut self.talks[place];
        if went == Went::Anew && !talk.holds {
            let asked_at = talk.asked_at.filter(|asked_at| said.at.saturating_since(*asked_at) < GIVEN_UP);
            self.here.tally.unserved += u64::from(talk.asked_at.is_some() && asked_at.is_none());
            talk.asked_at = Some(asked_at.unwrap_or(said.at));
        }
        let claims = ["SETNX", "SET", "EVALSHA", "EVAL", "GETSET", "MSETNX"].iter().any(|name| said.is(name));
        if went != Went::Astray && !talk.holds && claims && standing.won.is_empty() && is_open {
            self.here.tally.refusals += 1;
        }
        if went == Went::Astray {
            return;
        }
        if self.talks[place].holds {
            if !standing.left.is_empty() && standing.won.is_empty() && standing.leaving.is_empty() {
                self.leave(ear, place, said);
            }
        } else if standing.won.is_empty() && is_open {
            // Whoever still asks then is a loser who puts the old value back.
            if said.is("GETSET") {
                self.lose(ear, place, said);
            }
            if claims {
                self.starve(ear, place, said);
            }
        }
    }

    /// Thinks about what a command has done to the key.
    pub(super) fn changed(&mut self, ear: &mut Ear<'_>, place: usize, said: &Said, change: &Change) {
        if change.before.is_some() && change.after.is_none() {
            self.removed(ear, place, said, change);
        } else {
            self.retimed(ear, place, said, change);
        }
    }

    /// Whoever goes on as only winners do has won.
    fn settle_win(&mut self, ear: &mut Ear<'_>, place: usize, went: Went, said: &Said) {
        let talk = &self.talks[place];
        let standing = talk.standing();
        let has_won = [standing.leaving, standing.left].into_iter().fold(standing.won, Kinds::or);
        let is_open = !standing.asking.is_empty() || !standing.refused.is_empty();
        if went != Went::Astray && !talk.has_won && !has_won.is_empty() && !is_open {
            self.win(ear, place, has_won, said);
        }
    }

    /// The talk has won.
    fn win(&mut self, ear: &mut Ear<'_>, place: usize, kinds: Kinds, said: &Said) {
        let talk = &self.talks[place];
        let wrote = talk.wrote().unwrap_or(said);
        let (since, line) = (wrote.at, wrote.line);
        let written = self.here.written.as_ref().filter(|written| written.client == talk.client);
        let value = written.map(|written| written.value.clone()).or(wrote.writes().map(<[u8]>::to_vec));
        let value = value.unwrap_or_default();
        let token = wrote.writes().unwrap_or_default().to_vec();
        let asked_at = talk.asked_at.unwrap_or(since);
        let ends_at = self.ends_at(ear, kinds, &value, said.at);
        let spots = self.names(&wrote.command).with(self.here.number);
        let certainty = self.certainty_of(spots).min(talk.certainty());
        let hold = Hold {
            client: talk.client.clone(),
            kinds,
            home: self.here.number,
            spots,
            value,
            token,
            since,
            line,
            ends_at,
            certainty,
            disturbed: None,
            ttl_cleared: None,
            robbed: None,
            followed_by: None,
            is_over: false,
            asked_at,
        };
        if let Some(earlier) = self.hold_of(&hold.client) {
            let earlier = self.holds.remove(earlier);
            self.keep(&earlier, None);
        }
        let robbed = if self.is_shared(ear, kinds) { None } else { self.clash(ear, place, &hold) };
        let robbed = robbed.or_else(|| self.written_back(ear, place, &hold));
        let hold = Hold { robbed, ..hold };
        for other in self.holds.iter_mut().filter(|other| other.spots.meet(spots)) {
            other.followed_by.get_or_insert((hold.client.clone(), line));
        }
        self.here.tally.acquisitions += 1;
        self.here.tally.certain += u64::from(certainty == Certainty::Certain);
        self.here.tally.waited.add(since.saturating_since(asked_at));
        self.holds.push(hold);
        let talk = &mut self.talks[place];
        talk.holds = true;
        talk.won += 1;
        talk.has_won = true;
        talk.asked_at = None;
    }

    /// When a lock of this value is over: by its stamp, in whichever of its keys that stands, else by the time to live of
    /// the key. Whoever writes no moment at which the lock ends goes by the time to live; and of a stamp that says when the
    /// lock was taken nobody can say how long it counts, so that it counts for nothing.
    fn ends_at(&self, ear: &Ear<'_>, kinds: Kinds, value: &[u8], at: UnixTime) -> Option<UnixTime> {
        let parts = || self.beside.iter().filter(|spot| spot.home == self.here.home);
        let stamp = || stamp::moment(value).or_else(|| parts().find_map(|part| self.moment_in(part, at)));
        let reads_stamps = !(kinds & ear.grammar.timed()).is_empty();
        let named = if reads_stamps { stamp() } else { None };
        let names_beginning = |kind: usize| ear.grammar.kinds()[kind].names_beginning();
        let named = named.or_else(|| self.stored(at)?.expires_at);
        named.or_else(|| stamp().filter(|_| kinds.places().any(names_beginning)))
    }

    fn moment_in(&self, part: &Spot, at: UnixTime) -> Option<UnixTime> {
        let Value::Text(text) = self.server.peek(&part.key, at)?.value else { return None };
        stamp::moment(&text)
    }

    /// A holder has done something to its own key: perhaps it holds longer now.
    pub(super) fn prolong(&mut self, ear: &Ear<'_>, place: usize, said: &Said, after: &Stored) {
        let client = &self.talks[place].client;
        let home = self.here.home;
        let Some(index) = self.holds.iter().position(|hold| hold.client == *client && hold.home == home) else {
            return;
        };
        let Value::Text(text) = &after.value else { return };
        if self.here.written.as_ref().is_none_or(|written| written.client != *client) {
            return;
        }
        let ends_at = self.ends_at(ear, self.holds[index].kinds, text, said.at);
        let hold = &mut self.holds[index];
        if hold.home == self.here.number {
            hold.value.clone_from(text);
        }
        hold.is_over &= ends_at.is_some_and(|ends_at| ends_at <= said.at);
        hold.ends_at = ends_at;
    }

    /// The talk has given back what it held, or has found that it cannot.
    pub(super) fn leave(&mut self, ear: &mut Ear<'_>, place: usize, said: &Said) {
        let client = self.talks[place].client.clone();
        if let Some(index) = self.hold_of(&client) {
            self.stays_behind(ear, index, said);
            self.end(index, said.at);
        }
        self.talks[place].leave();
    }

    /// A hold ends: its holder says so.
    pub(super) fn end(&mut self, index: usize, at: UnixTime) {
        let hold = self.holds.remove(index);
        self.keep(&hold, Some(at));
        let tally = &mut self.spot_mut(hold.home).tally;
        tally.releases += 1;
        tally.overruns += u64::from(hold.has_overrun(at));
        tally.held.add(at.saturating_since(hold.since));
    }

    /// Keeps what a hold was, if anybody wants to know.
    pub(super) fn keep(&mut self, hold: &Hold, until: Option<UnixTime>) {
        let key = self.spot(hold.home).key.clone();
        let Some(episodes) = &mut self.episodes else { return };
        episodes.push(Episode {
            key,
            database: self.database,
            client: hold.client.clone(),
            asked_at: hold.asked_at,
            since: hold.since,
            until,
            lease: hold.ends_at.map(|ends_at| ends_at.saturating_since(hold.since)),
            certainty: hold.certainty,
        });
    }

    /// Lets the leases end that are over at this moment.
    pub(super) fn lapse(&mut self, ear: &mut Ear<'_>, at: UnixTime, line: Option<u64>) {
        for index in 0..self.holds.len() {
            let hold = &mut self.holds[index];
            if hold.is_over || hold.ends_at.is_none_or(|ends_at| ends_at >= at) {
                continue;
            }
            hold.is_over = true;
            if let (Some(Disturbed { finding }), Some(ends_at)) = (hold.disturbed, hold.ends_at) {
                let home = self.holds[index].home;
                self.outlived(ear, finding, home, ends_at, at, line);
            }
        }
        if self.holds.len() > MOST_PAST {
            let oldest = self.holds.iter().position(|hold| hold.is_over);
            if let Some(oldest) = oldest.map(|index| self.holds.remove(index)) {
                self.keep(&oldest, None);
            }
        }
        for spot in [&mut self.here].into_iter().chain(&mut self.beside) {
            if spot.written.is_some() && !self.server.holds(&spot.key, at) {
                spot.written = None;
            }
        }
    }

    /// A script that claims has failed half-way.
    fn script_failed(&mut self, ear: &mut Ear<'_>, place: usize, said: &Said, change: &Change) {
        let is_script = said.is("EVAL") || said.is("EVALSHA");
        let stays = change.before.is_none() && change.after.as_ref().is_some_and(|stored| stored.expires_at.is_none());
        if is_script && stays && matches!(said.reply, Reply::Error(_)) {
            self.half_applied(ear, place, said);
        }
    }
}
