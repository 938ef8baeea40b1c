//! What a reduced search forgets, and what it must not: replies that no client receives that runs alone.

mod random;

use std::sync::Arc;

use lockshift::explore::{Bounds, Client, End, Findings, Property, Scene, Search};
use lockshift::lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released,
};
use lockshift::wire::{Command, Key, Transcript, Turn};

use self::random::RandomScene;
use super::locks::lease;
use super::violated;

/// The first client wins by SETNX, and leaves a baton when it releases. Each other one wins if it sees that: nobody takes it away.
#[derive(Debug)]
struct Baton {
    key: Key,
    lease: Lease,
    is_first: bool,
}

impl Baton {
    fn shared(secs: u64, is_first: bool) -> Arc<dyn Locker> {
        Arc::new(Self { key: Key::from("k"), lease: lease(secs), is_first })
    }

    fn baton(&self) -> Key {
        self.key.with_suffix(":baton")
    }
}

impl Locker for Baton {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        let value = owner.token.hex().into_bytes();
        let wins = if self.is_first { redis.setnx(&self.key, &value)? } else { redis.get(&self.baton())?.is_some() };
        Ok(if wins {
            Acquired::Won(Hold { value, since, lease: self.lease, fence: None })
        } else {
            Acquired::Held(Held::because(Refusal::Live))
        })
    }

    fn release(&self, _: &Hold, redis: &mut Transcript) -> Turn<Released> {
        redis.send(Command::new("SET").arg(self.baton()).arg("baton"))?;
        Ok(Released::Freed)
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        Ok(Extended::Unsupported)
    }

    fn ownership(&self, _: &Hold, _: &mut Transcript) -> Turn<Ownership> {
        Ok(Ownership::Indistinct { left: None })
    }
}

/// One client that leaves the baton, and two that wait for it.
fn relay(secs: u64, work: u16) -> Scene {
    let (first, next) = (Baton::shared(secs, true), Baton::shared(secs, false));
    [&first, &next, &next].into_iter().fold(Scene::new(Bounds::ticks(3)), |scene, locker| {
        scene.client(Client { work, ..Client::new("baton", locker.clone()) })
    })
}

fn reduced_or_not(search: Search<'_>) -> (Findings, Findings) {
    (search.run(&mut |_| ()), search.reduced(true).run(&mut |_| ()))
}

/// The baton is left after work, or in a later tick: no client that runs alone, or within one tick, sees it.
#[test]
fn a_reply_that_only_other_clients_bring_about_is_not_overlooked() {
    for (secs, work) in [(1, 0), (1, 1), (2, 2), (2, 3), (3, 3)] {
        let scene = relay(secs, work);
        for symmetry in [false, true] {
            let (whole, reduced) = reduced_or_not(Search::new(&scene).symmetry(symmetry));
            assert_eq!(whole.violations.len(), 1, "lease of {secs} s, work of {work}");
            assert_eq!((violated(&reduced), reduced.end), (violated(&whole), End::Exhausted), "{secs} s, {work}");
        }
    }
}

#[test]
fn a_search_that_starts_again_is_the_same_on_two_threads() {
    let scene = relay(1, 1);
    let search = Search::new(&scene).reduced(true);
    let (one, two) = (search.run(&mut |_| ()), search.threads(2.try_into().unwrap()).run(&mut |_| ()));
    assert_eq!((one.states, one.steps, one.violations), (two.states, two.steps, two.violations));
}

/// The first are those that a search once took for safe.
#[test]
fn random_protocols_break_the_same_rules_in_a_reduced_search() {
    const ONCE_WRONG: [u64; 5] = [6_039, 6_770, 7_662, 9_639, 9_693];
    const MOST_STATES: usize = 4_000;
    let (mut compared, mut broken) = (0, 0);
    for seed in ONCE_WRONG.into_iter().chain(1..200) {
        let Some(RandomScene(scene)) = RandomScene::of(seed) else { continue };
        let search = Search::new(&scene).properties(&Property::ALL);
        let whole = search.max_states(if ONCE_WRONG.contains(&seed) { 60_000 } else { MOST_STATES }).run(&mut |_| ());
        if whole.end != End::Exhausted {
            assert!(!ONCE_WRONG.contains(&seed), "{seed}");
            continue;
        }
        compared += 1;
        broken += usize::from(!whole.violations.is_empty());
        for symmetry in [false, true] {
            let search = search.symmetry(symmetry).reduced(true);
            let reduced = search.run(&mut |_| ());
            assert_eq!(
                (violated(&reduced), reduced.end, &reduced.unjudged),
                (violated(&whole), whole.end, &whole.unjudged),
                "seed {seed}, symmetry {symmetry}"
            );
            for rule in Property::ALL.into_iter().filter(|rule| !rule.is_about_the_future()) {
                let alone = search.properties(&[rule]).run(&mut |_| ());
                let is_broken = whole.violations.iter().any(|violation| violation.property == rule);
                assert_eq!(!alone.violations.is_empty(), is_broken, "seed {seed}, symmetry {symmetry}, {rule}");
            }
        }
    }
    assert!(compared > 40 && broken > 20, "{compared} compared, {broken} with a violation");
}
