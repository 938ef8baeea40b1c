//! The fair lock where a release hands it over: the scripts that ship, and a waiter that holds by the message alone, however
//! late it comes. The explorer's servers have no subscribers, so here each message is an entry of a list, to receive it is to
//! take it from there, and each client counts as one that listens.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use lockshift::explore::{Bounds, Client, End, Grain, Property, Scene, Search, Times};
use lockshift::lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released,
};
use lockshift::modern::FairLock;
use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, Key, Reading, Reply, Script, Transcript, Turn, UnixTime, script_file};

use super::locks::lease;
use super::violated;

const ACQUIRE: Script = script_file!("../../../modern/src/lua/fair/acquire.lua");
const LEAVE: Script = script_file!("../../../modern/src/lua/fair/leave.lua");

/// The same, where every waiter listens.
static LEAVE_LISTENERS: LazyLock<Script> = LazyLock::new(|| {
    let count = "redis.pcall('pubsub', count, channel)[2] or 0";
    assert_eq!(LEAVE.text().matches(count).count(), 1, "{}", LEAVE.text());
    Script::new(LEAVE.text().replace(count, "1").leak())
});

/// From when the lease of a hold that was handed over counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// From the last attempt, unless the lease could have ended between two attempts: as in the driver.
    LastAttempt,
    /// From the last attempt, however long ago the one before was: a mistake.
    LastAttemptUnchecked,
    /// From when its message is read: a mistake.
    Message,
}

/// A client that tries, listens, and tries once more. Leases are 4 s and places are kept for 1 s, so that it is handed the lock
/// up to one second after its attempt, for five seconds then.
struct ListeningClient {
    key: Key,
    lock: FairLock,
    counts: Since,
}

impl ListeningClient {
    fn new(counts: Since) -> Self {
        let lock = FairLock::new(Key::from("k"), lease(4)).keeping_places_for(lease(1));
        Self { key: Key::from("k"), lock, counts }
    }

    fn keys(&self) -> [Key; 3] {
        [self.key.clone(), self.key.sibling("queue"), self.key.sibling("places")]
    }

    fn messages(&self) -> Key {
        self.key.sibling("messages:")
    }

    /// What the lock has sent to this owner, once.
    fn received(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Option<Vec<u8>>> {
        let list = self.messages().with_suffix(&owner.instance.hex());
        Ok(match redis.send(Command::new("LPOP").arg(&list))? {
            Reply::Bulk(message) => Some(message),
            _ => None,
        })
    }

    fn leave(&self, token: &[u8], member: &[u8], redis: &mut Transcript) -> Turn<bool> {
        let ([key, queue, places], messages) = (&self.keys(), self.messages());
        let args = [token, member, b"1000", b"rpush", messages.as_bytes(), b"4000"];
        redis.script_flag(&LEAVE_LISTENERS, &[key, queue, places], &args)
    }
}

fn member(owner: &Owner) -> String {
    format!("{}:{}", owner.token.hex(), owner.instance.hex())
}

impl Locker for ListeningClient {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lock.lease()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let [key, queue, places] = &self.keys();
        let (token, member, messages) = (owner.token.hex().into_bytes(), member(owner), self.messages());
        let args: [&[u8]; 6] = [&token, member.as_bytes(), b"4000", b"1000", b"rpush", messages.as_bytes()];
        let mut longest_gap = Duration::ZERO;
        let mut previous: Option<Reading> = None;
        for _ in 0..2 {
            if previous.is_some() {
                // It sleeps. Without a command the clock would be read before.
                redis.send(Command::new("PING"))?;
            }
            let began = redis.clock()?;
            if redis.script_int(&ACQUIRE, &[key, queue, places], &args)? < 0 {
                return Ok(Acquired::Won(Hold { value: token, since: began, lease: self.lease(), fence: None }));
            }
            let refused = redis.clock()?;
            if let Some(previous) = previous.replace(began) {
                longest_gap = refused.mono.saturating_since(previous.mono);
            }
            while let Some(message) = self.received(owner, redis)? {
                let since = match self.counts {
                    Since::LastAttempt | Since::LastAttemptUnchecked => began,
                    Since::Message => redis.clock()?,
                };
                let granted = self.lock.granted(owner, since, &message);
                let is_old = |hold: &Hold| self.counts == Since::LastAttempt && longest_gap >= hold.lease.validity();
                if let Some(hold) = granted.filter(|hold| !is_old(hold)) {
                    return Ok(Acquired::Won(hold));
                }
            }
        }
        self.leave(&token, member.as_bytes(), redis)?;
        Ok(Acquired::Held(Held::because(Refusal::Live)))
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if self.leave(&hold.value, &hold.value, redis)? { Released::Freed } else { Released::Lost })
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::Harmless
    }

    fn extend(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Extended> {
        self.lock.extend(hold, redis)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        self.lock.ownership(hold, redis)
    }
}

/// Clients that try once a round, each of which listens. The server knows the scripts.
fn scene(counts: Since, clients: usize, grain: Grain, bounds: Bounds) -> Scene {
    let locker: Arc<dyn Locker> = Arc::new(ListeningClient::new(counts));
    let client = Client { tries: Times::Of(1), ..Client::new("fair", locker) };
    let load =
        |scene: Scene, script: &Script| scene.after_command(0, &Command::new("SCRIPT").arg("LOAD").arg(script.text()));
    let scene = [&ACQUIRE, &LEAVE_LISTENERS].into_iter().fold(Scene::new(bounds).grain(grain), load);
    (0..clients).fold(scene, |scene, _| scene.client(client.clone()))
}

const WATCHED: [Property; 4] =
    [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

fn found(scene: &Scene) -> (Vec<(Property, usize)>, End, u64) {
    let found = Search::new(scene).properties(&WATCHED).symmetry(true).run(&mut |_| ());
    let states = u64::try_from(found.states).unwrap();
    (violated(&found), found.end, states)
}

#[test]
fn a_lock_that_is_handed_over_has_one_holder_however_late_the_message_comes() {
    let table = [
        (2, Grain::Fine, Bounds::ticks(7).crashes(1)),
        (3, Grain::Coarse, Bounds::ticks(6).crashes(1)),
        (3, Grain::Coarse, Bounds::ticks(5).lost_replies(1)),
    ];
    for (clients, grain, bounds) in table {
        let (violated, end, states) = found(&scene(Since::LastAttempt, clients, grain, bounds));
        assert_eq!((violated, end), (vec![], End::Exhausted), "{clients} clients, {grain:?}");
        assert!(states > 1000, "{clients} clients, {grain:?}: {states} states");
    }
}

/// What the check above rests on: where the lease counted from its message, it would end on the server before its holder knows;
/// and so it would where an old message counted from an attempt that was refused since.
#[test]
fn a_lease_that_counts_from_later_than_it_was_handed_over_is_broken() {
    for counts in [Since::Message, Since::LastAttemptUnchecked] {
        let (violated, ..) = found(&scene(counts, 3, Grain::Coarse, Bounds::ticks(7)));
        assert!(
            violated.iter().any(|(property, _)| *property == Property::MutualExclusion),
            "{counts:?}: {violated:?}"
        );
    }
}

#[test]
fn a_waiter_that_has_not_tried_for_long_is_handed_nothing() {
    let bobs = |left_ms| (Reply::bulk("b".repeat(32)), Reply::Int(left_ms));
    let nobodys = (Reply::Nil, Reply::Int(-2));
    // So many milliseconds after its attempt: at most a quarter of a lease.
    assert_eq!(left_at_release(2000, 1000, 0), bobs(2000));
    assert_eq!(left_at_release(2000, 1000, 500), bobs(2500), "a lease, and as long as it has waited");
    assert_eq!(left_at_release(2000, 1000, 501), nobodys);
    // And at most one and three quarters as long as a place is kept.
    assert_eq!(left_at_release(60_000, 1000, 1750), bobs(61_750));
    assert_eq!(left_at_release(60_000, 1000, 1751), nobodys);
}

/// Whose the key is, and for how long, if the holder leaves so long after the attempt of Bob, who listens.
fn left_at_release(lease_ms: u64, place_ms: u64, after_ms: i64) -> (Reply, Reply) {
    let at = |millis: i64| UnixTime::from_nanos(1_700_000_000_000_000_000 + millis * 1_000_000);
    let mut server = Server::new(Flavour::Redis70);
    server.call(Session(1), &Command::new("SUBSCRIBE").arg(format!("{{k}}:m:{}", "b".repeat(32))), at(0));
    let mut run = |command: &Command, millis| server.call(Session(0), command, at(millis));
    let key = Key::from("k");
    let keys = [key.clone(), key.sibling("queue"), key.sibling("places")];
    let keys = keys.each_ref();
    let (holder, waiter) = ("h".repeat(32), format!("{0}:{0}", "b".repeat(32)));
    let [lease, place] = [lease_ms, place_ms].map(|millis| millis.to_string());
    let (lease, place) = (lease.as_bytes(), place.as_bytes());
    run(&Command::new("SET").arg(&key).arg(holder.as_bytes()), 0);
    let waits: [&[u8]; 6] = [&waiter.as_bytes()[..32], waiter.as_bytes(), lease, place, b"PUBLISH", b"{k}:m:"];
    run(&ACQUIRE.eval(&keys, &waits), 0);
    let leaves: [&[u8]; 6] = [holder.as_bytes(), holder.as_bytes(), place, b"PUBLISH", b"{k}:m:", lease];
    assert_eq!(run(&LEAVE.eval(&keys, &leaves), after_ms), Reply::Int(1));
    let [value, left] = ["GET", "PTTL"].map(|name| run(&Command::new(name).arg(&key), after_ms));
    (value, left)
}
