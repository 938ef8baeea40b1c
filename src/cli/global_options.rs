//! What every subcommand understands.

use super::exit::{Exit, Failure};

/// What every subcommand understands.
#[derive(Debug, clap::Args)]
pub(super) struct GlobalOptions {
    /// Print JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

impl GlobalOptions {
    /// The error for `--json` at a command that prints something else.
    pub(super) fn refuse_json(&self, command: &str, prints: &str) -> Result<(), Failure> {
        let refused =
            || Failure::new(Exit::Usage, format_args!("`{command}` prints {prints}, not JSON: leave out --json"));
        if self.json { Err(refused()) } else { Ok(()) }
    }
}
