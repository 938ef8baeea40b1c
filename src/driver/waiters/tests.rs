//! The book, told as a log.

use std::cell::Cell;
use std::rc::Rc;

use super::*;

#[derive(Clone, Default)]
struct Flag(Rc<Cell<bool>>);

impl Alarm for Flag {
    fn ring(&self) {
        self.0.set(true);
    }

    fn is_rung(&self) -> bool {
        self.0.get()
    }
}

/// A book with one channel, and those who wait there.
struct ListenerShared {
    book: Book<Flag>,
    bell: ReleaseChannel,
    waiting: Vec<(u64, Flag)>,
}

const fn at(millis: u64) -> MonoTime {
    MonoTime::since_origin(Duration::from_millis(millis))
}

impl ListenerShared {
    /// So many wait, the subscription is confirmed, and everybody has tried since.
    fn of(count: u8) -> Self {
        let mut hall = Self::unconfirmed(count);
        assert_eq!(hall.book.due(at(0)), [Change::Listen(hall.bell.clone())]);
        hall.book.confirmed(&hall.bell);
        assert_eq!(hall.awake(), (0..usize::from(count)).collect::<Vec<_>>());
        hall.all_try();
        hall
    }

    fn unconfirmed(count: u8) -> Self {
        let bell = ReleaseChannel { channel: b"bell".to_vec(), sharded: false };
        let mut hall = Self { book: Book::new(), bell, waiting: Vec::new() };
        (0..count).for_each(|number| hall.enter(number));
        hall
    }

    fn enter(&mut self, number: u8) {
        let flag = Flag::default();
        let ticket = self.book.enter(&self.bell, Token::new([number; 16]), flag.clone());
        self.waiting.push((ticket, flag));
    }

    fn leave(&mut self, index: usize, now: MonoTime) {
        self.book.leave(&self.bell, self.waiting[index].0, false, now);
    }

    fn hear(&mut self, message: &str) {
        self.book.heard(&self.bell, message.as_bytes());
    }

    fn all_try(&self) {
        self.waiting.iter().for_each(|(_, flag)| flag.0.set(false));
    }

    /// Who is awake, by place.
    fn awake(&self) -> Vec<usize> {
        self.waiting.iter().enumerate().filter(|(_, (_, flag))| flag.is_rung()).map(|(index, _)| index).collect()
    }
}

#[test]
fn a_release_wakes_one_and_the_first_first() {
    let mut hall = ListenerShared::of(3);
    hall.hear("0");
    assert_eq!(hall.awake(), [0]);
    hall.hear("0");
    assert_eq!(hall.awake(), [0, 1], "the first has not tried yet, and this is another release");
    hall.all_try();
    hall.hear("0");
    assert_eq!(hall.awake(), [0], "who tried in vain keeps its place");
}

#[test]
fn a_message_wakes_as_many_as_it_means() {
    let mut hall = ListenerShared::of(3);
    hall.hear("1");
    assert_eq!(hall.awake(), [0, 1, 2], "a writer's release");
    hall.all_try();
    hall.hear("who knows");
    assert_eq!(hall.awake(), [0, 1, 2], "rather one try too many than a release missed");
    hall.all_try();
    hall.hear(&Token::new([1; 16]).hex());
    assert_eq!(hall.awake(), [1]);
    hall.all_try();
    hall.hear(&Token::new([9; 16]).hex());
    assert_eq!(hall.awake(), [0_usize; 0], "somebody who is gone");
}

#[test]
fn who_was_woken_and_goes_without_a_try_passes_it_on() {
    let mut hall = ListenerShared::of(3);
    hall.hear("0");
    hall.leave(0, at(0));
    assert_eq!(hall.awake()[1..], [1]);

    let mut hall = ListenerShared::of(2);
    hall.hear("0");
    hall.all_try();
    hall.book.leave(&hall.bell, hall.waiting[0].0, true, at(0));
    assert_eq!(hall.awake(), [1], "its try broke off");

    let mut hall = ListenerShared::of(2);
    hall.hear("0");
    hall.all_try();
    hall.leave(0, at(0));
    assert_eq!(hall.awake(), [0_usize; 0], "it has won");
}

#[test]
fn nobody_relies_on_a_subscription_before_it_is_confirmed() {
    let mut hall = ListenerShared::unconfirmed(1);
    assert!(hall.book.is_wanted(&hall.bell) && !hall.book.is_confirmed(&hall.bell));
    hall.book.due(at(0));
    hall.enter(1);
    assert_eq!(hall.book.due(at(0)), [], "asked once");
    assert_eq!(hall.awake(), [0_usize; 0]);
    hall.book.confirmed(&hall.bell);
    assert_eq!(hall.awake(), [0, 1], "each tries once more");
    hall.enter(2);
    assert_eq!(hall.awake(), [0, 1, 2], "so does who comes later, and needs no answer of the server for it");
}

#[test]
fn a_channel_is_left_a_while_after_the_last_has_gone() {
    let mut hall = ListenerShared::of(2);
    hall.leave(0, at(100));
    hall.leave(1, at(200));
    assert!(hall.book.is_empty());
    assert_eq!(hall.book.due(at(1199)), []);
    hall.enter(2);
    assert_eq!(hall.book.due(at(9000)), [], "somebody came in time");
    hall.leave(2, at(9000));
    assert_eq!(hall.book.due(at(10_000)), [Change::Leave(hall.bell.clone())]);
    hall.enter(3);
    assert_eq!(hall.book.due(at(10_000)), [Change::Listen(hall.bell.clone())]);
}

#[test]
fn a_broken_connection_wakes_all_and_is_to_be_subscribed_anew() {
    let mut hall = ListenerShared::of(2);
    hall.book.broke();
    assert_eq!(hall.awake(), [0, 1]);
    assert!(!hall.book.is_confirmed(&hall.bell));
    hall.all_try();
    assert_eq!(hall.book.due(at(0)), [Change::Listen(hall.bell.clone())]);
    hall.book.confirmed(&hall.bell);
    assert_eq!(hall.awake(), [0, 1]);
}

#[test]
fn who_is_refused_is_not_woken_and_the_next_crowd_asks_again() {
    let mut hall = ListenerShared::unconfirmed(1);
    hall.book.due(at(0));
    hall.book.refused(&hall.bell);
    assert_eq!((hall.awake(), hall.book.due(at(0))), (vec![], vec![]));
    hall.leave(0, at(0));
    hall.enter(1);
    assert!(hall.book.is_wanted(&hall.bell));
}
