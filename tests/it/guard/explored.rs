//! The guard between clients and the simulated server, in every schedule.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lockshift::bridge::new_key;
use lockshift::explore::{Bounds, Client, End, Findings, Grain, Property, Scene, Search};
use lockshift::guard::{Guarded, Lifetime, Rule};
use lockshift::legacy::{self, Dialect, Lock, Release, catalogue};
use lockshift::lock::{Acquired, Extended, Hold, LateRelease, Lease, Locker, Owner, Ownership, Released};
use lockshift::modern::TokenLock;
use lockshift::report::explanation;
use lockshift::wire::{Command, Key, Pending, Reply, Transcript, Turn};

const TWO: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

/// The rules that a step of a client can break.
const RULES: [Property; 4] =
    [Property::MutualExclusion, Property::LeaseHonoured, Property::ReleasesOnlyOwn, Property::TruthfulOutcome];

fn seconds(secs: u64) -> Lease {
    Lease::new(Duration::from_secs(secs)).unwrap()
}

fn plain(dialect: &'static Dialect, secs: u64) -> Lock {
    Lock::new(dialect, Key::from("k"), seconds(secs))
}

fn guarded(dialect: &'static Dialect, secs: u64) -> Option<Arc<dyn Locker>> {
    let rule = Rule::new(&[dialect], Lifetime::BeyondStamp).ok()?;
    Some(Arc::new(Guarded::new(plain(dialect, secs), Arc::new(rule))))
}

/// A guard in bridge mode.
fn bridged(dialect: &'static Dialect, secs: u64) -> Option<Arc<dyn Locker>> {
    let rule = Rule::new(&[dialect], Lifetime::BeyondStamp).and_then(Rule::bridged).ok()?;
    Some(Arc::new(Guarded::new(plain(dialect, secs), Arc::new(rule))))
}

fn php() -> &'static Dialect {
    legacy::find("php-getset").unwrap()
}

/// Two clients, the first two seconds ahead of the other; one of them may crash.
fn apart(locker: &Arc<dyn Locker>, ticks: u16) -> Scene {
    apart_by(2_000, locker, ticks)
}

/// The same with the first so many milliseconds ahead.
fn apart_by(skew_ms: i64, locker: &Arc<dyn Locker>, ticks: u16) -> Scene {
    let client = Client::new("client", Arc::clone(locker));
    Scene::new(Bounds::ticks(ticks).crashes(1)).client(Client { skew_ms, ..client.clone() }).client(client)
}

fn search(scene: &Scene, properties: &[Property]) -> Findings {
    Search::new(scene).properties(properties).symmetry(true).threads(TWO).run(&mut |_| ())
}

#[track_caller]
fn is_clean(found: &Findings) {
    let text: Vec<_> =
        found.violations.iter().map(|it| format!("{}: {}", it.property, explanation(&it.trace))).collect();
    assert_eq!((text, found.end), (vec![], End::Exhausted));
}

/// A guard that writes its own stamp, atomically, and passes the server's replies on: a client that reads its clock after
/// the reply judges anew.
struct PassesReplies(Lock);

impl Locker for PassesReplies {
    fn key(&self) -> &Key {
        self.0.key()
    }

    fn lease(&self) -> Lease {
        self.0.lease()
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        const TAKE_IF: &str =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('getset', KEYS[1], ARGV[2]) end
            return redis.call('get', KEYS[1])";
        let mut client = Transcript::new();
        let mut read = None;
        loop {
            match self.0.acquire(owner, client.rewind()) {
                Ok(acquired) => return Ok(acquired),
                Err(Pending::Clock) => client.record_clock(redis.clock()?),
                Err(Pending::Send(command)) => {
                    let command = match command.args() {
                        [key, stamp] if command.is("GETSET") => {
                            let judged = read.clone().unwrap_or_default();
                            Command::new("EVAL").arg(TAKE_IF).arg("1").arg(key).arg(judged).arg(stamp)
                        }
                        _ => command,
                    };
                    let reply = redis.send(command)?;
                    if let Reply::Bulk(value) = &reply {
                        read = Some(value.clone());
                    }
                    client.record_reply(reply);
                }
                Err(pending) => return Err(pending),
            }
        }
    }

    fn release(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Released> {
        self.0.release(hold, redis)
    }

    fn late_release(&self) -> LateRelease {
        self.0.late_release()
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, hold: &Hold, redis: &mut Transcript) -> Turn<Ownership> {
        self.0.ownership(hold, redis)
    }
}

#[test]
fn clocks_two_seconds_apart_break_a_guard_that_passes_replies_and_not_one_that_chooses_them() {
    let passing: Arc<dyn Locker> = Arc::new(PassesReplies(plain(php(), 1)));
    let broken = search(&apart(&passing, 4), &[Property::MutualExclusion]);
    assert_eq!(broken.violations.len(), 1);

    let choosing = guarded(php(), 1).unwrap();
    let found = search(&apart(&choosing, 4), &RULES);
    is_clean(&found);
    assert!(found.states > 10_000, "{}", found.states);
}

#[test]
fn three_guarded_clients_exclude_each_other() {
    let client = Client::new("client", guarded(php(), 1).unwrap());
    let scene = (0..3).fold(Scene::new(Bounds::ticks(4).crashes(1)), |scene, _| scene.client(client.clone()));
    let found = search(&scene.grain(Grain::Coarse), &RULES);
    is_clean(&found);
    assert!(found.states > 10_000, "{}", found.states);
}

#[test]
fn guarded_clients_of_every_dialect_exclude_each_other() {
    let mut states = 0;
    let mut count = 0;
    for dialect in catalogue() {
        let Some(locker) = guarded(dialect, 1).filter(|_| releases_its_key(dialect)) else { continue };
        let scene = apart(&locker, 4).grain(Grain::Coarse);
        let found = search(&scene, &RULES);
        let text: Vec<_> =
            found.violations.iter().map(|it| format!("{}: {}", it.property, explanation(&it.trace))).collect();
        assert_eq!((text, found.end), (vec![], End::Exhausted), "{}", dialect.name);
        states += found.states;
        count += 1;
    }
    assert!(count > 60 && states > 100_000, "{count} dialects, {states} states");
}

/// Clocks that differ from the server's by less than the second to which stamps are rounded: a stamp made by such a clock may
/// be written without a look at the server's, or may not.
#[test]
fn clocks_apart_by_less_than_the_unit_of_a_stamp_break_no_rule() {
    for (dialect, skew_ms) in ["php-getset", "servicestack", "jedis-lock"]
        .into_iter()
        .flat_map(|name| [-500, 500].map(|skew_ms| (legacy::find(name).unwrap(), skew_ms)))
    {
        let mut scene = apart_by(skew_ms, &guarded(dialect, 1).unwrap(), 6);
        scene.tick = Duration::from_millis(500);
        let found = search(&scene, &RULES);
        is_clean(&found);
        assert!(found.states > 10_000, "{}: {}", dialect.name, found.states);
    }
}

/// Spring's template deletes another key than its own and believes that it has released: no guard can change that.
fn releases_its_key(dialect: &Dialect) -> bool {
    dialect.release != Release::DelSerializedKey
}

/// Guards in bridge mode and clients of the token lock on the new key; any one may crash.
#[test]
fn guards_in_bridge_mode_and_new_clients_exclude_each_other() {
    let token = Client::new("token", Arc::new(TokenLock::new(new_key(&Key::from("k")), seconds(1))));
    let (mut states, mut count) = (0, 0);
    for dialect in catalogue() {
        let Some(locker) = bridged(dialect, 1).filter(|_| releases_its_key(dialect)) else { continue };
        let guarded = Client::new("guarded", locker);
        let scene = Scene::new(Bounds::ticks(3).crashes(1)).grain(Grain::Coarse);
        // All dialects beside one new client; the first also beside another guard and with clocks apart.
        let scene = if dialect == php() { scene.client(Client { skew_ms: 2_000, ..guarded.clone() }) } else { scene };
        let found = search(&scene.client(guarded).client(token.clone()), &RULES);
        let text: Vec<_> =
            found.violations.iter().map(|it| format!("{}: {}", it.property, explanation(&it.trace))).collect();
        assert_eq!((text, found.end), (vec![], End::Exhausted), "{}", dialect.name);
        states += found.states;
        count += 1;
    }
    assert!(count > 60 && states > 50_000, "{count} dialects, {states} states");
}

/// A client that works on while the guard extends its lock, beside a waiter, and beside a new client in bridge mode.
#[test]
fn a_lock_that_the_guard_extends_is_held_by_one_client() {
    let lock = |rule: Rule| Arc::new(Guarded::new(plain(php(), 1), Arc::new(rule)).renewed());
    let rule = || Rule::new(&[php()], Lifetime::BeyondStamp).unwrap();
    let token = Client::new("token", Arc::new(TokenLock::new(new_key(&Key::from("k")), seconds(1))));
    for (rule, other) in [(rule(), None), (rule().bridged().unwrap(), Some(token))] {
        let guarded = Client { work: 2, renew_after: Some(1), ..Client::new("guarded", lock(rule)) };
        let other = other.unwrap_or_else(|| guarded.clone());
        let scene = Scene::new(Bounds::ticks(3).crashes(1)).grain(Grain::Coarse).client(guarded).client(other);
        is_clean(&search(&scene, &RULES));
    }
}

/// In protect mode the guard does not see a new client on the new key.
#[test]
fn a_guard_in_protect_mode_holds_beside_a_new_client() {
    let token = Client::new("token", Arc::new(TokenLock::new(new_key(&Key::from("k")), seconds(1))));
    let guarded = Client::new("guarded", guarded(php(), 1).unwrap());
    let scene = Scene::new(Bounds::ticks(1)).client(guarded).client(token);
    assert_eq!(search(&scene, &[Property::MutualExclusion]).violations.len(), 1);
}

/// An unguarded client and a guarded one, either of which may crash: what goes wrong is of the unguarded client's making.
#[test]
fn a_guarded_client_causes_no_violation_beside_an_unguarded_one() {
    let mut blamed = Vec::new();
    let modes: [(fn(_, _) -> _, _); 2] = [(guarded, 3), (bridged, 2)];
    for (dialect, (mode, ticks)) in catalogue().flat_map(|dialect| modes.map(|mode| (dialect, mode))) {
        let Some(locker) = mode(dialect, 1).filter(|_| releases_its_key(dialect)) else { continue };
        let old = Client::new(dialect.name, Arc::new(plain(dialect, 1)));
        let scene = [&old, &Client::new("guarded", locker)]
            .into_iter()
            .fold(Scene::new(Bounds::ticks(ticks).crashes(1)).grain(Grain::Coarse), |scene, client| {
                scene.client(client.clone())
            });
        let found =
            Search::new(&scene).properties(&RULES).symmetry(true).threads(TWO).caused_by("guarded").run(&mut |_| ());
        assert_eq!(found.end, End::Exhausted, "{}", dialect.name);
        blamed.extend(
            found
                .violations
                .iter()
                .map(|it| format!("{}: {}: {:?}: {}", dialect.name, it.property, it.cause, explanation(&it.trace))),
        );
    }
    assert!(blamed.is_empty(), "{blamed:#?}");
}
