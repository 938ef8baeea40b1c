//! `lockshift compare`: the same contended workload under several protocols.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::exit::{Exit, Failure, warn};
use super::global_options::GlobalOptions;
use super::named::protocol;
use super::progress::TaskProgress;
use super::server_options::ServerOptions;
use super::signals::{self, Caught, StopRequest};
use super::waiting::WaitPolicy;
use super::{failure, output, values};
use crate::compare::{CompareStop, Percent, Settings, Workload};
use crate::driver::blocking::ReleaseListener;
use crate::lock::Lease;
use crate::protocols::Choice;
use crate::report::ComparisonReport;

/// Run the same contended workload under each protocol, and see what it costs and what goes wrong
///
/// Clients on connections of their own compete for one lock, one protocol after the other. A witness in Redis that the
/// locks know nothing of counts double holds (two clients inside at once) and wrong releases (a client deleted a lock
/// that had passed to another one). The keys are the run's own and are deleted at its end.
///
/// Exit status 1 means that double holds or wrong releases were seen. A comparison that is stopped (Ctrl-C) shows the
/// protocols that it has finished with.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// What to compare: names from `lockshift protocols`
    #[arg(required = true, value_name = "PROTOCOL", value_parser = protocol(), hide_possible_values = true)]
    protocols: Vec<Choice>,
    /// How many clients compete
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    clients: u16,
    /// How many seconds each protocol is given
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds)]
    seconds: Duration,
    /// How many milliseconds each holder works, and on average rests afterwards
    #[arg(long, value_name = "MS", default_value_t = 5)]
    hold_ms: u32,
    /// For how long each client asks to hold the lock
    #[arg(long, value_name = "D", default_value = "2s", value_parser = values::lease)]
    lease: Lease,
    /// How to wait for a lock that is held; whatever announces no release backs off
    #[arg(long, value_enum, default_value_t = WaitPolicy::Backoff)]
    wait: WaitPolicy,
    /// The share of holds that outlast their lease; a hold that crashes does not
    #[arg(long, value_name = "PERCENT", default_value = "0")]
    overrun: Percent,
    /// The share of holders that end without a release
    #[arg(long, value_name = "PERCENT", default_value = "0")]
    crash: Percent,
    #[command(flatten)]
    server: ServerOptions,
}

/// Compares.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let server = args.server.server()?;
    let end = EarlyEnd::on_signal()?;
    let workload = args.workload();
    let progress = TaskProgress::new(args.protocols.len(), args.seconds);
    // A server that cannot be reached is reported before the clients start.
    drop(server.connect().map_err(|error| failure::of_server(&server, error))?);
    let client = server.client().map_err(|error| failure::of_server(&server, error))?;
    let listener = ReleaseListener::new(client).map_err(|error| failure::of_compare(&server, error.into()))?;
    let protocols: Vec<_> = args.protocols.iter().map(|choice| args.wait.suited(choice)).collect();
    let mut comparison = ComparisonReport::default();
    let mut has_races = false;
    for (number, choice) in protocols.iter().enumerate() {
        progress.begin(number, choice.to_string());
        let show = |elapsed: Duration, acquisitions: u64| {
            progress.tell(number, elapsed, format!("{acquisitions} acquired"));
        };
        let settings = Settings { workload: &workload, stop: &end.stop, listener: Some(&listener), progress: &show };
        let outcome = crate::compare::run(&settings, |key, lease| choice.locker(key, lease), || server.connect());
        match outcome.map_err(|error| failure::of_compare(&server, error))? {
            Some(statistics) => {
                has_races |= statistics.has_races();
                comparison.add(choice.to_string(), &statistics);
            }
            None => {
                drop(progress);
                if number > 0 {
                    output::print(&comparison, global)?;
                }
                warn(format_args!("stopped: {number} of {} protocols were compared", protocols.len()));
                return Ok(end.exit());
            }
        }
    }
    drop(progress);
    output::print(&comparison, global)?;
    Ok(if has_races { Exit::No } else { Exit::Yes })
}

impl Args {
    fn workload(&self) -> Workload {
        Workload {
            clients: usize::from(self.clients),
            length: self.seconds,
            hold: Duration::from_millis(u64::from(self.hold_ms)),
            lease: self.lease,
            wait: self.wait.wait(),
            overrun: self.overrun,
            crash: self.crash,
        }
    }
}

/// The early end of a comparison, which still deletes its keys.
struct EarlyEnd {
    stop: Arc<CompareStop>,
    asked: Arc<OnceLock<StopRequest>>,
}

impl EarlyEnd {
    fn on_signal() -> Result<Self, Failure> {
        let end = Self { stop: Arc::new(CompareStop::new()), asked: Arc::new(OnceLock::new()) };
        let (stop, asked) = (Arc::clone(&end.stop), Arc::clone(&end.asked));
        signals::listen(move |caught| match caught {
            Caught::Stop(request) => {
                asked.get_or_init(|| request);
                stop.give();
            }
            Caught::ChildChanged => {}
        })?;
        Ok(end)
    }

    fn exit(&self) -> Exit {
        self.asked.get().map_or(Exit::Unusable, |request| request.exit())
    }
}

fn seconds(typed: &str) -> Result<Duration, String> {
    match typed.parse().map(Duration::try_from_secs_f64) {
        Ok(Ok(length)) if length >= SHORTEST && length <= LONGEST => Ok(length),
        Ok(_) | Err(_) => Err("a number of seconds from 0.1 to 86400".to_owned()),
    }
}

const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(86_400);

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift compare php-getset java-getset token --clients 32 --seconds 5
  lockshift compare php-getset token --lease 1s --overrun 5 --crash 5
  lockshift compare token --clients 100 --wait fair
  lockshift compare token --hold-ms 50 --json | jq '.[0].wait_p99_ms'";
