//! `lockshift protocols`: every protocol by name.

use clap::builder::NonEmptyStringValueParser;

use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::named::{ByName, protocol};
use super::output;
use crate::permissions::ObservingCommand;
use crate::protocols::{Choice, catalogue};
use crate::report::{Granted, Protocols};

/// List every protocol and dialect with its source, encoding and options
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("granted").args(["only", "command"]).multiple(true))]
pub(super) struct Args {
    /// Only these, with all that is known of them
    #[arg(value_name = "PROTOCOL", value_parser = protocol(), hide_possible_values = true)]
    only: Vec<Choice>,
    /// Print the smallest ACL with which the PROTOCOLs run, each with all its options, as ACL SETUSER takes it; `guard` needs
    /// that of guard:PROTOCOL. Clients whose address has a database other than 0 need +select as well
    #[arg(long, requires = "granted")]
    acl: bool,
    /// With --acl, that of this command of lockshift, which holds no lock
    #[arg(long, value_name = "COMMAND", requires = "acl", value_parser = observing_command())]
    command: Vec<ObservingCommand>,
    /// The keys of --acl: a name, or a pattern of Redis. By default those that the PROTOCOL derives from any name, and all
    /// keys for a COMMAND
    #[arg(long, value_name = "GLOB", requires = "acl", value_parser = NonEmptyStringValueParser::new())]
    key: Option<String>,
}

/// Lists them.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    if args.acl {
        output::print(&Granted::of(&args.only, &args.command, args.key.as_deref()), global)?;
        return Ok(Exit::Yes);
    }
    let list = match args.only.as_slice() {
        [] => Protocols::of(catalogue(), false),
        only => Protocols::of(only.iter().map(Choice::protocol), true),
    };
    output::print(&list, global)?;
    Ok(Exit::Yes)
}

/// One of those that hold no lock.
const fn observing_command() -> ByName<ObservingCommand> {
    ByName::new(
        |typed| {
            ObservingCommand::find(typed).ok_or_else(|| "it needs no permissions, or those of a PROTOCOL".to_owned())
        },
        || ObservingCommand::ALL.iter().map(|command| command.name()).collect(),
    )
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift protocols
  lockshift protocols token php-getset
  lockshift protocols token --acl --key 'lock:*'
  lockshift protocols --acl --command scan --key 'lock:*'
  lockshift protocols --json | jq -r '.[].name'";
