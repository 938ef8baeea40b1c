//! `lockshift guard`: a proxy beside old clients.

mod args;
mod config_file;
pub(super) mod event_line;
mod event_log;
mod guard_spec;
mod live_audit;
mod mode;
mod options;
mod socket_mode;

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(super) use self::args::Args;
use self::event_line::EventLine;
use self::event_log::EventLog;
use self::live_audit::LiveAudit;
use self::options::GuardOptions;
use self::socket_mode::SocketMode;
use super::exit::{Exit, Failure};
use super::global_options::GlobalOptions;
use super::line_printer::LinePrinter;
use super::logger;
use super::os_error;
use super::output;
use crate::audit::Finding;
use crate::proxy::{ProxyCounters, ProxyCounts, ProxyEvent, ProxySettings, SettingsHandle, bind};
use crate::race_id::RaceId;
use crate::report::GuardStatistics;

/// Runs the proxy until it is asked to end. A thread of its own prints what it logs: clients are served, and the guard can be
/// ended, where nobody reads that.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let messages = LinePrinter::start(io::stderr())?;
    logger::log_by(&messages);
    let ended = run_until_asked(args, global, &messages);
    messages.finish();
    ended
}

fn run_until_asked(args: &Args, global: &GlobalOptions, messages: &LinePrinter) -> Result<Exit, Failure> {
    let options = GuardOptions::of(args)?;
    let settings = options.settings()?;
    // Each client needs two descriptors, and the soft limit is often 1,024.
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let log = options.events.as_deref().map(EventLog::append_to).transpose()?.map(Arc::new);
    let failed = |error: &dyn std::fmt::Display| Failure::new(Exit::Unusable, error);
    // It accepts clients; each core has a thread that serves them.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().map_err(|error| failed(&error))?;
    let counts = runtime.block_on(serve(args, options, settings, log.clone(), messages))?;
    output::print(&GuardStatistics(counts), global)?;
    match log.and_then(|log| log.failure()) {
        Some(error) => Err(failed(&format_args!("the events are incomplete: {}", os_error::sentence(&error)))),
        None => Ok(Exit::Yes),
    }
}

async fn serve(
    args: &Args,
    options: GuardOptions,
    settings: ProxySettings,
    log: Option<Arc<EventLog>>,
    messages: &LinePrinter,
) -> Result<ProxyCounts, Failure> {
    let unusable = |error: std::io::Error| {
        Failure::new(Exit::Unusable, format_args!("cannot listen on {}: {error}", options.listen))
    };
    let mut guard = bind(&options.listen, options.upstream()?, settings).await.map_err(unusable)?;
    if let Some(SocketMode(mode)) = options.listen_mode {
        guard = guard.permitting(mode).map_err(unusable)?;
    }
    let cores = thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    guard = guard.on_threads(cores).map_err(|error| {
        Failure::new(Exit::Unusable, format_args!("cannot start the threads that serve clients: {error}"))
    })?;
    if let Some(address) = &options.admin {
        let unusable = |error| Failure::new(Exit::Unusable, format_args!("cannot listen on {address}: {error}"));
        guard = guard.administered_at(address).await.map_err(unusable)?;
    }
    let counters = guard.counters();
    let (counters_of_audit, log_of_findings) = (Arc::clone(&counters), log.clone());
    let audit = LiveAudit::start(Arc::clone(&counters), move |finding, client| {
        report_finding(finding, client, log_of_findings.as_deref(), &counters_of_audit);
    })?;
    let (audit_of_events, log_of_events) = (audit.clone(), log.clone());
    guard = guard.reporting_to(Arc::new(move |event| report(event, log_of_events.as_deref(), &audit_of_events)));
    let mut terminate = signal(SignalKind::terminate()).map_err(unusable)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unusable)?;
    // Without a file there is nothing to read again, and SIGHUP ends the guard as it ends other programs.
    let has_files = args.config.is_some() || options.listen_tls.is_some() || log.is_some();
    let hangup = has_files.then(|| signal(SignalKind::hangup())).transpose().map_err(unusable)?;
    // To standard error: standard output is for the counts.
    messages.line(&format!("lockshift guard: listening on {}", guard.address()));
    let reloading = reload(args, options, guard.settings(), log, hangup, messages);
    let end = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = reloading => {}
        }
    };
    let counts = guard.run(end).await;
    tokio::task::block_in_place(|| audit.finish());
    // The audit may have found something since.
    let ProxyCounts { found, unaudited, .. } = counters.counts();
    Ok(ProxyCounts { found, unaudited, ..counts })
}

/// Writes an event down, and lets the audit read it: behind its line are those of what is found with it.
fn report(event: ProxyEvent, log: Option<&EventLog>, audit: &LiveAudit) {
    if let Some(log) = log {
        log.add(|at| EventLine::of(event.clone(), at));
    }
    audit.read(event);
}

/// Counts what was found with a command of this client, and reports it. A message contains no value.
fn report_finding(finding: &Finding, client: &str, log: Option<&EventLog>, counters: &ProxyCounters) {
    let Finding { key, database, verdict, .. } = finding;
    counters.found(verdict.race);
    log.into_iter().for_each(|log| log.add(|at| EventLine::of_finding(finding, client, at)));
    log::warn!(
        target: "lockshift::guard",
        "{} on {key} in database {database}, {}: {}",
        verdict.race.map_or("an undocumented race", RaceId::name), verdict.certainty, verdict.clients.join(", ")
    );
}

/// Reads all files again whenever SIGHUP arrives. What cannot be used is reported, and the guard goes on as before.
async fn reload(
    args: &Args,
    options: GuardOptions,
    handle: SettingsHandle,
    log: Option<Arc<EventLog>>,
    hangup: Option<Signal>,
    messages: &LinePrinter,
) {
    let Some(mut hangup) = hangup else { return std::future::pending().await };
    while hangup.recv().await.is_some() {
        if let Some(Err(error)) = log.as_ref().map(|log| log.reopen()) {
            log::error!(target: "lockshift::guard", "events go on into the old file: {error}");
        }
        // Trying the protocols of a new guard takes a moment, in which other tasks run.
        let read = tokio::task::block_in_place(|| {
            let options = GuardOptions::of(args)?;
            let settings = options.settings()?;
            Ok::<_, Failure>((options, settings))
        });
        match read {
            Ok((new, settings)) => {
                new.fixed_that_differ(&options).for_each(|name| {
                    log::warn!(target: "lockshift::guard", "{name} has changed: restart the guard to use it");
                });
                handle.replace(settings);
                let (guards, left) = (new.described(), connections_left(&handle).await);
                let left = match left {
                    0 => String::new(),
                    left => format!(
                        "; connections that keep the old settings, as their clients hold locks or try to: {left}"
                    ),
                };
                messages.line(&format!("lockshift guard: guards were read again: {guards}{left}"));
            }
            Err(failure) => log::error!(
                target: "lockshift::guard",
                "the configuration cannot be used, and the guard goes on with the old one: {}", failure.sentence()
            ),
        }
    }
}

/// How many connections have the old settings, once those had a moment to change that can.
async fn connections_left(handle: &SettingsHandle) -> u64 {
    const PAUSE: Duration = Duration::from_millis(50);
    let mut pauses = 20;
    while handle.connections_with_old_settings() > 0 && pauses > 0 {
        tokio::time::sleep(PAUSE).await;
        pauses -= 1;
    }
    handle.connections_with_old_settings()
}
