//! A protocol behind an `Arc` is the protocol itself, and one that says nothing more is the plainest of locks; how votes
//! are counted.

use core::num::NonZeroU32;
use core::time::Duration;
use std::sync::Arc;

use lockshift_lock::{
    Acquired, Extended, Held, Hold, LateRelease, Lease, Locker, Mode, Owner, Ownership, Refusal, RefusalScope,
    ReleaseChannel, Released, Token, Vote, Votes,
};
use lockshift_wire::{Command, Entry, Fault, Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// Says what every protocol must say, and nothing else.
struct Plain;

impl Locker for Plain {
    fn key(&self) -> &Key {
        unreachable!("no test asks")
    }

    fn lease(&self) -> Lease {
        unreachable!("no test asks")
    }

    fn acquire(&self, _: &Owner, _: &mut Transcript) -> Turn<Acquired> {
        unreachable!("no test asks")
    }

    fn release(&self, _: &Hold, _: &mut Transcript) -> Turn<Released> {
        unreachable!("no test asks")
    }

    fn late_release(&self) -> LateRelease {
        unreachable!("no test asks")
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        unreachable!("no test asks")
    }

    fn ownership(&self, _: &Hold, _: &mut Transcript) -> Turn<Ownership> {
        unreachable!("no test asks")
    }
}

/// Says something else than [`Plain`] wherever it can, and faults under the name of what it was asked.
struct Elaborate {
    key: Key,
    lease: Lease,
}

impl Locker for Elaborate {
    fn key(&self) -> &Key {
        &self.key
    }

    fn lease(&self) -> Lease {
        self.lease
    }

    fn expires(&self) -> bool {
        false
    }

    fn mode(&self) -> Mode {
        Mode::Shared
    }

    fn max_sharers(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(7)
    }

    fn acquire(&self, _: &Owner, _: &mut Transcript) -> Turn<Acquired> {
        faults("ACQUIRE")
    }

    fn release(&self, _: &Hold, _: &mut Transcript) -> Turn<Released> {
        faults("RELEASE")
    }

    fn late_release(&self) -> LateRelease {
        LateRelease::MayFreeAnother
    }

    fn release_is_repeatable(&self) -> bool {
        true
    }

    fn extend(&self, _: &Hold, _: &mut Transcript) -> Turn<Extended> {
        faults("EXTEND")
    }

    fn ownership(&self, _: &Hold, _: &mut Transcript) -> Turn<Ownership> {
        faults("OWNERSHIP")
    }

    fn disclaim(&self, _: &Owner, _: &mut Transcript) -> Turn<()> {
        faults("DISCLAIM")
    }

    fn reentrant_name(&self, owner: &Owner) -> Option<String> {
        Some(owner.thread_name())
    }

    fn release_channel(&self, owner: &Owner) -> Option<ReleaseChannel> {
        Some(ReleaseChannel { channel: owner.token.hex().into_bytes(), sharded: true })
    }

    fn refusal_scope(&self) -> RefusalScope {
        RefusalScope::AllWaiters
    }

    fn withdraw(&self, _: &Owner, _: &mut Transcript) -> Turn<()> {
        faults("WITHDRAW")
    }

    fn longest_pause(&self) -> Option<Duration> {
        Some(Duration::from_millis(3))
    }

    fn needs_own_connection(&self) -> bool {
        true
    }
}

fn faults<T>(name: &str) -> Turn<T> {
    Transcript::fault(Command::new(name), Reply::Nil)
}

fn owner() -> Owner {
    Owner::new(Token::new([7; 16]), 1, 2)
}

#[test]
fn a_protocol_that_says_nothing_more_is_exclusive_expires_and_leaves_nothing_behind() {
    let owner = owner();
    for plain in [&Plain as &dyn Locker, &Arc::new(Plain)] {
        assert!(plain.expires());
        assert_eq!((plain.mode(), plain.max_sharers()), (Mode::Exclusive, None));
        assert_eq!((plain.reentrant_name(&owner), plain.release_channel(&owner)), (None, None));
        assert!(!plain.needs_own_connection());
        assert_eq!(plain.refusal_scope(), RefusalScope::OneWaiter);
        assert_eq!(plain.longest_pause(), None);
        assert!(!plain.release_is_repeatable());
        let mut redis = Transcript::new();
        assert_eq!((plain.disclaim(&owner, &mut redis), plain.withdraw(&owner, &mut redis)), (Ok(()), Ok(())));
        assert_eq!(redis.entries(), Vec::<Entry>::new());
    }
}

#[test]
fn a_shared_protocol_says_what_the_protocol_says() {
    let lease = Lease::new(Duration::from_secs(10)).expect("a lease");
    let shared: Arc<dyn Locker> = Arc::new(Elaborate { key: Key::from("k"), lease });
    let owner = owner();
    assert_eq!((shared.key(), shared.lease()), (&Key::from("k"), lease));
    assert!(!shared.expires());
    assert_eq!((shared.mode(), shared.max_sharers()), (Mode::Shared, NonZeroU32::new(7)));
    assert!(matches!(shared.late_release(), LateRelease::MayFreeAnother));
    assert!(shared.release_is_repeatable());
    assert_eq!(shared.reentrant_name(&owner), Some(owner.thread_name()));
    let channel = ReleaseChannel { channel: owner.token.hex().into_bytes(), sharded: true };
    assert_eq!(shared.release_channel(&owner), Some(channel));
    assert!(shared.needs_own_connection());
    assert_eq!(shared.refusal_scope(), RefusalScope::AllWaiters);
    assert_eq!(shared.longest_pause(), Some(Duration::from_millis(3)));

    let since = Reading { wall: UnixTime::from_nanos(0), mono: MonoTime::since_origin(Duration::ZERO) };
    let hold = Hold { value: vec![], since, lease, fence: None };
    let redis = &mut Transcript::new();
    let asked = [
        ("ACQUIRE", shared.acquire(&owner, redis).map(drop)),
        ("RELEASE", shared.release(&hold, redis).map(drop)),
        ("EXTEND", shared.extend(&hold, redis).map(drop)),
        ("OWNERSHIP", shared.ownership(&hold, redis).map(drop)),
        ("DISCLAIM", shared.disclaim(&owner, redis)),
        ("WITHDRAW", shared.withdraw(&owner, redis)),
    ];
    for (name, ended) in asked {
        assert_eq!(ended, Err(Pending::Fault(Fault::new(Command::new(name), Reply::Nil))));
    }
}

#[test]
fn a_refusal_knows_nothing_but_its_reason() {
    let nothing_more = Held { reason: Refusal::Vanished, seen: None, retry_in: None, votes: Votes::default() };
    assert_eq!(Held::because(Refusal::Vanished), nothing_more);
}

/// The votes, then: asked, granted, usable, needed, and as text.
#[test]
fn more_than_half_of_the_asked_must_grant() {
    use Vote::{Granted, Held, TooSlow, Unreachable};
    let refused = Vote::Refused("OOM no memory".to_owned());
    let table = [
        (vec![], [0, 0, 0, 1], "0 of 0 servers granted it, 1 needed ()"),
        (vec![Granted], [1, 1, 1, 1], "1 of 1 servers granted it, 1 needed (#1 granted)"),
        (vec![Held, Held], [2, 0, 2, 2], "0 of 2 servers granted it, 2 needed (#1 held, #2 held)"),
        (
            vec![Granted, refused, Granted, Held, Unreachable, Granted, TooSlow],
            [7, 3, 4, 4],
            "3 of 7 servers granted it, 4 needed (#1 granted, #2 refused: OOM no memory, #3 granted, #4 held, \
             #5 unreachable, #6 granted, #7 too slow)",
        ),
    ];
    for (votes, counts, text) in table {
        let counted: Votes = votes.iter().cloned().collect();
        assert_eq!([counted.asked(), counted.granted(), counted.usable(), counted.needed()], counts, "{text}");
        assert_eq!(counted.to_string(), text);
        assert_eq!(Vec::from_iter(&counted), Vec::from_iter(&votes));
    }
}
