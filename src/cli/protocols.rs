//! `lockshift protocols`: every protocol by name.

use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::named::protocol;
use super::output;
use crate::protocols::{Choice, catalogue};
use crate::report::{Granted, Protocols};

/// List every protocol and dialect with its source, encoding and options
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only these, with all that is known of them
    #[arg(value_name = "PROTOCOL", value_parser = protocol(), hide_possible_values = true)]
    only: Vec<Choice>,
    /// Print the smallest ACL with which the PROTOCOLs run, each with all its options, as ACL SETUSER takes it
    #[arg(long, requires = "only")]
    acl: bool,
    /// The keys of --acl: a pattern of Redis. By default those that the PROTOCOL derives from any name
    #[arg(long, value_name = "GLOB", requires = "acl")]
    key: Option<String>,
}

/// Lists them.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    if args.acl {
        output::print(&Granted::of(&args.only, args.key.as_deref()), global)?;
        return Ok(Exit::Yes);
    }
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
  lockshift protocols token --acl --key 'lock:*'
  lockshift protocols --json | jq -r '.[].name'";
