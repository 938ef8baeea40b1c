//! How the stamp in the old key is written: in the form of one dialect of the fleet, for all of them.

use std::time::Duration;

use super::fleet::{Clocks, Fleet};
use super::marked_form::marked;
use crate::legacy::{Dialect, Form, Number, Part, Stamp};
use crate::lock::{Lease, Owner};
use crate::wire::UnixTime;

/// Writes the stamp in the old key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StampWriter {
    /// The written form.
    pub(super) form: Form,
    /// The dialect whose form and clock it uses.
    pub(super) of: &'static Dialect,
    /// How much later the stamp is than the dialect's own, so that no old client's stamp equals it.
    ahead: Duration,
    /// How much later it is for the sake of readers whose clocks are ahead.
    skew: Duration,
}

/// The form of no dialect: the token alone. Any value keeps out a fleet that never reads values.
const TOKEN: Form = Form::unstamped(&[Part::Hex]);

/// How many units a stamp may be moved later because a dialect would take it over before the lease ends: one for a
/// comparison that counts *now* as expired, one for rounding.
const LATER_AT_MOST: u32 = 2;

/// Twice the longest lease, which is a century.
pub(crate) const BEYOND_EVERY_LEASE: Duration = Lease::MAX.saturating_mul(2);

impl StampWriter {
    /// The writers that could keep this fleet out: each dialect's own form if it identifies its writer, and last the token.
    pub(super) fn candidates(fleet: &Fleet) -> impl Iterator<Item = Self> {
        let dialects = fleet.members().iter().map(|member| member.dialect());
        let own = dialects
            .clone()
            .map(|of| Self { form: of.form, of, ahead: Duration::ZERO, skew: Duration::ZERO })
            .filter(|it| it.form.tells_apart());
        own.chain(dialects.take(1).map(|of| Self { form: TOKEN, of, ahead: Duration::ZERO, skew: Duration::ZERO }))
    }

    /// Variants that no old client writes: with a zero that every reader ignores, or with a stamp that is further in the
    /// future than any lease and expires with its key. Empty if the form already names its writer.
    pub(super) fn unmistakable(self) -> impl Iterator<Item = Self> {
        let with_zero = marked(self.form).map(|form| Self { form, ..self });
        let ahead = Some(Self { ahead: BEYOND_EVERY_LEASE, ..self });
        with_zero.into_iter().chain(ahead.filter(|_| self.form.is_stamped() && !self.form.names_token()))
    }

    /// The same for readers whose clocks are ahead by up to `skew`.
    pub(super) fn tolerating_skew(self, skew: Duration) -> Self {
        Self { skew, ..self }
    }

    /// In the form of this dialect, or the token if that form does not identify its writer.
    #[cfg(feature = "sim")]
    pub(super) fn in_form_of(of: &'static Dialect) -> Self {
        Self {
            form: if of.form.tells_apart() { of.form } else { TOKEN },
            of,
            ahead: Duration::ZERO,
            skew: Duration::ZERO,
        }
    }

    /// The moment that the dialect's own stamp would say, of a value that this has written.
    pub(super) fn moment_in(&self, value: &[u8]) -> Option<UnixTime> {
        let stamp = &self.form.stamp;
        match self.form.read(value)? {
            // The number is moved, not the moment: moments end with the year 2262.
            Number::Int(count) => {
                let units = i128::try_from(self.ahead.as_nanos() / stamp.unit.length().as_nanos()).ok()?;
                Some(stamp.moment_of(Number::Int(count.saturating_sub(units))))
            }
            Number::Float(_) if self.is_far() => None,
            float => Some(stamp.moment_of(float)),
        }
    }

    /// The written form.
    #[cfg(feature = "sim")]
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Whether its stamps are further in the future than any lease.
    pub(super) fn is_far(&self) -> bool {
        !self.ahead.is_zero()
    }

    /// Whether its stamps are live longer than any lease, so that they must expire with their key.
    pub(crate) fn outlasts_leases(&self) -> bool {
        !self.ahead.is_zero() || !self.form.is_stamped()
    }

    /// The name of the form: a dialect or `token`.
    pub(super) fn name(&self) -> &'static str {
        if self.form == TOKEN { "token" } else { self.of.name }
    }

    /// The value that `owner` writes for a lease that begins now.
    pub(crate) fn write(&self, owner: &Owner, lease: Lease, fleet: &Fleet, clocks: &Clocks) -> Vec<u8> {
        self.make(lease, fleet, clocks, |number| self.form.write(number, owner))
    }

    /// The value that `owner` writes and that no dialect of the fleet considers expired for this long from now: the
    /// earliest such stamp. `None` if no such stamp lies within a few units of that end. No skew is added: the guard, which
    /// writes these, leads its clients to a decision at any clock.
    pub(crate) fn write_for(&self, owner: &Owner, length: Duration, fleet: &Fleet, clocks: &Clocks) -> Option<Vec<u8>> {
        const TRIED: u32 = 6;
        let Stamp { unit, margin, .. } = self.form.stamp;
        let last = clocks.after(length.saturating_sub(Duration::from_nanos(1)));
        let first = length.saturating_sub(margin).saturating_sub(unit.length() * 2);
        let now = clocks.of(self.of).wall;
        let at = |units: u32| {
            let later = first + unit.length() * units + self.ahead;
            self.form.write(self.form.stamp.at(now.saturating_add(later), Duration::ZERO), owner)
        };
        (0..TRIED).map(at).find(|value| fleet.keeps_out(value, &last))
    }

    /// The value that replaces `old`, of the same owner, for a lease that begins now.
    pub(super) fn rewrite(&self, old: &[u8], lease: Lease, fleet: &Fleet, clocks: &Clocks) -> Vec<u8> {
        self.make(lease, fleet, clocks, |number| self.form.restamp(old, number).unwrap_or_else(|| old.to_vec()))
    }

    /// The dialect's own stamp, or one that is later by a unit or two if a dialect of the fleet would consider it expired
    /// while the holder still relies on its lease.
    fn make(&self, lease: Lease, fleet: &Fleet, clocks: &Clocks, write: impl Fn(Number) -> Vec<u8>) -> Vec<u8> {
        let ends = clocks.after(lease.validity() + self.skew);
        let stamp = &self.form.stamp;
        let at = |units: u32| {
            let later = stamp.unit.length() * units + self.ahead + self.skew;
            let now = clocks.of(self.of).wall.saturating_add(later);
            write(stamp.at(now, lease.length()))
        };
        (0..=LATER_AT_MOST).map(at).find(|value| fleet.keeps_out(value, &ends)).unwrap_or_else(|| at(0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock::stamp_writer;
    use super::*;
    use crate::legacy;
    use crate::lock::Token;
    use crate::wire::Key;

    const NOW: UnixTime = match UnixTime::from_millis(1_800_000_000_250) {
        Some(now) => now,
        None => panic!("2027 is before 2262"),
    };

    fn owner() -> Owner {
        Owner::new(Token::new([0xd7; 16]), 77, 1)
    }

    /// A fleet of one dialect, and what keeps it out.
    fn writer(name: &str) -> (Fleet, StampWriter) {
        let lease = Lease::new(Duration::from_secs(60)).unwrap();
        let fleet = Fleet::new(&[legacy::find(name).unwrap()], &Key::from("k"), lease);
        let writer = stamp_writer(&fleet, lease).unwrap();
        (fleet, writer)
    }

    #[test]
    fn only_stamps_that_never_expire_by_themselves_outlast_leases() {
        for (name, outlasts) in [("php-getset", false), ("java-getset", true), ("java-setnx-expire", true)] {
            assert_eq!(writer(name).1.outlasts_leases(), outlasts, "{name}");
        }
    }

    /// Ten seconds after `NOW` it is ten and a quarter. PHP compares whole seconds, and the eight bytes are so far in the
    /// future that any will do.
    #[test]
    fn the_stamp_for_a_length_is_the_earliest_that_keeps_the_fleet_out_for_it() {
        for (name, stamp) in [
            ("php-getset", &b"01800000010"[..]),
            ("setnx-page", b"01800000010"),
            ("thinkphp-lockup", b"01800000011"),
            ("jedis-lock", b"01800000010249"),
            ("redis-py-2.8", b"01800000010.25"),
            ("stackexchange-ticks", b"0639355968102500000"),
            ("gorlock", b"01800000010249999999"),
            ("java-getset", b"\0\0\x07\x5f\x9a\xc6\xd8\x08"),
        ] {
            let (fleet, writer) = writer(name);
            let value = writer.write_for(&owner(), Duration::from_secs(10), &fleet, &Clocks::at(NOW));
            assert_eq!(value.as_deref(), Some(stamp), "{name}");
        }
    }

    #[test]
    fn the_stamp_for_a_length_keeps_every_dialect_out_until_its_last_nanosecond() {
        for dialect in legacy::catalogue() {
            let lease = Lease::new(Duration::from_secs(60)).unwrap();
            let fleet = Fleet::new(&[dialect], &Key::from("k"), lease);
            let Ok(writer) = stamp_writer(&fleet, lease) else { continue };
            for length in [1, 999, 1_000, 59_750].map(Duration::from_millis) {
                let begins = Clocks::at(NOW);
                let value = writer.write_for(&owner(), length, &fleet, &begins).expect("there is such a stamp");
                let last = begins.after(length.saturating_sub(Duration::from_nanos(1)));
                assert!(fleet.keeps_out(&value, &last), "{} {length:?}", dialect.name);
            }
        }
    }
}
