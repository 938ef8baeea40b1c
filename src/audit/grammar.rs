//! The protocols as one grammar: from what a client has said to who it may be and how far it has come.
//!
//! The protocols themselves are asked, each run over the conversation, and what they say is kept by the [`feature`]s that
//! led there. A conversation like an earlier one costs a look into a table.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::feature::feature;
use super::kinds::{Kind, Kinds};
use super::play::{Come, Stage, play};
use super::said::Said;
use crate::lock::Released;
use crate::wire::Key;

/// Where a conversation has come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// Its place in the grammar, if the grammar keeps it.
    place: Option<u32>,
    pub(super) standing: Standing,
}

/// Who may be speaking, by how far they have come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    pub(super) asking: Kinds,
    pub(super) won: Kinds,
    pub(super) refused: Kinds,
    pub(super) leaving: Kinds,
    /// Those who have given back.
    pub(super) left: Kinds,
    /// Those among them who know that they had lost it.
    pub(super) lost: Kinds,
    /// Those who have begun a try since the conversation began: what they had before is over.
    pub(super) anew: Kinds,
}

/// Above so many places, further ones are not kept: somebody's values look different every time.
const MOST: u32 = 100_000;

/// The grammar, as far as it was asked for.
#[derive(Debug)]
pub(super) struct Grammar {
    kinds: &'static [Kind],
    /// Those among them who write when a lock ends.
    timed: Kinds,
    places: Vec<Standing>,
    ways: HashMap<(u32, u64), u32, FxBuildHasher>,
    /// So many places are kept at the most.
    most: u32,
}

impl Grammar {
    /// A grammar that nobody has asked yet.
    pub(super) fn new() -> Self {
        let kinds = Kind::all();
        let timed = (0..kinds.len()).filter(|kind| kinds[*kind].is_timed());
        let timed = timed.fold(Kinds::default(), Kinds::with);
        let everybody = Standing { refused: Kinds::first(kinds.len()), ..Standing::default() };
        Self { kinds, timed, places: vec![everybody], ways: HashMap::default(), most: MOST }
    }

    /// A grammar that asks the protocols about every command, and remembers nothing.
    #[cfg(test)]
    pub(super) fn forgetful() -> Self {
        Self { most: 0, ..Self::new() }
    }

    /// Everybody.
    pub(super) fn kinds(&self) -> &'static [Kind] {
        self.kinds
    }

    /// Those who write when a lock ends.
    pub(super) fn timed(&self) -> Kinds {
        self.timed
    }

    /// Whether a try of somebody's can begin with this.
    pub(super) fn begins(&mut self, key: &Key, said: &Said) -> bool {
        !self.follow(&self.start(), key, std::slice::from_ref(said)).standing.is_nobody()
    }

    /// Where nothing was said yet.
    pub(super) fn start(&self) -> Course {
        Course { place: Some(0), standing: self.places[0] }
    }

    /// Where a conversation goes from here with its last command.
    pub(super) fn follow(&mut self, course: &Course, key: &Key, said: &[Said]) -> Course {
        let Some(place) = course.place else { return Course { place: None, standing: self.ask(course, key, said) } };
        let way = (place, feature(key, said));
        if let Some(next) = self.ways.get(&way) {
            return Course { place: Some(*next), standing: self.places[*next as usize] };
        }
        let standing = self.ask(course, key, said);
        let next = u32::try_from(self.places.len()).ok().filter(|next| *next < self.most);
        if let Some(next) = next {
            self.ways.insert(way, next);
            self.places.push(standing);
        }
        Course { place: next, standing }
    }

    /// Asks the protocols themselves.
    fn ask(&self, course: &Course, key: &Key, said: &[Said]) -> Standing {
        let who = course.standing.everybody();
        let mut standing = Standing::default();
        for place in who.places() {
            let Some(Come { stage, since }) = play(&self.kinds[place], key, said) else { continue };
            if since > 0 {
                standing.anew = standing.anew.with(place);
            }
            let set = match stage {
                Stage::Asking => &mut standing.asking,
                Stage::Won => &mut standing.won,
                Stage::Refused(_) => &mut standing.refused,
                Stage::Leaving => &mut standing.leaving,
                Stage::Left(_) => &mut standing.left,
            };
            *set = set.with(place);
            if stage == Stage::Left(Released::Lost) {
                standing.lost = standing.lost.with(place);
            }
        }
        standing
    }
}

impl Standing {
    /// All who may be speaking.
    pub(super) fn everybody(&self) -> Kinds {
        [self.won, self.refused, self.leaving, self.left].into_iter().fold(self.asking, Kinds::or)
    }

    /// The same, but only these.
    pub(super) fn among(&self, kinds: Kinds) -> Self {
        Self {
            asking: self.asking & kinds,
            won: self.won & kinds,
            refused: self.refused & kinds,
            leaving: self.leaving & kinds,
            left: self.left & kinds,
            lost: self.lost & kinds,
            anew: self.anew & kinds,
        }
    }

    /// Whether nobody says this.
    pub(super) fn is_nobody(&self) -> bool {
        self.everybody().is_empty()
    }
}
