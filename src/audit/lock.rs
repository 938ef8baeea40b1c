//! One key that is a lock: what stands in it, who talks with it, who holds it.

use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::deletion;
use super::episode::Episode;
use super::finding::Certainty;
use super::findings::{Findings, Place};
use super::grammar::Grammar;
use super::hold::{Hold, Written};
use super::kinds::Kinds;
use super::said::Said;
use super::scripts::Script;
use super::spot::Spot;
use super::talk::{Overwrote, Talk, Went};
use crate::race_id::RaceId;
use crate::sim::{Flavour, Seen, Server, Session, Stored, Value};
use crate::wire::{Command, Key, Reply, UnixTime};

/// One key that is a lock.
#[derive(Debug)]
pub(super) struct Lock {
    /// The key that is being talked of, and the others.
    pub(super) here: Spot,
    pub(super) beside: Vec<Spot>,
    pub(super) database: u32,
    pub(super) server: Server,
    pub(super) talks: Vec<Talk>,
    /// Where the talk of a client with a key is, by the address of its name: a client has one name only.
    pub(super) places: HashMap<(usize, u8), usize, FxBuildHasher>,
    pub(super) holds: Vec<Hold>,
    pub(super) last_at: UnixTime,
    /// When the trace began.
    pub(super) began_at: UnixTime,
    /// What has ended and was not asked for yet, if it is kept.
    pub(super) episodes: Option<Vec<Episode>>,
}

/// What is heard of a lock, and where that goes.
pub(super) struct Ear<'a> {
    pub(super) grammar: &'a mut Grammar,
    pub(super) findings: &'a mut Findings,
}

impl Ear<'_> {
    /// A finding is shown by this line, too, if that can still be said of it.
    pub(super) fn shown_by(&mut self, finding: Place, line: u64) {
        self.findings.get_mut(finding).into_iter().for_each(|finding| finding.shown_by(line));
    }

    /// A finding turns out to be another race, if that can still be said of it.
    pub(super) fn becomes(&mut self, finding: Place, race: Option<RaceId>, line: Option<u64>, says: String) {
        if let Some(finding) = self.findings.get_mut(finding) {
            finding.becomes(race, line, says);
        }
    }
}

/// A command that somebody has sent to a lock.
#[derive(Clone, Debug)]
pub(super) struct Sent<'a> {
    pub(super) client: &'a Arc<str>,
    pub(super) command: Command,
    pub(super) at: UnixTime,
    pub(super) line: u64,
    pub(super) within: Option<u64>,
    /// Whether its sender is one who asks the server for the time.
    pub(super) asks_time: bool,
    /// The script that it runs, if it is a known one.
    pub(super) script: Option<&'a Script>,
    /// Whether that is listed to have written what the lock is held by, where that can be told.
    pub(super) has_written: Option<bool>,
    /// What it was answered, where that is told rather than found out.
    pub(super) answer: Option<Reply>,
}

/// What changed by a command. What did not change is shared.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) before: Option<Arc<Stored>>,
    pub(super) after: Option<Arc<Stored>>,
    /// Who had written what stood there before.
    pub(super) written: Option<Arc<Written>>,
}

/// All commands reach the key in the order of the trace: one connection is enough.
pub(super) const SESSION: Session = Session(1);

impl Lock {
    /// A key of which nothing is known yet.
    pub(super) fn new(key: Key, database: u32, at: UnixTime, began_at: UnixTime) -> Self {
        Self {
            here: Spot::new(key),
            beside: Vec::new(),
            database,
            server: Server::new(Flavour::Redis84),
            talks: Vec::new(),
            places: HashMap::default(),
            holds: Vec::new(),
            last_at: at,
            began_at,
            episodes: None,
        }
    }

    /// Hears one command, which is about this key.
    pub(super) fn hear(&mut self, ear: &mut Ear<'_>, key: &[u8], sent: &Sent<'_>) {
        self.last_at = sent.at;
        self.turn_to_home_of(key);
        self.lapse(ear, sent.at, Some(sent.line));
        self.believe(ear.grammar, sent);
        let beside = self.look_at_others(sent.at);
        let written = self.here.written.clone();
        let before = self.here.look(&self.server, sent.at);
        let reply = self.run(sent);
        let after = self.here.look(&self.server, sent.at);
        let change = Change { before, after, written };
        let said = Said::new(sent.command.clone(), reply, sent.at, sent.line, sent.within, sent.asks_time);
        let place = self.talk_of(ear.grammar, &said, sent);
        self.remember_write(place, &said, &change);
        let was_leaving = self.is_leaving(place);
        let was_undecided = self.is_undecided(place);
        let could_have_left = self.could_have_left(place);
        let went = self.talks[place].hear(ear.grammar, &self.here.key, said.clone());
        if let Some((left, last)) = could_have_left.filter(|_| went == Went::Anew)
            && !(self.talks[place].kinds & left).is_empty()
        {
            self.leave(ear, place, &last);
        }
        if was_leaving && went != Went::On {
            self.not_deleted(ear, place);
        }
        self.here.tally.undecided += u64::from(was_undecided && went != Went::On);
        self.note_overwriting(place, &said, &change);
        self.judge(ear, place, went, &said, &change);
        if self.talks[place].has_won {
            self.here.winners.note(self.talks[place].kinds);
            self.talks[place].note_spoken();
        }
        self.learn(ear.grammar, place, &said, &change);
        if !beside.is_empty() {
            self.look_beside(ear, place, &said, beside);
        }
    }

    /// Which of those whom a holder may be had given back by what was said last.
    fn could_have_left(&self, place: usize) -> Option<(Kinds, Said)> {
        let talk = &self.talks[place];
        let left = talk.standing().left;
        Some((left, talk.said.last()?.clone())).filter(|_| talk.holds && !left.is_empty())
    }

    /// Whether it is known from now on what stands in the key. An empty key is no proof by itself: what stood in it before the
    /// trace began is in no line. But whoever gives back what it was seen to take has had it.
    pub(super) fn learn(&mut self, grammar: &Grammar, place: usize, said: &Said, change: &Change) {
        let is_given_back = self.talks[place].has_won && change.before.is_some() && change.after.is_none();
        if self.here.is_known || !is_given_back && !self.is_beyond_doubt(said) {
            return;
        }
        self.here.is_known = true;
        let home = self.here.home;
        for (other, talk) in self.talks.iter_mut().enumerate().filter(|(_, talk)| talk.home == home) {
            if other != place || !is_given_back {
                talk.was_guessed(grammar);
            }
        }
    }

    /// Whether it is known after this command what stands in the key, whatever was there before.
    pub(super) fn is_beyond_doubt(&self, said: &Said) -> bool {
        let is_sure = ["GETSET", "SETEX", "PSETEX", "DEL"].iter().any(|name| said.is(name))
            || said.is("SET") && !said.command.args().iter().any(|word| word.eq_ignore_ascii_case(b"NX"));
        is_sure && (self.beside.is_empty() || self.names(&said.command).has(self.here.number))
    }

    /// What stands in the key.
    pub(super) fn stored(&self, at: UnixTime) -> Option<Seen<'_>> {
        self.server.see(&self.here.key, at)
    }

    /// Whether nothing stands in its keys and nobody holds or asks.
    pub(super) fn is_idle(&self, at: UnixTime) -> bool {
        self.holds.iter().all(|hold| hold.is_over) && !self.spots().any(|spot| self.server.holds(&spot.key, at))
    }

    /// What this client holds of the key that is being talked of.
    pub(super) fn hold_of(&self, client: &str) -> Option<usize> {
        let here = self.here.number;
        self.holds.iter().position(|hold| *hold.client == *client && hold.spots.has(here))
    }

    pub(super) fn run(&mut self, sent: &Sent<'_>) -> Reply {
        if let Some(answer) = &sent.answer {
            return answer.clone();
        }
        if sent.command.is("MULTI") || sent.command.is("EXEC") || sent.command.is("WATCH") || sent.command.is("UNWATCH")
        {
            return Reply::ok();
        }
        let refusal = sent.script.and_then(|script| script.refusal.as_ref());
        let run = |refusal| deletion::run(&mut self.server, SESSION, &sent.command, refusal, sent.at);
        if let Some(reply) = refusal.and_then(run) {
            return reply;
        }
        self.speak_as(&sent.command);
        let reply = self.server.call(SESSION, &sent.command, sent.at);
        let Some(script) = sent.script.filter(|_| reply.error_code() == Some("NOSCRIPT")) else { return reply };
        let mut words = sent.command.words().to_vec();
        words[0] = b"EVAL".to_vec();
        words[1].clone_from(&script.text);
        let command = Command::from_words(words).expect("the words of a command");
        self.server.call(SESSION, &command, sent.at)
    }

    /// Is from now on a server that knows this command, if there is one.
    fn speak_as(&mut self, command: &Command) {
        if command.is("DELIFEQ") {
            self.server.become_a(Flavour::Valkey9);
        }
    }

    pub(super) fn remember_write<'a>(&mut self, place: usize, said: &Said, change: &'a Change) {
        let value = |stored: &'a Option<Arc<Stored>>| match stored.as_ref().map(|stored| &stored.value) {
            Some(Value::Text(text)) => Some(text.as_slice()),
            Some(_) => Some(&[] as &[u8]),
            None => None,
        };
        let (old, new) = (value(&change.before), value(&change.after));
        match new {
            None => self.here.written = None,
            Some(new) if old != Some(new) || said.is("GETSET") || said.is("SET") && said.reply != Reply::Nil => {
                let client = self.talks[place].client.clone();
                let value = new.to_vec();
                let written = Written { client, line: said.line, at: said.at, value, by_loser: false };
                self.here.written = Some(Arc::new(written));
            }
            Some(_) => {}
        }
    }

    fn note_overwriting(&mut self, place: usize, said: &Said, change: &Change) {
        let overwrites = ["GETSET", "SET", "SETEX", "PSETEX"].iter().any(|name| said.is(name));
        if overwrites && said.reply != Reply::Nil || said.is("GETSET") {
            self.talks[place].overwrote = Some(Overwrote {
                line: said.line,
                before: change.written.clone(),
                had_ttl: change.before.as_ref().is_some_and(|stored| stored.expires_at.is_some()),
            });
        }
    }

    /// How sure a verdict about the key is that is being talked of.
    pub(super) fn certainty(&self) -> Certainty {
        if self.here.is_known { Certainty::Certain } else { Certainty::Likely }
    }
}
