//! The scenario of a race: its participants, where it starts and how much may go wrong, as data from which a scene is made.

use std::sync::Arc;
use std::time::Duration;

use super::participant::Participant;
use super::protocol::RaceProtocol;
use crate::explore::{Bounds, Grain, Scene};
use crate::legacy::Dialect;
use crate::lock::Locker;
use crate::rehearsal;
use crate::wire::{Command, Key, Node, UnixTime};

/// The participants, where it starts, how much may go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The clients.
    pub participants: &'static [Participant],
    /// What was before them.
    pub setup: Setup,
    /// How far, and how much may go wrong.
    pub bounds: Bounds,
    /// How finely the clients' steps are cut.
    pub grain: Grain,
    /// How long a tick is.
    pub tick: Duration,
    /// By how much the first moment is later than a whole second.
    pub offset: Duration,
    /// Whether there is a resource that clients write to, and whether it refuses a fence older than one it has seen.
    pub guard: Option<Guarding>,
}

/// What stands on the server at the beginning.
#[derive(Clone, Copy, Debug)]
pub enum Setup {
    /// Nothing.
    Empty,
    /// What a client left that sent so many commands of an attempt and died.
    Died {
        /// Its protocol.
        protocol: RaceProtocol,
        /// Its lease.
        lease: Duration,
        /// How many ticks before the beginning.
        ticks_ago: u16,
        /// How many commands it sent that changed something.
        writes: usize,
    },
}

/// What the guarded resource does with a fence that is older than one it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarding {
    /// It does not look.
    AcceptsAll,
    /// It refuses.
    ChecksFence,
}

impl Scenario {
    /// How long so many ticks are, in milliseconds.
    pub fn millis(&self, ticks: u16) -> u64 {
        u64::try_from((self.tick * u32::from(ticks)).as_millis()).unwrap_or(u64::MAX)
    }

    /// No participant, on an empty server, in ticks of a second; a round trip is one step.
    pub const EMPTY: Self = Self {
        participants: &[],
        setup: Setup::Empty,
        bounds: Bounds::ticks(0),
        grain: Grain::Coarse,
        tick: Duration::from_secs(1),
        offset: Duration::ZERO,
        guard: None,
    };

    /// The scene of these participants, which may be others than the scenario's own, contending for this key, from this whole second
    /// on. The server knows every script that they may run.
    pub(super) fn scene_at(&self, participants: &[Participant], key: &Key, begin: UnixTime) -> Scene {
        self.scene_with_locks(participants, key, begin, &|participant, key| participant.locker(key))
    }

    /// The same with these locks in place of the participants' own.
    pub(super) fn scene_with_locks(
        &self,
        participants: &[Participant],
        key: &Key,
        begin: UnixTime,
        lock: &dyn Fn(&Participant, &Key) -> Arc<dyn Locker>,
    ) -> Scene {
        let mut scene = Scene::new(self.bounds).grain(self.grain);
        scene.tick = self.tick;
        let servers = participants.iter().map(|participant| participant.protocol.servers()).max().unwrap_or(1);
        scene = scene.servers(servers);
        scene.begin = begin.saturating_add(self.offset);
        if let Some(guarding) = self.guard {
            scene = scene.guarded(guarding == Guarding::ChecksFence);
        }
        let lockers = lockers(participants, key, lock);
        for text in lockers.iter().flat_map(|locker| rehearsal::scripts(&**locker)) {
            let load = Command::new("SCRIPT").arg("LOAD").arg(text);
            scene = (0..servers).map(Node).fold(scene, |scene, node| scene.after_command(0, &load.clone().on(node)));
        }
        scene = self.setup.prepare(scene, key);
        participants
            .iter()
            .zip(lockers)
            .fold(scene, |scene, (participant, locker)| scene.client(participant.client(locker)))
    }
}

impl Setup {
    /// A client sent the SETNX of this dialect and died. Its stamp expired seven seconds ago.
    pub const fn left_behind(dialect: &'static Dialect) -> Self {
        let protocol = RaceProtocol::Dialect(dialect);
        Self::Died { protocol, lease: Duration::from_secs(2), ticks_ago: 9, writes: 1 }
    }

    /// The same, but that the dead spoke this.
    pub(super) fn by(self, protocol: RaceProtocol) -> Self {
        match self {
            Self::Empty => Self::Empty,
            Self::Died { lease, ticks_ago, writes, .. } => Self::Died { protocol, lease, ticks_ago, writes },
        }
    }

    fn prepare(self, scene: Scene, key: &Key) -> Scene {
        match self {
            Self::Empty => scene,
            Self::Died { protocol, lease, ticks_ago, writes } => {
                let locker = Participant::new(protocol, lease).locker(key);
                let died = before(scene.begin, scene.tick * u32::from(ticks_ago));
                let commands = rehearsal::commands_of_an_attempt(&*locker, died);
                let writes = commands.iter().filter(|command| !command.only_reads()).take(writes);
                writes.fold(scene, |scene, command| scene.after_command(ticks_ago, command))
            }
        }
    }
}

fn before(moment: UnixTime, ago: Duration) -> UnixTime {
    UnixTime::from_nanos(moment.as_nanos().saturating_sub(i64::try_from(ago.as_nanos()).unwrap_or(i64::MAX)))
}

/// A lock for each participant; those that can share one do.
fn lockers(
    participants: &[Participant],
    key: &Key,
    lock: &dyn Fn(&Participant, &Key) -> Arc<dyn Locker>,
) -> Vec<Arc<dyn Locker>> {
    let mut lockers: Vec<Arc<dyn Locker>> = Vec::new();
    for (place, participant) in participants.iter().enumerate() {
        let earlier = participants[..place].iter().position(|earlier| earlier.speaks_like(participant));
        let locker = earlier.map_or_else(|| lock(participant, key), |earlier| Arc::clone(&lockers[earlier]));
        lockers.push(locker);
    }
    lockers
}
