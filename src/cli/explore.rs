//! `lockshift explore`: every interleaving of some clients.

mod client_spec;
mod rule;

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::exit::{Exit, Failure, warn};
use super::global_options::GlobalOptions;
use super::html_pages::HtmlPages;
use super::named::{ByName, protocol_names};
use super::state_progress::StateProgress;
use super::step_cut::StepCut;
use super::time_budget::TimeBudget;
use super::{output, values};
use crate::explore::{Bounds, Client, End, FaultBudget, Findings, NotForAllTime, Property, Scene, Search, Stop, Times};
use crate::report::{Asked, Exploration, promela};
use clap::ValueEnum;
use client_spec::{ClientSpec, MAX_TICKS};
use rule::RuleName;

/// Try every interleaving of some clients on an embedded server, and show the shortest schedule that breaks a rule
///
/// Each client acquires, works as long as it likes, and releases. Between any two of its steps others may run, the clock
/// may tick (a second each time, or what --tick says), and as much may go wrong as is allowed. For every rule that can be
/// broken the shortest schedule that breaks it is shown; where none can, that is so for every state within these bounds.
///
/// With --ticks forever the clock never ends, and what is impossible is so for all time, in ticks of the stated length; it is
/// then also asked whether the lock can be lost for good. A tick is half of what all leases, skews and roundings are
/// multiples of, so that moments on such a multiple and in between are both tried. Where that unit is a second, no client writes
/// a moment of its own clock and no clock is set, a tick is the whole unit: only moments on a multiple are tried. Two ticks do
/// not tell apart the order of two moments in between: a shorter --tick does, and takes longer. A margin or a rounding that is
/// shorter than a tick is not seen.
///
/// Tokens that some client reads as a stamp are tried too: one of each class that the clients tell apart.
///
/// A client believes that it holds from the reply that says so until its lease ends or it begins to release. Whether its work
/// has ended by then is another question, which --rule work-excludes asks.
///
/// --rule every-waiter-acquires asks whether a client can wait for ever although every client goes on: the clock ticks again and
/// again, and every client that has not crashed takes steps again and again (weak fairness). There each client acquires again and
/// again, works for a tick, tries again every tick, and takes every step in the tick in which it can. If it can starve, the
/// schedule ends with the steps that can repeat for ever.
///
/// What may go wrong, each as often as is allowed: clients crash and start anew; a request is lost, runs after its sender
/// gave up (as a command of its own: a late EXEC fails), or its reply is lost; a client's wall clock or a server's is set, a
/// tick at a time, of which a drift is made too; a server restarts with its data or without, evicts a key, removes one in the
/// very millisecond of its deadline, or is replaced by its replica, which lacks the last write. Clocks may differ from the start
/// (skew). A server that a client cannot reach for a while loses its requests, and each counts. Of several servers, each has
/// faults, a replica and a clock of its own.
///
/// Not explored: a master that goes on answering after its replica has taken its place; a replica that lacks more than the last
/// write, or that clients read from; slots of a cluster that move; a server that refuses commands because it is full, loading or
/// read-only; a clock that is set by less than a tick; a program that keeps the token of a token lock when it tries again after a
/// command without a reply. The owner of reentrant, redisson and redisson-rw is a thread of a program, which has one name in all
/// attempts: there a late request can release a later hold of its sender, and that is explored.
///
/// --export promela prints the scene as a model for SPIN. The clients and the server are in it as tables, made by running the
/// protocols and the simulated server; the order of steps, the clock, the faults and mutual exclusion are SPIN's own. So
/// SPIN checks the search, and not the protocols. Tokens of other classes are not tried there.
///
/// The search ends early once every rule is broken: there is nothing more to find. In the JSON, "exhausted" is then false;
/// it is true only where every state was seen.
///
/// Exit status 1 means that a rule can be broken.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// One client: a protocol, then perhaps ,lease=D (2 s if not given), ,skew=D (its clock is so far ahead: 1, 250ms, -1500ms),
    /// ,work=D (it works at least so long before it releases) and with it ,extend=D (it extends so long after each lease began)
    #[arg(long = "client", required = true, value_name = "PROTOCOL", value_parser = ByName::new(str::parse::<ClientSpec>, protocol_names), hide_possible_values = true)]
    clients: Vec<ClientSpec>,
    /// How often the clock ticks, at most; or `forever`
    #[arg(long, value_name = "N", default_value = "4")]
    ticks: Ticks,
    /// How long a tick is; if not given, a second, or with `forever` as long as the clients' leases, skews and roundings allow
    #[arg(long, value_name = "D", value_parser = tick)]
    tick: Option<Duration>,
    /// How many clients may crash
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    crashes: u8,
    /// How many replies may be lost after their command ran
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    lost_replies: u8,
    /// How many requests may be lost before their command runs
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    lost_requests: u8,
    /// How often a server, any of them, may be replaced by its replica, which lacks the last write; not with --ticks forever
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    failovers: u8,
    /// How many requests may run after their sender gave up
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    late_requests: u8,
    /// How many crashed clients may start anew, under a new name
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    client_restarts: u8,
    /// How often a client's wall clock may be set, a tick ahead or back; not with --ticks forever
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    clock_steps: u8,
    /// How often the server's clock may be set, a tick ahead or back; not with --ticks forever
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    server_clock_steps: u8,
    /// How often the server may restart with its data
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    restarts: u8,
    /// How often the server may restart without its data
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    data_losses: u8,
    /// How many keys the server may evict
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    evictions: u8,
    /// How many keys the server may remove in the very millisecond of their deadline, as Redis 8.0 and later may; otherwise a
    /// command finds the key until that millisecond has passed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = faults())]
    removals_at_deadline: u8,
    /// How often each client acquires and releases
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    rounds: u8,
    /// How finely steps are cut: clock, command and reply apart, or a round trip at once
    #[arg(long, value_enum, default_value_t = StepCut::Fine)]
    grain: StepCut,
    /// Look for a breach of this rule, and of others named so; of all, if none is named
    #[arg(long = "rule", value_enum, value_name = "RULE")]
    rules: Vec<RuleName>,
    /// Stop after so long, with what was found until then
    #[arg(long = "for", value_name = "D", value_parser = values::length)]
    time: Option<Duration>,
    /// Give up beyond so many states, in any one search
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    states: usize,
    /// Give up beyond so many bytes of states, in any one search, a --hashed table not counted: 512M, 16G
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = values::size)]
    memory: u64,
    /// Keep only some bits of each state, in a table of so many bytes, for what does not fit. A state whose bits are all set already
    /// is left out; how many those are is estimated, and nothing is proved impossible
    #[arg(long, value_name = "SIZE", value_parser = table_size)]
    hashed: Option<usize>,
    /// See fewer states, with the same verdict: receive a reply at once where nothing else depends on when it arrives;
    /// forget of each client what no later step of it looks at. A rule that can be broken is searched for with
    /// replies at any time as well, for the shortest schedule
    #[arg(long)]
    reduce: bool,
    /// Print the schedule that breaks the first rule as a Mermaid sequence diagram, for a wiki
    #[arg(long, conflicts_with_all = ["json", "html"])]
    mermaid: bool,
    /// Print the scene as a model for another checker instead of exploring it: its steps of the fine grain, without failovers
    #[arg(long, value_enum, value_name = "LANGUAGE", conflicts_with_all = ["json", "html", "mermaid"])]
    export: Option<ModelLanguage>,
    /// Write a page that one can step through: for the first rule that is broken into this file, or for each into DIR/
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// The language of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModelLanguage {
    /// That of SPIN
    Promela,
}

/// How often the clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ticks {
    /// So often at most.
    AtMost(u16),
    /// It never ends.
    Forever,
}

impl FromStr for Ticks {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, String> {
        match (written, written.parse()) {
            ("forever", _) => Ok(Self::Forever),
            (_, Ok(ticks)) if ticks <= MAX_TICKS => Ok(Self::AtMost(ticks)),
            (_, Ok(_) | Err(_)) => Err(format!("pass a number from 0 to {MAX_TICKS}, or `forever`")),
        }
    }
}

/// Explores.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    if let Some(ModelLanguage::Promela) = args.export {
        return args.export();
    }
    let (scenes, properties) = (args.scene()?.by_token_class(), args.properties()?);
    let pages = args.html.as_deref().map(HtmlPages::at).transpose()?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let states = StateProgress::new();
    let budget = TimeBudget::of(args.time);
    let explore = |scene: &Scene| {
        let search = Search::new(scene).properties(&properties).threads(threads).symmetry(true).reduced(args.reduce);
        // Once every rule is broken, on a shortest schedule each, there is nothing more to find.
        let search = search.max_states(args.states).max_bytes(usize::try_from(args.memory).unwrap_or(usize::MAX));
        let search = search.hashed_to(args.hashed);
        let search = search.stop(Stop::AllViolated).interrupted_by(budget.is_spent());
        search.run(&mut |progress| {
            states.tell(progress);
            budget.watch();
        })
    };
    let findings = scenes.iter().map(explore).reduce(Findings::merged);
    let findings = findings.ok_or_else(|| Failure::new(Exit::Usage, "there is nothing to explore"))?;
    let seconds = budget.elapsed().as_secs_f64();
    drop(states);
    let asked = Asked {
        tick: scenes[0].tick,
        finer_tick: scenes[0].clone().finely_timed().ok().map(|fine| fine.tick).filter(|tick| *tick < scenes[0].tick),
        ticks: scenes[0].bounds.ticks,
        for_all_time: args.ticks == Ticks::Forever,
        rules_named: args.rules.len(),
        hashed: args.hashed.is_some(),
        heeds_no_lease: args.rules.contains(&RuleName::WorkExcludes),
    };
    let exploration = Exploration::of(&findings, seconds, asked);
    if let Some(pages) = pages {
        write(&exploration, &pages)?;
    }
    match (args.mermaid, exploration.mermaid()) {
        (true, Some(diagram)) => output::text(&diagram)?,
        (true, None) => warn("no rule was found broken, so there is no diagram"),
        (false, _) => output::print(&exploration, global)?,
    }
    verdict(&findings)
}

/// Writes a page for the first rule that is broken, or for each.
fn write(exploration: &Exploration, pages: &HtmlPages<'_>) -> Result<(), Failure> {
    if exploration.pages().next().is_none() {
        warn(format_args!("no rule was found broken, so no page was written to {}", pages.path().display()));
    }
    let most = match pages {
        HtmlPages::File(_) => 1,
        HtmlPages::Directory(_) => usize::MAX,
    };
    exploration.pages().take(most).try_for_each(|(property, page)| pages.write(&rule::name(property), &page))
}

fn verdict(findings: &Findings) -> Result<Exit, Failure> {
    match (findings.violations.as_slice(), findings.end) {
        ([], End::Exhausted | End::Satisfied) if !findings.unknown_commands.is_empty() => {
            Err(Failure::new(Exit::Unusable, "a client sends a command that is not simulated"))
        }
        ([], End::Exhausted | End::Satisfied) => Ok(Exit::Yes),
        ([], End::Hashed) => Err(Failure::new(
            Exit::Unusable,
            "only some bits of each state were kept: to be sure of every state, leave out --hashed",
        )),
        ([], End::Interrupted) => Err(Failure::new(
            Exit::Unusable,
            "the time was too short to see every state: allow more with --for, or fewer --ticks, --crashes or clients",
        )),
        ([], End::StatesBound(_) | End::MemoryBound(_)) => Err(Failure::new(
            Exit::Unusable,
            "the space of states is too large: allow fewer --ticks or --crashes, fewer clients, more --states or more --memory",
        )),
        (_, _) => Ok(Exit::No),
    }
}

impl Args {
    fn scene(&self) -> Result<Scene, Failure> {
        let ticks = match self.ticks {
            Ticks::AtMost(ticks) => ticks,
            Ticks::Forever => 0,
        };
        self.check_rules()?;
        let works = self.rules.contains(&RuleName::WorkExcludes);
        let queues = self.rules.contains(&RuleName::EveryWaiterAcquires);
        let bounds = Bounds::ticks(ticks).faults(self.faults()?);
        let rounds = if queues { Times::Forever } else { Times::Of(self.rounds) };
        let clients = ClientSpec::clients(&self.clients, rounds);
        let clients = clients.into_iter().map(|client| match queues {
            true => Client { prompt: true, work: 1, pause: 1, ..client },
            false => Client { heeds_lease: !works, ..client },
        });
        let servers = self.clients.iter().map(|client| client.choice.servers()).max().unwrap_or(1);
        let scene = Scene::new(bounds).grain(self.grain.grain()).servers(servers);
        let mut scene = clients.fold(scene, Scene::client);
        if let Some(tick) = self.tick {
            scene.tick = tick;
        } else if self.ticks == Ticks::Forever {
            scene = scene.finely_timed().map_err(|reason| self.refused(reason))?;
        }
        let specs = self.clients.iter().zip(std::mem::take(&mut scene.clients));
        let working = specs.map(|(spec, client)| spec.working(client, scene.tick));
        scene.clients = working.collect::<Result<_, _>>().map_err(|why| Failure::new(Exit::Usage, why))?;
        match self.ticks {
            Ticks::AtMost(_) => Ok(scene),
            Ticks::Forever => scene.for_all_time().map_err(|reason| self.refused(reason)),
        }
    }

    /// Prints the model of the scene, with the usual tokens.
    fn export(&self) -> Result<Exit, Failure> {
        let scene = self.scene()?;
        let automata = Search::new(&scene).max_states(self.states).automata();
        let automata = automata.map_err(|why| Failure::new(Exit::Usage, format_args!("--export: {why}")))?;
        output::text(&promela(&automata))?;
        Ok(Exit::Yes)
    }

    /// What may go wrong.
    fn faults(&self) -> Result<FaultBudget, Failure> {
        let faults = FaultBudget {
            crashes: self.crashes,
            lost_replies: self.lost_replies,
            failovers: self.failovers,
            lost_requests: self.lost_requests,
            late_requests: self.late_requests,
            client_restarts: self.client_restarts,
            clock_steps: self.clock_steps,
            server_clock_steps: self.server_clock_steps,
            restarts: self.restarts,
            data_losses: self.data_losses,
            evictions: self.evictions,
            removals_at_deadline: self.removals_at_deadline,
        };
        if faults.can_be_explored() {
            return Ok(faults);
        }
        Err(Failure::new(Exit::Usage, "these are too many faults of too many kinds for one search: allow fewer"))
    }

    /// Refuses rules that cannot be judged together, or with a clock that never ends.
    fn check_rules(&self) -> Result<(), Failure> {
        let works = self.rules.contains(&RuleName::WorkExcludes);
        let queues = self.rules.contains(&RuleName::EveryWaiterAcquires);
        let refused = |why: &str| Err(Failure::new(Exit::Usage, why));
        match self.ticks {
            Ticks::Forever if works => {
                refused("`--ticks forever` is not supported with --rule work-excludes; pass a number")
            }
            Ticks::Forever if self.failovers > 0 => {
                refused("`--ticks forever` is not supported with --failovers; pass a number")
            }
            Ticks::Forever if self.clock_steps > 0 || self.server_clock_steps > 0 => {
                refused("`--ticks forever` is not supported with clocks that are set; pass a number")
            }
            _ if works && self.rules.len() > 1 => {
                refused("--rule work-excludes is a search of its own: there every client works until it releases")
            }
            _ if queues && self.clients.iter().any(ClientSpec::has_work) => {
                refused("--rule every-waiter-acquires is asked of clients that work for a tick: leave out work=D")
            }
            _ if queues && (self.rules.len() > 1 || self.rounds > 1) => refused(
                "--rule every-waiter-acquires is a search of its own: there every client acquires again and again",
            ),
            Ticks::AtMost(_) | Ticks::Forever => Ok(()),
        }
    }

    /// Why a client cannot be explored for all time, by its name.
    fn refused(&self, why: NotForAllTime) -> Failure {
        let (place, what) = match why {
            NotForAllTime::Unmovable(place) => (place, "writes something that depends on the clock and is not a stamp"),
            NotForAllTime::TooFarAhead(place) => (place, "looks at times too far apart"),
            NotForAllTime::OffGrid(place) => {
                let name = &self.clients[place].choice;
                return Failure::new(
                    Exit::Usage,
                    format_args!(
                        "{name}: its lease or its skew is not a multiple of a tick; pass a --tick that divides them"
                    ),
                );
            }
        };
        let name = &self.clients[place].choice;
        Failure::new(
            Exit::Usage,
            format_args!("{name} {what}: `--ticks forever` is not supported for it; pass a number"),
        )
    }

    /// What is looked for.
    fn properties(&self) -> Result<Vec<Property>, Failure> {
        let sees_the_future = self.ticks == Ticks::Forever && self.hashed.is_none();
        if self.rules.iter().any(|rule| !rule.can_be_judged(sees_the_future)) {
            return Err(Failure::new(
                Exit::Usage,
                "whether a lock is lost for good, or a client waits for ever, is known only with --ticks forever and without --hashed",
            ));
        }
        let usual = RuleName::usual(sees_the_future);
        let rules = if self.rules.is_empty() { &usual } else { &self.rules };
        Ok(rules.iter().map(|rule| rule.property()).collect())
    }
}

/// Faults of one kind: as many as a state has room for.
fn faults() -> clap::builder::RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(..=i64::from(FaultBudget::MAX))
}

/// The size of a table of bits, which this machine has room for.
fn table_size(typed: &str) -> Result<usize, String> {
    let bytes = usize::try_from(values::size(typed)?).unwrap_or(usize::MAX);
    if bytes < 1 << 10 {
        return Err("pass 1K at least".to_owned());
    }
    let mut room = Vec::<u8>::new();
    let is_room = room.try_reserve_exact(bytes).is_ok();
    // Without this the compiler removes the allocation, and it always succeeds.
    black_box(&room);
    if is_room { Ok(bytes) } else { Err("there is not that much memory".to_owned()) }
}

/// The length of a tick: whole milliseconds, a minute at most.
fn tick(typed: &str) -> Result<Duration, String> {
    let tick = values::length(typed).map_err(|error| error.to_string())?;
    let is_whole = tick.subsec_nanos() % 1_000_000 == 0;
    let range = Duration::from_millis(1)..=Duration::from_secs(60);
    if is_whole && range.contains(&tick) { Ok(tick) } else { Err("pass whole milliseconds, from 1ms to 1m".to_owned()) }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift explore --client php-getset --client php-getset --client token --ticks 6 --crashes 1
  lockshift explore --client token --client token --client token --ticks forever --crashes 1
  lockshift explore --client php-getset --client token --rule mutual-exclusion --html race.html
  lockshift explore --client token,work=4,extend=1 --client token --ticks 8 --late-requests 1
  lockshift explore --client java-getset,skew=3 --client java-getset --json | jq '.violations[].property'";
