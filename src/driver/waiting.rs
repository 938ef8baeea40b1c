//! One wait for a lock: when the next attempt follows, and what wakes the waiter before. It sends nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockshift_lock::{Held, Hold, RefusalScope, ReleaseChannel};
use lockshift_wire::MonoTime;

use super::acquisition::Acquisition;
use super::error::Error;
use super::host;
use super::outcome::Attempt;
use super::wait::{Patience, Wait};
use super::waiters::{Waiter, WaiterPlace, WaiterRegistry};
use super::wake_up::WakeUp;

/// The shortest pause of a waiter that keeps its place in a queue.
const SHORTEST: Duration = Duration::from_millis(10);

/// What a release listener and its waiters share.
#[derive(Debug)]
pub(super) struct Waiters {
    state: Mutex<Listening>,
    commands: AtomicU64,
}

/// The waiters, and the state of their listener.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) registry: WaiterRegistry,
    pub(super) listener: ListenerState,
}

/// How far the listener's thread or task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListenerState {
    /// No listener is running.
    Gone,
    /// It will look into the registry before it begins to read.
    Connecting,
    /// It reads, and has to be woken.
    Reading,
    /// There will be none any more.
    Closed,
}

impl Waiters {
    pub(super) fn new() -> Self {
        let state = Mutex::new(Listening { registry: WaiterRegistry::new(), listener: ListenerState::Gone });
        Self { state, commands: AtomicU64::new(0) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, Listening> {
        // Also after a panic: at worst a waiter is woken for nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many commands have been sent for listening.
    pub(super) fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    pub(super) fn count_command(&self) {
        self.commands.fetch_add(1, Ordering::Relaxed);
    }
}

/// A release listener.
pub(super) trait Listener {
    /// What it shares with its waiters.
    fn waiters(&self) -> &Arc<Waiters>;

    /// A waiter on this channel has been refused: starts the listener, or has it subscribe.
    fn listen(&self, channel: &ReleaseChannel);
}

/// One waiter on a channel.
struct NotifiedWaiter {
    place: WaiterPlace,
    wake_up: WakeUp,
    owes_wake_up: bool,
}

impl NotifiedWaiter {
    fn enter(
        (listener, channel): &(&impl Listener, ReleaseChannel),
        acquisition: &Acquisition,
        enter: impl FnOnce(&mut WaiterRegistry, &ReleaseChannel, Waiter) -> WaiterPlace,
    ) -> Self {
        let wake_up = WakeUp::default();
        let (name, scope) = (acquisition.owner().token, acquisition.refusal_scope());
        let waiter = Waiter::new(name, scope, wake_up.clone());
        // Those of other scopes enter before their first attempt, where each step counts, and have no places or say so.
        let may_queue = matches!(scope, RefusalScope::OneWaiter | RefusalScope::OtherKeys);
        let waiter = if may_queue && acquisition.has_a_place() { waiter.in_queue() } else { waiter };
        let place = enter(&mut listener.waiters().state().registry, channel, waiter);
        Self { place, wake_up, owes_wake_up: false }
    }
}

/// One wait for a lock, which begins now. Dropped while its waiter owes a wake-up, it passes the wake-up on to the next.
pub(super) struct Waiting<'a, L: Listener> {
    patience: Patience<'a>,
    /// Where it is to wait for notifications.
    listener: Option<(&'a L, ReleaseChannel)>,
    waiter: Option<NotifiedWaiter>,
    takes_turns: bool,
    /// Whether the last attempt is one of the tries that the caller counts.
    is_counted: bool,
}

impl<'a, L: Listener> Waiting<'a, L> {
    pub(super) fn begin(wait: &'a Wait, listener: Option<&'a L>, acquisition: &Acquisition) -> Self {
        let listener = if wait.listens() { listener.zip(acquisition.release_channel()) } else { None };
        Self {
            patience: wait.begin(acquisition.began()),
            listener,
            waiter: None,
            takes_turns: matches!(acquisition.refusal_scope(), RefusalScope::AllWaiters | RefusalScope::QueuedWaiters),
            is_counted: true,
        }
    }

    /// The same wait, which takes no turns with others.
    pub(super) fn without_turns(mut self) -> Self {
        self.takes_turns = false;
        self
    }

    /// For how long to sleep on instead of trying, because the attempt of another waiter speaks for this one or its place in a
    /// queue is kept, and what ends that sleep sooner; `None` if an attempt is due. To be asked again after the sleep.
    pub(super) fn spoken_for(&mut self, acquisition: &Acquisition, now: MonoTime) -> Option<(Duration, &WakeUp)> {
        if !self.takes_turns {
            return None;
        }
        self.enter_before_attempt(acquisition);
        let ((listener, _), waiter) = self.listener.as_ref().zip(self.waiter.as_ref())?;
        let until = listener.waiters().state().registry.spoken_for_until(waiter.place, now)?;
        let pause = self.patience.without_a_try(until.saturating_since(now), now)?;
        Some((pause, &waiter.wake_up))
    }

    /// An attempt begins: it uses every wake-up until now.
    pub(super) fn begin_attempt(&mut self, acquisition: &mut Acquisition, now: MonoTime) {
        self.enter_before_attempt(acquisition);
        acquisition.begin_attempt();
        self.is_counted = true;
        if let (Some((listener, _)), Some(waiter)) = (&self.listener, &mut self.waiter) {
            waiter.owes_wake_up = true;
            self.is_counted = listener.waiters().state().registry.begin_attempt(waiter.place, now);
        }
    }

    /// Takes a place before the attempt where that is of use: to take turns, or to miss nothing where others listen already.
    fn enter_before_attempt(&mut self, acquisition: &Acquisition) {
        if self.waiter.is_none() {
            let is_of_use = |(listener, channel): &&(&'a L, ReleaseChannel)| {
                self.takes_turns || listener.waiters().state().registry.is_confirmed(channel)
            };
            let place = self.listener.as_ref().filter(is_of_use);
            self.waiter = place.map(|place| NotifiedWaiter::enter(place, acquisition, WaiterRegistry::enter));
        }
    }

    /// How long to pause after this attempt; `None` if there is to be no other.
    pub(super) fn after<G>(
        &mut self,
        attempt: &Result<Attempt<G>, Error>,
        acquisition: &Acquisition,
    ) -> Option<Duration> {
        if matches!(attempt, Ok(Attempt::Won(_))) {
            self.waiter.iter_mut().for_each(|waiter| waiter.owes_wake_up = false);
            return None;
        }
        // If it has not used its wake-up, that is passed on when this waiter leaves.
        let used = attempt.as_ref().is_ok_and(Attempt::uses_the_wake_up);
        self.waiter.iter_mut().for_each(|waiter| waiter.owes_wake_up = !used);
        let entered = self.listener.as_ref().zip(self.waiter.as_ref());
        let waiters = entered.and_then(|((listener, channel), _)| listener.waiters().state().registry.waiters(channel));
        if let (Some(((listener, _), waiter)), Ok(Attempt::Held(held))) = (entered, attempt) {
            let lease_end = held.retry_in.map(|left| host::mono().saturating_add(left));
            listener.waiters().state().registry.attempt_refused(waiter.place, lease_end);
        }
        if !self.is_counted {
            self.patience.forget_a_try();
        }
        let pause = self.patience.after(attempt, waiters, host::mono(), host::jitter)?;
        let pause = match attempt {
            // A place in a queue is kept for a waiter that comes back in time.
            Ok(Attempt::Held(Held { retry_in: Some(in_time), .. })) if acquisition.has_a_place() => {
                let longest = if waiters.is_some() { None } else { acquisition.longest_pause() };
                pause.min(longest.unwrap_or(*in_time).min(*in_time).max(SHORTEST))
            }
            _ => pause,
        };
        if !matches!(attempt, Ok(Attempt::Held(_))) {
            // The next attempt has another name, and no wake-up cuts the pause before it short.
            self.leave();
        } else if let Some(place @ (listener, channel)) = &self.listener {
            let now = host::mono();
            if self.waiter.is_some() {
                listener.waiters().state().registry.want(channel, now);
            } else {
                let enter = |registry: &mut WaiterRegistry, channel: &_, waiter| {
                    registry.enter_after_attempt(channel, waiter, now)
                };
                self.waiter = Some(NotifiedWaiter::enter(place, acquisition, enter));
            }
            let is_wanted = listener.waiters().state().registry.is_wanted(channel);
            if is_wanted {
                listener.listen(channel);
            }
        }
        Some(pause)
    }

    /// Leaves the waiters, if it has entered.
    fn leave(&mut self) {
        if let (Some((listener, channel)), Some(waiter)) = (&self.listener, self.waiter.take()) {
            let mut state = listener.waiters().state();
            state.registry.leave(channel, waiter.place, waiter.owes_wake_up, host::mono);
        }
    }

    /// What it holds by the message that has woken it, if that handed the lock over.
    pub(super) fn granted(&self, acquisition: &Acquisition) -> Option<Hold> {
        let message = self.wake_up()?.take_message()?;
        acquisition.granted(&message, host::reading())
    }

    /// What wakes it before the pause has passed, if it waits for notifications.
    pub(super) fn wake_up(&self) -> Option<&WakeUp> {
        self.waiter.as_ref().map(|waiter| &waiter.wake_up)
    }
}

impl<L: Listener> Drop for Waiting<'_, L> {
    fn drop(&mut self) {
        self.leave();
    }
}
