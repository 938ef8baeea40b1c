//! How the audit would see a lease.

use std::time::Duration;

use crate::audit::Auditor;
use crate::lock::{Acquired, Lease, Owner, Token};
use crate::monitor::{Line, Source};
use crate::protocols::Choice;
use crate::sim::{Session, TimedServers};
use crate::wire::{Entry, Key, Transcript, UnixTime};

/// How long an audit would see the lease of clients that ask for this one, in seconds and on average over the fractions of a
/// second; `None` if it would see none.
pub(super) fn seen_lease(choice: &Choice, lease: Lease) -> Option<f64> {
    const PHASES: u32 = 16;
    let key = Key::from("lock");
    let locker = choice.locker(key, lease);
    let mut leases = Vec::new();
    for phase in 0..PHASES {
        let began_at =
            UnixTime::from_nanos(1_700_000_000_000_000_000).saturating_add(Duration::from_secs(1) * phase / PHASES);
        let mut servers = TimedServers::new(choice.servers(), began_at);
        // Its digits could not be a number, which the audit might read as a stamp.
        let owner = Owner::new(Token::new([0xAB; 16]), 7, 1);
        let (mut transcript, mut auditor, mut number) = (Transcript::new(), Auditor::new().keeping_episodes(), 0);
        loop {
            let at = servers.wall();
            let outcome = servers.go_on(Session(1), 0, &mut transcript, |redis| locker.acquire(&owner, redis));
            if let (Ok(None), Some(Entry::Exchange(command, reply))) = (&outcome, transcript.entries().last()) {
                number += 1;
                let source = Source::Client(b"10.0.0.1:1");
                let line = Line::new(at, 0, source, command);
                auditor.read_answered(number, &line, Some((reply.clone(), at)));
            }
            match outcome {
                Ok(Some(Acquired::Won(_))) => break,
                Ok(Some(Acquired::Held(_))) | Err(_) => return None,
                Ok(None) => {}
            }
        }
        leases.push(auditor.finish().episodes.first()?.lease?.as_secs_f64());
    }
    Some(leases.iter().sum::<f64>() / f64::from(PHASES))
}
