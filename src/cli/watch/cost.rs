//! What MONITOR costs a server: how much of a processor it uses for as many commands with it and without.

use std::time::Duration;

use redis::{RedisError, RedisResult};

use super::super::exit::{Exit, Failure};
use crate::connect::Server;
use crate::connect::blocking::Connection;
use crate::driver::host;
use crate::wire::MonoTime;

/// How long the server is measured before MONITOR begins.
const BEFORE: Duration = Duration::from_secs(1);
/// How often it is measured then.
const EVERY: Duration = Duration::from_secs(5);
/// How often it is asked how much waits: a busy server fills its memory within seconds.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// How long it may take to connect, and to answer each question: meanwhile nothing is shown, and a signal has to wait. A
/// server that hangs is asked up to three times, over the old connection and a new one.
const PATIENCE: Duration = Duration::from_secs(2);
/// Fewer commands do not say what a command costs.
const FEWEST_COMMANDS: f64 = 1_000.0;
/// More bytes must not wait in the server.
const MOST_WAITING: u64 = 64 << 20;

/// Measures what MONITOR costs.
pub(super) struct CostMeter {
    connection: Connection,
    /// The number of the connection that runs MONITOR.
    monitor: Option<u64>,
    /// Seconds of a processor for a command without MONITOR; 0 if too few commands were seen to say.
    without: f64,
    last: Sample,
    /// When it was measured last, or could not be.
    measured_at: MonoTime,
    asked_at: MonoTime,
    waiting_bytes: Option<u64>,
}

/// What a server has used and done since it was started.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: MonoTime,
    cpu_s: f64,
    commands: f64,
}

impl CostMeter {
    /// Measures the server without MONITOR.
    pub(super) fn before(server: &Server) -> RedisResult<Self> {
        let server = server.clone().connecting_within(PATIENCE).answering_within(PATIENCE);
        let mut connection = server.connect()?;
        let first = Sample::of(&mut connection)?;
        host::sleep(BEFORE);
        let last = Sample::of(&mut connection)?;
        let commands = last.commands - first.commands;
        let without = if commands < FEWEST_COMMANDS { 0.0 } else { (last.cpu_s - first.cpu_s).max(0.0) / commands };
        Ok(Self {
            connection,
            monitor: None,
            without,
            last,
            measured_at: last.at,
            asked_at: last.at,
            waiting_bytes: None,
        })
    }

    /// MONITOR has begun, on the connection of this number. What it costs counts from here, or from before it began if the
    /// server does not answer in time.
    pub(super) fn begin(&mut self, monitor: Option<u64>) -> RedisResult<()> {
        self.monitor = monitor;
        self.last = self.sample_in_time()?.unwrap_or(self.last);
        self.asked_at = host::mono();
        self.measured_at = self.asked_at;
        Ok(())
    }

    /// What the server says; `None` if it does not answer in time.
    fn sample_in_time(&mut self) -> RedisResult<Option<Sample>> {
        match Sample::of(&mut self.connection) {
            Err(error) if error.is_timeout() => Ok(None),
            sampled => sampled.map(Some),
        }
    }

    /// The share of one processor that it costs at most, if it is time to measure that and the server answers in time.
    pub(super) fn share(&mut self) -> RedisResult<Option<f64>> {
        if host::mono().saturating_since(self.measured_at) < EVERY {
            return Ok(None);
        }
        let sampled = self.sample_in_time()?;
        self.measured_at = host::mono();
        let Some(now) = sampled else { return Ok(None) };
        let share = share(self.without, &self.last, &now);
        self.last = now;
        Ok(Some(share))
    }

    /// Bytes that wait in the server to be read, as it was asked last; `None` if it does not say.
    pub(super) fn waiting_bytes(&mut self) -> Option<u64> {
        let now = host::mono();
        if now.saturating_since(self.asked_at) >= ASKED_EVERY {
            self.asked_at = now;
            self.waiting_bytes = self.monitor.and_then(|number| waiting(&mut self.connection, number).ok()?);
        }
        self.waiting_bytes
    }
}

/// # Errors
/// MONITOR costs more than this share.
pub(super) fn hold_share_below(share: f64, most: f64) -> Result<(), Failure> {
    if share <= most {
        return Ok(());
    }
    let (share, most) = (share * 100.0, most * 100.0);
    Err(Failure::new(
        Exit::Unusable,
        format_args!(
            "stopped: MONITOR costs the server up to {share:.1} % of a processor, and --max-cost allows {most} %"
        ),
    ))
}

/// # Errors
/// Too much waits in the server.
pub(super) fn hold_waiting_below_limit(bytes: Option<u64>) -> Result<(), Failure> {
    if bytes.is_none_or(|bytes| bytes <= MOST_WAITING) {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Unusable,
        "stopped: more than 64 MiB of what MONITOR lists wait in the server, because they are not read fast enough",
    ))
}

/// The share of a processor beyond what as many commands use without MONITOR.
fn share(without: f64, before: &Sample, now: &Sample) -> f64 {
    let seconds = now.at.saturating_since(before.at).as_secs_f64();
    let beyond = (now.cpu_s - before.cpu_s) - without * (now.commands - before.commands);
    if seconds > 0.0 { (beyond / seconds).max(0.0) } else { 0.0 }
}

impl Sample {
    fn of(connection: &mut Connection) -> Result<Self, RedisError> {
        let info: String = redis::cmd("INFO").query(connection)?;
        let number = |name: &str| number(&info, name).unwrap_or(0.0);
        let cpu_s = number("used_cpu_sys") + number("used_cpu_user");
        Ok(Self { at: host::mono(), cpu_s, commands: number("total_commands_processed") })
    }
}

fn number(info: &str, name: &str) -> Option<f64> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
}

/// How many bytes of replies wait for this connection.
fn waiting(connection: &mut Connection, number: u64) -> RedisResult<Option<u64>> {
    let listed: String = redis::cmd("CLIENT").arg("LIST").arg("ID").arg(number).query(connection)?;
    Ok(listed.split_whitespace().find_map(|field| field.strip_prefix("omem=")?.parse().ok()))
}

#[test]
fn the_cost_is_what_goes_beyond_as_many_commands_without_it() {
    let at = |seconds: u64| MonoTime::since_origin(Duration::from_secs(seconds));
    let sample = |seconds, cpu_s, commands| Sample { at: at(seconds), cpu_s, commands };
    let (before, now) = (sample(0, 1.0, 0.0), sample(5, 3.0, 100_000.0));
    assert!((share(0.000_01, &before, &now) - 0.2).abs() < 1e-9, "two seconds for five, one of them anyway");
    assert!((share(0.0, &before, &now) - 0.4).abs() < 1e-9, "nothing known: all of it");
    assert_eq!(share(0.001, &before, &now), 0.0, "never negative");
    assert!(hold_share_below(0.2, 0.3).is_ok());
    assert!(hold_share_below(0.4, 0.3).is_err());
}

#[test]
fn as_much_as_the_limit_may_wait_and_not_a_byte_more() {
    assert!(hold_waiting_below_limit(None).is_ok());
    assert!(hold_waiting_below_limit(Some(MOST_WAITING)).is_ok());
    assert!(hold_waiting_below_limit(Some(MOST_WAITING + 1)).is_err());
}

#[test]
fn info_is_read_by_whole_names() {
    let info = "used_cpu_sys_children:9\r\nused_cpu_sys:1.5\r\nused_cpu_user:2\r\n";
    assert_eq!((number(info, "used_cpu_sys"), number(info, "used_cpu_user")), (Some(1.5), Some(2.0)));
    assert_eq!(number(info, "total_commands_processed"), None);
}
