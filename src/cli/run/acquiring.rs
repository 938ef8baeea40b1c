//! Before CMD runs: trying and waiting, until the lock is won, the time limit has passed, or a signal comes.

use std::time::Duration;

use super::events::RunEvents;
use crate::cli::exit::{Exit, Failure, Verbosity};
use crate::cli::failure;
use crate::cli::run_carrier::RunCarrier;
use crate::cli::server::ServerChoice;
use crate::cli::signals::StopRequest;
use crate::cli::waiting::WaitPolicy;
use crate::driver::blocking::{Guard, Lock};
use crate::driver::{Attempt, Error, Wait, host};
use crate::lock::{Held, Refusal};
use crate::report::{Ran, whole_millis};

/// How to come by the lock.
pub(super) struct RunAcquisition<'a> {
    pub(super) server: &'a ServerChoice,
    /// For how long; `None` for as long as it takes.
    pub(super) wait: Option<Duration>,
    /// One try only.
    pub(super) once: bool,
    /// How to wait.
    pub(super) policy: WaitPolicy,
    /// Whether to say so if another client holds the lock.
    pub(super) verbosity: Verbosity,
}

/// How that ended.
pub(super) enum AcquireEnd {
    /// We have it.
    Won(Guard<RunCarrier>),
    /// Another client holds it.
    Held,
    /// A signal came first.
    Asked(StopRequest),
}

impl RunAcquisition<'_> {
    pub(super) fn acquire(
        &self,
        lock: &Lock<RunCarrier>,
        events: &RunEvents,
        ran: &mut Ran,
    ) -> Result<AcquireEnd, Failure> {
        let began = host::mono();
        let mut asked = None;
        // Without a time limit an error is reported at once, unless the server has answered before.
        let mut may_recover = self.wait.is_some();
        // An attempt whose reply was lost, and that no later one has disclaimed.
        let mut is_owed = false;
        let attempt = lock.acquire_while(&self.patience(), |attempt, pause| {
            may_recover |= is_answered(attempt);
            is_owed = matches!(attempt, Ok(Attempt::Unknown(_))) || is_owed && !is_answered(attempt);
            asked = events.request_within(pause);
            asked.is_none() && !is_hopeless(attempt) && may_recover
        });
        // Nor may one be missed that came during the last try.
        let asked = asked.or_else(|| events.request_within(Duration::ZERO));
        ran.waited_ms = whole_millis(host::mono().saturating_since(began));
        ran.acquired = match &attempt {
            Ok(Attempt::Unknown(_)) => None,
            Err(_) if is_owed => None,
            Ok(Attempt::Won(_)) => Some(asked.is_none()),
            Ok(Attempt::Held(_) | Attempt::TooLate) | Err(_) => Some(false),
        };
        match (attempt, asked) {
            (Ok(Attempt::Unknown(unknown)), _) => Err(failure::of_unknown(self.server, &unknown)),
            // A guard that was won meanwhile gives its lock back.
            (_, Some(request)) => Ok(AcquireEnd::Asked(request)),
            (Err(error), None) => Err(failure::of_lock(self.server, &error)),
            (Ok(Attempt::Won(guard)), None) => Ok(AcquireEnd::Won(guard)),
            (Ok(Attempt::Held(held)), None) => self.held(lock, &held),
            (Ok(Attempt::TooLate), None) => Err(self.too_late(lock)),
        }
    }

    fn patience(&self) -> Wait {
        match (self.once, self.wait) {
            (true, _) => self.policy.wait().tries(1),
            (false, None) => self.policy.wait(),
            (false, Some(at_most)) => self.policy.wait().for_at_most(at_most),
        }
    }

    fn held(&self, lock: &Lock<RunCarrier>, held: &Held) -> Result<AcquireEnd, Failure> {
        let (key, server) = (lock.key(), self.server);
        if held.reason == Refusal::Unreadable {
            return Err(Failure::new(
                Exit::Unusable,
                format_args!(
                    "lock key `{key}` at {server}: this protocol cannot read what is in it: `lockshift inspect` shows \
                     what that is"
                ),
            ));
        }
        if held.reason == Refusal::NoMajority {
            self.verbosity.warn(format_args!("lock key `{key}` is held by another client: {}", held.votes));
            return Ok(AcquireEnd::Held);
        }
        // Whole seconds: the stamps of most dialects say no more. One that has passed and keeps out all the same says nothing.
        let left = held.retry_in.filter(|left| !left.is_zero());
        let hint = left.map(|left| format!(": try again in {} s", left.as_secs() + 1)).unwrap_or_default();
        self.verbosity.warn(format_args!("lock key `{key}` is held by another client{hint}"));
        Ok(AcquireEnd::Held)
    }

    fn too_late(&self, lock: &Lock<RunCarrier>) -> Failure {
        let (key, server) = (lock.key(), self.server);
        Failure::new(
            Exit::Unusable,
            format_args!(
                "lock key `{key}` at {server}: the server takes longer than the lease: give it a longer --lease"
            ),
        )
    }
}

/// Whether waiting cannot help: no release changes it.
fn is_hopeless<G>(attempt: &Result<Attempt<G>, Error>) -> bool {
    matches!(attempt, Ok(Attempt::Held(held)) if held.reason == Refusal::Unreadable)
}

/// Whether the server has replied how the attempt ended.
fn is_answered<G>(attempt: &Result<Attempt<G>, Error>) -> bool {
    matches!(attempt, Ok(Attempt::Won(_) | Attempt::Held(_) | Attempt::TooLate))
}
