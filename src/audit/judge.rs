//! Judging: from what was observed of holders, conversations and keys to the race that happened. Pure functions.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use super::command_name::CommandName;
use super::conversation::Conversation;
use super::exchange::LockExchange;
use super::finding::{Certainty, Evidence, Verdict};
use super::hold::{Hold, NextHold};
use super::keys::Written;
use super::stamp;
use super::variants::{Variant, VariantSet};
use crate::legacy::{Check, Dialect, Digits, Lifetime, Release};
use crate::race_id::RaceId;
use crate::wire::{Reply, UnixTime};

/// A lease of more years than this was not meant.
const DECADES: Duration = Duration::from_secs(5 * 365 * 86_400);
/// A silent holder whose lock does not end is taken for crashed after this time.
const SILENCE: Duration = Duration::from_secs(60);

impl Verdict {
    /// A race that rests on facts of this certainty. What rests on something that is only likely has other explanations.
    fn new(
        race: impl Into<Option<RaceId>>,
        at: UnixTime,
        clients: impl IntoIterator<Item = Arc<str>>,
        lines: impl IntoIterator<Item = u64>,
        certainty: Certainty,
        evidence: Evidence,
    ) -> Self {
        let mut lines: Vec<u64> = lines.into_iter().collect();
        lines.sort_unstable();
        lines.dedup();
        let clients = clients.into_iter().collect();
        let mut verdict = Self { race: race.into(), at, clients, lines, certainty: Certainty::Certain, evidence };
        verdict.rests_on(certainty);
        verdict
    }
}

/// `newcomer` acquired in this conversation while `holder` held.
pub(super) fn double_hold(newcomer: &Hold, conversation: &Conversation, holder: &Hold) -> Verdict {
    let before = conversation.overwrote.as_ref().and_then(|overwrote| overwrote.before.as_deref());
    let lines = [Some(holder.line), conversation.last_get().map(|get| get.line), Some(newcomer.line)];
    let evidence = Evidence::DoubleHold {
        holder: holder.client.clone(),
        holder_line: holder.line,
        newcomer: newcomer.client.clone(),
        newcomer_line: newcomer.line,
        value: holder.value.clone(),
    };
    Verdict::new(
        race_of_double_hold(conversation, before, newcomer),
        newcomer.since,
        [holder.client.clone(), newcomer.client.clone()],
        lines.into_iter().flatten(),
        newcomer.certainty.min(holder.certainty),
        evidence,
    )
}

fn race_of_double_hold(conversation: &Conversation, before: Option<&Written>, newcomer: &Hold) -> Option<RaceId> {
    let Some(wrote) = conversation.last_write() else { return Some(RaceId::TakenWithoutWriting) };
    if wrote.is(CommandName::Set) && conversation.has(CommandName::Exists) {
        return Some(RaceId::CheckThenSet);
    }
    if (wrote.is(CommandName::Set) || wrote.is(CommandName::Setex) || wrote.is(CommandName::Psetex)) && before.is_some()
    {
        return Some(RaceId::GetThenSet);
    }
    let before = before.filter(|_| wrote.is(CommandName::Getset))?;
    if before.by_loser {
        let has_expired = stamp::over(&before.value, newcomer.since) == Some(Ordering::Less);
        let is_mine = before.client == conversation.client && !has_expired;
        return Some(if is_mine { RaceId::MineCountsAsFree } else { RaceId::StaleStampShortensLease });
    }
    Some(match (Form::of(&before.value), Form::of(&newcomer.value)) {
        (Form::Token, Form::Seconds | Form::Millis | Form::Binary) => RaceId::TokenReadAsStamp,
        (Form::Binary, Form::Seconds | Form::Millis) => RaceId::BinaryReadAsStamp,
        (Form::Seconds, Form::Millis) => RaceId::SecondsReadAsMillis,
        _ if !conversation.has(CommandName::Get) => RaceId::NewerStampWins,
        _ => RaceId::ClockSkewSteal,
    })
}

/// What a value looks like to readers of another dialect.
enum Form {
    Seconds,
    Millis,
    Binary,
    Token,
    Other,
}

impl Form {
    fn of(value: &[u8]) -> Self {
        let value = stamp::unmarked(value);
        let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match (value.len(), digits, stamp::moment(value)) {
            (8, ..8, Some(_)) => Self::Binary,
            (_, 10, Some(_)) => Self::Seconds,
            (_, 13, Some(_)) => Self::Millis,
            (16.., _, None) => Self::Token,
            _ => Self::Other,
        }
    }
}

/// The newcomer has written the expired stamp that it read.
pub(super) fn stamp_written_back(newcomer: &Hold, conversation: &Conversation) -> Option<Verdict> {
    let is_as_read = conversation.last_get().is_some_and(|get| get.reads() == Some(&newcomer.value));
    let by_setnx = conversation.last_write().is_some_and(|write| write.is(CommandName::Setnx));
    if !is_as_read || !by_setnx || stamp::over(&newcomer.value, newcomer.since) != Some(Ordering::Less) {
        return None;
    }
    let evidence = Evidence::StampWrittenBack { client: newcomer.client.clone(), value: newcomer.value.clone() };
    let clients = [newcomer.client.clone()];
    let race = RaceId::StampWrittenBack;
    Some(Verdict::new(race, newcomer.since, clients, [newcomer.line], newcomer.certainty, evidence))
}

/// `loser` lost a takeover to `winner` with this GETSET, which replaced what `before` had written.
pub(super) fn loser_moved_lease(
    winner: &Hold,
    loser: &Conversation,
    getset: &LockExchange,
    before: Option<&Written>,
    certainty: Certainty,
) -> Verdict {
    let evidence = Evidence::LoserMovedLease {
        loser: loser.client.clone(),
        winner: winner.client.clone(),
        value: getset.writes().unwrap_or_default().to_vec(),
        replaced: before.map(|before| before.value.clone()).unwrap_or_default(),
    };
    Verdict::new(
        RaceId::LoserMovesLease,
        getset.at,
        [winner.client.clone(), loser.client.clone()],
        [winner.line, getset.line],
        winner.certainty.min(certainty).min(loser.certainty()),
        evidence,
    )
}

/// `loser` lost a takeover with this GETSET, and no client holds the lock.
pub(super) fn phantom(loser: &Conversation, getset: &LockExchange, certainty: Certainty) -> Verdict {
    let get = loser.last_get();
    let race = match (get, &getset.reply) {
        (Some(get), _) if get.reads().is_none() => RaceId::PhantomAfterNilGet,
        (_, Reply::Nil) => RaceId::PhantomAfterRelease,
        (_, _) => RaceId::EqualityLoserPhantom,
    };
    // Without a GET it may have been doing something else.
    let certainty = certainty.min(get.map_or(Certainty::Possible, |_| loser.certainty()));
    // By a clock that is fast, what it has read had expired, and it has won.
    let is_by_clock = race == RaceId::PhantomAfterNilGet && getset.reads().is_some();
    let certainty = if is_by_clock { certainty.min(Certainty::Likely) } else { certainty };
    let value = getset.writes().unwrap_or_default().to_vec();
    let evidence = Evidence::Phantom { client: loser.client.clone(), value };
    let lines = get.map(|get| get.line).into_iter().chain([getset.line]);
    Verdict::new(race, getset.at, [loser.client.clone()], lines, certainty, evidence)
}

/// `client` deletes the lock of `holder` in a takeover, or in the release of its `own` lock.
pub(super) fn deleted(
    client: &Conversation,
    own: Option<&Hold>,
    holder: &Hold,
    deletion: &LockExchange,
    is_takeover: bool,
) -> Verdict {
    let race = if is_takeover { RaceId::DoubleTakeover } else { race_of_release(client, own) };
    let get = client.last_get().filter(|_| is_takeover);
    let lines = [own.map(|own| own.line), get.map(|get| get.line), Some(holder.line), Some(deletion.line)];
    let evidence =
        Evidence::Deleted { client: client.client.clone(), holder: holder.client.clone(), holder_line: holder.line };
    Verdict::new(
        race,
        deletion.at,
        [holder.client.clone(), client.client.clone()],
        lines.into_iter().flatten(),
        holder.certainty.min(client.certainty()),
        evidence,
    )
}

/// `client`, which does not use the lock, has deleted what `hold` holds.
pub(super) fn deleted_from_outside(
    hold: &Hold,
    client: &Arc<str>,
    at: UnixTime,
    lines: impl IntoIterator<Item = u64>,
    certainty: Certainty,
) -> Verdict {
    let (client, holder) = (client.clone(), hold.client.clone());
    let clients = [holder.clone(), client.clone()];
    let evidence = Evidence::DeletedFromOutside { client, holder, holder_line: hold.line };
    let lines = [hold.line].into_iter().chain(lines);
    Verdict::new(None::<RaceId>, at, clients, lines, certainty, evidence)
}

/// The `attempt` acquired while `holder` held, as the release at this line shows.
pub(super) fn vanished(holder: &Hold, attempt: &LockExchange, release_line: u64) -> Verdict {
    let evidence = Evidence::Vanished {
        holder: holder.client.clone(),
        holder_line: holder.line,
        newcomer: attempt.client.clone(),
        newcomer_line: attempt.line,
    };
    let clients = [holder.client.clone(), attempt.client.clone()];
    let lines = [holder.line, attempt.line, release_line];
    let certainty = Certainty::Possible;
    Verdict::new(None::<RaceId>, attempt.at, clients, lines, certainty, evidence)
}

/// How a client came to delete in its release what another client holds.
fn race_of_release(client: &Conversation, own: Option<&Hold>) -> RaceId {
    match &client.previous {
        Some(before) if before.is(CommandName::Ttl) || before.is(CommandName::Pttl) => RaceId::TtlIsNotOwnership,
        Some(before) if before.is(CommandName::Get) && before.reads() == own.map(|own| &*own.value) => {
            RaceId::CheckThenDel
        }
        Some(before) if before.is(CommandName::Get) => RaceId::LaterOwnerSatisfiesGe,
        Some(_) | None => RaceId::LateUnlock,
    }
}

/// `hold` was released by a deletion of another key.
pub(super) fn other_key_deleted(hold: &Hold, deletion: &LockExchange) -> Option<Verdict> {
    let misses_keys = |dialect: &Dialect| dialect.release == Release::DelSerializedKey;
    if !hold.variants.iter().filter_map(Variant::dialect).any(misses_keys) {
        return None;
    }
    let evidence = Evidence::OtherKeyDeleted { client: hold.client.clone() };
    let (race, lines) = (RaceId::ReleaseMissesKey, [hold.line, deletion.line]);
    Some(Verdict::new(race, deletion.at, [hold.client.clone()], lines, hold.certainty, evidence))
}

/// The holder read its own stamp to release, and has not deleted it: dialects do so that print a stamp with fewer digits
/// than they compare.
pub(super) fn not_deleted(hold: &Hold, conversation: &Conversation) -> Option<Verdict> {
    let rounds = |dialect: &Dialect| {
        dialect.form.stamp.digits == Digits::Python2Str && dialect.release == Release::IfValue(Check::NotBelowOwn)
    };
    let mut last = [conversation.last(), conversation.previous.as_ref()].into_iter().flatten();
    let get = last.find(|exchange| exchange.is(CommandName::Get) && exchange.reads() == Some(&hold.value))?;
    if !hold.is_live(get.at) || !hold.variants.iter().filter_map(Variant::dialect).any(rounds) {
        return None;
    }
    let evidence = Evidence::NotDeleted { client: hold.client.clone(), value: hold.value.clone() };
    let (race, lines) = (RaceId::RoundedStampMissesRelease, [hold.line, get.line]);
    Some(Verdict::new(race, get.at, [hold.client.clone()], lines, Certainty::Possible, evidence))
}

/// `hold` is released after the end of its lease. A stamp of whole seconds may name an end that is up to a second too early, so
/// a release within that time proves nothing unless another client has acquired. Nor does any release if the stamp may name
/// the acquisition, by a clock that was less than a second ahead.
pub(super) fn overrun(hold: &Hold, release: &LockExchange) -> Verdict {
    let next = hold.followed_by.as_ref();
    let unit = stamp::unit(&hold.value);
    let may_be_rounded = |ends_at: UnixTime| release.at < ends_at.saturating_add(unit);
    let may_name_beginning = |ends_at: UnixTime| {
        ends_at < hold.written_at.saturating_add(unit) && hold.variants.iter().any(Variant::names_beginning)
    };
    let is_in_doubt =
        next.is_none() && hold.ends_at.is_some_and(|ends_at| may_be_rounded(ends_at) || may_name_beginning(ends_at));
    let certainty = next.map_or(hold.certainty, |next| hold.certainty.min(next.certainty));
    let certainty = if is_in_doubt { Certainty::Possible } else { certainty };
    let named = next.map(|next| (next.client.clone(), next.line));
    let evidence = Evidence::Overrun { client: hold.client.clone(), line: release.line, next: named };
    Verdict::new(
        RaceId::Overrun,
        release.at,
        [hold.client.clone()].into_iter().chain(next.map(|next| next.client.clone())),
        [Some(hold.line), next.map(|next| next.line), Some(release.line)].into_iter().flatten(),
        certainty,
        evidence,
    )
}

/// What concerns the time to live of a key: the value that stands there, a command, and how sure both are.
pub(super) struct Lifetimes<'a> {
    pub(super) written: Option<&'a Written>,
    pub(super) exchange: &'a LockExchange,
    /// The client that sent the command.
    pub(super) client: &'a Arc<str>,
    pub(super) certainty: Certainty,
}

impl Lifetimes<'_> {
    fn verdict(&self, race: RaceId, evidence: Evidence) -> Verdict {
        let lines = self.written.map(|written| written.line).into_iter().chain([self.exchange.line]);
        Verdict::new(race, self.exchange.at, [self.client.clone()], lines, self.certainty, evidence)
    }

    /// The command has set this end of the key.
    pub(super) fn ttl_set(&self, expires_at: UnixTime) -> Option<Verdict> {
        let evidence = Evidence::TtlOfDecades { client: self.client.clone() };
        let is_of_decades = expires_at.saturating_since(self.exchange.at) > DECADES;
        is_of_decades.then(|| self.verdict(RaceId::AbsoluteExpire, evidence))
    }

    /// The command, of the client that held before as `own`, has shortened the lease of `holder`.
    pub(super) fn lease_shortened(&self, own: &Hold, holder: &Hold) -> Verdict {
        let (client, holder_name) = (self.client.clone(), holder.client.clone());
        let evidence = Evidence::LeaseShortened { client, holder: holder_name.clone(), holder_line: holder.line };
        let mut verdict = self.verdict(RaceId::LateExpire, evidence);
        verdict.involves(&holder_name, holder.line);
        verdict.rests_on(own.certainty.min(holder.certainty));
        verdict
    }

    /// The command, of the client that held before as `own`, extends the lock that the next client has acquired.
    pub(super) fn extended_too_late(&self, own: &Hold, next: &NextHold) -> Verdict {
        let evidence = Evidence::ExtendedTooLate {
            client: self.client.clone(),
            line: self.exchange.line,
            next: next.client.clone(),
            next_line: next.line,
        };
        let mut verdict = self.verdict(RaceId::RenewalTooLate, evidence);
        verdict.involves(&next.client, next.line);
        verdict.rests_on(own.certainty.min(next.certainty));
        verdict
    }

    /// The command is a script that has set the key and failed before it set a time to live.
    pub(super) fn script_failed(&self) -> Verdict {
        let reply = self.exchange.reply.clone();
        self.verdict(RaceId::ScriptHalfApplied, Evidence::ScriptFailed { client: self.client.clone(), reply })
    }

    /// A loser has removed the time to live by this line, and the command waits for a key without one.
    pub(super) fn ttl_cleared(&self, by_line: u64) -> Verdict {
        let mut verdict = self.verdict(RaceId::LoserClearsTtl, Evidence::LoserClearedTtl);
        verdict.shown_by(by_line);
        verdict
    }

    /// The command was refused by a key without a time to live, whose writer was silent for this long.
    pub(super) fn waits_for_ever(&self, race: RaceId, silence: Duration) -> Option<Verdict> {
        let written = self.written?;
        let evidence = Evidence::WaitsForEver {
            client: self.client.clone(),
            holder: written.client.clone(),
            value: written.value.clone(),
            silence,
        };
        let mut verdict = self.verdict(race, evidence);
        verdict.certainty = verdict.certainty.min(Certainty::Likely);
        verdict.clients.push(written.client.clone());
        Some(verdict)
    }
}

/// Why a client waits for a key without a time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndlessWait {
    /// Its stamp has expired, and the client reads no stamps.
    ReadsNoStamps,
    /// The client has acquired it itself, and does not know that.
    ForItself,
    /// Its holder seems to have crashed.
    ForCrashed,
}

impl EndlessWait {
    /// Why `client` waits in vain; `None` if the lock may still end.
    pub(super) fn of(
        client: &Conversation,
        written: &Written,
        at: UnixTime,
        is_held: bool,
        silence: Duration,
    ) -> Option<Self> {
        let is_own = written.client == client.client;
        let expired_for = stamp::moment(&written.value).map(|moment| at.saturating_since(moment));
        match expired_for {
            Some(length) if length > Duration::from_secs(1) && reads_no_stamps(client) => Some(Self::ReadsNoStamps),
            None if is_own && at.saturating_since(written.at) > SILENCE => Some(Self::ForItself),
            None if silence > SILENCE && is_held && !is_own => Some(Self::ForCrashed),
            Some(_) | None => None,
        }
    }
}

/// Whether all protocols that the client may speak leave the end of a lock to Redis.
fn reads_no_stamps(client: &Conversation) -> bool {
    !client.variants.iter().any(|variant| variant.hand().is_some_and(|dialect| dialect.look.is_some()))
}

/// Why the lock of a crashed holder never ends: its protocol sets the time to live by a command of its own, or sets none.
pub(super) fn race_of_crash(winners: VariantSet, others: impl IntoIterator<Item = VariantSet>) -> RaceId {
    let expires = |variant: &Variant| variant.dialect().is_some_and(|dialect| dialect.ttl.claimed != Lifetime::None);
    let all_expire = |variants: VariantSet| !variants.is_empty() && variants.iter().all(expires);
    if others.into_iter().any(all_expire) || all_expire(winners) {
        RaceId::CrashBeforeExpire
    } else {
        RaceId::NoLeaseCrash
    }
}
