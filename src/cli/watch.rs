//! `lockshift watch`: locks, holders, waiters and findings as they happen.

mod cost;
mod metrics;

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::doubt::doubt;
use super::exit::{Exit, Failure, unless_closed};
use super::global_options::GlobalOptions;
use super::identity::IdentityArgs;
use super::server_monitor::{MonitorEvent, Monitored, monitored};
use super::server_options::ServerOptions;
use super::trace::{self, TraceCommand, TraceInput};
use super::{failure, values};
use crate::audit::Auditor;
use crate::driver::host;
use crate::monitor::Parser;
use crate::report::{LiveView, WatchEvent};
use crate::wire::MonoTime;
use cost::{CostMeter, hold_share_below, hold_waiting_below_limit};
use metrics::{MetricsServer, WatchCounts};

/// Show locks, holders, waiters and races as they happen
///
/// Without a TRACE it runs MONITOR on the server of --redis or REDIS_URL until it is asked to end (Ctrl-C). A TRACE is what
/// `lockshift audit` reads; - is standard input, such as the growing events of a guard (`tail -f events | lockshift watch -`).
///
/// A terminal shows the locks that clients hold or wait for, and what happened last. Anything else gets one line for each event,
/// with --json as an object. A finding that turns out to be another race when later commands show more is listed again; `lockshift audit`
/// has the last word.
///
/// MONITOR costs the server. For a second before it begins, and every five seconds then, the server is asked how much of a processor
/// it uses for how many commands. If MONITOR costs more than --max-cost, or if more than 64 MiB wait in the server to be
/// read (asked every second), watching stops with exit status 3. Memory is bounded: the counts of at most 16,384 keys are kept apart, and locks that
/// are free and silent are forgotten. Exit status 1 means that races happened.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Read this instead of a server: files, or - for standard input
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    identity: IdentityArgs,
    /// End after this long
    #[arg(long = "for", value_name = "D", value_parser = values::length, conflicts_with = "traces")]
    length: Option<Duration>,
    /// Answer GET /metrics (OpenMetrics) at this HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// Stop if MONITOR costs more than this share of one of the server's processors, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = percent)]
    max_cost: f64,
    #[command(flatten)]
    server: ServerOptions,
}

/// Watches.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let metrics = args.metrics.as_deref().map(MetricsServer::at).transpose()?;
    let mut watching = Watching::new(args, global, metrics);
    if args.traces.is_empty() {
        watching.server(args)?;
        return Ok(watching.exit());
    }
    let mut failed = None;
    let coverage = trace::read(&TraceInput::all(&args.traces), &mut |command| {
        if failed.is_none() {
            failed = watching.receive(command).err();
        }
    })?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    watching.refresh(true)?;
    let audit = watching.auditor.finish();
    let is_clean = watching.counts.findings.is_empty() && audit.findings.is_empty();
    let exit = coverage.verdict(if is_clean { Exit::Yes } else { Exit::No })?;
    doubt(args.identity, [&audit].into_iter()).filter(|_| is_clean).map_or(Ok(exit), Err)
}

/// How often a terminal and the metrics are renewed.
const RENEWED_EVERY: Duration = Duration::from_millis(500);
/// How many events a terminal remembers.
const MOST_EVENTS: usize = 200;

/// How events are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WatchForm {
    /// A page that is drawn anew.
    Page,
    /// A line of text for each event.
    Lines,
    /// A line of JSON for each event.
    Json,
}

/// A watch under way.
struct Watching {
    auditor: Auditor,
    parser: Parser,
    form: WatchForm,
    server: Option<SocketAddr>,
    number: u64,
    events: VecDeque<WatchEvent>,
    counts: WatchCounts,
    metrics: Option<MetricsServer>,
    renewed_at: MonoTime,
    received_at: MonoTime,
    /// Whether the reader of standard output has gone.
    is_closed: bool,
}

impl Watching {
    fn new(args: &Args, global: &GlobalOptions, metrics: Option<MetricsServer>) -> Self {
        let form = match (global.json, io::stdout().is_terminal()) {
            (true, _) => WatchForm::Json,
            (false, true) => WatchForm::Page,
            (false, false) => WatchForm::Lines,
        };
        let now = host::mono();
        let mut auditor = Auditor::new().with_clients_by(args.identity.clients_by()).keeping_hold_events();
        // From now on they are kept until they are asked for.
        auditor.new_findings();
        Self {
            auditor,
            parser: Parser::new(),
            form,
            server: None,
            number: 0,
            events: VecDeque::new(),
            counts: WatchCounts::default(),
            metrics,
            renewed_at: now,
            received_at: now,
            is_closed: false,
        }
    }

    fn exit(&self) -> Exit {
        if self.counts.findings.is_empty() { Exit::Yes } else { Exit::No }
    }

    /// Watches a server, until it is lost, the user asks to end, the reader of what is shown has gone, or it costs too much.
    fn server(&mut self, args: &Args) -> Result<(), Failure> {
        let server = args.server.server()?;
        let unusable = |error| failure::of_server(&server, error);
        let mut meter = CostMeter::before(&server).map_err(unusable)?;
        let Monitored { events, connection } = monitored(&server)?;
        meter.begin(connection).map_err(unusable)?;
        let began = host::mono();
        loop {
            let left = args.length.map(|length| length.saturating_sub(host::mono().saturating_since(began)));
            if left.is_some_and(|left| left.is_zero()) {
                return self.refresh(true);
            }
            let pause = left.map_or(RENEWED_EVERY, |left| left.min(RENEWED_EVERY));
            match events.recv_timeout(pause) {
                Ok(MonitorEvent::Line(text)) => self.line(&text)?,
                Ok(MonitorEvent::StopRequested) => return self.refresh(true),
                Ok(MonitorEvent::Broken(error)) => return Err(unusable(error)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("the listener for signals holds a sender"),
            }
            let waiting_bytes = meter.waiting_bytes();
            hold_waiting_below_limit(waiting_bytes)?;
            if let Some(share) = meter.share().map_err(unusable)? {
                self.counts.cost = Some(share);
                self.show(&WatchEvent::Cost { share, waiting_bytes })?;
                hold_share_below(share, args.max_cost / 100.0)?;
            }
            self.refresh(false)?;
            if self.is_closed {
                return Ok(());
            }
        }
    }

    fn line(&mut self, text: &str) -> Result<(), Failure> {
        let mut parser = std::mem::take(&mut self.parser);
        let outcome = match parser.parse(text.as_bytes()) {
            Ok(line) => {
                self.number += 1;
                self.receive(TraceCommand::Line { number: self.number, line })
            }
            Err(_) => {
                log::warn!("what the server sent is not a line of MONITOR");
                Ok(())
            }
        };
        self.parser = parser;
        outcome
    }

    /// A command was run.
    fn receive(&mut self, command: TraceCommand<'_>) -> Result<(), Failure> {
        let server = command.server();
        if self.counts.commands > 0 && server != self.server {
            return Err(Failure::new(
                Exit::Usage,
                "the capture has several servers: pass one of them (tcpdump's filter `host`)",
            ));
        }
        self.server = server;
        match command {
            TraceCommand::Line { number, line } => self.auditor.read(number, &line),
            TraceCommand::Observed { number, line, reply } => self.auditor.read_in_order(number, &line, reply),
            TraceCommand::Exchange { number, line, reply, .. } => self.auditor.read_answered(number, &line, reply),
        }
        self.counts.commands += 1;
        self.report_new()?;
        // Reading the clock costs more than a command that concerns no lock.
        if self.counts.commands.is_multiple_of(64) { self.refresh(false) } else { Ok(()) }
    }

    fn report_new(&mut self) -> Result<(), Failure> {
        for event in self.auditor.take_hold_events() {
            self.counts.note(&event);
            self.show(&event.into())?;
        }
        for finding in self.auditor.new_findings() {
            self.counts.note_finding(&finding);
            self.show(&WatchEvent::from(&finding))?;
        }
        Ok(())
    }

    /// Shows an event, or remembers it for the page.
    fn show(&mut self, event: &WatchEvent) -> Result<(), Failure> {
        match self.form {
            WatchForm::Page => {
                if !matches!(event, WatchEvent::Cost { .. }) {
                    self.events.push_back(event.clone());
                    self.events.drain(..self.events.len().saturating_sub(MOST_EVENTS));
                }
                Ok(())
            }
            WatchForm::Lines => self.print(&(event.text() + "\n")),
            WatchForm::Json => {
                self.print(&(serde_json::to_string(event).expect("every field of an event has a JSON form") + "\n"))
            }
        }
    }

    /// Renews the page and the metrics if it is time for that.
    fn refresh(&mut self, is_last: bool) -> Result<(), Failure> {
        let now = host::mono();
        if now.saturating_since(self.renewed_at) < RENEWED_EVERY && !is_last {
            return Ok(());
        }
        if self.metrics.is_none() && self.form != WatchForm::Page {
            return Ok(());
        }
        // The server's clock is read from its commands; between two of them it goes on like ours.
        if self.counts.commands_at_last_refresh != self.counts.commands {
            self.received_at = now;
        }
        self.counts.commands_at_last_refresh = self.counts.commands;
        self.renewed_at = now;
        let at = self.auditor.last_at().saturating_add(now.saturating_since(self.received_at));
        let locks = self.auditor.live(at);
        self.counts.see(&locks, at);
        if let Some(metrics) = &self.metrics {
            metrics.publish(&self.counts);
        }
        if self.form != WatchForm::Page {
            return Ok(());
        }
        let view = LiveView {
            locks,
            at: Some(at),
            events: self.events.iter().cloned().collect(),
            findings: self.counts.findings.values().sum(),
            commands: self.counts.commands,
            cost: self.counts.cost,
        };
        let (lines, columns) = size();
        // Not as a part of the text, which loses all that is no text where colours are unwanted.
        unless_closed(io::stdout().write_all(b"\x1b[H\x1b[2J"))?;
        self.print(&format!("{}\n", view.text(lines, columns)))
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        let mut page = anstream::stdout();
        let written = page.write_all(text.as_bytes()).and_then(|()| page.flush());
        self.is_closed |= written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        unless_closed(written)
    }
}

/// The lines and columns of the terminal; as many as terminals used to have, if it does not say.
fn size() -> (usize, u16) {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_row > 0 && size.ws_col > 0);
    size.map_or((24, 80), |size| (usize::from(size.ws_row) - 1, size.ws_col))
}

fn percent(typed: &str) -> Result<f64, String> {
    let number = typed.trim_end_matches('%').parse::<f64>().map_err(|_| "a number of percent, as in 10".to_owned())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("a number from 0 to 100".to_owned()) }
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift watch --redis redis://127.0.0.1
  lockshift watch --metrics 127.0.0.1:9477 --max-cost 5 --json > events.jsonl
  tail -n +1 -f guard-events.jsonl | lockshift watch -
  tcpdump -i any -s 0 -U -w - port 6379 | lockshift watch -";
