//! A race whose old clients are behind guards: explored like a remedy, or the reason why a guard cannot help.

use std::num::NonZeroUsize;

use super::check::Checked;
use super::participant::Participant;
use super::protocol::RaceProtocol;
use super::race::Race;
use crate::explore::{Progress, Stop};
use crate::guard::Unguardable;
use crate::protocols::{Choice, ModeOfGuard, Unsuitable};
use crate::race_id::RaceId;
use crate::wire::Key;

/// A race whose old clients are behind guards of one mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BehindGuard {
    /// The old clients, by the name that `explore` knows them by.
    pub protocol: String,
    /// What came of it.
    pub verdict: GuardVerdict,
    /// Why the guard does not help although its clients can be guarded, if the catalogue says so.
    pub because: Option<&'static str>,
}

/// What came of placing guards before the old clients of a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardVerdict {
    /// No guard can be started for these protocols.
    Unguardable(Unguardable),
    /// The race was explored to the end, and the guard prevents it.
    Prevented(Checked),
    /// The rule is broken all the same.
    Remains(Checked),
}

/// Why a guard of this mode does not prevent this race although its clients can be guarded.
const REMAINS: &[(RaceId, ModeOfGuard, &str)] = &[
    (RaceId::PhantomAfterNilGet, ModeOfGuard::Protect, NO_DEL),
    (RaceId::PhantomAfterNilGet, ModeOfGuard::Bridge, NO_DEL),
    (RaceId::RoundedStampMissesRelease, ModeOfGuard::Protect, OTHER_VALUE),
    (RaceId::RoundedStampMissesRelease, ModeOfGuard::Bridge, OTHER_VALUE),
    (RaceId::ReleaseMissesKey, ModeOfGuard::Protect, OTHER_KEY),
    (RaceId::ReleaseMissesKey, ModeOfGuard::Bridge, OTHER_KEY),
    (
        RaceId::AbsoluteExpire,
        ModeOfGuard::Protect,
        "in protect mode the key outlives the lease, and clients of the token lock wait for its end",
    ),
    (
        RaceId::LoserClearsTtl,
        ModeOfGuard::Protect,
        "in protect mode a key without a time to live that a client without a guard has left stays until an old client takes it over",
    ),
    (
        RaceId::TokenReadAsStamp,
        ModeOfGuard::Protect,
        "in protect mode the guard reads a token as its client does, as a stamp of 1970",
    ),
];

const NO_DEL: &str =
    "a client that was held up sends no DEL once its own stamp has passed: its lock ends with its lease";
const OTHER_VALUE: &str =
    "the client takes the value for another client's and sends no DEL: its lock ends with its lease";
const OTHER_KEY: &str = "the client deletes another key than its lock, which ends with its lease";

/// For how many ticks a race is explored behind guards: for three more than without, as its remedies are, but not for more
/// than this where that is longer all the same. Guards have many states.
const ENOUGH_TICKS: u16 = 6;

fn ticks(of_race: u16) -> u16 {
    (of_race + 3).min(ENOUGH_TICKS).max(of_race + 1)
}

impl Race {
    /// Explores it with its old clients behind guards, in each mode; nothing if no old client takes part. The clients that died
    /// before were not behind a guard. In bridge mode clients of the token lock use the new key.
    pub fn behind_guards(&self, threads: NonZeroUsize, watch: &mut dyn FnMut(&str, &Progress)) -> Vec<BehindGuard> {
        let mut dialects = Vec::new();
        for dialect in self.scenario.participants.iter().filter_map(|participant| participant.protocol.dialect()) {
            if !dialects.contains(&dialect.name) {
                dialects.push(dialect.name);
            }
        }
        let modes = if dialects.is_empty() { &[][..] } else { &ModeOfGuard::ALL };
        let behind = |mode: &ModeOfGuard| BehindGuard {
            protocol: mode.client_of(&dialects),
            verdict: self.behind_guard(*mode, &dialects, threads, watch),
            because: REMAINS
                .iter()
                .find(|(race, of, _)| (*race, *of) == (self.id, *mode))
                .map(|(.., because)| *because),
        };
        modes.iter().map(behind).collect()
    }

    fn behind_guard(
        &self,
        mode: ModeOfGuard,
        dialects: &[&str],
        threads: NonZeroUsize,
        watch: &mut dyn FnMut(&str, &Progress),
    ) -> GuardVerdict {
        let name = mode.client_of(dialects);
        if let Err(Unsuitable::Unguardable { because, .. }) = name.parse::<Choice>() {
            return GuardVerdict::Unguardable(because);
        }
        let locker = |participant: &Participant, key: &Key| {
            let (key, lease) = (participant.key(key), participant.lease());
            match participant.protocol {
                RaceProtocol::Dialect(dialect) => client_of(mode, dialect.name, dialects).locker(key, lease),
                RaceProtocol::TOKEN if mode == ModeOfGuard::Bridge => {
                    RaceProtocol::Modern("token,key=sibling").locker(key, lease)
                }
                other => other.locker(key, lease),
            }
        };
        let mut scene = self.scenario.scene_of_locks(self.scenario.participants, &locker);
        let watch = &mut |progress: &Progress| watch(&name, progress);
        scene.bounds.ticks = ticks(scene.bounds.ticks);
        let checked = self.check_scene(&scene, Stop::AllViolated, threads, watch);
        if checked.prevents() {
            return GuardVerdict::Prevented(checked);
        }
        GuardVerdict::Remains(checked)
    }
}

/// A client of this dialect behind a guard whose rule names all of these.
fn client_of(mode: ModeOfGuard, dialect: &str, all: &[&str]) -> Choice {
    let others = all.iter().copied().filter(|other| *other != dialect);
    let dialects: Vec<_> = std::iter::once(dialect).chain(others).collect();
    mode.client_of(&dialects).parse().expect("what can be guarded in one order can be in every order")
}

impl BehindGuard {
    /// Whether it is as the catalogue says: prevented, or not for a stated reason.
    pub fn is_as_described(&self) -> bool {
        matches!(self.verdict, GuardVerdict::Remains(_)) == self.because.is_some()
    }
}
