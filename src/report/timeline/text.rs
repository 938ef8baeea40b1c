//! A schedule for the terminal: one column per client, the key's value and TTL beside them, a bar where somebody
//! believes to hold, red where two do.

use anstyle::{AnsiColor, Style};

use super::{Row, rows, seconds};
use crate::explore::Trace;

const HOLDS: Style = AnsiColor::Green.on_default().bold();
const BROKEN: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();
const STRONG: Style = Style::new().bold();

/// The widths at which a lane is neither ragged nor lost.
const LANE_WIDTHS: std::ops::RangeInclusive<usize> = 18..=40;

/// The schedule as lines of at most `width` columns, as far as that is possible.
pub(in crate::report) fn text(trace: &Trace, width: Option<u16>) -> String {
    let rows = rows(trace);
    let grid = Grid::of(trace, &rows, width.map_or(120, usize::from));
    let mut lines = vec![grid.head(trace)];
    for row in &rows {
        lines.extend(grid.lines(row));
    }
    lines.push(String::new());
    lines.push(trace.says.clone());
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// How wide the columns are.
struct Grid {
    number: usize,
    time: usize,
    keys: Vec<usize>,
    lane: usize,
}

impl Grid {
    fn of(trace: &Trace, rows: &[Row], width: usize) -> Self {
        let time = rows.iter().map(|row| seconds(row.at_ms).len()).max().unwrap_or(0).max(4);
        let number = rows.len().to_string().len().max(2);
        let keys: Vec<usize> = (0..trace.keys.len())
            .map(|index| {
                let widest = rows.iter().filter_map(|row| row.keys.get(index)).map(|key| chars(key)).max();
                widest.unwrap_or(0).max(chars(&trace.keys[index].to_string()))
            })
            .collect();
        let fixed = number + time + keys.iter().map(|key| key + 2).sum::<usize>() + 6;
        let lanes = trace.actors.len().max(1);
        let lane = (width.saturating_sub(fixed) / lanes).saturating_sub(3);
        Self { number, time, keys, lane: lane.clamp(*LANE_WIDTHS.start(), *LANE_WIDTHS.end()) }
    }

    fn head(&self, trace: &Trace) -> String {
        let mut head = format!("{:>2$}   {:<3$}", "", "t", self.number, self.time);
        for (key, width) in trace.keys.iter().zip(&self.keys) {
            head += &format!("  {:<width$}", key.to_string());
        }
        for role in &trace.actors {
            let skew = if role.skew_ms == 0 { String::new() } else { format!(" {:+} ms", role.skew_ms) };
            head += &format!("   {:<1$}", format!("{} {}{skew}", role.name, role.protocol), self.lane);
        }
        format!("{STRONG}{}{STRONG:#}", head.trim_end())
    }

    fn lines(&self, row: &Row) -> Vec<String> {
        if let Some(aside) = &row.aside {
            return vec![self.line(row, true, &[], Some(aside))];
        }
        let wrapped: Vec<Vec<String>> =
            row.lanes.iter().map(|lane| lane.words.iter().flat_map(|words| wrap(words, self.lane)).collect()).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0).max(1);
        (0..height)
            .map(|line| {
                let words: Vec<&str> = wrapped.iter().map(|lane| lane.get(line).map_or("", String::as_str)).collect();
                self.line(row, line == 0, &words, None)
            })
            .collect()
    }

    /// One line of a row; only the first shows the step's number, its time and the keys.
    fn line(&self, row: &Row, is_first: bool, words: &[&str], aside: Option<&str>) -> String {
        let shown = |text: String| if is_first { text } else { String::new() };
        let mark = if row.is_blamed && is_first { format!("{BROKEN}▶{BROKEN:#}") } else { " ".to_owned() };
        let mut line = format!(
            "{FAINT}{:>2$}{FAINT:#} {mark} {:<3$}",
            shown(row.number.to_string()),
            shown(seconds(row.at_ms)),
            self.number,
            self.time
        );
        for (key, width) in row.keys.iter().zip(&self.keys) {
            line += &format!("  {:<width$}", shown(key.clone()));
        }
        if let Some(aside) = aside {
            return format!("{line}   {FAINT}{aside}{FAINT:#}");
        }
        for (who, lane) in row.lanes.iter().enumerate() {
            let style = if row.is_broken { BROKEN } else { HOLDS };
            let bar = if lane.believes { format!("{style}┃{style:#}") } else { " ".to_owned() };
            line += &format!(" {bar} {:<1$}", words.get(who).copied().unwrap_or_default(), self.lane);
        }
        line
    }
}

/// The words in lines of at most `width` columns; a word that is longer stands alone.
fn wrap(words: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if chars(last) + 1 + chars(word) <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(format!("  {word}"));
        }
    }
    lines
}

fn chars(text: &str) -> usize {
    text.chars().count()
}
