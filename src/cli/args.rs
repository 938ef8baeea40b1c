//! What was typed, as a whole: the table of subcommands.

use clap::{Parser, Subcommand};

use super::global_options::GlobalOptions;
use super::{
    audit, compare, completions, doctor, dry_run, explore, guard, inspect, man, matrix, odds, plan, protocols, races,
    record, run, scan, supervise, watch,
};

/// Redis locks across generations: the old SETNX timestamp locks and the modern token lock, on the same keys.
#[derive(Debug, Parser)]
#[command(name = "lockshift", version, propagate_version = true, max_term_width = 100, after_help = AFTER)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) global: GlobalOptions,
    #[command(subcommand)]
    pub(super) mode: Subcommands,
}

/// One subcommand and its own arguments.
#[derive(Debug, Subcommand)]
pub(super) enum Subcommands {
    Run(run::Args),
    Inspect(inspect::Args),
    Scan(scan::Args),
    Doctor(doctor::Args),
    Compare(compare::Args),
    Races(races::Args),
    Explore(explore::Args),
    Matrix(matrix::Args),
    Plan(plan::Args),
    Record(record::Args),
    Audit(audit::Args),
    DryRun(dry_run::Args),
    Odds(odds::Args),
    Watch(watch::Args),
    Guard(guard::Args),
    Protocols(protocols::Args),
    Completions(completions::Args),
    Man(man::Args),
    Supervise(supervise::Args),
}

const AFTER: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift races                         what can go wrong, and what prevents it
  lockshift protocols                     every lock that it speaks
  lockshift run nightly -- ./backup.sh    one backup at a time
  lockshift inspect lock:42               which protocol wrote that key, and which would steal it
  lockshift doctor                        does this server fit, and what should be changed
  lockshift scan                          all lock keys of a server, the worst first
  lockshift audit trace.log               which races happened in a trace of production
  lockshift odds trace.log                how many to expect in a day, under each protocol

\x1b[1;4mExit status:\x1b[0m
  0  yes, or done
  1  no: the lock is held, the key is no lock, a race was seen
  2  what was typed makes no sense
  3  the server or the input cannot be used
  4  the outcome is unknown: a reply was lost
  5  the lock was lost, or about to be, while the command under it ran

\x1b[1;4mEnvironment:\x1b[0m
  REDIS_URL      the Redis to use where --redis does not name one; counts as unset if empty
  SSL_CERT_FILE  the certificates to trust for rediss://, instead of those of the system; SSL_CERT_DIR a directory of them
  RUST_LOG       lockshift=debug logs more on standard error
  NO_COLOR       no colours, if set";

#[test]
fn the_arguments_are_well_formed() {
    use clap::CommandFactory;
    Args::command().debug_assert();
}
