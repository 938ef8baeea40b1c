//! An attempt that is abandoned leaves nothing on the server: for every protocol of the catalogue with each of its
//! options, in both drivers, whether the caller's patience ends or its future is dropped.
//!
//! Of the keys only those that count fences differ afterwards: they count for ever. Redlock's own test has it on several
//! servers.

use std::sync::Arc;
use std::thread::scope;
#[cfg(feature = "tokio")]
use std::time::Duration;

use lockshift::driver::{Answer, Attempt, Error, Wait};
use lockshift::lock::{Lease, Locker, Released};
use lockshift::protocols::{Choice, catalogue};
use lockshift::wire::Key;
use redis::{Connection, cmd};

use super::world::{AN_HOUR, World, in_both_worlds, ms};
use crate::server::{Contents, Server, contents};

in_both_worlds! {
    an_attempt_that_runs_out_of_patience_leaves_nothing,
}

/// Old dialects whose release deletes nothing: another key, or none at all. See `contract`.
const NEVER_RELEASED: [&str; 2] = ["spring-redis-callback", "l2met"];

/// The protocols of a holder and of a contender that it keeps out.
pub(super) struct Meeting {
    holder: String,
    contender: String,
}

impl Meeting {
    /// Each protocol with each of its options; of read/write locks each side that keeps the other out.
    pub(super) fn all() -> Vec<Self> {
        let mut meetings = Vec::new();
        for protocol in catalogue().filter(|protocol| !NEVER_RELEASED.contains(&protocol.name())) {
            let name = protocol.name();
            meetings.push(Self::of_equals(name.to_owned()));
            for setting in protocol.settings().iter().filter(|setting| !["servers", "permits"].contains(&setting.name))
            {
                for word in setting.alternatives() {
                    let other = format!("{name},{}={word}", setting.name);
                    if setting.name == "side" {
                        meetings.push(Self { holder: name.to_owned(), contender: other.clone() });
                        meetings.push(Self { holder: other, contender: name.to_owned() });
                    } else {
                        meetings.push(Self::of_equals(other));
                    }
                }
            }
        }
        meetings
    }

    fn of_equals(name: String) -> Self {
        Self { holder: name.clone(), contender: name }
    }

    /// What the two speak on a key of their own.
    fn lockers(&self, key: &Key) -> [Arc<dyn Locker>; 2] {
        let lease = Lease::new(AN_HOUR).unwrap();
        [&self.holder, &self.contender].map(|name| name.parse::<Choice>().unwrap().locker(key.clone(), lease))
    }

    /// Lets the holder acquire, `abandons` an attempt of the contender, and releases: what is wrong then.
    pub(super) fn held<W: World>(
        &self,
        server: &Server,
        abandons: impl Fn(&W, &dyn Fn() -> bool) -> Result<(), String> + Sync,
    ) -> Result<(), String> {
        let mut operator = server.connect();
        cmd("FLUSHALL").exec(&mut operator).unwrap();
        // In braces: old dialects have further keys that know nothing of slots.
        let [of_holder, of_contender] = self.lockers(&Key::from("{k}"));
        let open = |locker: &Arc<dyn Locker>| W::open(server, Arc::clone(locker));
        // So that what is kept for ever is there.
        for locker in [&of_holder, &of_contender] {
            let world = open(locker);
            released(world.release(world.win()))?;
        }
        let before = apart_from_fences(&mut operator);

        let holder = open(&of_holder);
        let guard = holder.win();
        let held = apart_from_fences(&mut operator);
        let clean = || apart_from_fences(&mut server.connect()) == held;
        // On the thread of the holder, a re-entrant lock would let it in.
        scope(|scope| scope.spawn(|| abandons(&open(&of_contender), &clean)).join().unwrap())?;
        released(holder.release(guard))?;

        let after = apart_from_fences(&mut operator);
        if after != before {
            return Err(format!("keys before: {before:?}, after: {after:?}"));
        }
        for locker in [&of_holder, &of_contender] {
            let acquires_at_once = || {
                let world = open(locker);
                match world.try_acquire() {
                    Ok(Attempt::Won(guard)) => released(world.release(guard)),
                    other => Err(format!("the lock is free, but: {other:?}")),
                }
            };
            scope(|scope| scope.spawn(acquires_at_once).join().unwrap())?;
        }
        Ok(())
    }
}

fn released(answer: Result<Answer<Released>, Error>) -> Result<(), String> {
    answer.map(drop).map_err(|error| error.to_string())
}

fn apart_from_fences(operator: &mut Connection) -> Contents {
    let counts = |key: &[u8]| key.ends_with(b":fence") || key.starts_with(b"redisson_lock_token");
    let mut contents = contents(operator);
    contents.retain(|key, _| !counts(key));
    contents
}

fn an_attempt_that_runs_out_of_patience_leaves_nothing<W: World>() {
    let server = Server::start();
    let wait = Wait::every(ms(2)).tries(3);
    let mut wrong = Vec::new();
    for meeting in Meeting::all() {
        let held = meeting.held::<W>(&server, |contender, _| match contender.acquire(&wait) {
            Ok(Attempt::Held(_)) => Ok(()),
            other => Err(format!("it is held, but: {other:?}")),
        });
        wrong.extend(held.err().map(|why| format!("{} before {}: {why}", meeting.contender, meeting.holder)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[cfg(feature = "tokio")]
#[test]
fn an_attempt_whose_future_is_dropped_leaves_nothing() {
    use super::world::Tasks;
    use crate::patience::until;

    let server = Server::start();
    let mut wrong = Vec::new();
    for meeting in Meeting::all() {
        let held = meeting.held::<Tasks>(&server, |contender, is_clean| {
            contender.acquire_for(&Wait::every(ms(2)), Duration::from_millis(20))?;
            until(format_args!("{} leaves before {}", meeting.contender, meeting.holder), || is_clean().then_some(()));
            Ok(())
        });
        wrong.extend(held.err().map(|why| format!("{} before {}: {why}", meeting.contender, meeting.holder)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
