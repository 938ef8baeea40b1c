//! `lockshift completions`: what a shell needs to complete the command line.

use std::io::{self, Write};

use clap::Command;
use clap_complete::Shell;

use super::exit::{Exit, Failure, unless_closed};
use super::global_options::GlobalOptions;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// For which shell
    shell: Shell,
}

/// Prints them.
pub(super) fn run(args: &Args, mut whole: Command, global: &GlobalOptions) -> Result<Exit, Failure> {
    global.refuse_json("completions", "a script")?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut whole, "lockshift", &mut script);
    unless_closed(io::stdout().write_all(&script))?;
    Ok(Exit::Yes)
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift completions bash > ~/.local/share/bash-completion/completions/lockshift
  lockshift completions zsh > ~/.zfunc/_lockshift
  lockshift completions fish > ~/.config/fish/completions/lockshift.fish";
