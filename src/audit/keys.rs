//! The several keys of one lock: which of them is being talked of, and what a command has done to the others.

use std::sync::Arc;

use super::finding::Certainty;
use super::lock::{Change, Ear, Lock};
use super::said::Said;
use super::spot::Spot;
use super::spots::Spots;
use crate::sim::Stored;
use crate::wire::{Command, Key, UnixTime};

impl Lock {
    /// All its keys, in no order.
    pub(super) fn spots(&self) -> impl Iterator<Item = &Spot> {
        [&self.here].into_iter().chain(&self.beside)
    }

    /// The key of this place.
    pub(super) fn spot(&self, number: u8) -> &Spot {
        self.spots().find(|spot| spot.number == number).unwrap_or(&self.here)
    }

    /// The same, to be changed.
    pub(super) fn spot_mut(&mut self, number: u8) -> &mut Spot {
        self.beside.iter_mut().find(|spot| spot.number == number).unwrap_or(&mut self.here)
    }

    /// From now on the talk is of the key of this place.
    pub(super) fn turn_to(&mut self, number: u8) {
        if self.here.number != number
            && let Some(spot) = self.beside.iter_mut().find(|spot| spot.number == number)
        {
            std::mem::swap(&mut self.here, spot);
        }
    }

    /// From now on the talk is of this key, or of the one that those name whose lock it is.
    pub(super) fn turn_to_home_of(&mut self, key: &[u8]) {
        if !self.beside.is_empty() {
            let home = self.spots().find(|spot| spot.key.as_bytes() == key).map(|spot| spot.home);
            home.into_iter().for_each(|home| self.turn_to(home));
        }
    }

    /// Which of its keys a command names.
    pub(super) fn names(&self, command: &Command) -> Spots {
        let named = self.spots().filter(|spot| command.args().iter().any(|word| word == spot.key.as_bytes()));
        named.fold(Spots::default(), |spots, spot| spots.with(spot.number))
    }

    /// How sure a verdict is that rests on what stands in these keys.
    pub(super) fn certainty_of(&self, spots: Spots) -> Certainty {
        let is_known = self.spots().all(|spot| spot.is_known || !spots.has(spot.number));
        if is_known { Certainty::Certain } else { Certainty::Likely }
    }

    /// What stands in the keys that are not being talked of.
    pub(super) fn look_at_others(&mut self, at: UnixTime) -> Vec<(u8, Option<Arc<Stored>>)> {
        self.beside.iter_mut().map(|spot| (spot.number, spot.look(&self.server, at))).collect()
    }

    /// Thinks about what a command has done to the keys that stood like this before, and are not the one it was about.
    pub(super) fn look_beside(
        &mut self,
        ear: &mut Ear<'_>,
        place: usize,
        said: &Said,
        before: Vec<(u8, Option<Arc<Stored>>)>,
    ) {
        let home = self.here.number;
        for (number, before) in before {
            self.turn_to(number);
            let after = self.here.look(&self.server, said.at);
            if after != before {
                let change = Change { before, after, written: self.here.written.clone() };
                self.remember_write(place, said, &change);
                self.changed(ear, place, said, &change);
                self.learn(ear.grammar, place, said, &change);
            }
        }
        self.turn_to(home);
    }

    /// One more key, which is a lock by itself or, if it `belongs` here, a part of the one that is being talked of; with all
    /// that is known of it.
    pub(super) fn join(&mut self, key: Key, belongs: bool, other: Option<Self>, is_known: bool) {
        let number = self.spots().map(|spot| spot.number).max().unwrap_or(0) + 1;
        let home = if belongs { self.here.number } else { number };
        match other {
            None => self.beside.push(Spot { number, home, is_known, ..Spot::new(key) }),
            Some(other) => self.take_over(other, number),
        }
    }

    /// Another lock, whose keys get the places from this number on.
    fn take_over(&mut self, other: Self, first: u8) {
        let Self { here, beside, server, talks, holds, last_at, episodes, .. } = other;
        self.server.absorb(server);
        let moved = |spot: Spot| Spot { number: first + spot.number, home: first + spot.home, ..spot };
        self.beside.extend([here].into_iter().chain(beside).map(moved));
        for mut talk in talks {
            talk.home += first;
            self.places.insert((talk.client.as_ptr().addr(), talk.home), self.talks.len());
            self.talks.push(talk);
        }
        self.holds.extend(holds.into_iter().map(|hold| hold.moved_by(first)));
        self.last_at = self.last_at.max(last_at);
        if let (Some(own), Some(more)) = (&mut self.episodes, episodes) {
            own.extend(more);
        }
    }
}
