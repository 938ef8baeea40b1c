//! The command `lockshift`: one file per subcommand. What a subcommand finds out is a value of a library room; how it
//! looks as text and JSON is in [`report`](crate::report); here is only what was typed, and what that means.

mod args;
mod audit;
mod auditors;
mod compare;
mod completions;
mod decompress;
mod doctor;
mod doubt;
mod dry_run;
mod exit;
mod explore;
mod failure;
mod file;
mod global_options;
mod guard;
mod hazards;
mod html_pages;
mod identity;
mod inspect;
mod key_progress;
mod line_printer;
mod logger;
mod man;
mod matrix;
mod named;
mod odds;
mod os_error;
mod output;
mod password_file;
mod plan;
mod program;
mod progress;
mod protocols;
mod races;
mod record;
mod run;
mod run_carrier;
mod scan;
#[cfg(test)]
mod schemas;
mod server;
mod server_monitor;
mod server_options;
mod signals;
mod state_progress;
mod step_cut;
mod supervise;
mod time_budget;
mod trace;
mod values;
mod waiting;
mod watch;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Subcommands};
use exit::{Exit, Failure};
use global_options::GlobalOptions;

/// Runs what was typed, and ends with the exit status that `lockshift --help` lists.
pub fn main() -> ExitCode {
    let Args { global, mode } = Args::parse();
    // The guard serves clients, whether or not its messages are read: it has a logger that does not wait for that.
    if !matches!(mode, Subcommands::Guard(_)) {
        logger::log_at_once();
    }
    match begin(mode, &global) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.tell().into(),
    }
}

/// The modes, and the function that runs each.
fn begin(mode: Subcommands, global: &GlobalOptions) -> Result<Exit, Failure> {
    match mode {
        Subcommands::Run(args) => run::run(&args, global),
        Subcommands::Inspect(args) => inspect::run(&args, global),
        Subcommands::Scan(args) => scan::run(&args, global),
        Subcommands::Doctor(args) => doctor::run(&args, global),
        Subcommands::Compare(args) => compare::run(&args, global),
        Subcommands::Races(args) => races::run(&args, global),
        Subcommands::Explore(args) => explore::run(&args, global),
        Subcommands::Matrix(args) => matrix::run(&args, global),
        Subcommands::Plan(args) => plan::run(&args, global),
        Subcommands::Record(args) => record::run(&args, global),
        Subcommands::Audit(args) => audit::run(&args, global),
        Subcommands::DryRun(args) => dry_run::run(&args, global),
        Subcommands::Odds(args) => odds::run(&args, global),
        Subcommands::Watch(args) => watch::run(&args, global),
        Subcommands::Guard(args) => guard::run(&args, global),
        Subcommands::Protocols(args) => protocols::run(&args, global),
        Subcommands::Completions(args) => completions::run(&args, Args::command(), global),
        Subcommands::Man(args) => man::run(&args, Args::command(), global),
        Subcommands::Supervise(args) => supervise::run(&args),
    }
}
