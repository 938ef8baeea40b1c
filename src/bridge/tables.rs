//! The tables from which client packages in other languages write and judge stamps.

use std::fmt::Write as _;
use std::time::Duration;

use super::fleet::Clocks;
use super::lock::{Bridge, TRIED_AT, TRIED_FOR, trials};
use super::trial;
use crate::legacy::{self, Clock, Dialect, Digits, Form, Lock, Looks, Moment, Number, Part, Unit};
use crate::lock::{Lease, Owner, Token};
use crate::wire::Key;

/// Two tables of tab-separated text, from which a program in any language can be a bridge for every dialect that has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// How a number becomes a value, a row for each shape of a value that old clients or packages write: its id; a template;
    /// the unit in ms; the count of units when 1970 began; a regular expression whose group is the number, or `-` for a value
    /// without one. The number of a shape whose id ends in `-far` is 200 years of 366 days later.
    pub shapes: String,
    /// A row for each dialect that has a bridge: its name; the id of the shape that it writes; the id of the shape that its
    /// bridge writes; by how many ms a stamp must be older than the clock before it has expired; `0`, `lease` if a lease is
    /// added to the stamp, or `never` if its clients judge no value; the ids of the shapes that its clients leave alone.
    pub dialects: String,
}

/// Twice the longest lease, in years of 366 days.
const FAR: Duration = Duration::from_secs(200 * 366 * 86_400);

/// A form of a value.
#[derive(Clone, Debug)]
struct Shape {
    form: Form,
    writer: ShapeWriter,
    id: String,
}

/// Who writes values of a shape.
#[derive(Clone, Copy, Debug)]
enum ShapeWriter {
    /// Old clients of this dialect, with their margins and roundings.
    OldClients(&'static Dialect),
    /// Packages, in whole units.
    Package { is_far: bool },
}

/// The tables for the dialects of the catalogue. Dialects whose stamps are local dates have no row, nor have those that judge
/// stamps by the server's clock: the packages read only their own.
pub fn tables() -> Tables {
    let lease = Lease::new(TRIED_FOR).expect("a minute is a valid lease");
    let bridges =
        legacy::catalogue().filter_map(|dialect| Some((dialect, Bridge::new(&[dialect], "k".into(), lease).ok()?)));
    let is_date = |dialect: &Dialect| dialect.form.stamp.digits == Digits::DateTime;
    let bridges: Vec<(&'static Dialect, Bridge)> =
        bridges.filter(|(dialect, _)| !is_date(dialect) && dialect.clock != Clock::Server).collect();
    let mut shapes: Vec<Shape> = Vec::new();
    let mut id_of = |form: Form, writer: ShapeWriter, name: &str| {
        let far = if matches!(writer, ShapeWriter::Package { is_far: true }) { "-far" } else { "" };
        let new = Shape { form, writer, id: format!("{name}{far}") };
        if let Some(known) = shapes.iter().find(|known| known.is_written_like(&new)) {
            return known.id.clone();
        }
        let id = new.id.clone();
        shapes.push(new);
        id
    };
    let rows: Vec<_> = bridges
        .iter()
        .map(|(dialect, bridge)| {
            let (form, is_far) = bridge.stamp_form();
            let own = id_of(dialect.form, ShapeWriter::OldClients(dialect), dialect.name);
            let bridge = id_of(form, ShapeWriter::Package { is_far }, &format!("bridge:{}", dialect.name));
            (*dialect, own, bridge)
        })
        .collect();
    let mut text = String::new();
    for (dialect, own, bridge) in rows {
        let respected = shapes.iter().filter(|shape| shape.is_respected_by(dialect)).map(|shape| shape.id.as_str());
        let respected = respected.collect::<Vec<_>>().join(",");
        let allowance = match dialect.form.stamp.moment {
            _ if !takes_over(dialect, lease) => "never",
            Moment::Acquisition => "lease",
            Moment::Expiry => "0",
        };
        let grace = dialect.look.map_or(0, |look| look.slack.as_millis());
        writeln!(text, "{}\t{own}\t{bridge}\t{grace}\t{allowance}\t{respected}", dialect.name).expect("a string grows");
    }
    Tables { shapes: shapes.iter().map(Shape::row).collect(), dialects: text }
}

/// Whether its clients ever judge a value of their own expired. Python 2 compares text with a number: no text is smaller.
fn takes_over(dialect: &'static Dialect, lease: Lease) -> bool {
    let owner = Owner::new(Token::new([0xd7; 16]), 1, 1);
    let value = dialect.form.write(dialect.form.stamp.at(TRIED_AT, lease.length()), &owner);
    let later = Clocks::at(TRIED_AT.saturating_add(lease.length() * 60));
    Lock::new(dialect, Key::from("k"), lease).looks(&value, later.of(dialect)) == Looks::Expired
}

impl Shape {
    fn row(&self) -> String {
        let stamp = &self.form.stamp;
        let unit = match stamp.unit {
            Unit::Second => "1000",
            Unit::Millisecond => "1",
            Unit::Nanosecond => "0.000001",
            Unit::Tick => "0.0001",
        };
        let origin = stamp.unit.count_in_1970();
        format!("{}\t{}\t{unit}\t{origin}\t{}\n", self.id, self.template(), self.pattern())
    }

    /// Whether the same values are written in both. Packages write forms alike that differ in a margin or in their rounding.
    fn is_written_like(&self, other: &Self) -> bool {
        let key = |shape: &Self| (shape.template(), shape.pattern(), shape.form.stamp.unit);
        let is_alike = match (self.writer, other.writer) {
            (ShapeWriter::OldClients(one), ShapeWriter::OldClients(other)) => {
                (one.form.stamp, one.clock) == (other.form.stamp, other.clock)
            }
            (ShapeWriter::Package { is_far: one }, ShapeWriter::Package { is_far: other }) => one == other,
            (ShapeWriter::OldClients(_), ShapeWriter::Package { .. }) => false,
            (ShapeWriter::Package { .. }, ShapeWriter::OldClients(_)) => false,
        };
        is_alike && key(self) == key(other)
    }

    /// The value with a name in braces for each part that varies.
    fn template(&self) -> String {
        let part = |part: &Part| match part {
            Part::Stamp => match self.form.stamp.digits {
                Digits::Decimal | Digits::DateTime | Digits::Php14 => "{n}",
                Digits::BigEndian => "{be8}",
                Digits::LittleEndian => "{le8}",
                Digits::Python2Str | Digits::PythonRepr | Digits::RubyToS => "{n}.0",
                Digits::Fixed6 => "{n}.000000",
            },
            Part::Text(text) => text,
            Part::Pid => "{pid}",
            Part::Thread => "{thread}",
            Part::Uuid | Part::OwnerId => "{uuid}",
            Part::Hex => "{hex}",
        };
        self.form.parts.iter().map(part).collect()
    }

    /// What matches a value of this shape, with zeros in front or without.
    fn pattern(&self) -> String {
        if !self.form.is_stamped() {
            return "-".into();
        }
        let part = |part: &Part| match part {
            Part::Stamp => match self.form.stamp.digits {
                Digits::BigEndian | Digits::LittleEndian => r"([\s\S]{8})0?".into(),
                _ => r"0*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)".into(),
            },
            // Of the zero that marks a bridge's stamp.
            Part::Text("0") => String::new(),
            Part::Text(text) => text.replace('.', r"\.").replace('[', r"\[").replace('{', r"\{").replace('}', r"\}"),
            Part::Pid | Part::Thread => r"\d+".into(),
            Part::Uuid => "[0-9a-f-]{36}".into(),
            Part::OwnerId => ".+".into(),
            Part::Hex => "[0-9a-f]{32}".into(),
        };
        let inner: String = self.form.parts.iter().map(part).collect();
        if self.form.quoted_when_taken { format!("\"?{inner}\"?") } else { inner }
    }

    /// Whether clients of this dialect leave such a value alone while its lease runs.
    fn is_respected_by(&self, dialect: &'static Dialect) -> bool {
        let lease = Lease::new(TRIED_FOR).expect("a minute is a valid lease");
        let member = Lock::new(dialect, Key::from("k"), lease);
        let elapsed: &[Duration] = match self.writer {
            // Many dialects round away the end of a lease.
            ShapeWriter::OldClients(_) => &[Duration::ZERO, lease.length() / 2],
            ShapeWriter::Package { .. } => &[Duration::ZERO, lease.length() / 2, lease.validity()],
        };
        trials(self.form.names_token()).all(|(begin, owner)| {
            let value = self.write(&begin, lease, &owner);
            elapsed.iter().all(|elapsed| trial::respects(&member, &value, &begin.after(*elapsed)))
        })
    }

    /// The value that an old client writes, or a package: that in whole units, one later than the end of the lease.
    fn write(&self, begin: &Clocks, lease: Lease, owner: &Owner) -> Vec<u8> {
        let far = match self.writer {
            ShapeWriter::OldClients(dialect) => {
                return self.form.write(self.form.stamp.at(begin.of(dialect).wall, lease.length()), owner);
            }
            ShapeWriter::Package { is_far: true } => FAR,
            ShapeWriter::Package { is_far: false } => Duration::ZERO,
        };
        let end = i128::from(begin.host.wall.saturating_add(lease.length()).as_nanos()) + nanos(far);
        let (unit, origin) = (nanos(self.form.stamp.unit.length()), self.form.stamp.unit.count_in_1970());
        let count = -(-end).div_euclid(unit) + 1 + origin;
        let number = if self.form.stamp.digits.is_float() { Number::Float(count as f64) } else { Number::Int(count) };
        self.form.write(number, owner)
    }
}

fn nanos(length: Duration) -> i128 {
    i128::try_from(length.as_nanos()).expect("a Duration has fewer than 2^94 nanoseconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packages write the same: a unit after the end of the lease, and a stamp beyond every lease 200 years of 366 days later.
    #[test]
    fn the_values_that_are_tried_are_those_of_the_packages() {
        let lease = Lease::new(TRIED_FOR).unwrap();
        let far = (1_800_000_060_001_i64 + 200 * 366 * 86_400_000).to_be_bytes();
        for (name, is_far, value) in [
            ("php-getset", false, &b"1800000061"[..]),
            ("redis-py-2.8", false, b"1800000061.0"),
            ("jedis-lock", false, b"1800000060001"),
            ("stackexchange-ticks", false, b"639355968600000001"),
            ("java-getset", true, &far),
        ] {
            let form = legacy::find(name).unwrap().form;
            let shape = Shape { form, writer: ShapeWriter::Package { is_far }, id: name.to_owned() };
            let owner = Owner::new(Token::new([0xd7; 16]), 1, 1);
            assert_eq!(shape.write(&Clocks::at(TRIED_AT), lease, &owner), value, "{name}");
        }
    }
}
