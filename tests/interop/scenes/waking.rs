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

/// Both directions at once: we wait for a lock of theirs, and they for one of ours.
pub(super) fn woken_by_the_release(part: &Part<'_>) {
    let (theirs, ours) = (part.key("theirs"), part.key("ours"));
    let [holder, waiter] = [(); 2].map(|()| part.testbed.session(part.client));
    assert!(holder.acquires(part.spoken.protocol, &theirs, LONG), "the lock is free");
    let guard = Ours::new(part.testbed, part.spoken, &ours, LONG).acquire().expect("the lock is free");
    let our_waiter = Ours::listening(part.testbed, part.spoken, &theirs, LONG);
    waiter.ask("version");
    let mut wire = Monitor::on(part.testbed.server());
    let question = format!("lock {} {ours} {} {}", part.spoken.protocol, LONG.as_millis(), PATIENCE.as_millis());
    waiter.begin(&question);
    let (released, won) = std::thread::scope(|scope| {
        let waits = scope.spawn(|| our_waiter.waits(PATIENCE).map(|guard| (guard, now())));
        until_silent(&mut wire, [&theirs, &ours]);
        let released = now();
        holder.release(&theirs);
        (released, waits.join().expect("it does not panic"))
    });
    let (_guard, won) = won.expect("the foreign client has released it");
    assert_at_once(released, won);

    let released = now();
    drop(guard);
    assert_eq!(waiter.answer(&question), "won", "we have released it");
    assert_at_once(released, now());
}

/// Waits until the waiter of each key has subscribed, has tried once more, and then is silent for longer than if it polled.
fn until_silent(wire: &mut Monitor, keys: [&str; 2]) {
    let (mut asked, mut last) = (keys.map(|_| Vec::new()), now());
    until("the waiters are silent", || {
        let lines = wire.take();
        for (key, asked) in keys.iter().zip(&mut asked) {
            let before = asked.len();
            asked.extend(lines.iter().filter(|line| names(line, key)).cloned());
            last = if asked.len() > before { now() } else { last };
        }
        let listens = |asked: &Vec<Line>| {
            asked.iter().skip_while(|line| !line.words[0].eq_ignore_ascii_case(b"subscribe")).count() > 1
        };
        pause(Duration::from_millis(50));
        (asked.iter().all(listens) && last.elapsed() > SILENCE).then_some(())
    });
}

/// Whether a client's command names this key, or what belongs to it.
fn names(line: &Line, key: &str) -> bool {
    let names = |word: &Vec<u8>| word.windows(key.len()).any(|part| part == key.as_bytes());
    line.source != Source::Script && line.words.iter().any(names)
}

fn assert_at_once(released: Instant, won: Instant) {
    let later = won.saturating_duration_since(released);
    assert!(later < AT_ONCE, "woken {later:?} after the release");
}
