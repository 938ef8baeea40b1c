//! `lockshift protocols`: every protocol by name.

use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::named::protocol;
use super::output;
use crate::protocols::{Choice, catalogue};
use crate::report::Protocols;

/// List every protocol and dialect with its source, encoding and options
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only these, with all that is known of them
    #[arg(value_name = "PROTOCOL", value_parser = protocol(), hide_possible_values = true)]
    only: Vec<Choice>,
}

/// Lists them.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let list = match args.only.as_slice() {
        [] => Protocols::of(catalogue(), false),
        only => Protocols::of(only.iter().map(Choice::protocol), true),
    };
    output::print(&list, global)?;
    Ok(Exit::Yes)
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift protocols
  lockshift protocols token php-getset
  lockshift protocols --json | jq -r '.[].name'";
