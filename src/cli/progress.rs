//! Progress lines on standard error, if that is a terminal.

use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

/// How many a second, in whole numbers.
pub(super) fn rate(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    // A line that is cut short is no reason to stop.
    let _ = write!(to, "{}", HumanCount(state.per_sec() as u64));
}

/// How many of a known number are done.
pub(super) struct Count(ProgressBar);

impl Count {
    /// So many of these. Nothing is shown unless standard error is a terminal.
    pub(super) fn of(all: usize, what: &'static str) -> Self {
        let bar = ProgressBar::new(all as u64);
        let template = "{wide_bar:.cyan/dim} {human_pos}/{human_len} {msg}, {rate}/s, {eta} left";
        let style = ProgressStyle::with_template(template).expect("a template of ours");
        bar.set_style(style.with_key("rate", rate).progress_chars("━╸─"));
        bar.set_message(what);
        Self(bar)
    }

    /// One more is done.
    pub(super) fn advance(&self) {
        self.0.inc(1);
    }
}

impl Drop for Count {
    /// Removes the line.
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How far several tasks of the same length have come.
pub(super) struct TaskProgress {
    bar: ProgressBar,
    each: Duration,
}

impl TaskProgress {
    /// So many tasks of this length each. Nothing is shown unless standard error is a terminal.
    pub(super) fn new(tasks: usize, each: Duration) -> Self {
        let bar = ProgressBar::new(millis(each).saturating_mul(tasks as u64));
        let style = ProgressStyle::with_template("{prefix:<20} {bar:40.cyan/dim} {msg}").expect("a template of ours");
        bar.set_style(style.progress_chars("━╸─"));
        Self { bar, each }
    }

    /// The task of this number, counted from 0, begins.
    pub(super) fn begin(&self, number: usize, name: String) {
        self.bar.set_prefix(name);
        self.bar.set_position(millis(self.each).saturating_mul(number as u64));
    }

    /// The task of this number has lasted so long.
    pub(super) fn tell(&self, number: usize, elapsed: Duration, message: String) {
        self.bar.set_message(message);
        self.bar.set_position(millis(self.each).saturating_mul(number as u64).saturating_add(millis(elapsed)));
    }
}

impl Drop for TaskProgress {
    /// Removes the line.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// How much of something is read.
pub(super) struct ReadProgress {
    bar: ProgressBar,
}

impl ReadProgress {
    /// So many bytes of this name; 0 if their number is unknown.
    pub(super) fn of(bytes: u64, name: String) -> Self {
        let bar = if bytes == 0 { ProgressBar::hidden() } else { ProgressBar::new(bytes) };
        let template = "{prefix:<20} {bar:40.cyan/dim} {bytes} of {total_bytes}, {eta} left";
        let style = ProgressStyle::with_template(template).expect("a template of ours");
        bar.set_style(style.progress_chars("━╸─"));
        bar.set_prefix(name);
        Self { bar }
    }

    /// What is read from `source` counts.
    pub(super) fn watching<R: std::io::Read>(&self, source: R) -> impl std::io::Read + use<R> {
        self.bar.wrap_read(source)
    }
}

impl Drop for ReadProgress {
    /// Removes the line.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
