//! The report of a worker about one hold: a line in a list, `NUMBER WAITED_MS [double] [late] [intruded]`.

use std::fmt;

/// The key of the list.
pub(crate) const REPORTS: &str = "example:holds";

/// The report about one hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HoldReport {
    /// The number of the worker.
    pub(crate) number: usize,
    /// How long it waited for the lock.
    pub(crate) waited_ms: u64,
    /// Another worker was inside when it entered.
    pub(crate) is_double: bool,
    /// It took longer than the lease.
    pub(crate) is_late: bool,
    /// Its release learned that an old client had written into the old key.
    pub(crate) is_intruded: bool,
}

impl HoldReport {
    /// Parses a line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (number, waited_ms) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let flags: Vec<&str> = words.collect();
        let has = |flag: &str| flags.contains(&flag);
        Some(Self { number, waited_ms, is_double: has("double"), is_late: has("late"), is_intruded: has("intruded") })
    }
}

impl fmt::Display for HoldReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.waited_ms)?;
        let flags = [(self.is_double, " double"), (self.is_late, " late"), (self.is_intruded, " intruded")];
        flags.into_iter().filter(|(is_set, _)| *is_set).try_for_each(|(_, flag)| f.write_str(flag))
    }
}
