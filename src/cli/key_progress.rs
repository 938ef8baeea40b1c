//! A progress line on standard error, if that is a terminal: how many keys were looked at.

use indicatif::{ProgressBar, ProgressStyle};

use super::progress::rate;

/// How far a walk over keys is.
pub(super) struct KeyProgress(ProgressBar);

impl KeyProgress {
    /// Nothing is shown unless standard error is a terminal.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{wide_bar:.cyan/dim} {human_pos}/{human_len} keys, {rate}/s, {msg}");
        bar.set_style(style.expect("a template of ours").with_key("rate", rate).progress_chars("━╸─"));
        Self(bar)
    }

    /// So many more keys are to come, by the server's own count.
    pub(super) fn expect(&self, keys: u64) {
        self.0.inc_length(keys);
    }

    /// So many more were looked at, and so many locks were found in all.
    pub(super) fn advance(&self, keys: u64, locks: u64) {
        self.0.inc(keys);
        self.0.set_message(format!("{locks} locks"));
    }
}

impl Drop for KeyProgress {
    /// Removes the line.
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
