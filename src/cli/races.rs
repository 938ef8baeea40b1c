//! `lockshift races`: the documented races, reproduced.

mod replay;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::exit::{Exit, Failure, warn};
use super::global_options::GlobalOptions;
use super::html_pages::HtmlPages;
use super::named::ByName;
use super::output;
use super::server_options::ServerOptions;
use super::state_progress::StateProgress;
use crate::races::{Race, RaceResult, catalogue, find};
use crate::report::{RaceDetail, Races, Replayed, mermaid, race_page, races_index};
use replay::Replaying;

/// Reproduce the documented races of Redis locks, and show what prevents them
///
/// Each race is found by exploring every interleaving on an embedded server, on a shortest schedule; then each remedy is
/// explored to the end, for longer than its race: it must keep the rule, whatever else could break it. Nothing is looked up:
/// the protocols themselves run.
///
/// Nothing but this program is needed. With --replay every schedule that was found is replayed on a real server
/// as well, command by command, one connection for each client, on a key of its own that is deleted afterwards; the column
/// REPLAYED says whether it answered the same. A schedule that loses the server itself cannot be replayed. One on several
/// independent servers needs as many addresses: several are several servers here, unless one of them says ?cluster=true.
///
/// Exit status 1 means that something is not as described: a race was not reproduced, a remedy not clean, or the server
/// answered otherwise; 3 that --replay could not replay any schedule.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The races; all, if none is named
    #[arg(value_name = "ID", value_parser = RACE, hide_possible_values = true)]
    races: Vec<&'static Race>,
    /// Show this race: its story, its schedule as a timeline, what prevents it
    #[arg(long, value_name = "ID", value_parser = RACE, hide_possible_values = true, conflicts_with = "races")]
    show: Option<&'static Race>,
    /// Print the schedule of this race as a Mermaid sequence diagram, for a wiki
    #[arg(long, value_name = "ID", value_parser = RACE, hide_possible_values = true, conflicts_with_all = ["races", "show", "json", "html"])]
    mermaid: Option<&'static Race>,
    /// Write a page to step through: one race into this file, or several into DIR/, each by its name, with an index page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Replay each schedule on the server of --redis or REDIS_URL
    #[arg(long)]
    replay: bool,
    #[command(flatten)]
    server: ServerOptions,
}

/// Reproduces them.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let chosen: Vec<&'static Race> = match (args.show.or(args.mermaid), args.races.as_slice()) {
        (Some(one), _) => vec![one],
        (None, []) => catalogue().collect(),
        (None, some) => without_repetitions(some),
    };
    let pages = args.html.as_deref().map(|path| pages(path, chosen.len())).transpose()?;
    let replaying = args.replay.then(|| Replaying::on(&args.server)).transpose()?;
    let mut races = Races::default();
    let states = StateProgress::new();
    let mut results = Vec::new();
    let mut tally = ReplayTally::default();
    for (number, race) in chosen.iter().enumerate() {
        states.begin(format!("{}/{} {}", number + 1, chosen.len(), race.id));
        let result = race.explored(threads(), &mut |what, progress| states.tell_of(what, progress));
        let replayed = replaying.as_ref().map(|replaying| replaying.replay(&result)).transpose()?.flatten();
        tally.add(replayed.as_ref());
        match (&pages, race_page(&result)) {
            (Some(pages), Some(page)) => pages.write(race.id.name(), &page)?,
            (Some(_), None) => warn(format_args!("{} was not reproduced, so no page was written for it", race.id)),
            (None, _) => {}
        }
        if args.mermaid.is_some() {
            drop(states);
            return draw(&result, &tally);
        }
        if args.show.is_some() {
            drop(states);
            return tell(&result, replayed, &tally, global);
        }
        races.add(&result, replayed);
        results.push(result);
    }
    drop(states);
    if let Some(pages @ HtmlPages::Directory(_)) = &pages {
        pages.write("index", &races_index(&results))?;
    }
    output::print(&races, global)?;
    verdict(races.are_as_described(), &tally)
}

/// Each race once, in the order in which they were named.
fn without_repetitions(named: &[&'static Race]) -> Vec<&'static Race> {
    let is_first = |(at, race): &(usize, &&'static Race)| named[..*at].iter().all(|earlier| earlier.id != race.id);
    named.iter().enumerate().filter(is_first).map(|(_, race)| *race).collect()
}

fn draw(result: &RaceResult, tally: &ReplayTally) -> Result<Exit, Failure> {
    match mermaid(result) {
        Some(diagram) => output::text(&diagram)?,
        None => warn("the race was not reproduced, so there is no diagram"),
    }
    verdict(result.is_as_described(), tally)
}

fn tell(
    result: &RaceResult,
    replayed: Option<Replayed>,
    tally: &ReplayTally,
    global: &GlobalOptions,
) -> Result<Exit, Failure> {
    let detail = RaceDetail::of(result, replayed);
    output::print(&detail, global)?;
    verdict(detail.is_as_described(), tally)
}

/// What came of replaying, where that was asked for.
#[derive(Debug, Default)]
struct ReplayTally {
    any: bool,
    /// Why a schedule was not replayed: the first one.
    why_not: Option<String>,
}

impl ReplayTally {
    fn add(&mut self, replayed: Option<&Replayed>) {
        match replayed {
            None => {}
            Some(Replayed::Same | Replayed::Otherwise) => self.any = true,
            Some(Replayed::Not(why)) => self.why_not = self.why_not.take().or_else(|| Some(why.clone())),
        }
    }
}

/// That all is as described is no answer to `--replay` if nothing was replayed.
fn verdict(is_as_described: bool, tally: &ReplayTally) -> Result<Exit, Failure> {
    match &tally.why_not {
        _ if !is_as_described => Ok(Exit::No),
        Some(why) if !tally.any => Err(Failure::new(Exit::Unusable, format_args!("nothing was replayed: {why}"))),
        Some(_) | None => Ok(Exit::Yes),
    }
}

/// Where pages go: several need a directory.
fn pages(path: &Path, races: usize) -> Result<HtmlPages<'_>, Failure> {
    match HtmlPages::at(path)? {
        HtmlPages::File(_) if races > 1 => {
            let shown = path.display();
            Err(Failure::new(
                Exit::Usage,
                format_args!("--html {shown}: one file holds one race; name the race, or a directory: --html {shown}/"),
            ))
        }
        pages => Ok(pages),
    }
}

fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

const RACE: ByName<&'static Race> = ByName::new(race, || catalogue().map(|race| race.id.name()).collect());

fn race(typed: &str) -> Result<&'static Race, String> {
    find(typed).ok_or_else(|| {
        let known =
            catalogue().map(|race| (race.id.name(), strsim::jaro_winkler(&typed.to_lowercase(), race.id.name())));
        let nearest = known.filter(|(_, score)| *score > 0.8).max_by(|one, other| one.1.total_cmp(&other.1));
        let hint = nearest.map_or_else(String::new, |(id, _)| format!(": did you mean `{id}`?"));
        format!("there is no race `{typed}`{hint}")
    })
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift races                                  all of them
  lockshift races --show late-unlock               one of them, step by step
  lockshift races late-unlock --html race.html     a page to step through
  lockshift races --html pages/                    a page for each
  lockshift races --json | jq -r '.[] | select(.violates == \"mutual exclusion\") | .id'
  lockshift races --replay --redis redis://127.0.0.1:6379   on a real server as well
  lockshift races partial-quorum-stays --replay --redis redis://a,redis://b,redis://c   and one on three";
