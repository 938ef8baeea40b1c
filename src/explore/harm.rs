//! Who is to blame: which deed breaks a property in a step, and whom it harms.

use super::deed::DeedId;
use super::doer::Doer;
use super::judge::{Change, Judge};
use super::memo::{Memo, Question};
use super::parts::Parts;
use super::property::{Properties, Property};
use super::world::{Action, World};

/// A property that was broken in a step, and by which deed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Breach {
    pub(super) property: Property,
    pub(super) deed: DeedId,
}

/// Judges steps by their deeds.
pub(super) struct Inquest<'a> {
    pub(super) judge: Judge<'a, Memo<'a>>,
    pub(super) before: &'a World<u32, u32>,
    pub(super) action: Action,
    /// The acting client right after the server ran its command, if one ran.
    pub(super) exchanged: Option<u32>,
}

impl Inquest<'_> {
    /// Which properties the step to `after` breaks, by which deeds, and whose deed it is. Whoever is harmed remembers it.
    pub(super) fn hold(&self, after: &mut World<u32, u32>, breaches: &mut Vec<Breach>) -> Result<DeedId, Question> {
        let Self { judge, before, action, exchanged } = self;
        let deed = judge.parts.deed(Doer::of(*action, *exchanged, before.left.tick))?;
        let change = Change { before, action: *action, exchanged: exchanged.as_ref(), after };
        let by_step = judge.change(&change)?;
        breaches.extend(by_step.iter().map(|property| Breach { property, deed }));
        for victim in 0..after.actors.len() {
            if let Some(deed) = self.harms(victim, deed, after)? {
                breaches.extend(self.asked(Property::LeaseHonoured).map(|property| Breach { property, deed }));
            }
        }
        self.clashes(deed, after, breaches)?;
        Ok(deed)
    }

    /// Which deed has it that somebody's lock is gone with this step, if it is. What this step changes of a lock that was
    /// not gone before is noted.
    fn harms(&self, victim: usize, deed: DeedId, after: &mut World<u32, u32>) -> Result<Option<DeedId>, Question> {
        let judge = &self.judge;
        if judge.is_robbed(victim, self.before)? {
            return Ok(None);
        }
        let is_robbed = judge.is_robbed(victim, after)?;
        let Some(actor) = self.action.client() else {
            return if is_robbed { self.robber(victim, after).map(Some) } else { Ok(None) };
        };
        let is_another = actor != victim;
        if is_robbed && is_another && !judge.parts.refuses_newcomer(victim, &self.before.node, after.left.tick)? {
            // What keeps nobody out, by the victim's own protocol, was no lock any more.
            let deed = self.robber(victim, after)?;
            after.actors[victim] = judge.parts.harmed(after.actors[victim], deed)?;
        } else if is_robbed || is_another && self.touches(victim, after)? {
            after.actors[victim] = judge.parts.harmed(after.actors[victim], deed)?;
        }
        if is_robbed { self.robber(victim, after).map(Some) } else { Ok(None) }
    }

    /// Whether the step changes a lock of somebody's whose lease is running.
    fn touches(&self, victim: usize, after: &World<u32, u32>) -> Result<bool, Question> {
        Ok(self.before.node != after.node
            && self.judge.has_one(victim, after)?
            && self.judge.parts.touches(victim, &self.before.node, &after.node, after.left.tick)?)
    }

    /// Who has it that this client's lock is gone: whoever changed it last, or the client itself.
    fn robber(&self, victim: usize, after: &World<u32, u32>) -> Result<DeedId, Question> {
        match self.judge.parts.harmed_by(after.actors[victim]) {
            Some(deed) => Ok(deed),
            None => self.judge.parts.deed(Doer::Lapse(victim)),
        }
    }

    /// Two believe who did not before: to blame is who robbed one of them; or that one of them overran its lease; or, if
    /// both have what they believe in, this step.
    fn clashes(&self, deed: DeedId, after: &World<u32, u32>, breaches: &mut Vec<Breach>) -> Result<(), Question> {
        let Self { judge, before, .. } = self;
        for one in 0..after.actors.len() {
            for other in one + 1..after.actors.len() {
                let Some(property) = judge.clash(one, other, after)? else { continue };
                if !judge.properties.has(property) || judge.clash(one, other, before)?.is_some() {
                    continue;
                }
                let known = breaches.len();
                for believer in [one, other] {
                    if judge.is_robbed(believer, after)? || judge.parts.harmed_by(after.actors[believer]).is_some() {
                        breaches.push(Breach { property, deed: self.robber(believer, after)? });
                    } else if !judge.has_one(believer, after)? {
                        breaches.push(Breach { property, deed: judge.parts.deed(Doer::Overrun(believer))? });
                    }
                }
                if breaches.len() == known {
                    breaches.push(Breach { property, deed });
                }
            }
        }
        Ok(())
    }

    fn asked(&self, property: Property) -> Option<Property> {
        Some(property).filter(|property| self.judge.properties.has(*property))
    }
}

impl Properties {
    /// Those of them that are broken by a step, so that some deed is to blame.
    pub(super) fn broken_by_steps(self) -> Self {
        let by_steps = |property: &Property| !matches!(property, Property::NoPhantom | Property::NoStaleWrite);
        self.iter().filter(by_steps).fold(Self::default(), Self::with)
    }
}
