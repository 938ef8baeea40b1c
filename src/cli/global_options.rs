//! What every subcommand understands.

/// What every subcommand understands.
#[derive(Debug, clap::Args)]
pub(super) struct GlobalOptions {
    /// Print JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}
