//! A progress line on standard error, if that is a terminal: how many states were seen.

use indicatif::{ProgressBar, ProgressStyle};

use super::progress::rate;
use crate::explore::Progress;

/// How far a search is.
pub(super) struct StateProgress(ProgressBar);

impl StateProgress {
    /// Nothing is shown unless standard error is a terminal.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {prefix} {human_pos} states, {rate}/s, {msg}");
        bar.set_style(style.expect("a template of ours").with_key("rate", rate));
        Self(bar)
    }

    /// This is explored next.
    pub(super) fn begin(&self, name: String) {
        self.0.set_prefix(name);
    }

    /// The exploration of this is so far.
    pub(super) fn tell_of(&self, what: &str, progress: &Progress) {
        self.0.set_position(progress.states as u64);
        self.0.set_message(what.to_owned());
    }

    /// It is so far.
    pub(super) fn tell(&self, progress: &Progress) {
        self.0.set_position(progress.states as u64);
        self.0.set_message(format!("{} steps deep, {} MiB", progress.depth, progress.bytes >> 20));
    }
}

impl Drop for StateProgress {
    /// Removes the line.
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
