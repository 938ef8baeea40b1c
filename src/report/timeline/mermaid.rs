//! A schedule as a sequence diagram in the language of Mermaid, for a wiki.
//!
//! A client's life line is thick while it believes to hold; where two do, the ground is red.

use super::{LaneBelief, Picture, TimelineRow, heading, seconds};
use crate::explore::Trace;

/// The diagram.
pub(in crate::report) fn mermaid(trace: &Trace) -> String {
    let picture = Picture::of(trace);
    let mut diagram = Diagram {
        trace,
        lines: vec!["sequenceDiagram".to_owned()],
        active: vec![false; trace.actors.len()],
        repeats: false,
    };
    diagram.head(&picture);
    for row in &picture.rows {
        if row.repeats && !std::mem::replace(&mut diagram.repeats, true) {
            diagram.line("loop for ever");
        }
        diagram.row(row);
    }
    if diagram.repeats {
        diagram.line("end");
    }
    diagram.foot(&picture);
    diagram.lines.join("\n") + "\n"
}

/// A diagram that is being written.
struct Diagram<'a> {
    trace: &'a Trace,
    lines: Vec<String>,
    /// Whose life line is thick.
    active: Vec<bool>,
    /// Whether the loop of what can repeat for ever has begun.
    repeats: bool,
}

impl Diagram<'_> {
    fn line(&mut self, line: impl AsRef<str>) {
        self.lines.push(format!("    {}", line.as_ref()));
    }

    fn head(&mut self, picture: &Picture<'_>) {
        for role in &self.trace.actors {
            self.line(format!("participant {} as {}", role.name, plain(&heading(role))));
        }
        let keys: Vec<String> = self.trace.keys.iter().map(ToString::to_string).collect();
        self.line(format!("participant Redis as Redis, {}", plain(&keys.join(", "))));
        for (moment, words) in &picture.before {
            self.line(format!("Note over Redis: {}: {}", moment, plain(words)));
        }
    }

    fn row(&mut self, row: &TimelineRow) {
        let is_red = row.lanes.iter().any(|lane| lane.belief == LaneBelief::Clashes);
        if is_red {
            self.line("rect rgb(255, 205, 205)");
        }
        if let Some(aside) = &row.aside {
            self.note_over_all(&format!("{}: {aside}", seconds(row.at_ms)));
        }
        for (who, lane) in row.lanes.iter().enumerate() {
            let name = &self.trace.actors[who].name;
            if let Some((command, reply)) = &lane.exchange {
                let head = if lane.loses_reply { "--x" } else { "-->>" };
                self.line(format!("{name}->>Redis: {}", plain(command)));
                self.line(format!("Redis{head}{name}: {}", plain(reply)));
            }
            self.activate(who, lane.belief != LaneBelief::Outside);
            if let Some(note) = &lane.note {
                let name = &self.trace.actors[who].name;
                self.line(format!("Note over {name}: {}", plain(note)));
            }
        }
        if row.is_blamed {
            self.note_over_all("▲ this step broke the rule");
        }
        if is_red {
            self.line("end");
        }
    }

    fn activate(&mut self, who: usize, believes: bool) {
        if std::mem::replace(&mut self.active[who], believes) != believes {
            let what = if believes { "activate" } else { "deactivate" };
            self.line(format!("{what} {}", self.trace.actors[who].name));
        }
    }

    fn foot(&mut self, picture: &Picture<'_>) {
        if let Some(verdict) = picture.verdict() {
            self.note_over_all(&format!("✗ {verdict}"));
        }
        for who in 0..self.active.len() {
            self.activate(who, false);
        }
    }

    fn note_over_all(&mut self, words: &str) {
        let first = self.trace.actors.first().map_or("Redis", |role| &role.name);
        self.line(format!("Note over {first},Redis: {}", plain(words)));
    }
}

/// Words without anything that means something to Mermaid: it reads `#59;` as the character of that number.
fn plain(words: &str) -> String {
    let mut plain = String::with_capacity(words.len());
    for character in words.chars() {
        match character {
            '#' | ';' | '<' | '>' => plain += &format!("#{};", u32::from(character)),
            control if control.is_control() => plain.push(' '),
            other => plain.push(other),
        }
    }
    // A word of its own: the end of a block.
    plain
        .split(' ')
        .map(|word| if word.eq_ignore_ascii_case("end") { "#101;nd" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn what_means_something_to_mermaid_is_written_as_a_number() {
    assert_eq!(plain("SETNX 1700000002"), "SETNX 1700000002");
    assert_eq!(plain("a;b #1 end"), "a#59;b #35;1 #101;nd");
    assert_eq!(plain("<script>\n%%"), "#60;script#62; %%");
}
