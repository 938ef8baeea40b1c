//! What the guard knows of one client and one key, and what it does with the client's next command.

use super::answer::{Answer, Note, RefusedBecause};
use super::decision::{Decision, could_acquire, has_nx, replies};
use super::protocol_run::ProtocolRun;
use super::rule::Rule;
use super::scripts::{self, KeyContent, LockKeys, Sight, Span, Stamp, Taken, WrittenStamp};
use crate::bridge::Clocks;
use crate::legacy::{Check, Lock, Release};
use crate::lock::Owner;
use crate::wire::{Command, CommandWord, Key, Reply, Transcript, Turn, UnixTime};
use std::time::Duration;

/// What the guard knows of one client and one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct KeySession {
    /// The attempt under way.
    trying: Option<GuardedAttempt>,
    /// What the client has acquired and not released, the oldest first.
    holds: Vec<Grant>,
    /// What its latest GET was answered, while it holds something.
    read: Option<Vec<u8>>,
}

/// What the guard knows of one client and one key, and the client's next command, before the server is asked about it.
#[derive(Debug)]
pub(super) struct ReceivedCommand {
    /// Without the attempt under way.
    session: KeySession,
    /// The attempt that the command belongs to.
    attempt: Option<GuardedAttempt>,
}

/// An attempt under way: the protocols that the client may speak, and what was decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GuardedAttempt {
    runs: Vec<ProtocolRun>,
    decided: Option<Decision>,
}

/// A lock that was granted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Grant {
    /// The value that the client believes to have written.
    pub(super) own: Vec<u8>,
    /// The guard's stamp, which is in the key; or the client's own value, if the client wrote it while the guard only observed.
    pub(super) stamp: Vec<u8>,
    /// In bridge mode, the token in the new key, in hexadecimal.
    pub(super) token: Option<Vec<u8>>,
}

impl Grant {
    /// A lock that the client has acquired by writing this itself, while the guard only observed.
    pub(super) fn by_client(value: Vec<u8>) -> Self {
        Self { own: value.clone(), stamp: value, token: None }
    }

    /// Whether the client's own value is in the key: the guard writes no value that a client writes.
    fn is_by_client(&self) -> bool {
        self.own == self.stamp
    }
}

/// Number of locks of one key that a client has not released and that are remembered. Only the latest can still be in the key.
const MOST_HOLDS: usize = 16;

/// How often the guard judges what the server has shown it, if that changes before it can write.
const MOST_LOOKS: usize = 3;

/// How far the server's clock may be from this host's, the way to the server included, for a stamp to be written without a
/// look. So much longer than necessary may a stamp keep others out, twice.
const NEARLY: Duration = Duration::from_millis(50);

/// In which the server counts its time.
const MICROSECOND: Duration = Duration::from_micros(1);

impl KeySession {
    /// A client that holds this.
    pub(super) fn holding(grant: Grant) -> Self {
        Self { trying: None, holds: vec![grant], read: None }
    }

    /// What the client holds by its latest attempt.
    pub(super) fn grant(&self) -> Option<&Grant> {
        self.holds.last()
    }

    /// The client has acquired this.
    fn hold(&mut self, grant: Grant) {
        if self.holds.len() == MOST_HOLDS {
            self.holds.remove(0);
        }
        self.holds.push(grant);
    }

    /// Whether nothing is known that the next command could depend on.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The client sends this command on the key.
    pub(super) fn receive(mut self, rule: &Rule, key: &Key, command: &Command) -> ReceivedCommand {
        let attempt = self.trying.take().and_then(|attempt| attempt.goes_on(rule, key, command));
        // A holder that looks at its key is about to release it.
        let is_own_look = command.is("GET") && !self.holds.is_empty();
        let attempt = attempt.or_else(|| GuardedAttempt::begins(rule, key, command).filter(|_| !is_own_look));
        ReceivedCommand { session: self, attempt }
    }

    /// Extends the client's latest lock by this length from now, if it is as the guard wrote it.
    pub(super) fn renew(
        mut self,
        guard: &GuardedKey<'_>,
        length: Duration,
        redis: &mut Transcript,
    ) -> Turn<(Self, Option<Note>)> {
        let Some(mut grant) = self.holds.pop() else { return Ok((self, None)) };
        let at = scripts::look(redis, guard.key)?.at;
        let Some(value) = guard.rule.stamp(guard.owner, length, at) else {
            self.holds.push(grant);
            return Ok((self, None));
        };
        let stamp = Stamp { value: &value, ttl_ms: guard.rule.ttl_ms(length) };
        let is_held = scripts::extend(redis, &guard.keys_of(&grant), guard.written(&grant), &stamp)?;
        if is_held {
            grant.stamp = value;
        }
        self.holds.push(grant);
        Ok((self, Some(if is_held { Note::Renewed } else { Note::Lost })))
    }

    /// What becomes of a command that is queued behind MULTI. The server runs it later, so what it would find is not known.
    /// A DEL deletes the client's latest lock, if it is as the guard wrote it then; of a client that holds none only a key
    /// that it watches, which the server protects.
    pub(super) fn queue(&self, guard: &GuardedKey<'_>, command: &Command, is_watching: bool) -> (Answer, Option<Note>) {
        let is_one = command.args().len() == 1;
        match self.grant() {
            Some(grant) if is_expire(command) && grant.is_by_client() => (Answer::Pass, None),
            _ if is_expire(command) => (Answer::Send(scripts::answer_in_transaction(1)), None),
            Some(grant) if is_one && is_deletion(command) => {
                let release = scripts::release_in_transaction(&guard.keys_of(grant), guard.written(grant));
                (Answer::Send(release), None)
            }
            None if is_one && is_deletion(command) && !is_watching => {
                (Answer::Send(scripts::answer_in_transaction(0)), Some(Note::DelIgnored))
            }
            _ => (Answer::Pass, None),
        }
    }

    /// Deletes what the guard has written for the client's latest lock, if it is still as the guard wrote it.
    pub(super) fn withdraw(mut self, guard: &GuardedKey<'_>, redis: &mut Transcript) -> Turn<Self> {
        self.trying = None;
        if let Some(grant) = self.holds.pop() {
            scripts::release(redis, &guard.keys_of(&grant), guard.written(&grant))?;
        }
        Ok(self)
    }
}

impl ReceivedCommand {
    /// The server is asked about it. Nothing of what was received is copied before it has answered.
    pub(super) fn serve(
        &self,
        guard: &GuardedKey<'_>,
        command: &Command,
        redis: &mut Transcript,
    ) -> Turn<(KeySession, Answer, Vec<Note>)> {
        if let Some(attempt) = &self.attempt {
            return self.go_on(attempt, guard, command, redis);
        }
        match command.args() {
            [_] if is_deletion(command) => self.release(guard, redis),
            [_] if command.is("GET") => self.read(guard, redis),
            [_, value, ..] if is_claim(command) => self.claim(command, value, guard, redis),
            [_, _, ..] if is_expire(command) && self.session.grant().is_some_and(Grant::is_by_client) => self.pass(),
            [_, _, ..] if is_expire(command) => Ok((self.session.clone(), Answer::Reply(Reply::Int(1)), Vec::new())),
            _ if !self.session.holds.is_empty() => match overwrites_with(command) {
                Some(value) => self.overwrite(value, guard, redis),
                None if is_script(command) => self.script(guard, command, redis),
                None => self.pass(),
            },
            _ => self.pass(),
        }
    }

    /// The command goes to the server as it is.
    fn pass(&self) -> Turn<(KeySession, Answer, Vec<Note>)> {
        Ok((self.session.clone(), Answer::Pass, Vec::new()))
    }

    /// A command of an attempt.
    fn go_on(
        &self,
        attempt: &GuardedAttempt,
        guard: &GuardedKey<'_>,
        command: &Command,
        redis: &mut Transcript,
    ) -> Turn<(KeySession, Answer, Vec<Note>)> {
        let (mut notes, mut granted, mut claimed_at) = (Vec::new(), None, None);
        let decision = match attempt.decided {
            Some(decided) => Some(decided),
            None if could_acquire(command) => {
                let clocks = guard.rule.clocks(redis)?;
                // Otherwise no protocol of the rule writes this value by now: another program's.
                let Some((value, remaining)) = attempt.claim(guard, &clocks) else { return self.pass() };
                claimed_at = Some(clocks);
                if !self.session.holds.is_empty() {
                    notes.push(Note::AttemptWhileHolding);
                }
                match take(guard, &clocks, remaining, redis)? {
                    Decided::Won { stamp, note, .. } => {
                        granted = Some(guard.grant(value.to_vec(), stamp));
                        notes.push(note);
                        Some(Decision::Win)
                    }
                    Decided::Lost(note) => {
                        notes.push(note);
                        Some(Decision::Lose)
                    }
                }
            }
            None if command.is("GET") => {
                let sight = scripts::look(redis, guard.key)?;
                guard.is_held(&sight).then_some(Decision::Lose)
            }
            None => None,
        };
        let (mut session, mut attempt) = (self.session.clone(), attempt.clone());
        granted.into_iter().for_each(|grant| session.hold(grant));
        claimed_at.iter().for_each(|clocks| attempt.forget_impossible(guard, clocks));
        attempt.decided = decision;
        let Some(reply) = attempt.choose(guard, command) else { return Ok((session, Answer::Pass, notes)) };
        attempt.answered(guard, &reply);
        session.trying = Some(attempt).filter(|attempt| !attempt.runs.is_empty());
        Ok((session, Answer::Reply(reply), notes))
    }

    /// DEL: the client's own lock, if it is as the guard wrote it. Where an earlier lock of the connection was not
    /// released, the DEL may be meant for that one, and the oldest is tried first of which a client would send it.
    fn release(&self, guard: &GuardedKey<'_>, redis: &mut Transcript) -> Turn<(KeySession, Answer, Vec<Note>)> {
        let holds = match self.session.holds.as_slice() {
            [] => return Ok((self.session.clone(), Answer::Reply(Reply::Int(0)), vec![Note::DelIgnored])),
            [only] => std::slice::from_ref(only),
            all => {
                let clocks = guard.rule.clocks(redis)?;
                let may_delete = |grant: &Grant| self.may_delete(grant, guard, &clocks);
                // Those before it were lost when the next one was acquired, and no client deletes them any more.
                &all[all.iter().position(may_delete).unwrap_or(0)..]
            }
        };
        let (oldest, others) = holds.split_first().expect("one is left");
        let deleted = scripts::release(redis, &guard.keys_of(oldest), guard.written(oldest))?;
        let note = if deleted { Note::Released } else { Note::ReleasedLost };
        let session = KeySession { trying: None, holds: others.to_vec(), read: None };
        Ok((session, Answer::Reply(Reply::Int(deleted.into())), vec![note]))
    }

    /// Whether the client of this lock would send DEL now, by a protocol that could have written its value: many send none once
    /// their own stamp has passed, or unless GET has just shown them their own value.
    fn may_delete(&self, grant: &Grant, guard: &GuardedKey<'_>, clocks: &Clocks) -> bool {
        guard.members.iter().any(|member| {
            let dialect = member.dialect();
            let Some(left) = guard.rule.remaining(member, &grant.own, clocks) else { return false };
            match dialect.release {
                Release::WhileStampAhead { grace, .. } => {
                    let last = grace + dialect.form.stamp.unit.length();
                    let now = clocks.of(dialect).wall;
                    dialect.expires_at(&grant.own).is_some_and(|end| end.saturating_add(last) >= now)
                }
                Release::WithinLease => !left.is_zero(),
                Release::IfValue(Check::Equal | Check::EqualAndAhead) => self.session.read.as_ref() == Some(&grant.own),
                _ => true,
            }
        })
    }

    /// GET: the client finds its own value where the guard's stamp of its lock is.
    fn read(&self, guard: &GuardedKey<'_>, redis: &mut Transcript) -> Turn<(KeySession, Answer, Vec<Note>)> {
        let holds = &self.session.holds;
        if holds.is_empty() {
            return self.pass();
        }
        let reply = redis.send(Command::new("GET").arg(guard.key))?;
        let reply = match &reply {
            Reply::Bulk(value) => {
                holds.iter().find(|grant| grant.stamp == *value).map_or(reply, |grant| Reply::bulk(&grant.own))
            }
            _ => reply,
        };
        let read = if let Reply::Bulk(value) = &reply { Some(value.clone()) } else { None };
        Ok((KeySession { read, ..self.session.clone() }, Answer::Reply(reply), Vec::new()))
    }

    /// A claim or a takeover outside of an attempt: of a client whose attempt began on another connection. It writes only
    /// what the guard has decided.
    fn claim(
        &self,
        command: &Command,
        value: &[u8],
        guard: &GuardedKey<'_>,
        redis: &mut Transcript,
    ) -> Turn<(KeySession, Answer, Vec<Note>)> {
        let clocks = guard.rule.clocks(redis)?;
        let by = guard.members.iter().find_map(|member| Some((member, guard.rule.remaining(member, value, &clocks)?)));
        let Some((member, remaining)) = by else { return self.pass() };
        let reply = |decision| replies(member, command, Some(decision), None).into_iter().next().unwrap_or(Reply::Nil);
        let mut session = self.session.clone();
        match take(guard, &clocks, remaining, redis)? {
            Decided::Won { stamp, note, replaced } => {
                session.hold(guard.grant(value.to_vec(), stamp));
                let reply = match replaced {
                    KeyContent::Value(judged) if command.is("GETSET") => Reply::Bulk(judged),
                    KeyContent::Nothing | KeyContent::NotString if command.is("GETSET") => Reply::Nil,
                    _ => reply(Decision::Win),
                };
                Ok((session, Answer::Reply(reply), vec![note]))
            }
            Decided::Lost(note) => Ok((session, Answer::Reply(reply(Decision::Lose)), vec![note])),
        }
    }

    /// A holder writes a later stamp without a look: its lock is extended, if it is as the guard wrote it. The client is
    /// answered that it has written, as it would have.
    fn overwrite(
        &self,
        value: &[u8],
        guard: &GuardedKey<'_>,
        redis: &mut Transcript,
    ) -> Turn<(KeySession, Answer, Vec<Note>)> {
        let clocks = guard.rule.clocks(redis)?;
        let remaining = guard.members.iter().find_map(|member| guard.rule.remaining(member, value, &clocks));
        let Some(length) = remaining else { return self.pass() };
        if length.is_zero() {
            // The client was held up, or releases the lock by this.
            let (session, _, notes) = self.release(guard, redis)?;
            return Ok((session, Answer::Reply(Reply::ok()), notes));
        }
        let (mut session, note) = self.session.clone().renew(guard, length, redis)?;
        let note = match (note, session.holds.last_mut()) {
            (Some(Note::Renewed), Some(grant)) => {
                grant.own = value.to_vec();
                Note::Extended(length)
            }
            (Some(note), _) => note,
            (None, _) => return self.pass(),
        };
        Ok((session, Answer::Reply(Reply::ok()), vec![note]))
    }

    /// A script that compares the client's own value compares the guard's stamp instead. If it names a later stamp of the
    /// client's, it writes one of the guard's, which has then extended the lock. It has released the lock if that is gone
    /// after it: a reply of 1 does not tell.
    fn script(
        &self,
        guard: &GuardedKey<'_>,
        command: &Command,
        redis: &mut Transcript,
    ) -> Turn<(KeySession, Answer, Vec<Note>)> {
        let names = |grant: &Grant| command.args().iter().skip(3).any(|word| *word == grant.own);
        let Some(place) = self.session.holds.iter().position(names) else { return self.pass() };
        let own = &self.session.holds[place].own;
        let (mut session, mut notes) = (self.session.clone(), Vec::new());
        let later = self.later_stamp(place, guard, command, redis)?;
        if let Some((_, length)) = later {
            let (renewed, note) = session.renew(guard, length, redis)?;
            let Some(note) = note else { return self.pass() };
            session = renewed;
            notes.push(note);
        }
        let grant = &session.holds[place];
        let is_translated = |word: &[u8]| word == own || later.is_some_and(|(later, _)| word == later);
        let words =
            command.words().iter().enumerate().map(|(at, word)| {
                if at > 3 && is_translated(word) { grant.stamp.as_slice().into() } else { word.clone() }
            });
        let reply = redis.send(Command::from_words(words).expect("a command has a name"))?;
        if matches!(reply, Reply::Int(0) | Reply::Error(_)) {
            return Ok((session, Answer::Reply(reply), notes));
        }
        let found = scripts::look(redis, guard.key)?.content;
        if found != KeyContent::Value(grant.stamp.clone()) {
            let grant = session.holds.remove(place);
            if grant.token.is_some() {
                // The client's script knows the old key alone.
                scripts::release(redis, &guard.keys_of(&grant), guard.written(&grant))?;
            }
            notes.push(Note::Released);
        } else if let Some((value, length)) = later.filter(|_| notes == [Note::Renewed]) {
            session.holds[place].own = value.to_vec();
            notes = vec![Note::Extended(length)];
        }
        Ok((session, Answer::Reply(reply), notes))
    }

    /// The stamp among a script's arguments by which a client would rely on its lock for longer, and for how long. Only its
    /// latest lock can be extended.
    fn later_stamp<'c>(
        &self,
        place: usize,
        guard: &GuardedKey<'_>,
        command: &'c Command,
        redis: &mut Transcript,
    ) -> Turn<Option<(&'c [u8], Duration)>> {
        let Some(grant) = self.session.holds.get(place).filter(|_| place + 1 == self.session.holds.len()) else {
            return Ok(None);
        };
        let clocks = guard.rule.clocks(redis)?;
        let lasts = |value| guard.members.iter().find_map(|member| guard.rule.remaining(member, value, &clocks));
        let others = command.args().iter().skip(3).map(CommandWord::as_slice).filter(|word| *word != grant.own);
        Ok(others.filter_map(|value| Some((value, lasts(value)?))).find(|(_, length)| !length.is_zero()))
    }
}

impl GuardedAttempt {
    /// The attempt that begins with this command, if one does.
    fn begins(rule: &Rule, key: &Key, command: &Command) -> Option<Self> {
        let openings = rule.openings().iter().filter(|opening| opening.may_be(command));
        let runs = openings.filter_map(|opening| opening.accept(rule.members(), &on_model(key, command)));
        Self { runs: runs.collect(), decided: None }.if_any()
    }

    /// The attempt with this command, in the protocols that would send it now.
    fn goes_on(self, rule: &Rule, key: &Key, command: &Command) -> Option<Self> {
        let command = on_model(key, command);
        let runs = self.runs.into_iter().filter_map(|run| {
            let member = &rule.members()[run.member];
            run.accept(member, &command)
        });
        Self { runs: runs.collect(), ..self }.if_any()
    }

    fn if_any(self) -> Option<Self> {
        (!self.runs.is_empty()).then_some(self)
    }

    /// The value that it writes, and for how long its client relies on it, in the protocols that could have written it by
    /// now. Where several could, the longest counts.
    fn claim(&self, guard: &GuardedKey<'_>, clocks: &Clocks) -> Option<(&[u8], Duration)> {
        let possible = self.runs.iter().filter_map(|run| Some((run.value()?, guard.remaining(run, clocks)?)));
        possible.reduce(|(first, longest), (_, remaining)| (first, longest.max(remaining)))
    }

    /// Drops the protocols that could not have written its value by now.
    fn forget_impossible(&mut self, guard: &GuardedKey<'_>, clocks: &Clocks) {
        if let [_] = self.runs.as_slice() {
            // Without it there would have been no claim.
            return;
        }
        self.runs.retain(|run| guard.remaining(run, clocks).is_some());
    }

    /// The reply that leads all protocols that the client may speak to the decision.
    fn choose(&self, guard: &GuardedKey<'_>, command: &Command) -> Option<Reply> {
        let possible: Vec<Vec<Reply>> = self
            .runs
            .iter()
            .map(|run| replies(&guard.members[run.member], command, self.decided, run.seen()))
            .collect();
        // The rule has proven that there is a reply; if all protocols have this one, it is the one.
        if let [only] = possible.first()?.as_slice()
            && possible.iter().all(|replies| replies.as_slice() == std::slice::from_ref(only))
        {
            return Some(only.clone());
        }
        let leads_all = |reply: &Reply| {
            self.runs.iter().all(|run| {
                let reply = run.in_its_words(reply);
                guard.rule.leads(run.member, &run.transcript, reply, self.decided)
            })
        };
        possible.into_iter().flatten().find(leads_all)
    }

    /// The client was answered: protocols in which the attempt has ended are dropped.
    fn answered(&mut self, guard: &GuardedKey<'_>, reply: &Reply) {
        self.runs.retain_mut(|run| run.answered(&guard.members[run.member], reply).is_none());
    }
}

/// A rule on one key, for one command.
pub(super) struct GuardedKey<'a> {
    pub(super) rule: &'a Rule,
    pub(super) key: &'a Key,
    pub(super) members: &'a [Lock],
    /// The owner as whom the guard writes: fresh for each command.
    pub(super) owner: &'a Owner,
    /// Whether the client may acquire the lock.
    pub(super) may_acquire: bool,
}

/// The command as the protocols of a rule send it, on their key.
fn on_model(key: &Key, command: &Command) -> Command {
    let place = command.args().iter().position(|word| *word == key.as_bytes());
    let words = command.words().iter().enumerate();
    let is_key = |at| place.is_some_and(|place| place + 1 == at);
    let words = words.map(|(at, word)| if is_key(at) { Rule::MODEL.into() } else { word.clone() });
    Command::from_words(words).expect("a command has a name")
}

impl GuardedKey<'_> {
    /// For how much longer the client relies on the value that it writes, if it speaks this protocol.
    fn remaining(&self, run: &ProtocolRun, clocks: &Clocks) -> Option<Duration> {
        self.rule.remaining(&self.members[run.member], run.value()?, clocks)
    }

    /// The keys of a lock that was granted.
    fn keys_of(&self, grant: &Grant) -> LockKeys<'_> {
        LockKeys { key: self.key, beside: self.rule.key_beside(self.key).zip(grant.token.clone()) }
    }

    /// What the key of a lock holds that was granted.
    fn written<'g>(&self, grant: &'g Grant) -> WrittenStamp<'g> {
        WrittenStamp { value: &grant.stamp, has_ttl: self.rule.has_ttl() && !grant.is_by_client() }
    }

    /// What a client of this value is granted by this stamp.
    fn grant(&self, own: Vec<u8>, stamp: Vec<u8>) -> Grant {
        let token = self.rule.key_beside(self.key).map(|_| self.owner.token.hex().into_bytes());
        Grant { own, stamp, token }
    }

    /// Whether a client that saw this would have to leave it alone.
    fn is_held(&self, sight: &Sight) -> bool {
        match &sight.content {
            KeyContent::Nothing => false,
            KeyContent::NotString => true,
            KeyContent::Value(value) => !self.rule.takes_over(value, sight.at),
        }
    }
}

/// What the guard has decided.
enum Decided {
    Won { stamp: Vec<u8>, note: Note, replaced: KeyContent },
    Lost(Note),
}

/// Judges the key by the server's clock, and replaces exactly what was judged. First there is no look: the stamp is made for
/// a free key and for this host's clock, and the server writes it if it finds both right.
fn take(guard: &GuardedKey<'_>, clocks: &Clocks, remaining: Duration, redis: &mut Transcript) -> Turn<Decided> {
    let lost = |because| Ok(Decided::Lost(Note::Refused(because)));
    if !guard.may_acquire {
        return lost(RefusedBecause::ClientLeft);
    }
    // A client that does not rely on the lock any more does not get it.
    if remaining.is_zero() {
        return lost(RefusedBecause::TooLate);
    }
    let host = clocks.server.unwrap_or(clocks.host.wall);
    let soon = Span { first: host.saturating_sub(NEARLY), last: host.saturating_add(NEARLY) };
    let mut sight = match write(guard, &Sight { at: soon.last, content: KeyContent::Nothing }, soon, remaining, redis)?
    {
        Written::Now(won) => return Ok(won),
        Written::Never => return lost(RefusedBecause::Held),
        Written::Differs(found) => found,
    };
    let mut because = RefusedBecause::Held;
    for _ in 0..MOST_LOOKS {
        if guard.is_held(&sight) {
            break;
        }
        let end = sight.at.saturating_add(remaining);
        let in_time = Span { first: UnixTime::from_nanos(0), last: end.saturating_sub(MICROSECOND) };
        match write(guard, &sight, in_time, remaining, redis)? {
            Written::Now(won) => return Ok(won),
            Written::Never => break,
            Written::Differs(found) if found.at >= end => return lost(RefusedBecause::TooLate),
            Written::Differs(found) => (sight, because) = (found, RefusedBecause::Overtaken),
        }
    }
    lost(because)
}

/// What became of an attempt to write.
enum Written {
    Now(Decided),
    /// Not at all: the new key is held, or no stamp keeps the fleet out for so long.
    Never,
    Differs(Sight),
}

/// Replaces what was seen by a stamp for this long, at one of these moments.
fn write(
    guard: &GuardedKey<'_>,
    seen: &Sight,
    when: Span,
    remaining: Duration,
    redis: &mut Transcript,
) -> Turn<Written> {
    let Some(value) = guard.rule.stamp(guard.owner, remaining, seen.at) else { return Ok(Written::Never) };
    let stamp = Stamp { value: &value, ttl_ms: guard.rule.ttl_ms(remaining) };
    let token = || guard.owner.token.hex().into_bytes();
    let lock = LockKeys { key: guard.key, beside: guard.rule.key_beside(guard.key).map(|new| (new, token())) };
    let (judged, note) = match &seen.content {
        KeyContent::Value(value) => (Some(value.as_slice()), Note::TookOver(remaining)),
        KeyContent::Nothing | KeyContent::NotString => (None, Note::Acquired(remaining)),
    };
    Ok(match scripts::take(redis, &lock, &stamp, when, judged)? {
        Taken::Written => Written::Now(Decided::Won { stamp: value, note, replaced: seen.content.clone() }),
        Taken::NewKeyHeld => Written::Never,
        Taken::Differs(found) => Written::Differs(found),
    })
}

/// Whether it writes a value of its client's where that may acquire the lock.
fn is_claim(command: &Command) -> bool {
    command.is("SETNX") || command.is("GETSET") || command.is("SET") && has_nx(command)
}

/// Whether it deletes keys.
fn is_deletion(command: &Command) -> bool {
    command.is("DEL") || command.is("UNLINK")
}

fn is_script(command: &Command) -> bool {
    command.is("EVAL") || command.is("EVALSHA")
}

/// The value that it writes whatever the key holds.
fn overwrites_with(command: &Command) -> Option<&[u8]> {
    let has = |option: &[u8]| command.args().iter().skip(2).any(|word| word.eq_ignore_ascii_case(option));
    let place = if command.is("SET") && !has(b"NX") && !has(b"GET") {
        1
    } else if command.is("SETEX") || command.is("PSETEX") {
        2
    } else {
        return None;
    };
    command.args().get(place).map(CommandWord::as_slice)
}

fn is_expire(command: &Command) -> bool {
    ["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"].iter().any(|name| command.is(name))
}
