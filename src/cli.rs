//! The command `lockshift`: one file per subcommand. What a subcommand finds out is a value of a library room; how it
//! looks as text and JSON is in [`report`](crate::report); here is only what was typed, and what that means.

mod args;
mod audit;
mod compare;
mod completions;
mod dry_run;
mod everywhere;
mod exit;
mod explore;
mod failure;
mod file;
mod inspect;
mod keys;
mod link;
mod man;
mod matrix;
mod page;
mod pages;
mod plan;
mod progress;
mod protocols;
mod races;
mod record;
mod run;
mod scan;
mod server;
mod signals;
mod states;
mod trace;
mod wires;
mod words;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Mode};
use everywhere::Everywhere;
use exit::{Exit, Failure};

/// Runs what was typed, and ends with the exit status that `lockshift --help` lists.
pub fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("off")).init();
    let Args { everywhere, mode } = Args::parse();
    match begin(mode, &everywhere) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.tell().into(),
    }
}

/// The modes, and who runs them.
fn begin(mode: Mode, everywhere: &Everywhere) -> Result<Exit, Failure> {
    match mode {
        Mode::Run(args) => run::run(&args, everywhere),
        Mode::Inspect(args) => inspect::run(&args, everywhere),
        Mode::Scan(args) => scan::run(&args, everywhere),
        Mode::Compare(args) => compare::run(&args, everywhere),
        Mode::Races(args) => races::run(&args, everywhere),
        Mode::Explore(args) => explore::run(&args, everywhere),
        Mode::Matrix(args) => matrix::run(&args, everywhere),
        Mode::Plan(args) => plan::run(&args, everywhere),
        Mode::Record(args) => record::run(&args, everywhere),
        Mode::Audit(args) => audit::run(&args, everywhere),
        Mode::DryRun(args) => dry_run::run(&args, everywhere),
        Mode::Protocols(args) => protocols::run(&args, everywhere),
        Mode::Completions(args) => completions::run(&args, Args::command()),
        Mode::Man(args) => man::run(&args, Args::command()),
    }
}
