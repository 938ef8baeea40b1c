//! The commands of observed keys, audited as they happen. A thread of its own reads them: however slow it is, no client waits
//! for it. Commands that it cannot keep up with are left out, and the audit begins anew behind them, because what it has read
//! before and what it reads then is no whole conversation.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use crate::audit::{Auditor, Finding};
use crate::cli::exit::{Exit, Failure};
use crate::cli::os_error;
use crate::driver::host;
use crate::monitor::{Line, Source};
use crate::proxy::{Occurrence, ProxyCounters, ProxyEvent};
use crate::wire::{Command, Reply, UnixTime};

/// An audit that goes on while commands arrive.
#[derive(Clone)]
pub(super) struct LiveAudit(Arc<AuditQueue>);

/// The commands that the audit has not read.
struct AuditQueue {
    waiting: Mutex<WaitingCommands>,
    changed: Condvar,
    counters: Arc<ProxyCounters>,
}

#[derive(Default)]
struct WaitingCommands {
    commands: Vec<ObservedCommand>,
    /// How many bytes they have.
    size: usize,
    /// How many did not fit behind them.
    left_out: u64,
    /// Whether the thread reads what has waited before.
    is_reading: bool,
}

struct ObservedCommand {
    at: UnixTime,
    client: Arc<str>,
    database: u32,
    command: Command,
    reply: Option<Reply>,
}

/// Commands that follow each other, and how many behind them were left out.
struct Conversation {
    commands: Vec<ObservedCommand>,
    left_out: u64,
}

/// So many bytes of commands and replies wait to be read.
const MOST_WAITING: usize = 16 << 20;
/// How long reading the last ones may take when the guard ends.
const PATIENCE: Duration = Duration::from_secs(5);

impl LiveAudit {
    /// Starts an audit, which reports each finding with the client by whose command it was found.
    pub(super) fn start(
        counters: Arc<ProxyCounters>,
        mut report: impl FnMut(&Finding, &str) + Send + 'static,
    ) -> Result<Self, Failure> {
        let (mut auditor, mut number) = (new_auditor(), 0);
        Self::reading_by(counters, move |conversation| {
            for ObservedCommand { at, client, database, command, reply } in conversation.commands {
                number += 1;
                let line = Line::new(at, database, Source::Client(client.as_bytes()), &command);
                auditor.read_in_order(number, &line, reply);
                auditor.new_findings().iter().for_each(|finding| report(finding, &client));
            }
            if conversation.left_out > 0 {
                auditor = new_auditor();
            }
        })
    }

    fn reading_by(
        counters: Arc<ProxyCounters>,
        read: impl FnMut(Conversation) + Send + 'static,
    ) -> Result<Self, Failure> {
        let queue = Arc::new(AuditQueue { waiting: Mutex::default(), changed: Condvar::new(), counters });
        let failed =
            |error| Failure::new(Exit::Unusable, format_args!("cannot start a thread: {}", os_error::sentence(&error)));
        let of_thread = Arc::clone(&queue);
        Builder::new().name("lockshift-audit".into()).spawn(move || of_thread.read_by(read)).map_err(failed)?;
        Ok(Self(queue))
    }

    /// Takes an event to read. Does not wait for that. Events of a key come in the order of the server.
    pub(super) fn read(&self, event: ProxyEvent) {
        let ProxyEvent { client, database, what: Occurrence::Exchange(command, reply) } = event else { return };
        let size = command.words().iter().map(|word| word.len()).sum::<usize>() + reply.as_ref().map_or(0, size);
        let mut waiting = self.0.lock();
        let is_first = waiting.left_out == 0;
        // What comes behind one that was left out belongs to the next conversation.
        if !is_first || waiting.size + size > MOST_WAITING {
            waiting.left_out += 1;
            drop(waiting);
            self.0.counters.unaudited(1);
            if is_first {
                log::warn!(
                    target: "lockshift::guard",
                    "the audit is slower than the commands of observed keys: some are left out, and it begins anew behind them"
                );
            }
            return;
        }
        waiting.size += size;
        // The moment is taken under the lock, so that time never goes back.
        waiting.commands.push(ObservedCommand { at: host::wall(), client, database, command, reply });
        drop(waiting);
        self.0.changed.notify_all();
    }

    /// Waits until everything is read, but not for ever. What is left is counted.
    pub(super) fn finish(&self) {
        let is_busy = |waiting: &mut WaitingCommands| waiting.is_reading || !waiting.commands.is_empty();
        let waited = self.0.changed.wait_timeout_while(self.0.lock(), PATIENCE, is_busy);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_busy(&mut waiting) {
            self.0.counters.unaudited(waiting.commands.len() as u64);
            log::warn!(target: "lockshift::guard", "the audit has not read the last commands of observed keys");
        }
    }
}

impl AuditQueue {
    fn lock(&self) -> MutexGuard<'_, WaitingCommands> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_by(&self, mut read: impl FnMut(Conversation)) {
        loop {
            let waited = self.changed.wait_while(self.lock(), |waiting| waiting.commands.is_empty());
            let mut waiting = waited.unwrap_or_else(PoisonError::into_inner);
            let WaitingCommands { commands, left_out, .. } = std::mem::take(&mut *waiting);
            waiting.is_reading = true;
            drop(waiting);
            read(Conversation { commands, left_out });
            self.lock().is_reading = false;
            self.changed.notify_all();
        }
    }
}

/// An audit that has read nothing, and collects what it finds from now on.
fn new_auditor() -> Auditor {
    let mut auditor = Auditor::new();
    drop(auditor.new_findings());
    auditor
}

/// How many bytes a reply has, about.
fn size(reply: &Reply) -> usize {
    match reply {
        Reply::Status(text) | Reply::Error(text) => text.len(),
        Reply::Bulk(value) => value.len(),
        Reply::Array(replies) => replies.iter().map(size).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn no_client_waits_for_a_slow_audit_and_what_it_leaves_out_is_counted() {
        let ((sender, read), (goes_on, may_read)) = (channel(), channel());
        let counters = Arc::<ProxyCounters>::default();
        let audit = LiveAudit::reading_by(Arc::clone(&counters), move |conversation| {
            may_read.recv().unwrap();
            sender.send((conversation.commands.len() as u64, conversation.left_out)).unwrap();
        });
        let audit = audit.unwrap();
        let command = Command::new("SET").arg("lock").arg(vec![0; MOST_WAITING / 8]);
        let event = ProxyEvent { client: "client".into(), database: 0, what: Occurrence::Exchange(command, None) };
        // How many of the first ones are read at once depends on when the thread takes them.
        (0..20).for_each(|_| audit.read(event.clone()));
        assert!(counters.counts().unaudited >= 4, "nobody has read a command");
        (0..20).for_each(|_| goes_on.send(()).unwrap());
        audit.finish();
        audit.read(event);
        audit.finish();
        let conversations: Vec<_> = read.try_iter().collect();
        let (last, before) = conversations.split_last().unwrap();
        assert_eq!(*last, (1, 0), "it goes on: {conversations:?}");
        let (read, left_out) = before.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        assert_eq!((read + left_out, left_out), (20, counters.counts().unaudited), "{conversations:?}");
    }
}
