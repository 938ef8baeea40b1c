//! What is spoken on a key: the fewest protocols that explain all who have won it.
//!
//! Of most clients it is known only that they speak one of many protocols. A fleet speaks few, and so whoever could have
//! spoken what another one is known to speak is taken to have done so.

use super::kinds::Kinds;

/// So many sets are told apart; a key that is spoken to in more ways than that is spoken to in all of them.
const MOST: usize = 16;

/// Who those may be that have won a key: of each what it may speak, as far as nothing narrower explains it.
#[derive(Clone, Debug, Default)]
pub(super) struct Spoken {
    sets: Vec<Kinds>,
    rest: Kinds,
}

impl Spoken {
    /// Somebody who has won speaks one of these.
    pub(super) fn note(&mut self, kinds: Kinds) {
        let is_explained = |known: &Kinds| *known & kinds == *known;
        if kinds.is_empty() || self.sets.iter().any(is_explained) {
            return;
        }
        self.sets.retain(|known| *known & kinds != kinds);
        if self.sets.len() < MOST {
            self.sets.push(kinds);
        } else {
            self.rest = self.rest.or(kinds);
        }
    }

    /// These and those.
    pub(super) fn merge(&mut self, other: &Self) {
        other.sets.iter().for_each(|kinds| self.note(*kinds));
        self.rest = self.rest.or(other.rest);
    }

    /// What is spoken: of clients that may speak the same, what all of them may.
    pub(super) fn kinds(&self) -> Kinds {
        let mut sets = self.sets.clone();
        sets.sort_by_key(|kinds| kinds.places().count());
        let mut shared: Vec<Kinds> = Vec::new();
        for kinds in sets {
            match shared.iter_mut().find(|known| !(**known & kinds).is_empty()) {
                Some(known) => *known = *known & kinds,
                None => shared.push(kinds),
            }
        }
        shared.into_iter().fold(self.rest, Kinds::or)
    }
}

#[test]
fn the_fewest_that_explain_everybody() {
    let set = |places: &[usize]| places.iter().copied().fold(Kinds::default(), Kinds::with);
    let told = |seen: &[&[usize]]| {
        let mut spoken = Spoken::default();
        seen.iter().for_each(|places| spoken.note(set(places)));
        spoken.kinds().places().collect::<Vec<_>>()
    };
    for (seen, expected) in [
        (&[] as &[&[usize]], &[] as &[usize]),
        (&[&[1, 2, 3], &[2, 3, 9], &[2, 3]], &[2, 3]),
        (&[&[1, 2, 3], &[2, 3, 9], &[3, 4]], &[3]),
        (&[&[1, 2], &[5], &[1, 2, 3], &[5, 7]], &[1, 2, 5]),
    ] {
        assert_eq!(told(seen), expected, "{seen:?}");
    }
    let many: Vec<Vec<usize>> = (0..2 * MOST).map(|place| vec![place]).collect();
    let many: Vec<&[usize]> = many.iter().map(Vec::as_slice).collect();
    assert_eq!(told(&many).len(), 2 * MOST);
}
