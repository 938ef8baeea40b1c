//! How the stamp in the old key is written: in the form of one dialect of the fleet, for all of them.

use std::time::Duration;

use super::fleet::{Clocks, Fleet};
use super::mark::marked;
use crate::legacy::{Dialect, Form, Number, Part};
use crate::lock::{Lease, Owner};

/// How the stamp in the old key is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writing {
    /// What is written.
    pub(super) form: Form,
    /// Whose form it is.
    pub(super) of: &'static Dialect,
    /// By so much the stamp is later than the dialect's own.
    ahead: Duration,
}

/// Nobody's form: the token alone. A fleet that never looks at values is kept out by any.
const TOKEN: Form = Form::unstamped(&[Part::Hex]);
/// How often a stamp is made later because somebody would take it before the lease is over: once for a test that counts
/// *now* as over, once for rounding.
const LATER_AT_MOST: u32 = 2;

/// Twice a century, the longest lease that there is.
const BEYOND_EVERY_LEASE: Duration = Lease::MAX.saturating_mul(2);

impl Writing {
    /// The ways to write that could keep this fleet out: each dialect's own, if it says who wrote it, and last the token.
    pub(super) fn candidates(fleet: &Fleet) -> impl Iterator<Item = Self> {
        let dialects = fleet.members().iter().map(|member| member.dialect());
        let own = dialects
            .clone()
            .map(|of| Self { form: of.form, of, ahead: Duration::ZERO })
            .filter(|it| it.form.tells_apart());
        own.chain(dialects.take(1).map(|of| Self { form: TOKEN, of, ahead: Duration::ZERO }))
    }

    /// The same, in ways that no old client writes: with a zero that every reader passes over, or with a stamp that is
    /// further ahead than any lease reaches, and ends with its key. None, if what is written names its writer without.
    pub(super) fn unmistakable(self) -> impl Iterator<Item = Self> {
        let with_zero = marked(self.form).map(|form| Self { form, ..self });
        let ahead = Some(Self { ahead: BEYOND_EVERY_LEASE, ..self });
        with_zero.into_iter().chain(ahead.filter(|_| self.form.is_stamped() && !self.form.names_token()))
    }

    /// In the form of this dialect, or the token where that does not say who wrote it.
    #[cfg(feature = "sim")]
    pub(super) fn in_hand_of(of: &'static Dialect) -> Self {
        Self { form: if of.form.tells_apart() { of.form } else { TOKEN }, of, ahead: Duration::ZERO }
    }

    /// Whose form it is, in a word.
    pub(super) fn name(&self) -> &'static str {
        if self.form == TOKEN { "token" } else { self.of.name }
    }

    /// What `owner` writes for a lease that begins now.
    pub(super) fn write(&self, owner: &Owner, lease: Lease, fleet: &Fleet, clocks: &Clocks) -> Vec<u8> {
        self.make(lease, fleet, clocks, |number| self.form.write(number, owner))
    }

    /// What replaces `old`, the same owner's, for a lease that begins now.
    pub(super) fn rewrite(&self, old: &[u8], lease: Lease, fleet: &Fleet, clocks: &Clocks) -> Vec<u8> {
        self.make(lease, fleet, clocks, |number| self.form.restamp(old, number).unwrap_or_else(|| old.to_vec()))
    }

    /// The stamp that the dialect writes, or one that is later by a unit or two, if somebody in the fleet would take the
    /// first for over while the holder may still count on its lease.
    fn make(&self, lease: Lease, fleet: &Fleet, clocks: &Clocks, write: impl Fn(Number) -> Vec<u8>) -> Vec<u8> {
        let ends = clocks.after(lease.validity());
        let stamp = &self.form.stamp;
        let at = |units: u32| {
            let later = stamp.unit.length() * units + self.ahead;
            let now = clocks.of(self.of).wall.saturating_add(later);
            write(stamp.at(now, lease.length()))
        };
        (0..=LATER_AT_MOST).map(at).find(|value| fleet.keeps_out(value, &ends)).unwrap_or_else(|| at(0))
    }
}
