//! What a worker tells of each hold: a line in a list, `NUMBER WAITED_MS [double] [late] [intruded]`.

use std::fmt;

/// The list.
pub(crate) const QUEUE: &str = "example:news";

/// How a hold was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// Whose.
    pub(crate) number: usize,
    /// For how long it had waited.
    pub(crate) waited_ms: u64,
    /// Somebody else was inside when it went in.
    pub(crate) is_double: bool,
    /// It took longer than the lease.
    pub(crate) is_late: bool,
    /// It learnt that somebody else had written into the old key.
    pub(crate) is_intruded: bool,
}

impl News {
    /// What the line says.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (number, waited_ms) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let said: Vec<&str> = words.collect();
        let says = |word: &str| said.contains(&word);
        Some(Self {
            number,
            waited_ms,
            is_double: says("double"),
            is_late: says("late"),
            is_intruded: says("intruded"),
        })
    }
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.waited_ms)?;
        let said = [(self.is_double, " double"), (self.is_late, " late"), (self.is_intruded, " intruded")];
        said.into_iter().filter(|(is_so, _)| *is_so).try_for_each(|(_, word)| f.write_str(word))
    }
}
