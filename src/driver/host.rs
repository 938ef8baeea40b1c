//! The host: the only place that reads clocks, draws random bits and sleeps. Everything else is handed time and chance
//! as arguments.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lockshift_lock::{Owner, Token};
use lockshift_wire::{MonoTime, Reading, UnixTime};

/// Both clocks.
pub fn reading() -> Reading {
    Reading { wall: wall(), mono: mono() }
}

/// The monotonic clock. It counts the time for which the machine was suspended: a lease ends on the server meanwhile.
///
/// On Linux, Android and OpenBSD it is `CLOCK_BOOTTIME`, on Apple's systems `CLOCK_MONOTONIC`, which goes on during sleep
/// there: the time since the machine was started, the same in all its processes. The stamps of some old clients are made
/// of it. Elsewhere it begins when this process first asks; the system's monotonic clock is compared with the wall clock
/// at each reading, and what the wall clock is ahead by counts as suspended time; setting the wall clock forward then ends
/// leases early.
pub fn mono() -> MonoTime {
    let now = system::mono();
    #[cfg(test)]
    let now = now + suspension::pretended();
    MonoTime::since_origin(now)
}

/// How long a wait that is to take `left` may sleep at once. The system's timers stand still while the machine is
/// suspended, so that a long sleep would overlook for its whole rest that a lease has ended: a thread that waits for a moment
/// of [`mono`] sleeps no longer than this at a time, and looks again.
pub(super) fn nap(left: Duration) -> Duration {
    const LONGEST: Duration = Duration::from_millis(500);
    left.min(LONGEST)
}

/// The wall clock.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn wall() -> UnixTime {
    unix_time(SystemTime::now())
}

fn unix_time(time: SystemTime) -> UnixTime {
    let nanos = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    UnixTime::from_nanos(match time.duration_since(UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    })
}

/// A new owner: a token of 128 random bits, this process, and `thread` within it.
///
/// # Errors
/// Random bits cannot be drawn. There is no lock without them: two owners might be the same.
pub fn owner(thread: u64) -> Result<Owner, getrandom::Error> {
    thread_local!(static SUPPLY: RefCell<Supply> = const { RefCell::new(Supply::empty()) });
    let pid = std::process::id();
    SUPPLY.with_borrow_mut(|supply| {
        let token = supply.token(pid)?;
        Ok(Owner { token, instance: instance(supply, pid)?, pid, thread, entries: 0 })
    })
}

/// Sixteen random bytes: a key that nothing else knows.
///
/// # Errors
/// The system supplies no random numbers.
#[cfg(feature = "cli")]
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn random_key() -> Result<[u8; 16], getrandom::Error> {
    let mut key = [0; 16];
    getrandom::fill(&mut key)?;
    Ok(key)
}

/// What all owners of this process have in common. A process that was forked off is another one.
fn instance(supply: &mut Supply, pid: u32) -> Result<Token, getrandom::Error> {
    static INSTANCE: Mutex<Instance> = Mutex::new(None);
    instance_of(&mut INSTANCE.lock().unwrap_or_else(PoisonError::into_inner), supply, pid)
}

/// What was drawn, and the process that drew it.
type Instance = Option<(u32, Token)>;

fn instance_of(instance: &mut Instance, supply: &mut Supply, pid: u32) -> Result<Token, getrandom::Error> {
    match *instance {
        Some((drawn_by, token)) if drawn_by == pid => Ok(token),
        Some(_) | None => {
            let token = supply.token(pid)?;
            *instance = Some((pid, token));
            Ok(token)
        }
    }
}

/// Random bits for the next tokens. The system is asked for some of them at once: asking takes longer than all that is
/// done with a token until it is sent.
struct Supply {
    bits: [[u8; 16]; 16],
    left: usize,
    pid: u32,
}

impl Supply {
    const fn empty() -> Self {
        Self { bits: [[0; 16]; 16], left: 0, pid: 0 }
    }

    /// The next token. A process that was forked off must not use its parent's bits: it draws its own.
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    fn token(&mut self, pid: u32) -> Result<Token, getrandom::Error> {
        if self.left == 0 || self.pid != pid {
            self.left = 0;
            getrandom::fill(self.bits.as_flattened_mut())?;
            (self.left, self.pid) = (self.bits.len(), pid);
        }
        self.left -= 1;
        Ok(Token::new(self.bits[self.left]))
    }
}

/// The number of the calling thread: 1, 2, 3 ... in the order in which threads first ask.
pub fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static NUMBER: Cell<u64> = Cell::new(NEXT.fetch_add(1, Ordering::Relaxed)));
    NUMBER.get()
}

/// The number of the calling task, beyond those of all threads, or of the thread where there is no task.
#[cfg(feature = "tokio")]
pub fn task_number() -> u64 {
    const FIRST: u64 = 1 << 62;
    match tokio::task::try_id() {
        Some(id) => FIRST | hashed::number(&id),
        None => thread_number(),
    }
}

/// What is opaque but hashed as a number, as the id of a task.
#[cfg(feature = "tokio")]
mod hashed {
    use std::hash::{Hash, Hasher};

    /// The number that is hashed. Reading what is shown would take ten times as long.
    pub(super) fn number(hashed: &impl Hash) -> u64 {
        let mut number = Number(0);
        hashed.hash(&mut number);
        number.finish()
    }

    struct Number(u64);

    impl Hasher for Number {
        fn write(&mut self, bytes: &[u8]) {
            self.0 = bytes.iter().rev().fold(self.0, |number, byte| number << 8 | u64::from(*byte));
        }

        fn write_u64(&mut self, number: u64) {
            self.0 = number;
        }

        fn finish(&self) -> u64 {
            self.0
        }
    }
}

/// A random duration, from zero to `most`.
pub fn jitter(most: Duration) -> Duration {
    most.mul_f64(fastrand::f64())
}

/// Blocks the thread that long, at most half a second longer if the machine is suspended meanwhile.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn sleep(pause: Duration) {
    let until = mono().saturating_add(pause);
    let mut left = pause;
    loop {
        std::thread::sleep(nap(left));
        left = until.saturating_since(mono());
        if left.is_zero() {
            return;
        }
    }
}

/// Suspends the task that long, at most half a second longer if the machine is suspended meanwhile.
#[cfg(feature = "tokio")]
pub async fn sleep_async(pause: Duration) {
    let until = mono().saturating_add(pause);
    let mut left = pause;
    loop {
        tokio::time::sleep(nap(left)).await;
        left = until.saturating_since(mono());
        if left.is_zero() {
            return;
        }
    }
}

/// What comes of this, unless it takes longer.
#[cfg(feature = "tokio")]
pub(super) async fn within<T>(patience: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(patience, work).await.ok()
}

/// Clocks that count suspended time.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "openbsd", target_vendor = "apple"))]
mod system {
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    #[cfg(not(target_vendor = "apple"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(target_vendor = "apple")]
    const CLOCK: ClockId = ClockId::Monotonic;

    /// The time since the machine was started.
    pub(super) fn mono() -> Duration {
        // A time since the start is not negative.
        Duration::try_from(clock_gettime(CLOCK)).unwrap_or_default()
    }
}

/// The standard library's clock, compared with the wall clock.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "openbsd", target_vendor = "apple")))]
mod system {
    use std::sync::{Mutex, OnceLock, PoisonError};
    use std::time::{Duration, Instant};

    use super::suspension::CrossCheck;

    /// The time since this was first called.
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    pub(super) fn mono() -> Duration {
        static CHECK: OnceLock<(Instant, Mutex<CrossCheck>)> = OnceLock::new();
        let (origin, check) = CHECK.get_or_init(|| (Instant::now(), Mutex::new(CrossCheck::new(super::wall()))));
        let mut check = check.lock().unwrap_or_else(PoisonError::into_inner);
        check.read(origin.elapsed(), super::wall())
    }
}

/// Suspended time, where the system's monotonic clock does not count it, or a test pretends it.
#[cfg(any(test, not(any(target_os = "linux", target_os = "android", target_os = "openbsd", target_vendor = "apple"))))]
mod suspension {
    use std::time::Duration;

    use lockshift_wire::UnixTime;

    /// A monotonic clock that is corrected by what the wall clock has gained on it between two readings.
    #[derive(Debug)]
    pub(super) struct CrossCheck {
        mono: Duration,
        wall: UnixTime,
        suspended: Duration,
    }

    impl CrossCheck {
        /// The monotonic clock begins at zero now.
        pub(super) fn new(wall: UnixTime) -> Self {
            Self { mono: Duration::ZERO, wall, suspended: Duration::ZERO }
        }

        /// What the corrected clock says at this reading of both. A wall clock that is disciplined gains less than a
        /// thousandth, which is not counted.
        pub(super) fn read(&mut self, mono: Duration, wall: UnixTime) -> Duration {
            let elapsed = mono.saturating_sub(self.mono);
            let gained = wall.saturating_since(self.wall).saturating_sub(elapsed);
            if gained > Duration::from_millis(100) + elapsed / 1000 {
                self.suspended += gained;
            }
            (self.mono, self.wall) = (mono, wall);
            mono + self.suspended
        }
    }

    #[cfg(test)]
    static PRETENDED_MS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

    /// For how long this process pretends that the machine was suspended.
    #[cfg(test)]
    pub(super) fn pretended() -> Duration {
        Duration::from_millis(PRETENDED_MS.load(std::sync::atomic::Ordering::SeqCst))
    }

    /// Moves the clock on, as a suspend of the machine does, and leaves the system's timers where they are.
    #[cfg(test)]
    pub(in super::super) fn pretend(length_ms: u64) {
        PRETENDED_MS.fetch_add(length_ms, std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(test)]
pub(super) use suspension::pretend as pretend_suspended_for_ms;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::suspension::CrossCheck;
    use super::*;

    /// Linux says in `/proc/uptime` for how long the machine has been up, suspended time included.
    #[cfg(target_os = "linux")]
    fn uptime() -> f64 {
        let text = std::fs::read_to_string("/proc/uptime").unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_monotonic_clock_is_the_uptime_of_the_machine() {
        let before = uptime();
        let mono = system::mono().as_secs_f64();
        let after = uptime();
        // The file has hundredths of a second.
        assert!((before - 0.02..=after + 0.02).contains(&mono), "{before} <= {mono} <= {after}");
    }

    /// Some old clients write the uptime of their machine into the key, and another process reads it.
    #[cfg(target_os = "linux")]
    #[test]
    fn all_processes_of_a_machine_read_the_same_monotonic_clock() {
        // Other tests pretend meanwhile that the machine was suspended.
        let passed = || uptime() + suspension::pretended().as_secs_f64();
        let before = passed();
        let mono = mono().saturating_since(MonoTime::since_origin(Duration::ZERO)).as_secs_f64();
        let after = passed();
        assert!((before - 0.02..=after + 0.02).contains(&mono), "{before} <= {mono} <= {after}");
    }

    #[test]
    fn a_wall_clock_may_be_before_1970() {
        let second = Duration::from_secs(1);
        assert_eq!(unix_time(UNIX_EPOCH + second), UnixTime::from_nanos(1_000_000_000));
        assert_eq!(unix_time(UNIX_EPOCH - second), UnixTime::from_nanos(-1_000_000_000));
    }

    #[cfg(feature = "tokio")]
    #[tokio::test]
    async fn a_task_has_a_number_that_no_thread_and_no_other_task_has() {
        let numbers = || tokio::spawn(async { (task_number(), task_number()) });
        let ((one, again), (other, _)) = (numbers().await.unwrap(), numbers().await.unwrap());
        assert_eq!(one, again);
        assert_ne!(one, other);
        assert!(one >= 1 << 62 && other >= 1 << 62, "{one} {other}");
    }

    #[test]
    fn what_the_wall_clock_gains_counts_as_suspended_time() {
        let (mono, wall) = (Duration::from_millis, |ms: i64| UnixTime::from_nanos(ms * 1_000_000));
        let mut check = CrossCheck::new(wall(5000));
        assert_eq!(check.read(mono(1000), wall(6000)), mono(1000));
        assert_eq!(check.read(mono(2000), wall(7050)), mono(2000), "disciplined");
        let mut by_a_hair = CrossCheck::new(wall(0));
        assert_eq!(by_a_hair.read(mono(1000), wall(1101)), mono(1000), "a tenth of a second and a thousandth");
        assert_eq!(check.read(mono(3000), wall(68_050)), mono(63_000), "a minute of sleep");
        assert_eq!(check.read(mono(4000), wall(9050)), mono(64_000), "set back, which suspends nothing");
        assert_eq!(check.read(mono(5000), wall(20_050)), mono(75_000), "ten seconds of sleep");
        assert_eq!(check.read(mono(1_005_000), wall(1_020_950)), mono(1_075_000), "disciplined for a long time");
    }

    #[test]
    fn all_owners_of_a_process_are_of_one_instance() {
        let here = owner(1).unwrap();
        let there = std::thread::spawn(|| owner(2).unwrap()).join().unwrap();
        assert_eq!(here.instance, there.instance);
        assert!(![here.token, there.token].contains(&here.instance));
    }

    #[test]
    fn no_two_owners_have_the_same_token() {
        let draw = || (0..1000).map(|_| owner(1).unwrap().token).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(draw)).collect();
        let tokens: BTreeSet<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(tokens.len(), 4000);
    }

    #[test]
    fn a_forked_process_uses_no_bits_of_its_parent() {
        let mut parent = Supply::empty();
        parent.token(1).unwrap();
        let mut child = Supply { bits: parent.bits, ..parent };
        let of_child: BTreeSet<_> = (0..32).map(|_| child.token(2).unwrap()).collect();
        assert!((0..32).all(|_| !of_child.contains(&parent.token(1).unwrap())));
    }

    #[cfg(feature = "tokio")]
    #[test]
    fn a_number_that_is_hashed_is_read() {
        for number in [0, 7, 1 << 40, u64::MAX] {
            assert_eq!(hashed::number(&number), number);
            assert_eq!(hashed::number(&number.to_le_bytes()), number);
        }
    }

    #[test]
    fn threads_have_numbers_of_their_own() {
        let mine = thread_number();
        assert_eq!(thread_number(), mine);
        assert_ne!(std::thread::spawn(thread_number).join().unwrap(), mine);
    }
}

#[test]
fn a_process_that_was_forked_off_draws_its_own_bits() {
    let mut supply = Supply::empty();
    supply.token(1).unwrap();
    let drawn = supply.bits;
    supply.token(1).unwrap();
    assert_eq!(supply.bits, drawn, "one question serves many tokens");
    supply.token(2).unwrap();
    assert_ne!(supply.bits, drawn);
}

#[test]
fn a_process_that_was_forked_off_has_another_instance() {
    let (mut instance, mut supply) = (None, Supply::empty());
    let [own, again, forked] = [1, 1, 2].map(|pid| instance_of(&mut instance, &mut supply, pid).unwrap());
    assert_eq!(own, again);
    assert_ne!(own, forked);
}
