//! Times to live that are none, too long or not the sender's to set; and those who wait for a key that will not go.

use std::time::Duration;

use super::finding::{Certainty, Finding};
use super::lock::{Change, Ear, Lock};
use super::said::Said;
use super::stamp;
use crate::legacy::Lifetime;
use crate::race_id::RaceId;
use crate::wire::{Printable, Reply, UnixTime};

/// A lease of so many years is none.
const TOO_LONG: Duration = Duration::from_secs(5 * 365 * 86_400);
/// How long a holder that says nothing, and whose lock does not end, is given before it is taken for dead.
const SILENCE: Duration = Duration::from_secs(60);

impl Lock {
    /// A command of this talk has changed when the key ends, or what stands in it.
    pub(super) fn retimed(&mut self, ear: &mut Ear<'_>, place: usize, said: &Said, change: &Change) {
        let Some(after) = &change.after else { return };
        let deadline = after.expires_at;
        let before = change.before.as_ref().and_then(|before| before.expires_at);
        if deadline != before && deadline.is_some_and(|deadline| deadline.saturating_since(said.at) > TOO_LONG) {
            self.tell_of_lifetime(
                ear,
                RaceId::AbsoluteExpire,
                said,
                format!(
                    "{} gives the key a time to live of decades: a moment stands where a length belongs",
                    self.talks[place].client
                ),
            );
        }
        let is_own = self.here.written.as_ref().is_some_and(|written| written.client == self.talks[place].client);
        if is_own {
            self.prolong(ear, place, said, after);
        } else if let Some(deadline) = deadline.filter(|_| deadline != before && change.before.is_some()) {
            self.cut_short(ear, place, said, deadline);
        }
        self.renewed_too_late(ear, place, said);
    }

    /// Somebody has set the time to live of a lock that is another's.
    fn cut_short(&mut self, ear: &mut Ear<'_>, place: usize, said: &Said, deadline: UnixTime) {
        let client = self.talks[place].client.clone();
        let was_holder = self.hold_of(&client).is_some();
        let Some(written) = self.here.written.clone().filter(|_| was_holder) else { return };
        let victim = self.hold_of(&written.client).filter(|victim| self.holds[*victim].is_live(said.at));
        let Some(victim) = victim.map(|victim| &mut self.holds[victim]) else { return };
        if victim.ends_at.is_none_or(|ends_at| deadline < ends_at) {
            let says = format!("{client} cuts the lease that {} holds since line {}", victim.client, victim.line);
            victim.robbed = Some(ear.findings.next());
            let own = self.holds.iter_mut().find(|hold| hold.client == client);
            own.into_iter().for_each(|own| own.robbed = Some(ear.findings.next()));
            self.tell_of_lifetime(ear, RaceId::LateExpire, said, says);
        }
    }

    fn renewed_too_late(&self, ear: &mut Ear<'_>, place: usize, said: &Said) {
        let talk = &self.talks[place];
        let compares = said.is("EVAL") || said.is("EVALSHA") || said.is("SET");
        if !compares
            || !talk.holds
            || talk.standing().won.is_empty()
            || !matches!(said.reply, Reply::Int(0) | Reply::Nil)
        {
            return;
        }
        let Some(hold) = self.hold_of(&talk.client).map(|own| &self.holds[own]) else { return };
        if let Some(finding) = hold.robbed {
            ear.shown_by(finding, said.line);
        } else if let Some((next, line)) = &hold.followed_by {
            let says = format!("{} renews at line {} what {next} has held since line {line}", hold.client, said.line);
            self.tell_of_lifetime(ear, RaceId::RenewalTooLate, said, says);
        }
    }

    /// A script has set the key and failed before it gave it a time to live.
    pub(super) fn half_applied(&self, ear: &mut Ear<'_>, place: usize, said: &Said) {
        let says = format!(
            "the script of {} sets the key and fails at its time to live ({})",
            self.talks[place].client, said.reply
        );
        self.tell_of_lifetime(ear, RaceId::ScriptHalfApplied, said, says);
    }

    /// The talk was refused: perhaps by somebody who will never come back.
    pub(super) fn starve(&mut self, ear: &mut Ear<'_>, place: usize, said: &Said) {
        let Some(written) = self.here.written.clone() else { return };
        let has_ttl = self.stored(said.at).is_none_or(|stored| stored.expires_at.is_some());
        if has_ttl || self.here.starved_by == Some(written.line) {
            return;
        }
        let is_own = written.client == self.talks[place].client;
        let holder = self.hold_of(&written.client);
        let silence = said.at.saturating_since(self.talk_last_at(&written.client));
        let over = stamp::moment(&written.value).map(|moment| said.at.saturating_since(moment));
        let race = match over {
            Some(over) if over > Duration::from_secs(1) && self.reads_no_stamps(ear, place) => {
                if self.without_ttl(ear, said) {
                    self.here.starved_by = Some(written.line);
                    return;
                }
                RaceId::TokenClientStarves
            }
            None if is_own && said.at.saturating_since(written.at) > SILENCE => {
                // It waits for itself: it cannot know that it has won.
                self.here.starved_by = Some(written.line);
                RaceId::LostReplyLocksForEver
            }
            None if silence > SILENCE && holder.is_some() && !is_own => self.why_for_ever(ear),
            Some(_) | None => return,
        };
        self.here.starved_by = Some(written.line);
        let says = format!(
            "{} waits for {}, which never ends; {} has not been heard of for {:.0?}",
            self.talks[place].client,
            Printable(&written.value),
            written.client,
            silence
        );
        self.tell_of_lifetime(ear, race, said, says);
        if let Some(finding) = ear.findings.last_mut() {
            finding.certainty = finding.certainty.min(Certainty::Likely);
            finding.shown_by(written.line);
            finding.clients.push(written.client.clone());
        }
    }

    /// Whether a loser has removed the time to live that would have ended the lock.
    fn without_ttl(&self, ear: &mut Ear<'_>, said: &Said) -> bool {
        let cleared = self.holds.iter().find_map(|hold| Some((hold, hold.ttl_cleared?)));
        let Some((hold, line)) = cleared else { return false };
        let says = "a loser has removed the time to live, and whoever reads no stamps waits for ever".to_owned();
        match hold.disturbed {
            Some(disturbed) => ear.becomes(disturbed.finding, Some(RaceId::LoserClearsTtl), Some(said.line), says),
            None => {
                self.tell_of_lifetime(ear, RaceId::LoserClearsTtl, said, says);
                if let Some(finding) = ear.findings.last_mut() {
                    finding.shown_by(line);
                }
            }
        }
        true
    }

    /// Whether everybody whom the talk may be leaves it to Redis to end a lock.
    fn reads_no_stamps(&self, ear: &Ear<'_>, place: usize) -> bool {
        let looks = |kind: usize| ear.grammar.kinds()[kind].hand().is_some_and(|dialect| dialect.look.is_some());
        !self.talks[place].kinds.places().any(looks)
    }

    /// Whether those who win this lock give it a time to live by a command of its own.
    fn why_for_ever(&self, ear: &Ear<'_>) -> RaceId {
        let kinds: Vec<usize> = self.here.winners.kinds().places().collect();
        let expires = |kind: &usize| {
            ear.grammar.kinds()[*kind].dialect().is_some_and(|dialect| dialect.ttl.claimed != Lifetime::None)
        };
        let seen_to_expire =
            self.talks.iter().any(|talk| !talk.kinds.is_empty() && talk.kinds.places().all(|kind| expires(&kind)));
        if seen_to_expire || !kinds.is_empty() && kinds.iter().all(expires) {
            RaceId::CrashBeforeExpire
        } else {
            RaceId::NoLeaseCrash
        }
    }

    fn talk_last_at(&self, client: &std::sync::Arc<str>) -> UnixTime {
        self.talk_with(client).map_or(UnixTime::from_nanos(0), |talk| talk.last_at)
    }

    fn tell_of_lifetime(&self, ear: &mut Ear<'_>, race: RaceId, said: &Said, says: String) {
        let written = self.here.written.as_ref();
        let mut lines: Vec<u64> = written.map(|written| written.line).into_iter().chain([said.line]).collect();
        lines.sort_unstable();
        lines.dedup();
        let sender = self.talks.iter().find(|talk| talk.said.last().is_some_and(|last| last.line == said.line));
        let clients = sender.map(|talk| talk.client.clone()).into_iter().collect();
        ear.findings.push(Finding {
            more: 0,
            race: Some(race),
            key: self.here.key.clone(),
            database: self.database,
            at: said.at,
            clients,
            lines,
            certainty: self.certainty(),
            says,
        });
    }
}
