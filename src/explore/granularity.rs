//! How long a tick must be so that a clock that never ends tells apart what the clients of a scene tell apart.
//!
//! Clients compare moments: clock readings, stamps, deadlines, ends of leases. If every lease, every skew and every step by
//! which a client rounds is a multiple of one length, the *unit* of the scene, then only two things count about a moment:
//! how many units have passed, and how its place within a unit lies to those of the moments that it is compared with.
//! (These are the regions of timed automata: Alur and Dill, 1994.) Two ticks a unit tell apart *on* a multiple of the unit,
//! where all roundings and all strict comparisons turn, and *in between*. They do not tell apart the order of two moments
//! in between: a schedule that needs k different places within a unit, the turn counted, needs k ticks a unit. Nor do they see a margin
//! or a rounding that is shorter than a tick. So what is impossible for all time is so for schedules in these ticks, and
//! the report names them.

use std::time::Duration;

use super::scene::Scene;
use super::unbounded::NotForAllTime;

/// Ticks a second when the places are found at which clients round.
const PROBES: u16 = 20;
/// A client whose writes differ at more places of a second than this does not round to any of them.
const MAX_TURNS: usize = 4;
const SECOND_MS: u64 = 1_000;

impl Scene {
    /// This scene in the longest ticks that tell apart what its clients do: half its unit, or its unit of a second where no
    /// client writes a moment of its own clock and no clock is set.
    ///
    /// # Errors
    /// [`NotForAllTime::Unmovable`] where what a client writes depends on the clock in another way than a stamp.
    pub fn finely_timed(self) -> Result<Self, NotForAllTime> {
        let mut probing = self.clone();
        probing.tick = Duration::from_secs(1) / u32::from(PROBES);
        let mut unit_ms = SECOND_MS;
        let writes_stamps = (0..self.clients.len()).any(|place| probing.writes_stamps(place));
        for place in 0..self.clients.len() {
            let turns = probing.turns(place)?;
            if turns.len() <= MAX_TURNS {
                unit_ms = turns.into_iter().fold(unit_ms, greatest_common_divisor);
            }
            if writes_stamps {
                unit_ms = greatest_common_divisor(unit_ms, self.clients[place].skew_ms.unsigned_abs());
            }
            let lease_ms = self.clients[place].locker.lease().length().as_millis();
            unit_ms = greatest_common_divisor(unit_ms, u64::try_from(lease_ms).unwrap_or(u64::MAX));
        }
        let faults = self.bounds.faults;
        let sets_clocks = faults.clock_steps + faults.server_clock_steps > 0;
        let is_halved = writes_stamps || sets_clocks || unit_ms < SECOND_MS;
        let tick_ms = if is_halved { (unit_ms / 2).max(1) } else { unit_ms };
        Ok(Self { tick: Duration::from_millis(tick_ms), ..self })
    }

    /// The places of a second, in milliseconds, at which what this client writes turns to the next value.
    fn turns(&self, place: usize) -> Result<Vec<u64>, NotForAllTime> {
        if !self.runs(place).all(|run| run.moves_by(PROBES)) {
            return Err(NotForAllTime::Unmovable(place));
        }
        let mut turns: Vec<u64> =
            self.runs(place).filter(|run| !run.moves_by(1)).map(|run| run.next_probe_ms()).collect();
        turns.sort_unstable();
        turns.dedup();
        Ok(turns)
    }
}

impl super::unbounded::LoneRun {
    /// Where in a second the tick after this run's first lies.
    fn next_probe_ms(&self) -> u64 {
        u64::from((self.phase() + 1) % PROBES) * SECOND_MS / u64::from(PROBES)
    }
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}
