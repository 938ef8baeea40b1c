//! The waiters for releases, and which of them a message wakes. It sends nothing and reads no clock.
//!
//! All waiters of one process share one connection. A message wakes one waiter if it is `0`, the waiter of that name if
//! it is a token or begins with one and a colon, and all waiters otherwise. A waiter that was woken and makes no use of it
//! passes the wake-up on, so that no release is missed, and no release wakes a crowd. So does one that is refused where its
//! lock needs other keys as well, as the key that was released may still be free. A wake-up by name is not passed on: the
//! protocol has chosen the waiter, and chooses the next one when that waiter leaves its queue.
//!
//! Waiters that are alike take turns: one that has not been woken, and is not the first, sleeps on instead of trying, for a
//! while after the last attempt of another, after a release of this program, and after a message that wakes one. So a client
//! that releases does not acquire again before those that have waited, and few attempts are sent that are bound to fail. They
//! do so from their first attempt on. The server is asked for a subscription when one of them has been refused; until that is
//! confirmed the first of them polls for all.
//!
//! So do those that have a place in the queue of the lock, but each of them tries once before, to take that place. When the
//! subscription is confirmed, one of them tries again for all.
//!
//! Where none has tried for some seconds the first that sleeps is woken to look: one that was woken may be a task that nobody
//! polls, and an operator who deletes a key publishes nothing. Waiters in a queue try in any case, to keep their places.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use lockshift_lock::{RefusalScope, ReleaseChannel, Token};
use lockshift_wire::MonoTime;

use super::wake_up::WakeUp;

/// For how long a channel stays subscribed without waiters: the next one may come soon.
const LINGER: Duration = Duration::from_secs(1);

/// For how long an attempt or a release speaks for other waiters, if the lease by which the attempt was refused does not end
/// before. A waiter that was woken and does not try, because its task is not polled, or a holder that does not announce its
/// release, delays those that have not tried no longer than this.
const SPEAKS_FOR_OTHERS: Duration = Duration::from_millis(250);

/// For how long a subscription that is wanted counts as about to be confirmed. Meanwhile no release wakes anyone: the first of
/// those that are alike polls, and the others wait for it or for the subscription.
const SUBSCRIBING: Duration = Duration::from_millis(250);

/// After this long without an attempt one waiter is woken to look. The listener asks for that at least every five seconds.
const LOOKS_AFTER: Duration = Duration::from_secs(4);

/// The waiters for releases, by channel.
#[derive(Debug)]
pub(super) struct WaiterRegistry {
    /// Where the queue of each channel is.
    channels: HashMap<ReleaseChannel, usize>,
    queues: Vec<Channel>,
    /// The queues of no channel, without waiters: the next channels use them.
    unused: Vec<usize>,
    next: u64,
}

/// The place of one waiter: what the registry finds it by, without comparing names. It is valid until that waiter leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaiterPlace {
    queue: usize,
    /// The order in which they came.
    number: u64,
}

#[derive(Debug)]
struct Channel {
    subscription: Subscription,
    /// Until when a subscription that is wanted counts as about to be confirmed.
    subscribing_until: MonoTime,
    /// With their numbers, in the order in which they came: those that leave are among the first, mostly.
    waiting: VecDeque<(u64, Waiter)>,
    /// Until when the last attempt or release speaks for those that are alike.
    spoken_for_until: Option<MonoTime>,
    /// When an attempt began here last, or a message called for one.
    tried: Option<MonoTime>,
    /// Whether an attempt of one with a place in the queue has begun since the subscription was confirmed, and was refused:
    /// none of the others has missed a notification.
    is_checked: bool,
    idle_since: Option<MonoTime>,
}

/// One that waits for a release.
#[derive(Clone, Debug)]
pub(super) struct Waiter {
    name: Token,
    scope: RefusalScope,
    wake_up: WakeUp,
    /// Whether it has been woken since its last attempt by name at most.
    is_asleep: bool,
    /// Whether it was woken in place of all others, and has not been refused since.
    is_woken_alone: bool,
    /// Whether its last attempt began when the subscription was confirmed.
    tries_confirmed: bool,
    /// Whether it was woken to look, and not by a release: such an attempt is not one of its tries.
    is_to_look: bool,
    /// Whether it takes a place in the queue of the lock.
    queues: bool,
    /// Until when its place in the queue of the lock is kept without another attempt, once it has one.
    place_until: Option<MonoTime>,
}

impl Waiter {
    /// One that has not tried yet.
    pub(super) const fn new(name: Token, scope: RefusalScope, wake_up: WakeUp) -> Self {
        let (is_asleep, is_woken_alone, tries_confirmed, is_to_look) = (true, false, false, false);
        let queues = matches!(scope, RefusalScope::QueuedWaiters);
        Self { name, scope, wake_up, is_asleep, is_woken_alone, tries_confirmed, is_to_look, queues, place_until: None }
    }

    /// The same, which takes a place in the queue of the lock.
    pub(super) const fn in_queue(mut self) -> Self {
        self.queues = true;
        self
    }

    fn wake(&mut self) {
        self.is_asleep = false;
        self.is_to_look = false;
        self.wake_up.wake();
    }

    fn wake_to_look(&mut self) {
        self.wake();
        self.is_to_look = true;
    }

    /// Whether its attempt speaks for others of the same scope.
    fn speaks_for_others(&self) -> bool {
        matches!(self.scope, RefusalScope::AllWaiters | RefusalScope::QueuedWaiters)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subscription {
    /// None that waits has been refused.
    Unneeded,
    Wanted,
    Asked,
    Confirmed,
    Refused,
}

/// What to send to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Subscribe to this.
    Listen(ReleaseChannel),
    /// Unsubscribe from this.
    Leave(ReleaseChannel),
}

impl WaiterRegistry {
    /// No waiters.
    pub(super) fn new() -> Self {
        Self { channels: HashMap::new(), queues: Vec::new(), unused: Vec::new(), next: 0 }
    }

    /// Whether there are no waiters.
    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.waiting.is_empty())
    }

    /// Whether a waiter that begins now misses no release.
    pub(super) fn is_confirmed(&self, channel: &ReleaseChannel) -> bool {
        self.subscription(channel) == Some(Subscription::Confirmed)
    }

    /// How many wait on this channel, if a release there would wake them.
    pub(super) fn waiters(&self, channel: &ReleaseChannel) -> Option<usize> {
        let queue = self.queue(channel)?;
        (queue.subscription == Subscription::Confirmed).then_some(queue.waiting.len())
    }

    /// Whether the command for it has not been sent yet.
    pub(super) fn is_wanted(&self, channel: &ReleaseChannel) -> bool {
        self.subscription(channel) == Some(Subscription::Wanted)
    }

    /// What to send to the server now, in any order; it counts as sent. Wakes those that are to look.
    pub(super) fn due(&mut self, now: MonoTime) -> Vec<Change> {
        let mut due = Vec::new();
        self.channels.values().for_each(|place| self.queues[*place].look(now));
        self.channels.retain(|channel, place| {
            let queue = &mut self.queues[*place];
            let is_idle = queue.idle_since.is_some_and(|since| now.saturating_since(since) >= LINGER);
            match queue.subscription {
                Subscription::Wanted if is_idle => {}
                Subscription::Wanted => {
                    queue.subscription = Subscription::Asked;
                    due.push(Change::Listen(channel.clone()));
                    return true;
                }
                Subscription::Confirmed if is_idle => due.push(Change::Leave(channel.clone())),
                Subscription::Unneeded | Subscription::Asked | Subscription::Confirmed | Subscription::Refused => {
                    return true;
                }
            }
            self.unused.push(*place);
            false
        });
        due
    }

    /// The server has refused the subscription. The waiters are not woken: they poll.
    pub(super) fn refused(&mut self, channel: &ReleaseChannel) {
        if let Some(queue) = self.queue_mut(channel) {
            queue.subscription = Subscription::Refused;
        }
    }

    fn subscription(&self, channel: &ReleaseChannel) -> Option<Subscription> {
        self.queue(channel).map(|queue| queue.subscription)
    }

    fn queue(&self, channel: &ReleaseChannel) -> Option<&Channel> {
        self.channels.get(channel).map(|place| &self.queues[*place])
    }

    fn queue_mut(&mut self, channel: &ReleaseChannel) -> Option<&mut Channel> {
        self.channels.get(channel).map(|place| &mut self.queues[*place])
    }

    /// A waiter begins before its first attempt, the last in line.
    pub(super) fn enter(&mut self, channel: &ReleaseChannel, waiter: Waiter) -> WaiterPlace {
        let number = self.next;
        self.next += 1;
        let queue = *self.channels.entry(channel.clone()).or_insert_with(|| match self.unused.pop() {
            Some(unused) => {
                self.queues[unused].reset();
                unused
            }
            None => {
                self.queues.push(Channel::new());
                self.queues.len() - 1
            }
        });
        self.queues[queue].idle_since = None;
        self.queues[queue].waiting.push_back((number, waiter));
        WaiterPlace { queue, number }
    }

    /// A waiter begins after an attempt that was refused, the last in line. Where the subscription is confirmed already it is
    /// woken at once, unless one that is like it came before: the lock may have been released since that attempt.
    pub(super) fn enter_after_attempt(
        &mut self,
        channel: &ReleaseChannel,
        mut waiter: Waiter,
        now: MonoTime,
    ) -> WaiterPlace {
        if waiter.scope == RefusalScope::QueuedWaiters {
            // What was sent to it before it entered is lost, and no attempt of another brings it back.
            waiter.scope = RefusalScope::OneWaiter;
        }
        let place = self.enter(channel, waiter);
        let queue = &mut self.queues[place.queue];
        queue.want(now);
        if queue.subscription == Subscription::Confirmed && !queue.is_behind(place.number) {
            queue.wake_to_look(place.number);
        }
        place
    }

    /// One that waits has been refused: it needs the subscription.
    pub(super) fn want(&mut self, channel: &ReleaseChannel, now: MonoTime) {
        self.queue_mut(channel).into_iter().for_each(|queue| queue.want(now));
    }

    /// Until when this waiter does better to sleep on than to try, if it does: one that is like it came before it and will be
    /// woken before it, and another has tried or released only just. One with a place in the queue of the lock also sleeps for
    /// as long as that is kept, when it is certain to be notified.
    pub(super) fn spoken_for_until(
        &self,
        WaiterPlace { queue, number }: WaiterPlace,
        now: MonoTime,
    ) -> Option<MonoTime> {
        let queue = &self.queues[queue];
        let waiter = queue.waiter(number)?;
        let until = match queue.subscription {
            Subscription::Unneeded | Subscription::Confirmed => queue.spoken_for_until?,
            Subscription::Wanted | Subscription::Asked => queue.spoken_for_until?.min(queue.subscribing_until),
            Subscription::Refused => return None,
        };
        let is_certain = queue.is_checked && queue.subscription == Subscription::Confirmed;
        let until = match waiter.scope {
            RefusalScope::QueuedWaiters if is_certain => waiter.place_until?,
            _ if !queue.is_behind(number) => return None,
            RefusalScope::QueuedWaiters => until.min(waiter.place_until?),
            RefusalScope::AllWaiters | RefusalScope::OneWaiter | RefusalScope::OtherKeys => until,
        };
        let is_asleep = waiter.is_asleep && !waiter.wake_up.is_woken();
        (now < until && is_asleep).then_some(until)
    }

    /// An attempt of this waiter begins: it uses every wake-up until now. Returns whether it is one of the waiter's tries.
    pub(super) fn begin_attempt(&mut self, WaiterPlace { queue, number }: WaiterPlace, now: MonoTime) -> bool {
        let queue = &mut self.queues[queue];
        let is_confirmed = queue.subscription == Subscription::Confirmed;
        queue.tried = Some(now);
        let Some(waiter) = queue.waiter_mut(number) else { return true };
        waiter.wake_up.clear();
        waiter.tries_confirmed = is_confirmed;
        waiter.is_asleep = true;
        let looks = std::mem::take(&mut waiter.is_to_look);
        if waiter.speaks_for_others() {
            queue.speak_for_others(now);
        }
        !looks
    }

    /// A client of this program is about to release. The first that waits will be woken.
    pub(super) fn begin_release(&mut self, channel: &ReleaseChannel, now: MonoTime) {
        self.queue_mut(channel).into_iter().for_each(|queue| queue.speak_for_others(now));
    }

    /// An attempt of this waiter was refused, by a lease that may end then, if that is known. Where the lock needs other keys as
    /// well, the wake-up that no other waiter has had goes to the next one.
    pub(super) fn attempt_refused(&mut self, WaiterPlace { queue, number }: WaiterPlace, lease_end: Option<MonoTime>) {
        let queue = &mut self.queues[queue];
        let Some(waiter) = queue.waiter_mut(number) else { return };
        let was_woken_alone = std::mem::take(&mut waiter.is_woken_alone);
        match (waiter.scope, lease_end) {
            (RefusalScope::AllWaiters, Some(lease_end)) => {
                queue.spoken_for_until = queue.spoken_for_until.map(|until| until.min(lease_end));
            }
            (RefusalScope::QueuedWaiters, place_until) => {
                waiter.place_until = place_until;
                let tried_confirmed = waiter.tries_confirmed;
                queue.is_checked |= tried_confirmed;
            }
            (RefusalScope::OtherKeys, _) if was_woken_alone => queue.wake_one_from(number + 1),
            (RefusalScope::AllWaiters | RefusalScope::OneWaiter | RefusalScope::OtherKeys, _) => {}
        }
    }

    /// A waiter leaves. If it was woken since its last attempt, or `passes_on` the wake-up of that attempt, the next one is
    /// woken in its place; so is the next one of those that are alike where no release would wake it yet.
    pub(super) fn leave(
        &mut self,
        channel: &ReleaseChannel,
        place: WaiterPlace,
        passes_on: bool,
        now: impl FnOnce() -> MonoTime,
    ) {
        let queue = &mut self.queues[place.queue];
        let Some((_, waiter)) = queue.index(place.number).and_then(|index| queue.waiting.remove(index)) else { return };
        let is_unheard =
            matches!(queue.subscription, Subscription::Unneeded | Subscription::Wanted | Subscription::Asked);
        if passes_on || !waiter.is_asleep || waiter.speaks_for_others() && is_unheard {
            queue.wake_one();
        }
        if queue.waiting.is_empty() {
            if matches!(queue.subscription, Subscription::Unneeded | Subscription::Refused) {
                self.channels.remove(channel);
                self.unused.push(place.queue);
            } else {
                queue.idle_since = Some(now());
            }
        }
    }

    /// The server has confirmed the subscription: all waiters have to try once more, of those that are alike the first.
    pub(super) fn confirmed(&mut self, channel: &ReleaseChannel) {
        if let Some(queue) = self.queue_mut(channel) {
            queue.subscription = Subscription::Confirmed;
            queue.is_checked = false;
            queue.waiting.iter_mut().for_each(|(_, waiter)| waiter.tries_confirmed = false);
            let asleep = queue.waiting.iter().filter(|(_, waiter)| waiter.is_asleep).map(|(number, _)| *number);
            let due: Vec<u64> = asleep.filter(|number| !queue.is_behind(*number)).collect();
            due.into_iter().for_each(|number| queue.wake_to_look(number));
        }
    }

    /// The server has ended the subscription: to a sharded channel, whose slot has moved to another node. All are woken, as
    /// anything may have been missed, and it is asked for again.
    pub(super) fn lost(&mut self, channel: &ReleaseChannel) {
        if let Some(queue) = self.queue_mut(channel)
            && queue.subscription == Subscription::Confirmed
        {
            queue.subscription = Subscription::Wanted;
            queue.wake_all();
        }
    }

    /// A message came.
    pub(super) fn received(&mut self, channel: &ReleaseChannel, message: &[u8], now: MonoTime) {
        let Some(queue) = self.queue_mut(channel) else { return };
        queue.tried = Some(now);
        match message {
            b"0" => {
                queue.wake_one();
                queue.speak_for_others(now);
            }
            text => match name_in(text) {
                Some(name) if text.len() > NAME_LENGTH => queue.named(name).for_each(|wake_up| wake_up.wake_with(text)),
                Some(name) => queue.named(name).for_each(WakeUp::wake),
                None => queue.wake_all(),
            },
        }
    }

    /// The connection broke, and with it every subscription. All are woken: anything may have been missed.
    pub(super) fn broke(&mut self) {
        self.channels.retain(|_, place| {
            let queue = &mut self.queues[*place];
            if queue.waiting.is_empty() {
                self.unused.push(*place);
                return false;
            }
            if queue.subscription != Subscription::Unneeded {
                queue.subscription = Subscription::Wanted;
                queue.wake_all();
            }
            true
        });
    }
}

/// The length of a token as text.
const NAME_LENGTH: usize = 32;

/// Whom this message is for, if it is for one waiter: it is a token, alone or before a colon.
fn name_in(message: &[u8]) -> Option<Token> {
    let (name, rest) = message.split_at_checked(NAME_LENGTH)?;
    matches!(rest.first(), None | Some(b':')).then(|| Token::of_hex(name)).flatten()
}

impl Channel {
    fn new() -> Self {
        Self {
            subscription: Subscription::Unneeded,
            subscribing_until: MonoTime::since_origin(Duration::ZERO),
            waiting: VecDeque::new(),
            spoken_for_until: None,
            tried: None,
            is_checked: false,
            idle_since: None,
        }
    }

    /// Makes it that of another channel, without waiters. It keeps the room of a few.
    fn reset(&mut self) {
        const FEW: usize = 4;
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.shrink_to(FEW);
        *self = Self { waiting, ..Self::new() };
    }

    fn index(&self, number: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&number, |(number, _)| *number).ok()
    }

    fn waiter(&self, number: u64) -> Option<&Waiter> {
        self.index(number).map(|index| &self.waiting[index].1)
    }

    fn waiter_mut(&mut self, number: u64) -> Option<&mut Waiter> {
        self.index(number).map(|index| &mut self.waiting[index].1)
    }

    /// One that waits here has been refused.
    fn want(&mut self, now: MonoTime) {
        if self.subscription == Subscription::Unneeded {
            self.subscription = Subscription::Wanted;
            self.subscribing_until = now.saturating_add(SUBSCRIBING);
        }
    }

    /// Those that are alike sleep on, unless they are woken: one of them is about to try, or has tried.
    fn speak_for_others(&mut self, now: MonoTime) {
        self.spoken_for_until = Some(now.saturating_add(SPEAKS_FOR_OTHERS));
    }

    /// Wakes the first that is not awake already. If all are, each will try later than now.
    fn wake_one(&mut self) {
        self.wake_one_from(0);
    }

    /// The same, of those that have this number or a higher one.
    fn wake_one_from(&mut self, number: u64) {
        let from = self.waiting.partition_point(|(other, _)| *other < number);
        if let Some((_, first)) = self.waiting.range_mut(from..).find(|(_, waiter)| waiter.is_asleep) {
            first.wake();
            first.is_woken_alone = true;
        }
    }

    fn wake_to_look(&mut self, number: u64) {
        self.waiter_mut(number).into_iter().for_each(Waiter::wake_to_look);
    }

    /// Wakes the first that sleeps, if none has tried for long and a release is waited for. Not one in a queue, whose attempts
    /// keep its place.
    fn look(&mut self, now: MonoTime) {
        if self.subscription != Subscription::Confirmed {
            return;
        }
        if now.saturating_since(*self.tried.get_or_insert(now)) < LOOKS_AFTER {
            return;
        }
        if let Some((_, first)) = self.waiting.iter_mut().find(|(_, waiter)| waiter.is_asleep && !waiter.queues) {
            first.wake_to_look();
            self.tried = Some(now);
        }
    }

    /// Whether one that is like this waiter, and speaks for it, came before it.
    fn is_behind(&self, number: u64) -> bool {
        let mut earlier = self.waiting.iter().take_while(|(other, _)| *other < number);
        self.waiter(number)
            .filter(|waiter| waiter.speaks_for_others())
            .is_some_and(|waiter| earlier.any(|(_, earlier)| earlier.scope == waiter.scope))
    }

    /// What wakes the waiter of this name, if it still waits. A protocol names the first of a queue, which is among the first
    /// that came.
    fn named(&self, name: Token) -> impl Iterator<Item = &WakeUp> {
        self.waiting.iter().find(|(_, waiter)| waiter.name == name).map(|(_, waiter)| &waiter.wake_up).into_iter()
    }

    fn wake_all(&mut self) {
        self.waiting.iter_mut().for_each(|(_, waiter)| waiter.wake());
    }
}

#[cfg(test)]
mod tests;
