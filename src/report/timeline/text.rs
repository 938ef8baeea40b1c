//! A schedule for the terminal: one column per client, the key's value and TTL beside them, a bar where a client
//! believes that it holds, red where two do. Where lanes would be too narrow for words, the bars stand side by side and the
//! words after them.

use anstyle::{AnsiColor, Style};

use super::{Cell, Lane, LaneBelief, Picture, TimelineRow, heading, seconds};
use crate::explore::Trace;
use crate::report::explanation;

const HOLDS: Style = AnsiColor::Green.on_default().bold();
const BROKEN: Style = AnsiColor::Red.on_default().bold();
const FAINT: Style = Style::new().dimmed();
const STRONG: Style = Style::new().bold();

/// The default width of a page.
const PAGE: u16 = 100;
/// The widths at which a lane is neither ragged nor lost.
const LANE_WIDTHS: std::ops::RangeInclusive<usize> = 20..=40;

/// The schedule as lines of at most `width` columns, as far as that is possible.
pub(in crate::report) fn text(trace: &Trace, width: Option<u16>) -> String {
    let picture = Picture::of(trace);
    let width = usize::from(width.unwrap_or(PAGE));
    let grid = Grid::of(&picture, width);
    let mut lines = grid.head(trace);
    lines.extend(picture.before.iter().map(|(moment, words)| grid.prior(moment, words)));
    lines.extend(picture.rows.iter().flat_map(|row| grid.lines(row)));
    lines.push(String::new());
    if let Some(verdict) = picture.verdict() {
        lines.push(format!("{BROKEN}✗ {verdict}{BROKEN:#}"));
        let legend = if trace.cycle.is_some() { "↻" } else { "▶" };
        let meaning = if trace.cycle.is_some() { "can repeat for ever" } else { "the step that broke it" };
        lines.push(format!("{BROKEN}{legend}{BROKEN:#} {FAINT}{meaning}   ┃ believes to hold{FAINT:#}"));
        lines.push(String::new());
    }
    let picture: String = lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect();
    picture + &paragraph(&explanation(trace), u16::try_from(width).ok())
}

/// A paragraph in lines of at most `width` columns, and no longer than a page is wide: the eye would lose the line.
pub(in crate::report) fn paragraph(words: &str, width: Option<u16>) -> String {
    wrapped(words, usize::from(width.unwrap_or(PAGE).min(PAGE)), "").join("\n") + "\n"
}

/// How wide the columns are.
struct Grid {
    number: usize,
    time: usize,
    keys: Vec<usize>,
    lanes: Lanes,
    /// The clients' names.
    names: Vec<String>,
}

/// How lanes are drawn.
#[derive(Clone, Copy)]
enum Lanes {
    /// Each with its words in it, so wide.
    Apart(usize),
    /// Their bars side by side, then the words, so wide.
    Together(usize),
}

impl Grid {
    fn of(picture: &Picture<'_>, width: usize) -> Self {
        let trace = picture.trace;
        let moments = picture.rows.iter().map(|row| seconds(row.at_ms));
        let moments = moments.chain(picture.before.iter().map(|(moment, _)| moment.clone()));
        let time = moments.map(|moment| columns(&moment)).max().unwrap_or(0).max(4);
        let number = trace.steps.len().to_string().len().max(2);
        let key = |index: usize| {
            let cells =
                picture.rows.iter().filter_map(|row| row.keys.get(index)).map(|cell| columns(&cell_words(cell)));
            cells.chain([columns(&trace.keys[index].to_string())]).max().unwrap_or(0)
        };
        let keys: Vec<usize> = (0..trace.keys.len()).map(key).collect();
        let fixed = number + 3 + time + keys.iter().map(|key| key + 2).sum::<usize>();
        let clients = trace.actors.len().max(1);
        let apart = (width.saturating_sub(fixed) / clients).saturating_sub(3);
        let lanes = if apart >= *LANE_WIDTHS.start() {
            Lanes::Apart(apart.min(*LANE_WIDTHS.end()))
        } else {
            Lanes::Together(width.saturating_sub(fixed + 2 * clients + 4).max(*LANE_WIDTHS.start()))
        };
        let names = trace.actors.iter().map(|role| role.name.clone()).collect();
        Self { number, time, keys, lanes, names }
    }

    fn head(&self, trace: &Trace) -> Vec<String> {
        let keys: Vec<String> = trace.keys.iter().map(ToString::to_string).collect();
        let head = self.left("", " ", "t", &keys);
        let mut lines = Vec::new();
        match self.lanes {
            Lanes::Apart(width) => {
                let titles: Vec<_> = trace.actors.iter().map(|role| wrapped(&heading(role), width, "  ")).collect();
                let height = titles.iter().map(Vec::len).max().unwrap_or(0).max(1);
                let title = |title: &Vec<String>, line: usize| title.get(line).cloned().unwrap_or_default();
                for line in 0..height {
                    let left = if line == 0 { head.clone() } else { " ".repeat(self.left_columns()) };
                    let titles = titles.iter().map(|words| format!("   {:<width$}", title(words, line)));
                    lines.push(left + &titles.collect::<String>());
                }
            }
            Lanes::Together(words) => {
                let titles: Vec<_> = trace.actors.iter().map(heading).collect();
                let line = titles.join("   ");
                let width = self.left_columns() + 2 * titles.len() + 4 + words;
                lines.extend(if columns(&line) <= width { vec![line] } else { titles });
                lines.push(head + "  " + &self.names.iter().map(|name| format!("{name:<2}")).collect::<String>());
            }
        }
        lines.iter().map(|line| format!("{STRONG}{}{STRONG:#}", line.trim_end())).collect()
    }

    fn prior(&self, moment: &str, words: &str) -> String {
        let blank = vec![String::new(); self.keys.len()];
        let left = self.left("", " ", moment, &blank);
        format!("{left}   {FAINT}{words}{FAINT:#}")
    }

    fn lines(&self, row: &TimelineRow) -> Vec<String> {
        let words: Vec<Vec<String>> = match self.lanes {
            Lanes::Apart(width) => (0..row.lanes.len()).map(|who| lane_lines(row, who, width)).collect(),
            Lanes::Together(width) => vec![self.words_of_all(row, width)],
        };
        let height = words.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let line = |line: usize| {
            let words: Vec<&str> = words.iter().map(|lane| lane.get(line).map_or("", String::as_str)).collect();
            self.line(row, line == 0, &words)
        };
        (0..height).map(line).collect()
    }

    /// One line of a row; only the first shows the step's number, its time and the keys.
    fn line(&self, row: &TimelineRow, is_first: bool, words: &[&str]) -> String {
        let mark = match row {
            TimelineRow { is_blamed: true, .. } if is_first => format!("{BROKEN}▶{BROKEN:#}"),
            TimelineRow { repeats: true, .. } => format!("{BROKEN}↻{BROKEN:#}"),
            TimelineRow { .. } => " ".to_owned(),
        };
        let mut line = if is_first {
            let keys: Vec<String> = row.keys.iter().map(cell_words).collect();
            self.left(&(row.steps.1 + 1).to_string(), &mark, &seconds(row.at_ms), &keys)
        } else {
            self.left("", &mark, "", &vec![String::new(); self.keys.len()])
        };
        match self.lanes {
            Lanes::Apart(width) => {
                for (lane, words) in row.lanes.iter().zip(words) {
                    line += &match row.aside {
                        Some(_) if !words.is_empty() => format!(" {} {FAINT}{words:<width$}{FAINT:#}", bar(lane)),
                        Some(_) | None => format!(" {} {words:<width$}", bar(lane)),
                    };
                }
            }
            Lanes::Together(_) => {
                line.push_str("  ");
                line.extend(row.lanes.iter().map(|lane| format!("{} ", bar(lane))));
                line += &format!(" {}", words.first().copied().unwrap_or_default());
            }
        }
        line
    }

    /// The number of the step, the mark, the time and the keys.
    fn left(&self, number: &str, mark: &str, time: &str, keys: &[String]) -> String {
        let mut left = format!("{FAINT}{number:>0$}{FAINT:#} {mark} {time:>1$}", self.number, self.time);
        for (key, width) in keys.iter().zip(&self.keys) {
            left += &format!("  {key:<width$}");
        }
        left
    }

    fn left_columns(&self) -> usize {
        self.number + 3 + self.time + self.keys.iter().map(|key| key + 2).sum::<usize>()
    }

    /// The words of every lane, each with the client's name.
    fn words_of_all(&self, row: &TimelineRow, width: usize) -> Vec<String> {
        if let Some(aside) = &row.aside {
            let over = row.lanes.iter().zip(&self.names).filter(|(lane, _)| lane.note.is_some());
            let over = over.map(|(_, name)| format!("; {name}'s lease ends"));
            return vec![format!("{FAINT}{aside}{}{FAINT:#}", over.collect::<String>())];
        }
        let lanes = row.lanes.iter().zip(&self.names).filter(|(lane, _)| !lane.is_silent());
        lanes.flat_map(|(lane, name)| wrapped(&format!("{name} {}", sentence(lane)), width, "  ")).collect()
    }
}

/// What a key holds, and for how long.
fn cell_words(cell: &Cell) -> String {
    match (&cell.value, cell.ttl_ms) {
        (None, _) => "-".to_owned(),
        (Some(value), None) => value.clone(),
        (Some(value), Some(ttl_ms)) => format!("{value} ({})", seconds(ttl_ms)),
    }
}

fn bar(lane: &Lane) -> String {
    match lane.belief {
        LaneBelief::Outside => " ".to_owned(),
        LaneBelief::Holds => format!("{HOLDS}┃{HOLDS:#}"),
        LaneBelief::Clashes => format!("{BROKEN}┃{BROKEN:#}"),
    }
}

/// The words of a lane: the command and its reply, and under them what that means.
fn lane_lines(row: &TimelineRow, who: usize, width: usize) -> Vec<String> {
    let lane = &row.lanes[who];
    if let Some(aside) = &row.aside {
        let words: Vec<&str> = (who == 0).then_some(aside.as_str()).into_iter().chain(lane.note.as_deref()).collect();
        return passing(&words.join("; "), width);
    }
    let exchange = lane.exchange.as_ref().map(|(command, reply)| format!("{command} → {reply}"));
    let words = exchange.iter().chain(&lane.note);
    words.flat_map(|words| wrapped(words, width, "  ")).collect()
}

/// A dashed line across a lane, with words in it: time passes, or the server changes.
fn passing(words: &str, width: usize) -> Vec<String> {
    if words.is_empty() {
        return vec!["╌".repeat(width)];
    }
    let lines = wrapped(words, width.saturating_sub(4), "");
    lines.iter().map(|line| format!("╌ {line} {}", "╌".repeat(width.saturating_sub(columns(line) + 3)))).collect()
}

fn sentence(lane: &Lane) -> String {
    let exchange = lane.exchange.as_ref().map(|(command, reply)| format!("{command} → {reply}"));
    exchange.iter().chain(&lane.note).cloned().collect::<Vec<_>>().join(", ")
}

/// The words in lines of at most `width` columns.
fn wrapped(words: &str, width: usize, indent: &str) -> Vec<String> {
    let options = textwrap::Options::new(width).subsequent_indent(indent).break_words(false);
    textwrap::wrap(words, options).into_iter().map(String::from).collect()
}

fn columns(text: &str) -> usize {
    textwrap::core::display_width(text)
}
