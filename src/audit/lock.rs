//! One key that is a lock: what stands in it, who talks with it, who holds it.

use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::episode::Episode;
use super::finding::{Certainty, Finding};
use super::grammar::Grammar;
use super::hold::{Hold, Written};
use super::kinds::{Kind, Kinds};
use super::said::Said;
use super::scripts::Script;
use super::stamp;
use super::talk::{Overwrote, Talk, Went};
use super::tally::Tally;
use crate::sim::{Flavour, Server, Session, Stored, Value};
use crate::wire::{Command, Key, Reply, UnixTime};

/// One key that is a lock.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) key: Key,
    pub(super) database: u32,
    server: Server,
    /// Whether it is known what stands in the key: from the first command on that leaves no doubt.
    pub(super) is_known: bool,
    pub(super) written: Option<Written>,
    pub(super) talks: Vec<Talk>,
    /// Where the talk of a client is, by the address of its name: a client has one name only.
    places: HashMap<usize, usize, FxBuildHasher>,
    pub(super) holds: Vec<Hold>,
    /// The kinds of those who have won it.
    pub(super) winners: Kinds,
    pub(super) tally: Tally,
    pub(super) last_at: UnixTime,
    /// What has ended and was not asked for yet, if it is kept.
    pub(super) episodes: Option<Vec<Episode>>,
    /// The line of the value that somebody was found to wait for in vain.
    pub(super) starved_by: Option<u64>,
}

/// What is heard of a lock, and where that goes.
pub(super) struct Ear<'a> {
    pub(super) grammar: &'a mut Grammar,
    pub(super) findings: &'a mut Vec<Finding>,
}

impl Ear<'_> {
    /// When a lock of this value is over: by its stamp, else by the key's time to live. Where the stamp says when the lock
    /// was taken, nobody can say for how long, and so it counts for nothing.
    pub(super) fn end_of(&self, kinds: Kinds, value: &[u8], expires_at: Option<UnixTime>) -> Option<UnixTime> {
        let any = |names: fn(&Kind) -> bool| kinds.places().any(|kind| names(&self.grammar.kinds()[kind]));
        let stamp = || stamp::moment(value);
        let named = stamp().filter(|_| any(Kind::names_end));
        named.or(expires_at).or_else(|| stamp().filter(|_| any(Kind::names_beginning)))
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
    /// The script that it runs, if it is a known one.
    pub(super) script: Option<&'a Script>,
    /// What it was answered, where that is told rather than found out.
    pub(super) answer: Option<Reply>,
}

/// What changed by a command.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) before: Option<Stored>,
    pub(super) after: Option<Stored>,
    /// Who had written what stood there before.
    pub(super) written: Option<Written>,
}

/// With so many clients a lock talks at a time; connections come and go.
const MOST_TALKS: usize = 256;

/// All commands reach the key in the order of the trace: one connection is enough.
const SESSION: Session = Session(1);

impl Lock {
    /// A key of which nothing is known yet.
    pub(super) fn new(key: Key, database: u32, at: UnixTime) -> Self {
        Self {
            key,
            database,
            server: Server::new(Flavour::Redis70),
            is_known: false,
            written: None,
            talks: Vec::new(),
            places: HashMap::default(),
            holds: Vec::new(),
            winners: Kinds::default(),
            tally: Tally::default(),
            last_at: at,
            episodes: None,
            starved_by: None,
        }
    }

    /// Hears one command.
    pub(super) fn hear(&mut self, ear: &mut Ear<'_>, sent: &Sent<'_>) {
        self.last_at = sent.at;
        self.lapse(ear, sent.at, Some(sent.line));
        let written = self.written.clone();
        let before = self.server.peek(&self.key, sent.at);
        let reply = self.run(sent);
        let after = self.server.peek(&self.key, sent.at);
        let change = Change { before, after, written };
        let said = Said::new(sent.command.clone(), reply, sent.at, sent.line, sent.within);
        let place = self.talk_of(ear.grammar, &said, sent.client);
        self.remember_write(place, &said, &change);
        let was_leaving = self.is_leaving(place);
        let was_undecided = self.is_undecided(place);
        let could_have_left = self.could_have_left(place);
        let went = self.talks[place].hear(ear.grammar, &self.key, said.clone());
        if let Some((left, last)) = could_have_left.filter(|_| went == Went::Anew)
            && !(self.talks[place].kinds & left).is_empty()
        {
            self.leave(ear, place, &last);
        }
        if was_leaving && went != Went::On {
            self.not_deleted(ear, place);
        }
        self.tally.undecided += u64::from(was_undecided && went != Went::On);
        self.note_overwriting(place, &said, &change);
        self.judge(ear, place, went, &said, &change);
        self.is_known |= change.after.is_none() || self.is_beyond_doubt(&said);
    }

    /// Which of those whom a holder may be had given back by what was said last.
    fn could_have_left(&self, place: usize) -> Option<(Kinds, Said)> {
        let talk = &self.talks[place];
        let left = talk.standing().left;
        Some((left, talk.said.last()?.clone())).filter(|_| talk.holds && !left.is_empty())
    }

    /// Whether it is known after this command what stands in the key, whatever was there before.
    fn is_beyond_doubt(&self, said: &Said) -> bool {
        ["GETSET", "SETEX", "PSETEX", "DEL"].iter().any(|name| said.is(name))
            || said.is("SET") && !said.command.args().iter().any(|word| word.eq_ignore_ascii_case(b"NX"))
    }

    /// What stands in the key.
    pub(super) fn stored(&self, at: UnixTime) -> Option<Stored> {
        self.server.peek(&self.key, at)
    }

    /// Whether anything stands in the key.
    pub(super) fn stands(&self, at: UnixTime) -> bool {
        self.server.holds(&self.key, at)
    }

    /// Whether nothing stands in it and nobody holds or asks.
    pub(super) fn is_idle(&self, at: UnixTime) -> bool {
        self.holds.iter().all(|hold| hold.is_over) && !self.stands(at)
    }

    /// The talk of this client.
    pub(super) fn talk_with(&self, client: &Arc<str>) -> Option<&Talk> {
        self.places.get(&client.as_ptr().addr()).map(|place| &self.talks[*place])
    }

    fn run(&mut self, sent: &Sent<'_>) -> Reply {
        if let Some(answer) = &sent.answer {
            return answer.clone();
        }
        if sent.command.is("MULTI") || sent.command.is("EXEC") || sent.command.is("WATCH") || sent.command.is("UNWATCH")
        {
            return Reply::ok();
        }
        let reply = self.server.call(SESSION, &sent.command, sent.at);
        let Some(script) = sent.script.filter(|_| reply.error_code() == Some("NOSCRIPT")) else { return reply };
        let mut words = sent.command.words().to_vec();
        words[0] = b"EVAL".to_vec();
        words[1].clone_from(&script.text);
        let command = Command::from_words(words).expect("the words of a command");
        self.server.call(SESSION, &command, sent.at)
    }

    /// The conversation that this belongs to: by a holder's token, else by the connection.
    fn talk_of(&mut self, grammar: &Grammar, said: &Said, client: &Arc<str>) -> usize {
        let compares = ["EVAL", "EVALSHA", "DELIFEQ", "DELEX"].iter().any(|name| said.is(name));
        let has_token = |hold: &&Hold| hold.value.len() >= 8 && said.command.args().contains(&hold.value);
        let by_token = self.holds.iter().filter(|_| compares).find(has_token).map(|hold| hold.client.clone());
        let client = by_token.as_ref().unwrap_or(client);
        if let Some(place) = self.places.get(&client.as_ptr().addr()) {
            return *place;
        }
        if self.talks.len() >= MOST_TALKS {
            self.forget_a_talk();
        }
        self.places.insert(client.as_ptr().addr(), self.talks.len());
        self.talks.push(Talk::new(client.clone(), grammar, said.at));
        self.talks.len() - 1
    }

    /// Forgets the conversation of whoever has been silent for longest and holds nothing.
    fn forget_a_talk(&mut self) {
        let holds = |talk: &Talk| self.holds.iter().any(|hold| hold.client == talk.client);
        let silent = self.talks.iter().enumerate().filter(|(_, talk)| !holds(talk));
        if let Some((place, _)) = silent.min_by_key(|(_, talk)| talk.last_at) {
            let silent = self.talks.swap_remove(place);
            self.places.remove(&silent.client.as_ptr().addr());
            if let Some(moved) = self.talks.get(place) {
                self.places.insert(moved.client.as_ptr().addr(), place);
            }
        }
    }

    fn remember_write<'a>(&mut self, place: usize, said: &Said, change: &'a Change) {
        let value = |stored: &'a Option<Stored>| match stored.as_ref().map(|stored| &stored.value) {
            Some(Value::Text(text)) => Some(text.as_slice()),
            Some(_) => Some(&[] as &[u8]),
            None => None,
        };
        let (old, new) = (value(&change.before), value(&change.after));
        match new {
            None => self.written = None,
            Some(new) if old != Some(new) || said.is("GETSET") || said.is("SET") && said.reply != Reply::Nil => {
                let client = self.talks[place].client.clone();
                let value = new.to_vec();
                self.written = Some(Written { client, line: said.line, at: said.at, value, by_loser: false });
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

    /// How sure a verdict about this talk is.
    pub(super) fn certainty(&self) -> Certainty {
        if self.is_known { Certainty::Certain } else { Certainty::Likely }
    }
}
