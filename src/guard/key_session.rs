//! What the guard knows of one client and one key, and what it does with the client's next command.

use super::answer::{Answer, Note, RefusedBecause};
use super::decision::{Decision, could_acquire, has_nx, replies};
use super::protocol_run::ProtocolRun;
use super::rule::Rule;
use super::scripts::{self, KeyContent, LockKeys, Sight, Span, Stamp, Taken};
use crate::bridge::Clocks;
use crate::legacy::{Lock, Looks};
use crate::lock::Owner;
use crate::wire::{Command, Key, Reply, Transcript, Turn, UnixTime};
use std::time::Duration;

/// What the guard knows of one client and one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct KeySession {
    /// The attempt under way.
    trying: Option<GuardedAttempt>,
    /// What the client has acquired and not released, the oldest first.
    holds: Vec<Grant>,
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
    /// The guard's stamp, which is in the key.
    pub(super) stamp: Vec<u8>,
    /// In bridge mode, the token in the new key, in hexadecimal.
    pub(super) token: Option<Vec<u8>>,
}

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
        Self { trying: None, holds: vec![grant] }
    }

    /// What the client holds by its latest attempt.
    pub(super) fn grant(&self) -> Option<&Grant> {
        self.holds.last()
    }

    /// Whether nothing is known that the next command could depend on.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The client sends this command on the key.
    pub(super) fn serve(
        mut self,
        guard: &GuardedKey<'_>,
        command: &Command,
        redis: &mut Transcript,
    ) -> Turn<(Self, Answer, Vec<Note>)> {
        let attempt = self.trying.take().and_then(|attempt| attempt.goes_on(guard, command));
        // A holder that looks at its key is about to release it.
        let is_own_look = command.is("GET") && !self.holds.is_empty();
        let attempt = attempt.or_else(|| GuardedAttempt::begins(guard, command).filter(|_| !is_own_look));
        if let Some(attempt) = attempt {
            return self.attempt(attempt, guard, command, redis);
        }
        match command.args() {
            [_] if is_deletion(command) => self.release(guard, redis),
            [_] if command.is("GET") => self.read(guard, redis),
            [_, value, ..] if is_claim(command) => {
                let value = value.clone();
                self.claim(command, &value, guard, redis)
            }
            [_, _] if is_expire(command) => Ok((self, Answer::Reply(Reply::Int(1)), Vec::new())),
            _ if command.is("EVAL") || command.is("EVALSHA") => self.script(guard, command, redis),
            _ => Ok((self, Answer::Pass, Vec::new())),
        }
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
        let is_held = scripts::extend(redis, &guard.keys_of(&grant), &grant.stamp, &stamp)?;
        if is_held {
            grant.stamp = value;
        }
        self.holds.push(grant);
        Ok((self, Some(if is_held { Note::Renewed } else { Note::Lost })))
    }

    /// Deletes what the guard has written for the client's latest lock, if it is still as the guard wrote it.
    pub(super) fn withdraw(mut self, guard: &GuardedKey<'_>, redis: &mut Transcript) -> Turn<Self> {
        self.trying = None;
        if let Some(grant) = self.holds.pop() {
            scripts::release(redis, &guard.keys_of(&grant), &grant.stamp, guard.rule.has_ttl())?;
        }
        Ok(self)
    }

    /// The client sends this inside MULTI: it goes to the server, where a WATCH protects it. A DEL there is its release.
    /// In bridge mode that of both keys goes in its place.
    pub(super) fn in_multi(&mut self, guard: &GuardedKey<'_>, command: &Command) -> Answer {
        if !is_deletion(command) {
            return Answer::Pass;
        }
        let latest = self.holds.last().map(|grant| guard.keys_of(grant));
        self.holds.clear();
        latest.and_then(|lock| scripts::release_in_transaction(&lock)).map_or(Answer::Pass, Answer::Send)
    }

    /// A command of an attempt.
    fn attempt(
        mut self,
        mut attempt: GuardedAttempt,
        guard: &GuardedKey<'_>,
        command: &Command,
        redis: &mut Transcript,
    ) -> Turn<(Self, Answer, Vec<Note>)> {
        let mut notes = Vec::new();
        let decision = match attempt.decided {
            Some(decided) => Some(decided),
            None if could_acquire(command) => {
                let clocks = guard.rule.clocks(redis)?;
                let Some((value, remaining)) = attempt.claim(guard, &clocks) else {
                    // No protocol of the rule writes this value by now: another program's.
                    return Ok((self, Answer::Pass, notes));
                };
                if !self.holds.is_empty() {
                    notes.push(Note::AttemptWhileHolding);
                }
                match take(guard, &clocks, remaining, redis)? {
                    Decided::Won { stamp, note, .. } => {
                        self.holds.push(guard.grant(value, stamp));
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
        attempt.decided = decision;
        let Some(reply) = attempt.choose(guard, command) else { return Ok((self, Answer::Pass, notes)) };
        attempt.answered(guard, &reply);
        self.trying = Some(attempt).filter(|attempt| !attempt.runs.is_empty());
        Ok((self, Answer::Reply(reply), notes))
    }

    /// DEL: the client's own lock, if it is as the guard wrote it. Where an earlier lock of the connection was not
    /// released, the DEL may be meant for that one, and the oldest is tried first.
    fn release(mut self, guard: &GuardedKey<'_>, redis: &mut Transcript) -> Turn<(Self, Answer, Vec<Note>)> {
        if self.holds.is_empty() {
            return Ok((self, Answer::Reply(Reply::Int(0)), vec![Note::DelIgnored]));
        }
        let grant = self.holds.remove(0);
        let deleted = scripts::release(redis, &guard.keys_of(&grant), &grant.stamp, guard.rule.has_ttl())?;
        let note = if deleted { Note::Released } else { Note::ReleasedLost };
        Ok((self, Answer::Reply(Reply::Int(deleted.into())), vec![note]))
    }

    /// GET: the client finds its own value where the guard's stamp of its lock is.
    fn read(self, guard: &GuardedKey<'_>, redis: &mut Transcript) -> Turn<(Self, Answer, Vec<Note>)> {
        if self.holds.is_empty() {
            return Ok((self, Answer::Pass, Vec::new()));
        }
        let reply = redis.send(Command::new("GET").arg(guard.key))?;
        let reply = match &reply {
            Reply::Bulk(value) => {
                self.holds.iter().find(|grant| grant.stamp == *value).map_or(reply, |grant| Reply::bulk(&grant.own))
            }
            _ => reply,
        };
        Ok((self, Answer::Reply(reply), Vec::new()))
    }

    /// A claim or a takeover outside of an attempt: of a client whose attempt began on another connection. It writes only
    /// what the guard has decided.
    fn claim(
        mut self,
        command: &Command,
        value: &[u8],
        guard: &GuardedKey<'_>,
        redis: &mut Transcript,
    ) -> Turn<(Self, Answer, Vec<Note>)> {
        let clocks = guard.rule.clocks(redis)?;
        let by = guard.members.iter().find_map(|member| Some((member, guard.rule.remaining(member, value, &clocks)?)));
        let Some((member, remaining)) = by else { return Ok((self, Answer::Pass, Vec::new())) };
        let reply = |decision| replies(member, command, Some(decision), None).into_iter().next().unwrap_or(Reply::Nil);
        match take(guard, &clocks, remaining, redis)? {
            Decided::Won { stamp, note, replaced } => {
                self.holds.push(guard.grant(value.to_vec(), stamp));
                let reply = match replaced {
                    KeyContent::Value(judged) if command.is("GETSET") => Reply::Bulk(judged),
                    KeyContent::Nothing | KeyContent::NotString if command.is("GETSET") => Reply::Nil,
                    _ => reply(Decision::Win),
                };
                Ok((self, Answer::Reply(reply), vec![note]))
            }
            Decided::Lost(note) => Ok((self, Answer::Reply(reply(Decision::Lose)), vec![note])),
        }
    }

    /// A script that compares the client's own value compares the guard's stamp instead.
    fn script(
        mut self,
        guard: &GuardedKey<'_>,
        command: &Command,
        redis: &mut Transcript,
    ) -> Turn<(Self, Answer, Vec<Note>)> {
        let names = |grant: &Grant| command.args().iter().skip(3).any(|word| *word == grant.own);
        let Some(place) = self.holds.iter().position(names) else { return Ok((self, Answer::Pass, Vec::new())) };
        let grant = self.holds[place].clone();
        let words =
            command.words().iter().enumerate().map(|(at, word)| {
                if at > 3 && *word == grant.own { grant.stamp.as_slice().into() } else { word.clone() }
            });
        let translated = Command::from_words(words).expect("a command has a name");
        let reply = redis.send(translated)?;
        let mut notes = Vec::new();
        if reply == Reply::Int(1) {
            self.holds.remove(place);
            if grant.token.is_some() {
                // The client's script knows the old key alone.
                scripts::release(redis, &guard.keys_of(&grant), &grant.stamp, guard.rule.has_ttl())?;
            }
            notes.push(Note::Released);
        }
        Ok((self, Answer::Reply(reply), notes))
    }
}

impl GuardedAttempt {
    /// The attempt that begins with this command, if one does.
    fn begins(guard: &GuardedKey<'_>, command: &Command) -> Option<Self> {
        let openings = guard.rule.openings().iter().filter(|opening| opening.may_be(command));
        let runs = openings.filter_map(|opening| opening.accept(guard.members, &guard.on_model(command)));
        Self { runs: runs.collect(), decided: None }.if_any()
    }

    /// The attempt with this command, in the protocols that would send it now.
    fn goes_on(self, guard: &GuardedKey<'_>, command: &Command) -> Option<Self> {
        let command = guard.on_model(command);
        let runs = self.runs.into_iter().filter_map(|run| {
            let member = &guard.members[run.member];
            run.accept(member, &command)
        });
        Self { runs: runs.collect(), ..self }.if_any()
    }

    fn if_any(self) -> Option<Self> {
        (!self.runs.is_empty()).then_some(self)
    }

    /// The value that it writes, and for how long its client relies on it, in the protocols that could have written it by
    /// now. Where several could, the longest counts.
    fn claim(&mut self, guard: &GuardedKey<'_>, clocks: &Clocks) -> Option<(Vec<u8>, Duration)> {
        let remaining = |run: &ProtocolRun| guard.rule.remaining(&guard.members[run.member], run.value()?, clocks);
        let mut longest = None;
        self.runs.retain(|run| {
            let remaining = remaining(run);
            longest = longest.max(remaining);
            remaining.is_some()
        });
        Some((self.runs.first()?.value()?.to_vec(), longest?))
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

impl GuardedKey<'_> {
    /// The command as the rule's protocols send it, on their key.
    fn on_model(&self, command: &Command) -> Command {
        let mut words = command.words().to_vec();
        if let Some(word) = words.iter_mut().skip(1).find(|word| *word == self.key.as_bytes()) {
            *word = Rule::MODEL.as_bytes().into();
        }
        Command::from_words(words).expect("a command has a name")
    }

    /// The keys of a lock that was granted.
    fn keys_of(&self, grant: &Grant) -> LockKeys<'_> {
        LockKeys { key: self.key, beside: self.rule.key_beside(self.key).zip(grant.token.clone()) }
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
            KeyContent::Value(value) => self.rule.looks(value, sight.at) != Looks::Expired,
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
    let token = guard.owner.token.hex().into_bytes();
    let lock = LockKeys { key: guard.key, beside: guard.rule.key_beside(guard.key).map(|new| (new, token)) };
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

fn is_expire(command: &Command) -> bool {
    ["EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"].iter().any(|name| command.is(name))
}
