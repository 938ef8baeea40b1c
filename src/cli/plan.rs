//! `lockshift plan`: the way of a fleet to a new lock.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::named::ByName;
use super::state_progress::StateProgress;
use super::step_cut::StepCut;
use super::time_budget::TimeBudget;
use super::{output, values};
use crate::legacy::Dialect;
use crate::plan::{self, Effort, Phase, Way};
use crate::protocols::{Choice, Generation, KeyType, catalogue};
use crate::report::{Language, Planned};

/// Plan the way of a fleet from its old locks to a new one, phase by phase
///
/// The first line says whether the old clients exclude each other today. Then, for every phase, all interleavings of a few
/// clients of every kind that it has are explored on an embedded server: what can still go wrong, and whether anything can
/// that does not go wrong among the old clients. With it comes what to deploy, what to watch, and how to go back.
///
/// How much time passes in what is explored follows from leases, margins and roundings; it is widened until a second more
/// brings nothing new. Each phase prints its bounds and a verdict: *unsafe*, *safe within these bounds*, or *not exhausted*
/// where there are more states than were seen. Three clients are explored by round trips; two clients, which acquire twice,
/// with clock readings between whole seconds, a lost reply, a crash, and clocks as far apart as --clocks-within says. --grain
/// fine explores all of that step by step, which takes hours for some fleets: limit its time with --for.
///
/// Exit status 1 means that there is no safe way: the old clients do not exclude each other, no stamp keeps the fleet out, or
/// a phase has a race of its own or was not seen to its end.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The old dialects that share a key: names from `lockshift protocols`, with commas between them
    #[arg(long, required = true, value_name = "PROTOCOL", value_delimiter = ',', value_parser = ByName::new(dialect, dialect_names), hide_possible_values = true)]
    fleet: Vec<&'static Dialect>,
    /// The new lock
    #[arg(long, value_name = "PROTOCOL", default_value = "token", value_parser = ByName::new(modern, modern_names), hide_possible_values = true)]
    to: Choice,
    /// How far the clocks of two old clients are apart, rounded up to 100 ms: exactly so far, and either may be ahead
    #[arg(long, value_name = "D", default_value = "0s", value_parser = clocks_within)]
    clocks_within: Duration,
    /// How finely steps are cut, in every scene; if not given, as finely as each scene needs
    #[arg(long, value_enum, value_name = "GRAIN")]
    grain: Option<StepCut>,
    /// Stop after so long, shared evenly among the phases: what was not explored by then is reported as not exhausted
    #[arg(long = "for", value_name = "D", value_parser = values::length)]
    time: Option<Duration>,
    /// The languages of the programs: for each phase, the package to install and the lines to write
    #[arg(long, value_name = "LANGUAGE,...", value_delimiter = ',', value_parser = ByName::new(language, Language::names))]
    language: Vec<Language>,
    /// Plan with guards before the old clients, which stay as they are, in place of bridges
    #[arg(long)]
    guard: bool,
}

fn dialect_names() -> Vec<&'static str> {
    catalogue().filter(|protocol| protocol.dialect().is_some()).map(|protocol| protocol.name()).collect()
}

fn modern_names() -> Vec<&'static str> {
    catalogue().map(|protocol| protocol.name()).filter(|name| modern(name).is_ok()).collect()
}

fn language(typed: &str) -> Result<Language, String> {
    Language::find(typed)
        .ok_or_else(|| format!("there is no package for `{typed}`: use {}", Language::names().join(", ")))
}

fn dialect(typed: &str) -> Result<&'static Dialect, String> {
    let choice: Choice = typed.parse().map_err(|error: crate::protocols::Unsuitable| error.to_string())?;
    choice.protocol().dialect().ok_or_else(|| format!("`{choice}` is not an old lock, and needs no plan"))
}

fn modern(typed: &str) -> Result<Choice, String> {
    let choice: Choice = typed.parse().map_err(|error: crate::protocols::Unsuitable| error.to_string())?;
    match choice.protocol().generation() {
        Generation::Modern if choice.protocol().key_type() != KeyType::String => {
            let key_type = choice.protocol().key_type().redis_name();
            Err(format!("`{choice}` keeps a {key_type}, and a bridge a string: beside one it would end with an error"))
        }
        Generation::Modern if choice.spans_servers() => {
            Err(format!("`{choice}` asks several servers, and a bridge one: what most of them grant the one may hold"))
        }
        Generation::Modern => Ok(choice),
        Generation::Legacy | Generation::Bridge => Err(format!("`{choice}` is not a modern lock")),
    }
}

/// How far clocks are apart: a minute at most.
fn clocks_within(typed: &str) -> Result<Duration, String> {
    let apart = values::length(typed).map_err(|error| error.to_string())?;
    let most = Duration::from_secs(60);
    if apart <= most { Ok(apart) } else { Err("pass a minute at most: no lock bears clocks farther apart".to_owned()) }
}

/// Explores the phases.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let budget = TimeBudget::of(args.time);
    let effort = Effort {
        clocks_within: args.clocks_within,
        grain: args.grain.map(StepCut::grain),
        interrupt: Some(budget.is_spent()),
        ..Effort::new(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    };
    // What the packages speak.
    if !args.language.is_empty() && !["token", "token,key=sibling"].contains(&&*args.to.to_string()) {
        let to = &args.to;
        return Err(Failure::new(
            Exit::Usage,
            format_args!("the packages speak `token` and not `{to}`: leave out --to or --language"),
        ));
    }
    let way = if args.guard { Way::Guard } else { Way::Bridge };
    let states = StateProgress::new();
    let mut last = None;
    let planned = plan::plan(&args.fleet, &args.to, way, &effort, &mut |phase: Phase, progress| {
        if last.replace(phase) != Some(phase) {
            states.begin(phase.name().to_owned());
            budget.begin_share(way.explored_from(phase));
        } else {
            budget.watch();
        }
        states.tell(progress);
    });
    drop(states);
    let plan = match planned {
        Ok(plan) => plan,
        Err(refused) => {
            if global.json {
                output::print(&Planned::refused(&args.fleet, &args.to, &refused), global)?;
            }
            return Err(Failure::new(Exit::No, refused));
        }
    };
    if !args.language.is_empty() && !plan.excludes_itself() {
        let refused = "the packages refuse this fleet, whose members do not exclude each other: leave out --language";
        return Err(Failure::new(Exit::Usage, refused));
    }
    output::print(&Planned::of(&plan, &args.language), global)?;
    Ok(if plan.is_safe() { Exit::Yes } else { Exit::No })
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift plan --fleet php-getset
  lockshift plan --fleet php-getset --to token,key=sibling --clocks-within 500ms
  lockshift plan --fleet php-getset --language php,java
  lockshift plan --fleet php-getset --guard            without a change to the old clients
  lockshift plan --fleet jedis-lock-2015,php-getset    which cannot be bridged, and why
  lockshift plan --fleet redis-py-2.8 --json | jq -r '.phases[].residual[].race'";
