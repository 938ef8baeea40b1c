//! An auditor for each server of a trace: MONITOR lists one, a capture may have several.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::thread;

use super::exit::{Exit, Failure, warn};
use super::trace::TraceCommand;
use crate::audit::{Audit, Auditor, SteppedBack};

/// An auditor for each server; `None` is the one that the source does not name.
pub(super) struct Auditors<F> {
    new: F,
    all: BTreeMap<Option<SocketAddr>, Auditor>,
}

impl<F: Fn() -> Auditor> Auditors<F> {
    /// No auditor yet; each is made by `new`.
    pub(super) fn new(new: F) -> Self {
        Self { new, all: BTreeMap::new() }
    }

    /// Lets the auditor of its server read a command.
    pub(super) fn read(&mut self, read: TraceCommand<'_>) {
        let auditor = self.all.entry(read.server()).or_insert_with(|| match &read {
            TraceCommand::Line { .. } => in_threads((self.new)()),
            // Where replies decide the order of commands, each of them is asked for by the thread that reads.
            TraceCommand::Observed { .. } | TraceCommand::Exchange { .. } => (self.new)(),
        });
        match read {
            TraceCommand::Line { number, line } => auditor.read(number, &line),
            TraceCommand::Observed { number, line, reply } => auditor.read_in_order(number, &line, reply),
            TraceCommand::Exchange { number, line, reply, .. } => auditor.read_answered(number, &line, reply),
        }
    }

    /// The result for the only server. A clock that goes back is named on standard error, because lengths of time are wrong there.
    ///
    /// # Errors
    /// The capture has several.
    pub(super) fn finish_one(self) -> Result<(Option<SocketAddr>, Audit), Failure> {
        let [one] = <[_; 1]>::try_from(self.finish()).map_err(|audits| {
            let count = audits.len();
            Failure::new(
                Exit::Usage,
                format_args!("the capture has {count} servers: pass one of them (tcpdump's filter `host`)"),
            )
        })?;
        if let Some(SteppedBack { line, by, times }) = one.1.stepped_back {
            let by = humantime::format_duration(by);
            let times = if times == 1 { String::new() } else { format!(" (the first of {times} times)") };
            warn(format_args!(
                "the clock of the trace goes back by {by} at line {line}{times}: holds and waits across it have wrong lengths"
            ));
        }
        Ok(one)
    }

    /// The results, and for which server each is. There is at least one.
    pub(super) fn finish(self) -> Vec<(Option<SocketAddr>, Audit)> {
        let mut audits: Vec<_> = self.all.into_iter().map(|(server, auditor)| (server, auditor.finish())).collect();
        if audits.is_empty() {
            audits.push((None, (self.new)().finish()));
        }
        audits
    }
}

/// The same auditor, with as many threads as there are processors, up to as many as one thread can read for.
fn in_threads(auditor: Auditor) -> Auditor {
    const MOST: NonZeroUsize = NonZeroUsize::new(4).expect("it is not 0");
    match thread::available_parallelism() {
        Ok(NonZeroUsize::MIN) | Err(_) => auditor,
        Ok(processors) => auditor.in_threads(processors.min(MOST)),
    }
}
