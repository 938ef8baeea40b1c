//! `lockshift man`: the manual page, of the command or of one subcommand.

use std::io::{self, Write};

use clap::Command;
use clap_mangen::Man;

use super::exit::{Exit, Failure, unless_closed};

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Of this subcommand
    command: Option<String>,
}

/// Prints it.
pub(super) fn run(args: &Args, mut whole: Command) -> Result<Exit, Failure> {
    whole.build();
    let chosen = match &args.command {
        None => whole,
        Some(name) => whole.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::new(Exit::Usage, format_args!("there is no command `{name}`: `lockshift --help` lists them"))
        })?,
    };
    let mut page = Vec::new();
    Man::new(chosen).render(&mut page).expect("a Vec takes everything");
    unless_closed(io::stdout().write_all(&page))?;
    Ok(Exit::Yes)
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift man | man -l -
  lockshift man run > lockshift-run.1";
