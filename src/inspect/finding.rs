//! What a look at a key comes to.

use std::time::Duration;

use super::hazard::{Hazard, Severity};
use super::member::{Member, MigrationKey};
use super::reader::{Reaction, Reader, readers};
use super::sight::Sight;
use super::token::TokenForm;
use super::writer::{Writer, foreign_token, is_token_of_bridge, within, writers, writers_of_fields};
use crate::bridge::is_new_key;
use crate::protocols::{Holder, KeyType, catalogue};
use crate::wire::{Ttl, UnixTime};

/// What a look at a key comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was seen.
    pub sight: Sight,
    /// Those that could have written it.
    pub writers: Vec<Member>,
    /// The form of the token, if it is known only by that it looks like the random token of other programs: likely a lock.
    pub token: Option<&'static TokenForm>,
    /// Who holds it and how often each has entered, where it is a hash or a sorted set that says so.
    pub holders: Vec<Holder>,
    /// What each kind of client that was asked would do about it; of a hash that is not known.
    pub readers: Vec<Reader>,
    /// When it expires: by its stamp, else by its TTL; `None` if neither says so, or if it has expired and its TTL has not ended:
    /// since when is not known then.
    pub expires_at: Option<UnixTime>,
    /// Whether it has expired for the protocols that could have written it; `None` if none could.
    pub is_expired: Option<bool>,
    /// What is wrong with it, or may become wrong: the gravest first.
    pub hazards: Vec<Hazard>,
}

impl Finding {
    /// Thinks about what was seen, and what every protocol would do about it.
    pub fn of(sight: Sight) -> Self {
        let everybody: Vec<_> = catalogue().map(Member::from).collect();
        let (place, writers) = (place(&sight, &everybody), all_writers(&sight));
        Self::judged(sight, place, writers, everybody)
    }

    /// Judges what was seen, and what these would do about it. If none of them could have written it, the protocols of the
    /// catalogue are named that could.
    pub fn among(sight: Sight, fleet: impl IntoIterator<Item = Member>) -> Self {
        let mut members: Vec<Member> = Vec::new();
        for member in fleet {
            if !members.contains(&member) {
                members.push(member);
            }
        }
        let place = place(&sight, &members);
        members.retain(|member| member.looks_into(place));
        let writers = within(&members, all_writers(&sight), &sight, place);
        Self::judged(sight, place, writers, members)
    }

    fn judged(sight: Sight, place: MigrationKey, writers: Vec<Writer>, fleet: Vec<Member>) -> Self {
        let value = sight.value.as_deref();
        let holders = writers.iter().find_map(|writer| writer.member.protocol().holders(&sight.fields));
        let holders = holders.unwrap_or_default();
        let now = sight.server_at.unwrap_or(sight.at);
        let holders = holders.into_iter().filter(|holder| holder.ends_at.is_none_or(|end| end > now)).collect();
        let token = foreign_token(&sight)
            .filter(|_| writers.iter().all(|it| !it.member.protocol().could_write(value.unwrap_or_default())));
        let own = writers.first().map(|writer| writer.member.clone()).filter(|own| !fleet.contains(own));
        let keeps_string = fleet.iter().any(|member| member.protocol().key_type() == KeyType::String);
        let asked = fleet.into_iter().filter(|member| member.looks_into(place)).chain(own);
        let readers = value.map_or_else(Vec::new, |value| readers(value, place, sight.at, asked));
        let ends_at = writers.iter().find_map(|writer| writer.ends_at);
        let is_expired = writers.first().map(|writer| is_expired(writer, &readers, sight.at));
        let hazards = match value {
            None if sight.exists() && sight.kind != "string" => Hazard::of_other_type(&sight, &writers, keeps_string),
            Some(_) | None => Hazard::all(&sight, &writers, &readers, ends_at, is_expired),
        };
        let expires_at = ends_at.or_else(|| ttl_ends_at(&sight)).filter(|_| !writers.is_empty());
        let expires_at = expires_at.filter(|end| is_expired != Some(true) || *end <= sight.at);
        let writers = writers.into_iter().map(|writer| writer.member).collect();
        Self { sight, writers, token, holders, readers, expires_at, is_expired, hazards }
    }

    /// Whether it is a lock that some protocol has written.
    pub fn is_lock(&self) -> bool {
        !self.writers.is_empty()
    }

    /// How grave the gravest of its hazards is; `None` if it has none.
    pub fn severity(&self) -> Option<Severity> {
        self.hazards.iter().map(Hazard::severity).max()
    }
}

/// Which of the two keys of a migration this is: of no fleet without a bridge, unless a bridge has written the value.
fn place(sight: &Sight, fleet: &[Member]) -> MigrationKey {
    let is_named_so = || is_new_key(&sight.key) && fleet.iter().any(Member::has_new_key);
    let is_new = is_named_so() || sight.value.as_deref().is_some_and(is_token_of_bridge);
    if is_new { MigrationKey::NewKey } else { MigrationKey::OldKey }
}

/// Every protocol of the catalogue that could have written it.
fn all_writers(sight: &Sight) -> Vec<Writer> {
    sight.value.as_deref().map_or_else(|| writers_of_fields(sight), |value| writers(sight, value))
}

/// Whether the lock has expired for its own protocol. One that reads no stamps has it until Redis removes the key.
fn is_expired(writer: &Writer, readers: &[Reader], now: UnixTime) -> bool {
    // Some take locks of their own kind that are held: by a stamp that is older than their own, or by the uptime of their host.
    let may_be_held = writer.counts_uptime() || writer.ends_at.is_some_and(|end| end > now);
    let own = readers.iter().find(|reader| reader.member == writer.member);
    !may_be_held && own.is_some_and(|reader| reader.now == Reaction::Take)
}

fn ttl_ends_at(sight: &Sight) -> Option<UnixTime> {
    if sight.ttl == Ttl::NO_EXPIRY {
        return None;
    }
    sight.ttl.left_of_millis().map(|left: Duration| sight.at.saturating_add(left))
}
