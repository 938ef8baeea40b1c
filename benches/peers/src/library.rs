//! What a lock library of this language is asked for, and how it is put to work.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// For how long each lock is asked for: far longer than it is held.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// A library, connected.
pub(crate) trait Library: Send + Sync + 'static {
    type Lock: Lock;

    /// Its client threads are blocked while they wait, so that each client is a thread.
    const BLOCKS: bool = false;

    /// This side of a lock on this key, or `None` if the library has no such lock.
    fn lock(&self, key: &str, side: Side) -> Option<Self::Lock>;
}

/// A lock, ready to be acquired.
pub(crate) trait Lock: Send + Sync + 'static {
    type Held: Send;

    /// Waits for it, as the library does by itself, and for ever.
    fn acquire(&self) -> impl Future<Output = Self::Held> + Send;

    fn release(held: Self::Held) -> impl Future<Output = ()> + Send;
}

/// Which lock, and which side of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Exclusive,
    Read,
    Write,
}

/// Acquires and releases so many times in each of so many tasks, each on a key of its own: how long all took.
pub(crate) async fn cycles<L: Library>(library: Arc<L>, tasks: usize, count: usize) -> Option<Duration> {
    let locks: Option<Vec<_>> =
        (0..tasks).map(|task| library.lock(&format!("peers-{task}"), Side::Exclusive)).collect();
    let began = Instant::now();
    let mut working = Vec::new();
    for lock in locks? {
        let work = async move {
            for _ in 0..count {
                L::Lock::release(lock.acquire().await).await;
            }
        };
        if tasks == 1 {
            work.await;
        } else if L::BLOCKS {
            return None;
        } else {
            working.push(tokio::spawn(work));
        }
    }
    for task in working {
        task.await.expect("the work does not panic");
    }
    Some(began.elapsed())
}

/// What came of clients that contend for one lock.
#[derive(Debug, Default)]
pub(crate) struct Contended {
    pub(crate) acquisitions: u64,
    pub(crate) held: Duration,
    /// Each client's waits, those that the end of the run cut off included.
    pub(crate) waits: Vec<Duration>,
}

/// So many clients acquire one lock, hold it, and release it, over and over; each begins its last wait before
/// `length` has passed. With `reads`, 19 of 20 holds are of the shared side.
pub(crate) async fn contend<L: Library>(library: Arc<L>, load: Load) -> Option<Contended> {
    let sides = if load.reads { vec![Side::Read, Side::Write] } else { vec![Side::Exclusive] };
    let mut clients = Vec::new();
    for number in 0..load.clients {
        let locks: Option<Vec<_>> = sides.iter().map(|side| library.lock(&load.key, *side)).collect();
        clients.push((number, locks?));
    }
    let began = Instant::now();
    let mut working = Vec::new();
    for (number, locks) in clients {
        let client = client::<L>(locks, number, load.clone(), began);
        working.push(if L::BLOCKS {
            let runtime = Handle::current();
            tokio::task::spawn_blocking(move || runtime.block_on(client))
        } else {
            tokio::spawn(client)
        });
    }
    let mut total = Contended::default();
    for client in working {
        let one = client.await.expect("the work does not panic");
        total.acquisitions += one.acquisitions;
        total.held += one.held;
        total.waits.extend(one.waits);
    }
    Some(total)
}

/// A load on one lock.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) key: String,
    pub(crate) clients: usize,
    pub(crate) length: Duration,
    pub(crate) hold: Duration,
    pub(crate) reads: bool,
}

async fn client<L: Library>(locks: Vec<L::Lock>, number: usize, load: Load, began: Instant) -> Contended {
    let mut of_client = Contended::default();
    let mut turn = number;
    while began.elapsed() < load.length {
        // Each client's twentieth hold writes, not all at the same time.
        let is_write = locks.len() == 1 || turn.is_multiple_of(20);
        let lock = if is_write { locks.last() } else { locks.first() }.expect("there is a side");
        turn += 1;
        let waiting = Instant::now();
        let left = load.length.saturating_sub(began.elapsed());
        // Nothing more is counted after the end; what is won later is released all the same.
        let Ok(held) = tokio::time::timeout(left, lock.acquire()).await else {
            of_client.waits.push(waiting.elapsed());
            break;
        };
        of_client.waits.push(waiting.elapsed());
        // A client that blocks its thread cannot be cut off.
        if began.elapsed() >= load.length {
            L::Lock::release(held).await;
            break;
        }
        of_client.acquisitions += 1;
        let holding = Instant::now();
        tokio::time::sleep(load.hold).await;
        of_client.held += holding.elapsed().min(load.length.saturating_sub(holding - began));
        L::Lock::release(held).await;
    }
    of_client
}
