//! Which protocols exclude each other on one key.

use anstyle::{AnsiColor, Style};
use comfy_table::{Attribute, Cell, Color};
use serde::Serialize;

use super::{Report, table};
use crate::matrix::{Meeting, PairVerdict};

/// Which protocols exclude each other on one key: in JSON an array of pairs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Matrix(Vec<Pair>);

/// One holder and one newcomer. `verdict` is `excludes`, `steals`, `starves` or `both`; `value` shows it. The two
/// run one after the other: what their steps do to each other in between is for `explore`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Pair {
    holder: String,
    newcomer: String,
    verdict: &'static str,
    value: Option<String>,
    #[serde(skip)]
    lines: Vec<String>,
}

/// More columns than this do not fit as words.
const MOST_IN_WORDS: usize = 6;

impl Matrix {
    /// The table of these meetings, holder by holder.
    pub fn of(meetings: &[Meeting]) -> Self {
        Self(meetings.iter().map(Pair::of).collect())
    }

    /// Whether every newcomer is excluded by every living holder, and acquires after every dead one.
    pub fn excludes(&self) -> bool {
        self.0.iter().all(|pair| pair.verdict == "excludes")
    }
}

impl Pair {
    fn of(meeting: &Meeting) -> Self {
        let PairVerdict { steals, starves, clobbers } = &meeting.verdict;
        let (holder, newcomer) = (&meeting.holder, &meeting.newcomer);
        let mut lines = Vec::new();
        if let Some(value) = steals {
            lines.push(format!("{newcomer} acquires {value} while {holder} holds it"));
        }
        if let Some(value) = starves {
            lines.push(format!("{newcomer} never acquires {value} when {holder} has died"));
        }
        if let Some(value) = clobbers {
            lines.push(format!("{newcomer} overwrites {value} while {holder} holds it, and does not acquire"));
        }
        let verdict = match (steals, starves) {
            (None, None) => "excludes",
            (Some(_), None) => "steals",
            (None, Some(_)) => "starves",
            (Some(_), Some(_)) => "both",
        };
        let value = steals.clone().or_else(|| starves.clone());
        Self { holder: holder.clone(), newcomer: newcomer.clone(), verdict, value, lines }
    }

    fn cell(&self, in_words: bool) -> Cell {
        let (word, letter, colour) = match self.verdict {
            "excludes" => ("excludes", "·", Color::Green),
            "steals" => ("steals", "S", Color::Red),
            "starves" => ("starves", "W", Color::Yellow),
            _ => ("both", "X", Color::Red),
        };
        Cell::new(if in_words { word } else { letter }).fg(colour)
    }
}

impl Report for Matrix {
    fn text(&self, width: Option<u16>) -> String {
        let columns = self.0.iter().take_while(|pair| pair.holder == self.0[0].holder).count().max(1);
        let in_words = columns <= MOST_IN_WORDS;
        let newcomers: Vec<&str> = self.0.iter().take(columns).map(|pair| pair.newcomer.as_str()).collect();
        let numbers: Vec<String> = (1..=columns).map(|number| number.to_string()).collect();
        let mut head = vec![if in_words { "HOLDER \\ NEWCOMER" } else { "HOLDER" }];
        head.extend(if in_words { newcomers.clone() } else { numbers.iter().map(String::as_str).collect() });
        let mut table = table::table(&head, width.filter(|_| in_words));
        for (index, row) in self.0.chunks(columns).enumerate() {
            let name = if in_words { row[0].holder.clone() } else { format!("{:>2} {}", index + 1, row[0].holder) };
            let name = Cell::new(name).add_attribute(Attribute::Bold);
            table.add_row(std::iter::once(name).chain(row.iter().map(|pair| pair.cell(in_words))));
        }
        let mut text = table::text(table);
        text += if in_words { "\n" } else { LEGEND };
        if in_words {
            let faint = Style::new().dimmed();
            let lines: Vec<&String> = self.0.iter().flat_map(|pair| &pair.lines).collect();
            for line in lines {
                text += &format!("{faint}{line}{faint:#}\n");
            }
        } else {
            let style = AnsiColor::Cyan.on_default();
            text += &format!("{style}Name a few of them to see the values that show it.{style:#}\n");
        }
        text
    }
}

const LEGEND: &str = "
Columns are newcomers, in the order of the rows.
·  excludes   S  steals a lock whose lease is running   W  starves: waits for ever for a dead owner's lock   X  both
";
