//! Who waits for which release, and whom a message wakes. Pure book-keeping: it sends nothing and reads no clock.
//!
//! All who wait in one process share one connection. A message wakes as many of them as it means: `0`, one; a token,
//! the one of that name; anything else, all. Whoever was woken and goes without having tried passes it on, so that no
//! release is missed, and no release wakes a crowd.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use lockshift_lock::{ReleaseChannel, Token};
use lockshift_wire::MonoTime;

/// For how long a channel is still listened to when nobody waits there any more: the next one may come soon.
const LINGER: Duration = Duration::from_secs(1);

/// What wakes somebody. It stays rung until silenced: a ring is not missed by whoever does not listen just then.
pub(super) trait Alarm {
    /// Wakes.
    fn ring(&self);
    /// Whether it has been rung.
    fn is_rung(&self) -> bool;
}

/// Who waits for which release.
#[derive(Debug)]
pub(super) struct Book<A> {
    channels: BTreeMap<ReleaseChannel, Channel<A>>,
    next: u64,
}

#[derive(Debug)]
struct Channel<A> {
    subscription: Subscription,
    /// In the order in which they came.
    waiting: VecDeque<Waiter<A>>,
    idle_since: Option<MonoTime>,
}

#[derive(Debug)]
struct Waiter<A> {
    number: u64,
    name: String,
    alarm: A,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subscription {
    Wanted,
    Asked,
    Confirmed,
    Refused,
}

/// What is to be said to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Subscribe to this.
    Listen(ReleaseChannel),
    /// Unsubscribe from this.
    Leave(ReleaseChannel),
}

impl<A> Book<A> {
    /// Nobody waits.
    pub(super) const fn new() -> Self {
        Self { channels: BTreeMap::new(), next: 0 }
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.channels.values().all(|channel| channel.waiting.is_empty())
    }

    /// Whether whoever comes now would miss nothing.
    pub(super) fn is_confirmed(&self, bell: &ReleaseChannel) -> bool {
        self.subscription(bell) == Some(Subscription::Confirmed)
    }

    /// How many wait on this channel, if a release there would wake them.
    pub(super) fn waiters(&self, bell: &ReleaseChannel) -> Option<usize> {
        self.is_confirmed(bell).then(|| self.channels[bell].waiting.len())
    }

    /// Whether somebody has to tell the server.
    pub(super) fn is_wanted(&self, bell: &ReleaseChannel) -> bool {
        self.subscription(bell) == Some(Subscription::Wanted)
    }

    /// What is to be said to the server now; it is taken to be said.
    pub(super) fn due(&mut self, now: MonoTime) -> Vec<Change> {
        let mut due = Vec::new();
        self.channels.retain(|bell, channel| {
            let is_idle = channel.idle_since.is_some_and(|since| now.saturating_since(since) >= LINGER);
            match channel.subscription {
                Subscription::Wanted if is_idle => return false,
                Subscription::Wanted => {
                    channel.subscription = Subscription::Asked;
                    due.push(Change::Listen(bell.clone()));
                }
                Subscription::Confirmed if is_idle => {
                    due.push(Change::Leave(bell.clone()));
                    return false;
                }
                Subscription::Asked | Subscription::Confirmed | Subscription::Refused => {}
            }
            true
        });
        due
    }

    /// The server has refused the subscription. Those who wait are not woken: they go on as if there were no bell.
    pub(super) fn refused(&mut self, bell: &ReleaseChannel) {
        if let Some(channel) = self.channels.get_mut(bell) {
            channel.subscription = Subscription::Refused;
        }
    }

    fn subscription(&self, bell: &ReleaseChannel) -> Option<Subscription> {
        self.channels.get(bell).map(|channel| channel.subscription)
    }
}

impl<A: Alarm> Book<A> {
    /// Somebody begins to wait, the last in line. Where the subscription is confirmed already it is woken at once: the
    /// lock may have been released since its last try.
    pub(super) fn enter(&mut self, bell: &ReleaseChannel, name: Token, alarm: A) -> u64 {
        let number = self.next;
        self.next += 1;
        let channel = self.channels.entry(bell.clone()).or_insert_with(Channel::wanted);
        channel.idle_since = None;
        if channel.subscription == Subscription::Confirmed {
            alarm.ring();
        }
        channel.waiting.push_back(Waiter { number, name: name.hex(), alarm });
        number
    }

    /// A waiter leaves. If it was woken since its last attempt, or `passes_on` the wake-up of that attempt, the next one is
    /// woken in its place.
    pub(super) fn leave(&mut self, bell: &ReleaseChannel, number: u64, passes_on: bool, now: MonoTime) {
        let Some(channel) = self.channels.get_mut(bell) else { return };
        let Some(index) = channel.waiting.iter().position(|waiter| waiter.number == number) else { return };
        let gone = channel.waiting.remove(index).expect("it was just found there");
        if passes_on || gone.alarm.is_rung() {
            channel.wake_one();
        }
        if channel.waiting.is_empty() {
            channel.idle_since = Some(now);
            if channel.subscription == Subscription::Refused {
                self.channels.remove(bell);
            }
        }
    }

    /// The server has confirmed the subscription: all who wait have to try once more.
    pub(super) fn confirmed(&mut self, bell: &ReleaseChannel) {
        if let Some(channel) = self.channels.get_mut(bell) {
            channel.subscription = Subscription::Confirmed;
            channel.wake_all();
        }
    }

    /// A message came.
    pub(super) fn heard(&mut self, bell: &ReleaseChannel, message: &[u8]) {
        let Some(channel) = self.channels.get(bell) else { return };
        match message {
            b"0" => channel.wake_one(),
            name if is_token(name) => channel.wake_named(name),
            _ => channel.wake_all(),
        }
    }

    /// The connection broke, and with it every subscription. All are woken: anything may have been missed.
    pub(super) fn broke(&mut self) {
        self.channels.retain(|_, channel| !channel.waiting.is_empty());
        for channel in self.channels.values_mut() {
            channel.subscription = Subscription::Wanted;
            channel.wake_all();
        }
    }
}

impl<A> Channel<A> {
    fn wanted() -> Self {
        Self { subscription: Subscription::Wanted, waiting: VecDeque::new(), idle_since: None }
    }
}

impl<A: Alarm> Channel<A> {
    /// Wakes the first that is not awake already. If all are, each will try later than now.
    fn wake_one(&self) {
        if let Some(waiter) = self.waiting.iter().find(|waiter| !waiter.alarm.is_rung()) {
            waiter.alarm.ring();
        }
    }

    fn wake_named(&self, name: &[u8]) {
        if let Some(waiter) = self.waiting.iter().find(|waiter| waiter.name.as_bytes() == name) {
            waiter.alarm.ring();
        }
    }

    fn wake_all(&self) {
        self.waiting.iter().for_each(|waiter| waiter.alarm.ring());
    }
}

fn is_token(message: &[u8]) -> bool {
    message.len() == 32 && message.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
}

#[cfg(test)]
mod tests;
