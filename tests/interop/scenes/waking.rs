//! Who waits is woken by the release, and by nothing else: it asks the server nothing until then, and the lease of the
//! holder, which outlasts its patience, does not end.

use std::time::{Duration, Instant};

use lockshift::lock::{Owner, Token};

use super::{LONG, Part};
use crate::monitor::{Line, Monitor, Source};
use crate::ours::Ours;
use crate::patience::{now, pause, until};
use crate::roster::Spoken;

/// How long nobody may ask anything: longer than any pause of somebody who polls.
const SILENCE: Duration = Duration::from_secs(3);

/// For how long they and we wait; the lease outlasts it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The patience is over long after this.
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
    assert!(theirs.acquires(part.spoken.protocol, &key, LONG), "nobody holds it");
    let mut wire = Monitor::on(part.stand.server());
    let ours = Ours::listening(part.stand, part.spoken, &key, LONG);
    let (released, won) = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| ours.waits(PATIENCE).map(|guard| (guard, now())));
        until_silent(&mut wire, &key);
        let released = now();
        theirs.release(&key);
        (released, waiter.join().expect("it does not panic"))
    });
    let (_guard, won) = won.expect("they have given it back");
    assert_at_once(released, won);
}

fn we_wake_them(part: &Part<'_>) {
    let (key, theirs) = (part.key("ours"), part.stand.session(part.client));
    let guard = Ours::new(part.stand, part.spoken, &key, LONG).acquire().expect("nobody holds it");
    let mut wire = Monitor::on(part.stand.server());
    let question = format!("lock {} {key} {} {}", part.spoken.protocol, LONG.as_millis(), PATIENCE.as_millis());
    theirs.ask("version");
    theirs.begin(&question);
    until_silent(&mut wire, &key);
    let released = now();
    drop(guard);
    assert_eq!(theirs.answer(&question), "won", "we have given it back");
    assert_at_once(released, now());
}

/// Waits until who came listens and has asked once more, and then nothing for longer than it would if it polled.
fn until_silent(wire: &mut Monitor, key: &str) {
    let mut asked = Vec::new();
    until("who listens is silent", || {
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
