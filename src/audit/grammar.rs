//! The protocols as one grammar: from a conversation to the protocols that it may be in, and how far it has come in each.
//!
//! Each protocol is run over the conversation; the result is kept by the [`feature`]s that led there, so that a
//! conversation like an earlier one costs a table look-up.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::{FxBuildHasher, FxHasher};

use super::exchange::LockExchange;
use super::feature::feature;
use super::recognise::{ConversationStage, Reached, RecognisedHold, may_begin, recognise, recognise_holder};
use super::variants::{Variant, VariantSet};
use crate::wire::Key;

/// How far a conversation has come.
#[derive(Clone, Debug)]
pub(super) struct Position {
    /// Its place in the grammar, if the grammar keeps it.
    place: Option<u32>,
    /// Shared by all conversations at this place: most are at few places, so these stay in the processor's cache.
    pub(super) candidates: Arc<Candidates>,
    /// Where the conversation goes on with a hold, if what led to that is left out of it.
    resumed: Option<Arc<ResumedHold>>,
}

/// What the client of a long conversation holds, by each protocol that it may speak.
#[derive(Debug)]
struct ResumedHold {
    held: Vec<(usize, RecognisedHold)>,
    /// The exchange with which it goes on.
    from: usize,
}

/// The protocols that may be spoken, by how far their client has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Candidates {
    pub(super) acquiring: VariantSet,
    pub(super) holding: VariantSet,
    pub(super) refused: VariantSet,
    pub(super) releasing: VariantSet,
    pub(super) released: VariantSet,
    /// Those among them by which an attempt has begun since the conversation began: what came before it has ended.
    pub(super) anew: VariantSet,
}

/// Which stages a client may have reached, by the protocols that it may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReachableStages {
    pub(super) acquiring: bool,
    pub(super) holding: bool,
    pub(super) refused: bool,
    pub(super) releasing: bool,
    pub(super) released: bool,
}

/// Maximum number of places that are kept: some values look different every time.
const MOST: u32 = 100_000;

/// From no place: where conversations go on of which the middle is left out.
const NOWHERE: u32 = u32::MAX;

/// The grammar, as far as it was asked for.
#[derive(Debug)]
pub(super) struct Grammar {
    places: Vec<Arc<Candidates>>,
    ways: HashMap<(u32, u64), u32, FxBuildHasher>,
    /// Maximum number of places.
    most: u32,
}

impl Grammar {
    /// A grammar that was not asked yet.
    pub(super) fn new() -> Self {
        let all = VariantSet::first(Variant::all().len());
        let start = Candidates { refused: all, ..Candidates::default() };
        Self { places: vec![Arc::new(start)], ways: HashMap::default(), most: MOST }
    }

    /// A grammar that runs the protocols for every command and remembers nothing.
    #[cfg(test)]
    pub(super) fn forgetful() -> Self {
        Self { most: 0, ..Self::new() }
    }

    /// Whether an attempt can begin with this.
    pub(super) fn begins(&mut self, key: &Key, exchange: &LockExchange) -> bool {
        !self.follow(&self.start(), key, std::slice::from_ref(exchange)).candidates.is_empty()
    }

    /// The position of an empty conversation.
    pub(super) fn start(&self) -> Position {
        Position { place: Some(0), candidates: self.places[0].clone(), resumed: None }
    }

    /// The position after the last exchange, which was added to a conversation at this position.
    pub(super) fn follow(&mut self, position: &Position, key: &Key, exchanges: &[LockExchange]) -> Position {
        let resumed = position.resumed.clone();
        let candidates = || Candidates::of(position, key, exchanges);
        let Some(place) = position.place else {
            return Position { place: None, candidates: Arc::new(candidates()), resumed };
        };
        let (place, candidates) = self.place_behind((place, feature(key, exchanges)), candidates);
        Position { place, candidates, resumed }
    }

    /// Leaves the middle out of the conversation of a holder at this position, which may be as long as its lock is held: of the
    /// exchanges stay those of its attempt and so many `last` ones. Returns the position that goes on with its hold; `None` if
    /// it is in the middle of an operation by one of these protocols.
    pub(super) fn leave_out_middle(
        &mut self,
        position: &Position,
        variants: VariantSet,
        key: &Key,
        exchanges: &mut Vec<LockExchange>,
        last: usize,
    ) -> Option<Position> {
        let candidates = position.candidates.among(variants);
        let holding = candidates.holding;
        if candidates.all() != holding {
            return None;
        }
        let held = |index| Some((index, reached(index, position, key, exchanges)?.held?));
        let mut held: Vec<_> = holding.indexes().map(held).collect::<Option<_>>()?;
        let won_by = held.iter().map(|(_, held)| held.won_by).max()?;
        let until = exchanges.len().checked_sub(last).filter(|until| *until > won_by)?;
        exchanges.drain(won_by..until);
        held.iter_mut().for_each(|(_, held)| held.keep_those_in(exchanges));
        let resumed = Some(Arc::new(ResumedHold { held, from: exchanges.len() }));
        let candidates = || Candidates { holding, ..Candidates::default() };
        if position.place.is_none() {
            return Some(Position { place: None, candidates: Arc::new(candidates()), resumed });
        }
        let mut hasher = FxHasher::default();
        holding.hash(&mut hasher);
        (1..=exchanges.len()).for_each(|until| feature(key, &exchanges[..until]).hash(&mut hasher));
        let (place, candidates) = self.place_behind((NOWHERE, hasher.finish()), candidates);
        Some(Position { place, candidates, resumed })
    }

    /// The place to which this way leads; `None` if there is room for no more places.
    fn place_behind(
        &mut self,
        way: (u32, u64),
        candidates: impl FnOnce() -> Candidates,
    ) -> (Option<u32>, Arc<Candidates>) {
        if let Some(next) = self.ways.get(&way) {
            return (Some(*next), self.places[*next as usize].clone());
        }
        let candidates = Arc::new(candidates());
        let next = u32::try_from(self.places.len()).ok().filter(|next| *next < self.most);
        if let Some(next) = next {
            self.ways.insert(way, next);
            self.places.push(candidates.clone());
        }
        (next, candidates)
    }
}

/// How far a client has come that was at this position before the last exchange, if it speaks the protocol at this index.
fn reached(index: usize, position: &Position, key: &Key, exchanges: &[LockExchange]) -> Option<Reached> {
    let variant = &Variant::all()[index];
    match &position.resumed {
        None => recognise(variant, key, exchanges),
        Some(resumed) => {
            let (_, held) = resumed.held.iter().find(|(it, _)| *it == index)?;
            recognise_holder(variant, key, exchanges, held, resumed.from)
        }
    }
}

impl Position {
    /// The same, in another grammar, which does not know its place.
    pub(super) fn leave_grammar(&mut self) {
        self.place = None;
    }
}

impl Candidates {
    /// Runs the protocols over a conversation that was at this position before the last exchange.
    fn of(position: &Position, key: &Key, exchanges: &[LockExchange]) -> Self {
        let mut candidates = Self::default();
        let may_be = |index: &usize| exchanges.first().is_none_or(|first| may_begin(*index, first));
        for index in position.candidates.all().indexes().filter(may_be) {
            let Some(Reached { stage, since, .. }) = reached(index, position, key, exchanges) else { continue };
            if since > 0 {
                candidates.anew = candidates.anew.with(index);
            }
            let set = match stage {
                ConversationStage::Acquiring => &mut candidates.acquiring,
                ConversationStage::Holding => &mut candidates.holding,
                ConversationStage::Refused => &mut candidates.refused,
                ConversationStage::Releasing => &mut candidates.releasing,
                ConversationStage::Released => &mut candidates.released,
            };
            *set = set.with(index);
        }
        candidates
    }

    /// All of them.
    pub(super) fn all(&self) -> VariantSet {
        [self.holding, self.refused, self.releasing, self.released].into_iter().fold(self.acquiring, VariantSet::or)
    }

    /// Those among these.
    pub(super) fn among(&self, variants: VariantSet) -> Self {
        Self {
            acquiring: self.acquiring & variants,
            holding: self.holding & variants,
            refused: self.refused & variants,
            releasing: self.releasing & variants,
            released: self.released & variants,
            anew: self.anew & variants,
        }
    }

    /// Whether no protocol may be spoken.
    pub(super) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// Whether one of these may be spoken.
    pub(super) fn meet(&self, variants: &VariantSet) -> bool {
        [&self.acquiring, &self.holding, &self.refused, &self.releasing, &self.released]
            .into_iter()
            .any(|set| set.meets(variants))
    }

    /// The stages that a client may have reached which speaks one of these.
    pub(super) fn stages(&self, variants: &VariantSet) -> ReachableStages {
        ReachableStages {
            acquiring: self.acquiring.meets(variants),
            holding: self.holding.meets(variants),
            refused: self.refused.meets(variants),
            releasing: self.releasing.meets(variants),
            released: self.released.meets(variants),
        }
    }
}

impl ReachableStages {
    /// Whether an attempt may be under way, or have been refused.
    pub(super) fn is_open(self) -> bool {
        self.acquiring || self.refused
    }

    /// Whether it may have acquired, and perhaps released.
    pub(super) fn has_acquired(self) -> bool {
        self.holding || self.releasing || self.released
    }

    /// Whether the last exchange may have been a release, and no protocol still holds.
    pub(super) fn has_released(self) -> bool {
        self.released && !self.holding
    }
}
