//! `lockshift explore`: every interleaving of some clients.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use super::everywhere::Everywhere;
use super::exit::{Exit, Failure};
use super::page;
use super::states::States;
use crate::driver::host;
use crate::explore::{Bounds, Client, End, Grain, Property, Scene, Search, Stop, Times};
use crate::lock::Lease;
use crate::protocols::{Choice, Spec};
use crate::report::Exploration;
use crate::wire::Key;

/// Try every interleaving of some clients on an embedded server, and show the shortest schedule that breaks a rule
///
/// Each client acquires, works as long as it likes, and releases. Between any two of its steps others may run, the clock
/// may tick (a second each time), and as much may go wrong as is allowed. For every rule that can be broken the shortest
/// schedule that breaks it is shown; where none can, that is said of every state within these bounds.
///
/// Exit status 1 means that a rule can be broken.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// One client: a protocol, then perhaps ,lease=SECONDS (2 if not given) and ,skew=SECONDS (its clock is so far ahead)
    #[arg(long = "client", required = true, value_name = "PROTOCOL")]
    clients: Vec<Cast>,
    /// How often the clock ticks, at most
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(0..=1000))]
    ticks: u16,
    /// How many clients may die
    #[arg(long, value_name = "N", default_value_t = 0)]
    crashes: u8,
    /// How many replies may be lost after their command ran
    #[arg(long, value_name = "N", default_value_t = 0)]
    lost_replies: u8,
    /// How often each client acquires and releases
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    rounds: u8,
    /// How finely steps are cut: clock, command and reply apart, or a round trip at once
    #[arg(long, value_enum, default_value_t = Cut::Fine)]
    grain: Cut,
    /// Give up beyond so many states
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    states: usize,
}

/// How finely steps are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Cut {
    /// Reading the clock, sending a command and receiving its reply are three steps
    Fine,
    /// A round trip is one step
    Coarse,
}

/// One client, as written.
#[derive(Clone, Debug)]
struct Cast {
    choice: Choice,
    lease: Lease,
    skew: i32,
}

impl FromStr for Cast {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        let Ok(mut spec) = written.parse::<Spec>();
        let lease_s = match spec.take("lease") {
            None => 2,
            Some(lease) => lease.parse().map_err(|_| format!("lease={lease}: a whole number of seconds is wanted"))?,
        };
        let skew = match spec.take("skew") {
            None => 0,
            Some(skew) => skew.parse().map_err(|_| format!("skew={skew}: a whole number of seconds is wanted"))?,
        };
        let lease = Lease::new(Duration::from_secs(lease_s)).map_err(|error| error.to_string())?;
        Ok(Self { choice: Choice::of(&spec).map_err(|error| error.to_string())?, lease, skew })
    }
}

/// Explores.
pub(super) fn run(args: &Args, everywhere: &Everywhere) -> Result<Exit, Failure> {
    let scene = args.scene();
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let search = Search::new(&scene).properties(&RULES).threads(threads).symmetry(true).most_worlds(args.states);
    // Once every rule is broken, on a shortest schedule each, there is nothing more to find.
    let search = search.stop(Stop::AllViolated);
    let states = States::new();
    let began = host::mono();
    let findings = search.run(&mut |progress| states.tell(progress));
    let seconds = host::mono().saturating_since(began).as_secs_f64();
    drop(states);
    page::print(&Exploration::of(&findings, seconds), everywhere)?;
    match (findings.violations.as_slice(), findings.end) {
        ([], End::Exhausted | End::Satisfied) => Ok(Exit::Yes),
        ([], End::WorldsBound(_) | End::BytesBound(_)) => Err(Failure::new(
            Exit::Unusable,
            "the space of states is too large: allow fewer --ticks or --crashes, fewer clients, or more --states",
        )),
        (_, _) => Ok(Exit::No),
    }
}

/// What is looked for.
const RULES: [Property; 4] =
    [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

impl Args {
    fn scene(&self) -> Scene {
        let bounds = Bounds { crashes: self.crashes, lost_replies: self.lost_replies, ..Bounds::ticks(self.ticks) };
        let grain = match self.grain {
            Cut::Fine => Grain::Fine,
            Cut::Coarse => Grain::Coarse,
        };
        let mut known: Vec<(String, Client)> = Vec::new();
        let mut scene = Scene::new(bounds).grain(grain);
        for cast in &self.clients {
            let name = format!("{} {:?} {}", cast.choice, cast.lease, cast.skew);
            // Clients that differ by name alone share one locker: that is how the search knows them to be alike.
            let client = match known.iter().find(|(other, _)| *other == name) {
                Some((_, client)) => client.clone(),
                None => {
                    let locker = cast.choice.locker(Key::from("k"), cast.lease);
                    let rounds = Times::Of(self.rounds);
                    let client = Client { skew: cast.skew, rounds, ..Client::new(cast.choice.to_string(), locker) };
                    known.push((name, client.clone()));
                    client
                }
            };
            scene = scene.client(client);
        }
        scene
    }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift explore --client php-getset --client php-getset --client token --ticks 6 --crashes 1
  lockshift explore --client token --client token --client token --ticks 6 --crashes 1
  lockshift explore --client java-getset,skew=3 --client java-getset --json | jq '.violations[].property'";
