//! Which tokens make a difference: some readers see a number at the head of another client's token, and so a stamp.
//!
//! A token is random, and a search gives each client one. Tokens that every client of the scene treats alike are one *class*:
//! each client meets what a holder with that token left, early and long after its lease, and either acquires, changes the
//! key or does neither. Of each class one token is explored.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use super::client::Client;
use super::names;
use super::scene::Scene;
use crate::lock::{Acquired, Locker, Owner};
use crate::rehearsal::Rehearsal;
use crate::sim::Session;
use crate::wire::UnixTime;

/// Attempts of each reader: some dialects acquire a lock on the second attempt only.
const LAPS: u32 = 3;
/// How long after the lease a reader comes that comes late.
const LATE: Duration = Duration::from_secs(3600);
/// More scenes than this are not made of one: every client then has a token of the same class.
const MAX_SCENES: usize = 16;

/// What one reader makes of a lock: whether it acquires it, and whether it changes the key.
type Treatment = (bool, bool);

/// What readers make of the tokens of others, kept from scene to scene: the scenes of a plan share their protocols.
#[derive(Default)]
pub(crate) struct Encounters(Vec<Encounter>);

/// What one protocol makes of what another left.
struct Encounter {
    holder: Arc<dyn Locker>,
    reader: Arc<dyn Locker>,
    begin: UnixTime,
    /// In the middle of the lease, and late, for every head of the holder's token; `None` where it did not acquire.
    treatments: Vec<Option<[Treatment; 2]>>,
}

impl Encounters {
    /// What this reader makes of each token of this holder, found at the first question.
    fn of(&mut self, holder: &Arc<dyn Locker>, reader: &Arc<dyn Locker>, begin: UnixTime) -> &[Option<[Treatment; 2]>] {
        let known = self.0.iter().position(|known| {
            Arc::ptr_eq(&known.holder, holder) && Arc::ptr_eq(&known.reader, reader) && known.begin == begin
        });
        let place = known.unwrap_or_else(|| {
            let treatments = (0..=u8::MAX).map(|head| treatments(&**holder, head, &**reader, begin)).collect();
            self.0.push(Encounter { holder: holder.clone(), reader: reader.clone(), begin, treatments });
            self.0.len() - 1
        });
        &self.0[place].treatments
    }
}

impl Scene {
    /// This scene with tokens of every class that its clients tell apart: itself alone, if they tell none apart.
    ///
    /// Every combination of classes is explored, one class for each client; where those are more than 16, every class for
    /// all clients alike.
    pub fn by_token_class(&self) -> Vec<Self> {
        self.by_token_class_with(&mut Encounters::default())
    }

    /// The same with what earlier scenes have shown.
    pub(crate) fn by_token_class_with(&self, encounters: &mut Encounters) -> Vec<Self> {
        let classes: Vec<Vec<u8>> = self.clients.iter().map(|client| self.classes_of(client, encounters)).collect();
        let combinations = classes.iter().map(Vec::len).product::<usize>();
        let mut scenes = vec![self.clone()];
        for (place, heads) in classes.iter().enumerate() {
            let of_class = |scene: &Self, head: &u8| {
                let mut scene = scene.clone();
                let alike = self.clients.iter().map(|client| combinations > MAX_SCENES && self.is_after(client, place));
                let places: Vec<usize> =
                    alike.enumerate().filter(|(other, alike)| *alike || *other == place).map(|it| it.0).collect();
                places.into_iter().for_each(|place| scene.clients[place].token_head = *head);
                scene
            };
            let is_first = !self.clients[..place].iter().any(|earlier| self.is_after(earlier, place));
            if combinations <= MAX_SCENES || is_first {
                scenes = scenes.iter().flat_map(|scene| heads.iter().map(|head| of_class(scene, head))).collect();
            }
        }
        let mut distinct: Vec<Self> = Vec::new();
        for scene in scenes {
            if !distinct.iter().any(|known| known.heads_by_kind() == scene.heads_by_kind()) {
                distinct.push(scene);
            }
        }
        distinct
    }

    /// Whether this client speaks as the one at this place does.
    fn is_after(&self, client: &Client, place: usize) -> bool {
        Arc::ptr_eq(&client.locker, &self.clients[place].locker)
    }

    /// The heads of the tokens, in an order that does not depend on which of the clients that are alike has which.
    fn heads_by_kind(&self) -> Vec<(usize, i64, u8)> {
        let kind = |(place, client): (usize, &Client)| (self.first_like(place), client.skew_ms, client.token_head);
        let mut heads: Vec<_> = self.clients.iter().enumerate().map(kind).collect();
        heads.sort_unstable();
        heads
    }

    /// The head of one token of each class, the usual one first.
    fn classes_of(&self, holder: &Client, encounters: &mut Encounters) -> Vec<u8> {
        let usual = holder.token_head;
        let left_with = |head| left_by(&*holder.locker, head, self.begin).map(|left| left.server().clone());
        if holder.owner.is_some() || left_with(usual) == left_with(usual ^ 1) {
            return vec![usual];
        }
        let readers: Vec<Vec<_>> = self
            .protocols()
            .map(|place| encounters.of(&holder.locker, &self.clients[place].locker, self.begin).to_vec())
            .collect();
        let mut classes: Vec<u8> = Vec::new();
        for head in iter::once(usual).chain(0..=u8::MAX) {
            let is_like =
                |other: &u8| readers.iter().all(|by_head| by_head[usize::from(head)] == by_head[usize::from(*other)]);
            if !classes.iter().any(is_like) {
                classes.push(head);
            }
        }
        classes
    }
}

/// What a reader makes of what a holder with this token left: in the middle of its lease, and late.
fn treatments(holder: &dyn Locker, head: u8, reader: &dyn Locker, begin: UnixTime) -> Option<[Treatment; 2]> {
    let left = left_by(holder, head, begin)?;
    let lease = holder.lease().length();
    Some([lease / 2, lease + LATE].map(|elapsed| treatment(&left.after(elapsed), reader)))
}

/// The server after a holder with such a token has acquired; `None` if it could not.
fn left_by(locker: &dyn Locker, head: u8, begin: UnixTime) -> Option<Rehearsal> {
    let owner = names::owner(0, head);
    let mut rehearsal = Rehearsal::at(begin);
    let acquired = rehearsal.run(session(&owner), |redis| locker.acquire(&owner, redis));
    matches!(acquired, Some(Acquired::Won(_))).then_some(rehearsal)
}

fn treatment(left: &Rehearsal, reader: &dyn Locker) -> Treatment {
    let mut rehearsal = left.clone();
    let found = rehearsal.content(reader.key());
    let owner = names::owner(1, names::USUAL_HEAD);
    let wins = (0..LAPS).any(|_| {
        let acquired = rehearsal.run(session(&owner), |redis| reader.acquire(&owner, redis));
        matches!(acquired, Some(Acquired::Won(_)))
    });
    (wins, rehearsal.content(reader.key()) != found)
}

fn session(owner: &Owner) -> Session {
    Session(owner.pid)
}
