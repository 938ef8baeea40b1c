//! What happens between two contenders of one lock, as data. Alice comes first, the lease is ten seconds, and only the
//! last action of each scene is recorded.

use std::time::Duration;

/// One scene.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    /// Its name in the tables.
    pub(super) name: &'static str,
    /// How things stand.
    pub(super) given: Given,
    /// What happens then.
    pub(super) action: Action,
    /// How long after Alice came.
    pub(super) after: Duration,
}

/// How things stand at the start of a scene.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given {
    /// There is no key.
    NoKey,
    /// The key holds `junk`.
    Junk,
    /// Alice has won.
    AliceHolds,
    /// Alice has won, and the key never got its TTL: she died before, or another client removed it.
    NoTtl,
    /// Alice has won, and the server has meanwhile removed what had a TTL.
    TtlOver,
    /// Bob has won after that; where that cannot be, an operator had to delete the key first.
    BobOvertook,
    /// Alice has won, and won again.
    AliceHoldsTwice,
}

/// What is recorded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Alice attempts.
    AliceAcquires,
    /// Bob attempts.
    BobAcquires,
    /// Alice releases.
    AliceReleases,
    /// Alice extends.
    AliceExtends,
    /// Alice asks for the ownership.
    AliceLooks,
}

const AT_ONCE: Duration = Duration::ZERO;
const SOON: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_secs(100);

/// All of them, in the order of the tables.
pub(super) const SCENES: [Scene; 14] = [
    scene("free", Given::NoKey, Action::AliceAcquires, AT_ONCE),
    scene("held", Given::AliceHolds, Action::BobAcquires, SOON),
    scene("stale", Given::NoTtl, Action::BobAcquires, LATE),
    scene("lapsed", Given::TtlOver, Action::BobAcquires, LATE),
    scene("junk", Given::Junk, Action::AliceAcquires, AT_ONCE),
    scene("release", Given::AliceHolds, Action::AliceReleases, SOON),
    scene("late", Given::TtlOver, Action::AliceReleases, LATE),
    scene("overtaken", Given::BobOvertook, Action::AliceReleases, LATE),
    scene("extend", Given::AliceHolds, Action::AliceExtends, SOON),
    scene("extend-lost", Given::BobOvertook, Action::AliceExtends, LATE),
    scene("look", Given::AliceHolds, Action::AliceLooks, SOON),
    scene("look-lost", Given::BobOvertook, Action::AliceLooks, LATE),
    scene("again", Given::AliceHolds, Action::AliceAcquires, SOON),
    scene("release-one", Given::AliceHoldsTwice, Action::AliceReleases, SOON),
];

const fn scene(name: &'static str, given: Given, action: Action, after: Duration) -> Scene {
    Scene { name, given, action, after }
}
