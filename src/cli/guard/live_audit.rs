//! The commands of observed keys, audited as they happen.

use std::sync::{Mutex, PoisonError};

use crate::audit::{Auditor, Finding};
use crate::driver::host;
use crate::monitor::{Line, Source};
use crate::proxy::{Occurrence, ProxyEvent};

/// An audit that goes on while commands arrive.
pub(super) struct LiveAudit(Mutex<Reading>);

struct Reading {
    auditor: Auditor,
    commands: u64,
}

impl LiveAudit {
    /// An audit that has read nothing.
    pub(super) fn new() -> Self {
        let mut auditor = Auditor::new();
        drop(auditor.new_findings());
        Self(Mutex::new(Reading { auditor, commands: 0 }))
    }

    /// Reads an event, and returns what is found with it. Events of a key come in the order of the server.
    pub(super) fn read(&self, event: &ProxyEvent) -> Vec<Finding> {
        let Occurrence::Exchange(command, reply) = &event.what else { return Vec::new() };
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reading.commands += 1;
        let source = Source::Client(event.client.as_bytes());
        // The moment is taken under the lock, so that time never goes back.
        let line = Line::new(host::wall(), event.database, source, command);
        let number = reading.commands;
        reading.auditor.read_in_order(number, &line, reply.clone());
        reading.auditor.new_findings()
    }
}
