//! The registry, as a log.

use super::*;

/// A registry with one channel, and those who wait there.
struct Fixture {
    registry: WaiterRegistry,
    channel: ReleaseChannel,
    waiting: Vec<(WaiterPlace, WakeUp)>,
}

fn waiter(number: u8, is_alike: bool) -> Waiter {
    of_scope(number, if is_alike { RefusalScope::AllWaiters } else { RefusalScope::OneWaiter })
}

fn of_scope(number: u8, scope: RefusalScope) -> Waiter {
    Waiter::new(Token::new([number; 16]), scope, WakeUp::default())
}

const fn at(millis: u64) -> MonoTime {
    MonoTime::since_origin(Duration::from_millis(millis))
}

impl Fixture {
    /// So many wait, the subscription is confirmed, and everybody has tried since.
    fn of(count: u8) -> Self {
        let mut shared = Self::unconfirmed(count);
        assert_eq!(shared.registry.due(at(0)), [Change::Listen(shared.channel.clone())]);
        shared.registry.confirmed(&shared.channel);
        assert_eq!(shared.awake(), (0..usize::from(count)).collect::<Vec<_>>());
        shared.all_try();
        shared
    }

    fn unconfirmed(count: u8) -> Self {
        let channel = ReleaseChannel { channel: b"channel".to_vec(), sharded: false };
        let mut shared = Self { registry: WaiterRegistry::new(), channel, waiting: Vec::new() };
        (0..count).for_each(|number| shared.enter(number));
        shared
    }

    fn enter(&mut self, number: u8) {
        let waiter = waiter(number, false);
        let flag = waiter.wake_up.clone();
        self.waiting.push((self.registry.enter_after_attempt(&self.channel, waiter, at(0)), flag));
    }

    /// One that has not tried yet.
    fn enter_first(&mut self, number: u8, is_alike: bool) {
        self.enter_before_its_attempt(waiter(number, is_alike));
    }

    fn enter_before_its_attempt(&mut self, waiter: Waiter) {
        let flag = waiter.wake_up.clone();
        self.waiting.push((self.registry.enter(&self.channel, waiter), flag));
    }

    fn begin_attempt(&mut self, index: usize, now: MonoTime) {
        let _ = self.registry.begin_attempt(self.waiting[index].0, now);
    }

    /// An attempt that takes a place, or keeps it until then.
    fn try_for_a_place(&mut self, index: usize, now: MonoTime, until: MonoTime) {
        self.begin_attempt(index, now);
        self.refuse(index, now, until);
    }

    fn refuse(&mut self, index: usize, now: MonoTime, until: MonoTime) {
        self.registry.attempt_refused(self.waiting[index].0, Some(until));
        self.registry.want(&self.channel, now);
    }

    /// Who is to sleep on, by place.
    fn spoken_for(&self, now: MonoTime) -> Vec<usize> {
        let until = |index: &usize| self.registry.spoken_for_until(self.waiting[*index].0, now);
        (0..self.waiting.len()).filter(|index| until(index).is_some()).collect()
    }

    fn leave(&mut self, index: usize, now: MonoTime) {
        self.registry.leave(&self.channel, self.waiting[index].0, false, || now);
    }

    fn receive(&mut self, message: &str) {
        self.registry.received(&self.channel, message.as_bytes(), at(0));
    }

    fn all_try(&mut self) {
        (0..self.waiting.len()).for_each(|index| self.begin_attempt(index, at(0)));
    }

    /// Who is awake, by place.
    fn awake(&self) -> Vec<usize> {
        self.waiting.iter().enumerate().filter(|(_, (_, flag))| flag.is_woken()).map(|(index, _)| index).collect()
    }
}

#[test]
fn a_release_wakes_one_and_the_first_first() {
    let mut shared = Fixture::of(3);
    shared.receive("0");
    assert_eq!(shared.awake(), [0]);
    shared.receive("0");
    assert_eq!(shared.awake(), [0, 1], "the first has not tried yet, and this is another release");
    shared.all_try();
    shared.receive("0");
    assert_eq!(shared.awake(), [0], "who tried in vain keeps its place");
}

#[test]
fn a_message_wakes_as_many_as_it_means() {
    let mut shared = Fixture::of(3);
    shared.receive("1");
    assert_eq!(shared.awake(), [0, 1, 2], "a writer's release");
    shared.all_try();
    shared.receive("unknown");
    assert_eq!(shared.awake(), [0, 1, 2], "rather one try too many than a release missed");
    shared.all_try();
    shared.receive(&Token::new([1; 16]).hex());
    assert_eq!(shared.awake(), [1]);
    shared.all_try();
    shared.receive(&Token::new([9; 16]).hex());
    assert_eq!(shared.awake(), [0_usize; 0], "a waiter that has left");
    shared.receive(&format!("{}x", Token::new([1; 16]).hex()));
    assert_eq!(shared.awake(), [0, 1, 2], "neither a token nor one before a colon");
}

/// Until its next attempt, which may find something else.
#[test]
fn a_message_for_one_waiter_reaches_it_whole() {
    let mut shared = Fixture::of(2);
    let name = Token::new([1; 16]).hex();
    shared.receive(&name);
    shared.receive(&format!("{name}:10"));
    shared.receive(&name);
    assert_eq!(shared.awake(), [1]);
    let taken = || [0, 1, 1].map(|index: usize| shared.waiting[index].1.take_message());
    assert_eq!(taken(), [None, Some(format!("{name}:10").into_bytes()), None]);
    shared.receive(&format!("{name}:10"));
    shared.all_try();
    assert_eq!(shared.waiting[1].1.take_message(), None);
}

#[test]
fn a_woken_waiter_that_leaves_without_a_try_wakes_the_next() {
    let mut shared = Fixture::of(3);
    shared.receive("0");
    shared.leave(0, at(0));
    assert_eq!(shared.awake()[1..], [1]);

    let mut shared = Fixture::of(2);
    shared.receive("0");
    shared.all_try();
    shared.registry.leave(&shared.channel, shared.waiting[0].0, true, || at(0));
    assert_eq!(shared.awake(), [1], "its try broke off");

    let mut shared = Fixture::of(2);
    shared.receive("0");
    shared.all_try();
    shared.leave(0, at(0));
    assert_eq!(shared.awake(), [0_usize; 0], "it has won");
}

/// Its protocol has notified it because it is the first in a queue. If it leaves, the protocol notifies the next one.
#[test]
fn a_waiter_that_was_woken_by_name_passes_nothing_on() {
    let mut shared = Fixture::of(3);
    shared.receive(&Token::new([0; 16]).hex());
    shared.leave(0, at(0));
    assert_eq!(shared.awake(), [0]);
    shared.receive("0");
    assert_eq!(shared.awake(), [0, 1], "which another release wakes");
}

#[test]
fn no_waiter_relies_on_a_subscription_before_it_is_confirmed() {
    let mut shared = Fixture::unconfirmed(1);
    assert!(shared.registry.is_wanted(&shared.channel) && !shared.registry.is_confirmed(&shared.channel));
    shared.registry.due(at(0));
    shared.enter(1);
    assert_eq!(shared.registry.due(at(0)), [], "asked once");
    assert_eq!(shared.awake(), [0_usize; 0]);
    shared.registry.confirmed(&shared.channel);
    assert_eq!(shared.awake(), [0, 1], "each tries once more");
    shared.enter(2);
    assert_eq!(shared.awake(), [0, 1, 2], "so does who comes later, and needs no answer of the server for it");
}

#[test]
fn a_channel_is_left_a_while_after_the_last_waiter() {
    let mut shared = Fixture::of(2);
    shared.leave(0, at(100));
    shared.leave(1, at(200));
    assert!(shared.registry.is_empty());
    assert_eq!(shared.registry.due(at(1199)), []);
    shared.enter(2);
    assert_eq!(shared.registry.due(at(9000)), [], "a waiter was added in time");
    shared.leave(2, at(9000));
    assert_eq!(shared.registry.due(at(10_000)), [Change::Leave(shared.channel.clone())]);
    shared.enter(3);
    assert_eq!(shared.registry.due(at(10_000)), [Change::Listen(shared.channel.clone())]);
}

#[test]
fn a_broken_connection_wakes_all_and_is_to_be_subscribed_anew() {
    let mut shared = Fixture::of(2);
    shared.registry.broke();
    assert_eq!(shared.awake(), [0, 1]);
    assert!(!shared.registry.is_confirmed(&shared.channel));
    shared.all_try();
    assert_eq!(shared.registry.due(at(0)), [Change::Listen(shared.channel.clone())]);
    shared.registry.confirmed(&shared.channel);
    assert_eq!(shared.awake(), [0, 1]);
}

#[test]
fn a_refused_waiter_is_not_woken_and_the_next_waiters_subscribe_again() {
    let mut shared = Fixture::unconfirmed(1);
    shared.registry.due(at(0));
    shared.registry.refused(&shared.channel);
    assert_eq!((shared.awake(), shared.registry.due(at(0))), (vec![], vec![]));
    shared.leave(0, at(0));
    shared.enter(1);
    assert!(shared.registry.is_wanted(&shared.channel));
}

#[test]
fn a_subscription_that_the_server_ends_is_asked_for_again() {
    let mut shared = Fixture::of(1);
    shared.registry.lost(&shared.channel);
    assert_eq!(shared.awake(), [0]);
    assert!(!shared.registry.is_confirmed(&shared.channel));
    assert_eq!(shared.registry.due(at(0)), [Change::Listen(shared.channel.clone())]);
    shared.registry.lost(&shared.channel);
    assert_eq!(shared.registry.due(at(0)), [], "it is under way");
}

#[test]
fn waiters_are_counted_where_a_release_would_wake_them() {
    let confirmed = Fixture::of(3);
    assert_eq!(confirmed.registry.waiters(&confirmed.channel), Some(3));
    let unconfirmed = Fixture::unconfirmed(3);
    assert_eq!(unconfirmed.registry.waiters(&unconfirmed.channel), None);
}

#[test]
fn nobody_listens_on_a_channel_whose_waiters_had_left_before_that_was_asked_for() {
    let mut shared = Fixture::unconfirmed(1);
    shared.leave(0, at(0));
    assert_eq!(shared.registry.due(at(0).saturating_add(LINGER)), []);
    assert!(!shared.registry.is_wanted(&shared.channel));
}

/// Three that are alike, and whose channel is confirmed.
fn three_alike() -> Fixture {
    let mut shared = Fixture::unconfirmed(0);
    (0..3).for_each(|number| shared.enter_first(number, true));
    shared.registry.want(&shared.channel, at(0));
    shared.registry.due(at(0));
    shared.registry.confirmed(&shared.channel);
    shared
}

#[test]
fn waiters_that_are_alike_take_turns() {
    let mut shared = three_alike();
    assert_eq!(shared.awake(), [0], "a release may have been missed");
    shared.begin_attempt(0, at(100));
    shared.enter_first(3, true);
    assert_eq!((shared.awake(), shared.spoken_for(at(100))), (vec![], vec![1, 2, 3]));
    shared.receive("0");
    assert_eq!((shared.awake(), shared.spoken_for(at(100))), (vec![0], vec![1, 2, 3]), "the first is woken first");
    shared.begin_attempt(0, at(100));
    shared.leave(0, at(100));
    assert_eq!(shared.spoken_for(at(100)), [2, 3], "it has won, and the second is the first now");
    shared.receive("1");
    assert_eq!((shared.awake(), shared.spoken_for(at(100))), (vec![1, 2, 3], vec![]), "each of them tries");
}

#[test]
fn an_attempt_speaks_for_those_that_come_after_it_for_a_quarter_of_a_second() {
    let mut shared = three_alike();
    shared.begin_attempt(0, at(100));
    assert_eq!((shared.spoken_for(at(349)), shared.spoken_for(at(350))), (vec![1, 2], vec![]));
    shared.begin_attempt(2, at(350));
    assert_eq!(shared.spoken_for(at(599)), [1, 2], "one for all of them");
}

#[test]
fn a_release_and_a_message_that_wakes_one_speak_for_those_that_are_alike() {
    let mut shared = three_alike();
    shared.begin_attempt(0, at(100));
    assert_eq!(shared.spoken_for(at(400)), [0_usize; 0]);
    let channel = shared.channel.clone();
    shared.registry.begin_release(&channel, at(400));
    assert_eq!((shared.spoken_for(at(649)), shared.spoken_for(at(650))), (vec![1, 2], vec![]));
    shared.registry.received(&channel, b"0", at(700));
    assert_eq!((shared.spoken_for(at(949)), shared.spoken_for(at(950))), (vec![1, 2], vec![]));
    assert_eq!(shared.awake(), [0]);
    shared.registry.received(&channel, b"1", at(1000));
    assert_eq!((shared.awake(), shared.spoken_for(at(1000))), (vec![0, 1, 2], vec![]), "each of them tries");
    let other = ReleaseChannel { channel: b"other".to_vec(), sharded: false };
    shared.registry.begin_release(&other, at(1000));
    assert_eq!(shared.registry.due(at(1000)), [], "none waits there");
}

#[test]
fn an_attempt_speaks_for_others_no_longer_than_until_the_lease_may_end() {
    let mut shared = three_alike();
    shared.begin_attempt(0, at(100));
    let place = shared.waiting[0].0;
    shared.registry.attempt_refused(place, Some(at(200)));
    assert_eq!((shared.spoken_for(at(199)), shared.spoken_for(at(200))), (vec![1, 2], vec![]));
    shared.begin_attempt(1, at(300));
    shared.registry.attempt_refused(place, Some(at(9000)));
    assert_eq!((shared.spoken_for(at(549)), shared.spoken_for(at(550))), (vec![1, 2], vec![]), "by another lease");
    shared.enter_first(3, false);
    shared.begin_attempt(0, at(2000));
    shared.registry.attempt_refused(shared.waiting[3].0, Some(at(2100)));
    assert_eq!(shared.spoken_for(at(2200)), [1, 2], "the lease of something else");
}

#[test]
fn one_that_enters_after_its_attempt_is_woken_unless_it_is_behind_others() {
    let mut shared = three_alike();
    shared.begin_attempt(0, at(0));
    let late = waiter(3, true);
    shared.registry.enter_after_attempt(&shared.channel, late.clone(), at(0));
    assert!(!late.wake_up.is_woken());
    let other = waiter(4, false);
    shared.registry.enter_after_attempt(&shared.channel, other.clone(), at(0));
    assert!(other.wake_up.is_woken());
}

#[test]
fn the_first_of_a_kind_is_not_spoken_for() {
    let mut shared = Fixture::of(2);
    shared.enter_first(2, true);
    shared.begin_attempt(2, at(0));
    assert_eq!(shared.spoken_for(at(0)), [0_usize; 0], "it is the first of its kind");
    shared.enter_first(3, false);
    shared.enter_first(4, true);
    assert_eq!(shared.spoken_for(at(0)), [4]);
    shared.leave(2, at(0));
    assert_eq!(shared.spoken_for(at(0)), [0_usize; 0]);
}

#[test]
fn none_is_spoken_for_where_a_release_would_not_wake_it() {
    let mut shared = three_alike();
    shared.begin_attempt(0, at(900));
    assert_eq!(shared.spoken_for(at(900)), [1, 2]);
    shared.registry.lost(&shared.channel);
    shared.begin_attempt(0, at(900));
    assert_eq!(shared.spoken_for(at(900)), [0_usize; 0]);
    let mut shared = three_alike();
    shared.registry.broke();
    shared.begin_attempt(0, at(900));
    assert_eq!(shared.spoken_for(at(900)), [0_usize; 0]);
}

#[test]
fn those_that_are_alike_wait_a_moment_for_the_first_and_for_the_subscription() {
    let unconfirmed = || {
        let mut shared = Fixture::unconfirmed(0);
        (0..3).for_each(|number| shared.enter_first(number, true));
        assert_eq!(shared.spoken_for(at(100)), [0_usize; 0], "none has tried");
        shared.begin_attempt(0, at(100));
        assert_eq!((shared.spoken_for(at(349)), shared.spoken_for(at(350))), (vec![1, 2], vec![]));
        assert_eq!(shared.registry.due(at(100)), [], "none has been refused");
        shared.registry.want(&shared.channel, at(150));
        assert_eq!(shared.registry.due(at(150)), [Change::Listen(shared.channel.clone())]);
        shared
    };
    let mut shared = unconfirmed();
    shared.begin_attempt(0, at(200));
    assert_eq!(
        (shared.spoken_for(at(399)), shared.spoken_for(at(400))),
        (vec![1, 2], vec![]),
        "no attempt prolongs it"
    );
    shared.registry.want(&shared.channel, at(250));
    assert_eq!(shared.spoken_for(at(400)), [0_usize; 0], "nor does another refusal");
    shared.registry.attempt_refused(shared.waiting[0].0, Some(at(300)));
    assert_eq!((shared.spoken_for(at(299)), shared.spoken_for(at(300))), (vec![1, 2], vec![]), "the lease may end");
    shared.registry.confirmed(&shared.channel);
    assert_eq!(shared.awake(), [0]);
    shared.begin_attempt(0, at(300));
    assert_eq!(shared.spoken_for(at(549)), [1, 2], "an attempt speaks for others as long as ever now");

    let mut shared = unconfirmed();
    shared.registry.refused(&shared.channel);
    assert_eq!(shared.spoken_for(at(150)), [0_usize; 0], "nothing will wake them");
    shared.leave(0, at(150));
    assert_eq!(shared.awake(), [0_usize; 0], "each polls");
}

/// Until then no release wakes it.
#[test]
fn the_next_of_those_that_are_alike_is_woken_by_one_that_leaves_before_the_subscription() {
    let mut shared = Fixture::unconfirmed(0);
    (0..4).for_each(|number| shared.enter_first(number, true));
    shared.begin_attempt(0, at(0));
    shared.leave(0, at(0));
    assert_eq!((shared.awake(), shared.registry.due(at(0))), (vec![1], vec![]));
    shared.begin_attempt(1, at(0));
    shared.registry.want(&shared.channel, at(0));
    shared.leave(1, at(0));
    assert_eq!(shared.awake(), [2]);
    shared.begin_attempt(2, at(0));
    shared.registry.due(at(0));
    shared.leave(2, at(0));
    assert_eq!(shared.awake(), [3]);
    shared.begin_attempt(3, at(0));
    shared.registry.confirmed(&shared.channel);
    shared.begin_attempt(3, at(0));
    shared.enter_first(4, true);
    shared.leave(3, at(0));
    assert_eq!(shared.awake(), [0_usize; 0], "the release will wake it");

    let mut shared = Fixture::unconfirmed(2);
    shared.leave(0, at(0));
    assert_eq!(shared.awake(), [0_usize; 0], "these poll, each for itself");
}

/// As a client does that meets no other.
#[test]
fn nothing_is_left_of_one_that_was_not_refused() {
    let mut shared = Fixture::unconfirmed(0);
    shared.enter_first(0, true);
    shared.begin_attempt(0, at(0));
    shared.registry.broke();
    assert_eq!((shared.registry.due(at(0)), shared.awake()), (vec![], vec![]), "it needs no subscription");
    shared.leave(0, at(0));
    assert!(shared.registry.channels.is_empty());
}

#[test]
fn a_refused_waiter_whose_lock_needs_other_keys_passes_its_wake_up_on() {
    let mut shared = Fixture::of(1);
    for (number, scope) in [(1, RefusalScope::OtherKeys), (2, RefusalScope::OtherKeys), (3, RefusalScope::AllWaiters)] {
        let waiter = Waiter::new(Token::new([number; 16]), scope, WakeUp::default());
        let flag = waiter.wake_up.clone();
        shared.waiting.push((shared.registry.enter(&shared.channel, waiter), flag));
    }
    let refuse = |shared: &mut Fixture, index: usize| {
        shared.begin_attempt(index, at(0));
        shared.registry.attempt_refused(shared.waiting[index].0, None);
    };
    refuse(&mut shared, 1);
    assert_eq!(shared.awake(), [0_usize; 0], "nothing had woken it");
    shared.receive("0");
    refuse(&mut shared, 0);
    assert_eq!(shared.awake(), [0_usize; 0], "the lock is held");
    shared.leave(0, at(0));
    shared.receive("0");
    for index in 1..4 {
        assert_eq!(shared.awake(), [index]);
        refuse(&mut shared, index);
    }
    assert_eq!(shared.awake(), [0_usize; 0], "all have tried");
    shared.receive("1");
    for index in [3, 2, 1] {
        refuse(&mut shared, index);
    }
    assert_eq!(shared.awake(), [0_usize; 0], "each of them was woken by itself");
}

/// Three that take a place each, with nobody subscribed yet. Places are kept until 8 s.
fn three_in_a_queue() -> Fixture {
    let mut shared = Fixture::unconfirmed(0);
    for number in 0..3 {
        shared.enter_before_its_attempt(of_scope(number, RefusalScope::QueuedWaiters));
        assert_eq!(shared.spoken_for(at(100)), (0..usize::from(number)).skip(1).collect::<Vec<_>>(), "it has no place");
        shared.try_for_a_place(number.into(), at(100), at(8000));
    }
    assert_eq!(shared.registry.due(at(100)), [Change::Listen(shared.channel.clone())]);
    shared
}

#[test]
fn the_first_of_a_queue_tries_for_all_when_the_subscription_is_confirmed() {
    let mut shared = three_in_a_queue();
    assert_eq!((shared.spoken_for(at(349)), shared.spoken_for(at(350))), (vec![1, 2], vec![]), "the first polls");
    shared.registry.confirmed(&shared.channel);
    assert_eq!((shared.awake(), shared.spoken_for(at(200))), (vec![0], vec![1, 2]));
    assert_eq!(shared.spoken_for(at(350)), [0_usize; 0], "the first has not tried");
    shared.try_for_a_place(0, at(300), at(8100));
    assert_eq!((shared.spoken_for(at(7999)), shared.spoken_for(at(8000))), (vec![0, 1, 2], vec![0]));
    shared.receive(&Token::new([1; 16]).hex());
    assert_eq!((shared.awake(), shared.spoken_for(at(400))), (vec![1], vec![0, 2]));
    shared.try_for_a_place(1, at(400), at(9000));
    assert_eq!(shared.spoken_for(at(8000)), [0, 1], "it is kept for longer");
}

#[test]
fn an_attempt_from_before_the_subscription_was_confirmed_does_not_count_for_others() {
    let mut shared = three_in_a_queue();
    shared.begin_attempt(0, at(200));
    shared.registry.confirmed(&shared.channel);
    shared.refuse(0, at(300), at(8000));
    assert_eq!((shared.awake(), shared.spoken_for(at(449)), shared.spoken_for(at(450))), (vec![0], vec![1, 2], vec![]));
    shared.begin_attempt(0, at(450));
    shared.begin_attempt(1, at(450));
    assert_eq!(shared.spoken_for(at(500)), [1, 2], "neither is refused yet");
    for breaks in [WaiterRegistry::broke, |registry: &mut WaiterRegistry| {
        let channel = registry.channels.keys().next().cloned().unwrap();
        registry.lost(&channel);
    }] {
        shared.refuse(1, at(500), at(8000));
        assert_eq!(shared.spoken_for(at(1000)), [0, 1, 2]);
        breaks(&mut shared.registry);
        assert_eq!((shared.awake(), shared.spoken_for(at(1000))), (vec![0, 1, 2], vec![]));
        shared.begin_attempt(1, at(1000));
        shared.registry.due(at(1000));
        shared.registry.confirmed(&shared.channel);
        shared.refuse(1, at(1000), at(8000));
        assert_eq!(shared.spoken_for(at(1250)), [0_usize; 0], "it began before");
        shared.all_try();
    }
}

#[test]
fn the_next_of_a_queue_polls_when_the_first_leaves_before_the_subscription() {
    let mut shared = three_in_a_queue();
    shared.leave(0, at(200));
    assert_eq!((shared.awake(), shared.spoken_for(at(200))), (vec![1], vec![2]));
    shared.registry.refused(&shared.channel);
    assert_eq!(shared.spoken_for(at(200)), [0_usize; 0], "each polls");
}

/// What was sent to it before it entered is lost.
#[test]
fn one_of_a_queue_that_enters_after_its_attempt_is_woken() {
    let mut shared = three_in_a_queue();
    shared.registry.confirmed(&shared.channel);
    let late = of_scope(3, RefusalScope::QueuedWaiters);
    shared.registry.enter_after_attempt(&shared.channel, late.clone(), at(200));
    assert!(late.wake_up.is_woken());
}

#[test]
fn one_is_woken_to_look_where_none_has_tried_for_seconds() {
    let mut shared = three_alike();
    assert!(!shared.registry.begin_attempt(shared.waiting[0].0, at(100)), "the subscription was confirmed");
    shared.registry.due(at(4099));
    assert_eq!(shared.awake(), [0_usize; 0]);
    shared.registry.due(at(4100));
    assert_eq!(shared.awake(), [0], "the first");
    shared.registry.due(at(8099));
    assert_eq!(shared.awake(), [0]);
    shared.registry.due(at(8100));
    assert_eq!(shared.awake(), [0, 1], "the first is a task that is not polled");
    assert!(!shared.registry.begin_attempt(shared.waiting[1].0, at(8100)));
    shared.registry.received(&shared.channel, b"0", at(9000));
    assert_eq!(shared.awake(), [0, 1], "the first of those that sleep");
    shared.registry.due(at(12_999));
    assert_eq!(shared.awake(), [0, 1], "it may be about to try");
    shared.registry.due(at(13_000));
    assert_eq!(shared.awake(), [0, 1, 2]);
    shared.registry.due(at(99_000));
    assert!(shared.registry.begin_attempt(shared.waiting[1].0, at(99_000)), "it was woken by a release");
}

#[test]
fn none_is_woken_to_look_where_it_polls_or_queues() {
    let mut shared = three_in_a_queue();
    shared.registry.due(at(50_000));
    assert_eq!(shared.awake(), [0_usize; 0], "the subscription is not confirmed");
    shared.registry.confirmed(&shared.channel);
    shared.all_try();
    for now in [50_000, 60_000] {
        shared.registry.due(at(now));
        assert_eq!(shared.awake(), [0_usize; 0], "each tries to keep its place");
    }
    let mut shared = Fixture::unconfirmed(0);
    shared.enter_before_its_attempt(waiter(1, false).in_queue());
    shared.registry.want(&shared.channel, at(0));
    shared.registry.due(at(0));
    shared.registry.confirmed(&shared.channel);
    shared.begin_attempt(0, at(0));
    shared.registry.due(at(50_000));
    assert_eq!(shared.awake(), [0_usize; 0]);
}

#[test]
fn an_attempt_after_a_release_or_without_a_wake_up_is_one_of_the_tries() {
    let mut shared = Fixture::unconfirmed(0);
    shared.enter_first(0, true);
    let place = shared.waiting[0].0;
    let counts = |shared: &mut Fixture| shared.registry.begin_attempt(place, at(0));
    assert!(counts(&mut shared));
    shared.registry.want(&shared.channel, at(0));
    shared.registry.due(at(0));
    shared.registry.confirmed(&shared.channel);
    assert_eq!([(); 2].map(|()| counts(&mut shared)), [false, true], "to see whether a release was missed");
    shared.receive("0");
    assert!(counts(&mut shared));
}
