//! Clients whose commands are not simulated: nothing about them is proved.

use std::sync::Arc;

use lockshift::explore::{Bounds, End, Property, Search};
use lockshift::lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Owner, Ownership, Refusal, Released,
};
use lockshift::wire::{Command, Key, Reply, Transcript, Turn};

use super::crowd;
use super::locks::lease;

/// GETBIT, then SETBIT: two clients can see that the lock is free.
#[derive(Debug)]
struct Bit {
    key: Key,
    lease: Lease,
}

impl Locker for Bit {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn acquire(&self, owner: &Owner, redis: &mut Transcript) -> Turn<Acquired> {
        let since = redis.clock()?;
        if redis.send(Command::new("GETBIT").arg(&self.key).arg("0"))? != Reply::Int(0) {
            return Ok(Acquired::Held(Held::because(Refusal::Live)));
        }
        redis.send(Command::new("SETBIT").arg(&self.key).arg("0").arg("1"))?;
        Ok(Acquired::Won(Hold { value: owner.token.hex().into_bytes(), since, lease: self.lease, fence: None }))
    }

    fn release(&self, _: &Hold, redis: &mut Transcript) -> Turn<Released> {
        Ok(if redis.del(&self.key)? { Released::Freed } else { Released::Lost })
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

#[test]
fn a_command_that_is_not_simulated_leaves_every_rule_unjudged() {
    let lock: Arc<dyn Locker> = Arc::new(Bit { key: Key::from("k"), lease: lease(2) });
    let scene = crowd(&lock, 2, Bounds::ticks(2));
    for reduced in [false, true] {
        let rules = [Property::MutualExclusion, Property::ReleasesOnlyOwn];
        let found = Search::new(&scene).properties(&rules).symmetry(true).reduced(reduced).run(&mut |_| ());
        assert_eq!((found.end, found.violations.len()), (End::Exhausted, 0));
        assert_eq!(found.unjudged, rules);
        assert!(found.unknown_commands.iter().eq(["GETBIT"]), "{:?}", found.unknown_commands);
    }
}
