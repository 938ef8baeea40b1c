//! Clients that only their names tell apart: of all worlds that differ by an exchange of such clients, one is kept.

use super::memo::{Memo, Question};
use super::scene::Scene;
use super::world::{Action, World};

/// Which clients may be exchanged.
#[derive(Clone, Debug)]
pub(super) struct Symmetry {
    /// Places of clients that are alike, two at least.
    classes: Vec<Vec<usize>>,
}

/// Where each client went: the client at `place` is now at `self.0[place]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places([u8; Self::MOST]);

impl Places {
    /// Clients beyond this one are never exchanged.
    pub(super) const MOST: usize = 8;

    /// Everybody stays.
    pub(super) fn same() -> Self {
        Self([0, 1, 2, 3, 4, 5, 6, 7])
    }

    /// Where the client at this place went.
    pub(super) fn of(&self, place: usize) -> usize {
        self.0.get(place).map_or(place, |place| usize::from(*place))
    }

    /// The client at this place went there.
    pub(super) fn put(&mut self, place: usize, there: usize) {
        if let (Some(at), Ok(there)) = (self.0.get_mut(place), u8::try_from(there)) {
            *at = there;
        }
    }

    /// The action, of whoever is there now.
    pub(super) fn rename(&self, action: Action) -> Action {
        let there = |who: u8| u8::try_from(self.of(usize::from(who))).unwrap_or(who);
        match action {
            Action::Step(who) => Action::Step(there(who)),
            Action::LoseReply(who) => Action::LoseReply(there(who)),
            Action::Crash(who) => Action::Crash(there(who)),
            Action::FailOver(_) | Action::Tick | Action::Leap => action,
        }
    }
}

impl Symmetry {
    /// Nobody is exchanged.
    pub(super) fn none() -> Self {
        Self { classes: Vec::new() }
    }

    /// Replaces a world by the one that is kept for it, and says where each client went.
    pub(super) fn settle(&self, memo: &Memo<'_>, world: &mut World<u32, u32>) -> Result<Places, Question> {
        let _ = (memo, world);
        debug_assert!(self.classes.is_empty());
        Ok(Places::same())
    }
}

impl Scene {
    /// The places of clients that only their names tell apart, in groups of two at least.
    pub(super) fn alike(&self) -> Vec<Vec<usize>> {
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for (place, client) in self.clients.iter().enumerate().take(Places::MOST) {
            match classes.iter_mut().find(|class| self.clients[class[0]].is_like(client)) {
                Some(class) => class.push(place),
                None => classes.push(vec![place]),
            }
        }
        classes.retain(|class| class.len() > 1);
        classes
    }

    /// The same schedule, with clients that are alike named in the order in which they first act.
    pub(super) fn in_order_of_appearance(&self, actions: &mut [Action]) {
        let mut places = Places::same();
        for class in self.alike() {
            let mut seen: Vec<usize> = Vec::new();
            let acting = actions.iter().filter_map(|action| action.client());
            for who in acting.chain(class.iter().copied()).filter(|who| class.contains(who)) {
                if !seen.contains(&who) {
                    seen.push(who);
                }
            }
            for (who, there) in seen.into_iter().zip(&class) {
                places.put(who, *there);
            }
        }
        for action in actions {
            *action = places.rename(*action);
        }
    }
}
