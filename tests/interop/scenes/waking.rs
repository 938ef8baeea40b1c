//! The release wakes a waiter, and nothing else does: it sends no command until then, and the holder's lease outlasts its
//! patience.

use std::time::{Duration, Instant};

use lockshift::lock::{Owner, Token};

use super::{LONG, Part};
use crate::monitor::{Line, Monitor, Source};
use crate::ours::Ours;
use crate::patience::{now, pause, until};
use crate::roster::Spoken;

/// How long a waiter must be silent: longer than any pause of a client that polls.
const SILENCE: Duration = Duration::from_secs(3);

/// For how long they and we wait; the lease outlasts it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The patience ends long after this.
const AT_ONCE: Duration = Duration::from_secs(20);

/// Whether a release is announced.
pub(super) fn is_announced(spoken: Spoken) -> bool {
    spoken.locker("k", LONG).release_channel(&Owner::new(Token::new([0; 16]), 1, 1)).is_some()
}

pub(super) fn woken_by_the_release(part: &Part<'_>) {
    they_wake_us(part);
    we_wake_them(part);
}

fn they_wake_us(part: &Part<'_>) {
    let (key, theirs) = (part.key("theirs"), part.stand.session(part.client));
    assert!(theirs.acquires(part.spoken.protocol, &key, LONG), "the lock is free");
    let mut wire = Monitor::on(part.stand.server());
    let ours = Ours::listening(part.stand, part.spoken, &key, LONG);
    let (released, won) = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| ours.waits(PATIENCE).map(|guard| (guard, now())));
        until_silent(&mut wire, &key);
        let released = now();
        theirs.release(&key);
        (released, waiter.join().expect("it does not panic"))
    });
    let (_guard, won) = won.expect("the foreign client has released it");
    assert_at_once(released, won);
}

fn we_wake_them(part: &Part<'_>) {
    let (key, theirs) = (part.key("ours"), part.stand.session(part.client));
    let guard = Ours::new(part.stand, part.spoken, &key, LONG).acquire().expect("the lock is free");
    let mut wire = Monitor::on(part.stand.server());
    let question = format!("lock {} {key} {} {}", part.spoken.protocol, LONG.as_millis(), PATIENCE.as_millis());
    theirs.ask("version");
    theirs.begin(&question);
    until_silent(&mut wire, &key);
    let released = now();
    drop(guard);
    assert_eq!(theirs.answer(&question), "won", "we have released it");
    assert_at_once(released, now());
}

/// Waits until the waiter has subscribed, has tried once more, and then is silent for longer than if it polled.
fn until_silent(wire: &mut Monitor, key: &str) {
    let mut asked = Vec::new();
    until("the waiter is silent", || {
        let before = asked.len();
        asked.extend(questions(wire, key));
        let since_it_listens = asked.iter().skip_while(|line| !line.words[0].eq_ignore_ascii_case(b"subscribe"));
        let is_silent = since_it_listens.count() > 1 && asked.len() == before;
        if !is_silent {
            pause(SILENCE);
        }
        is_silent.then_some(())
    });
}

/// The commands that have named this key, or what belongs to it, since the last time.
fn questions(wire: &mut Monitor, key: &str) -> impl Iterator<Item = Line> {
    let names = |word: &Vec<u8>| word.windows(key.len()).any(|part| part == key.as_bytes());
    wire.take().into_iter().filter(move |line| line.source != Source::Script && line.words.iter().any(names))
}

fn assert_at_once(released: Instant, won: Instant) {
    let later = won.saturating_duration_since(released);
    assert!(later < AT_ONCE, "woken {later:?} after the release");
}
