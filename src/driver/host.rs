//! The host: the only place that reads clocks, draws random bits and sleeps. Everything else is handed time and chance
//! as arguments.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lockshift_lock::{Owner, Token};
use lockshift_wire::{MonoTime, Reading, UnixTime};

/// Both clocks.
pub fn reading() -> Reading {
    Reading { wall: wall(), mono: mono() }
}

/// The monotonic clock, since this process first asked. On Linux it stands still while the machine is suspended: a
/// lease that ran out in a laptop's sleep is noticed by the server, not here.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn mono() -> MonoTime {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let origin = *ORIGIN.get_or_init(Instant::now);
    MonoTime::since_origin(Instant::now().saturating_duration_since(origin))
}

/// The wall clock.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn wall() -> UnixTime {
    let nanos = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    UnixTime::from_nanos(match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    })
}

/// A new owner: a token of 128 random bits, this process, and `thread` within it.
///
/// # Errors
/// The system gives no random bits. There is no lock without them: two owners might be the same.
pub fn owner(thread: u64) -> Result<Owner, getrandom::Error> {
    thread_local!(static SUPPLY: RefCell<Supply> = const { RefCell::new(Supply::empty()) });
    let pid = std::process::id();
    SUPPLY.with_borrow_mut(|supply| {
        let token = supply.token(pid)?;
        Ok(Owner { token, instance: instance(supply, pid)?, pid, thread })
    })
}

/// What all owners of this process have in common. A process that was forked off is another one.
fn instance(supply: &mut Supply, pid: u32) -> Result<Token, getrandom::Error> {
    static INSTANCE: Mutex<Option<(u32, Token)>> = Mutex::new(None);
    let mut instance = INSTANCE.lock().unwrap_or_else(PoisonError::into_inner);
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
    // A task's id is opaque, but it is shown as a number.
    let id = tokio::task::try_id().and_then(|id| id.to_string().parse::<u64>().ok());
    id.map_or_else(thread_number, |id| FIRST | id)
}

/// A random duration, from zero to `most`.
pub fn jitter(most: Duration) -> Duration {
    most.mul_f64(fastrand::f64())
}

/// Blocks the thread that long.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn sleep(pause: Duration) {
    std::thread::sleep(pause);
}

/// Suspends the task that long.
#[cfg(feature = "tokio")]
pub async fn sleep_async(pause: Duration) {
    tokio::time::sleep(pause).await;
}

/// What comes of this, unless it takes longer.
#[cfg(feature = "tokio")]
pub(super) async fn within<T>(patience: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(patience, work).await.ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

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

    #[test]
    fn threads_have_numbers_of_their_own() {
        let mine = thread_number();
        assert_eq!(thread_number(), mine);
        assert_ne!(std::thread::spawn(thread_number).join().unwrap(), mine);
    }
}
