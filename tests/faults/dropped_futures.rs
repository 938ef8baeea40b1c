//! Futures that are dropped at each of their await points leave nothing behind on the server. The leases are longer than any
//! test, so that only a release can free a lock.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lockshift::connect;
use lockshift::driver::{Attempt, Wait, aio};
use lockshift::lock::{Lease, Locker, Mode};

use crate::drivers::Destination;
use crate::promise::{Damage, FaultRow};
use crate::tested_locks::TestedLock;

/// Which future is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// An attempt on a lock that is free.
    Attempt,
    /// A wait for a lock that another client holds.
    Wait,
    Extend,
    Release,
}

impl Dropped {
    pub(crate) const ALL: [Self; 4] = [Self::Attempt, Self::Wait, Self::Extend, Self::Release];

    /// The fault as a row of the table.
    pub(crate) const fn row(self) -> FaultRow {
        let name = match self {
            Self::Attempt => "future of an attempt dropped at each await",
            Self::Wait => "future of a wait dropped at each await",
            Self::Extend => "future of an extension dropped at each await",
            Self::Release => "future of a release dropped at each await",
        };
        FaultRow::new(name, Damage::Nothing)
    }
}

/// The lock under test.
type Lock = aio::Lock<connect::aio::Connection>;
type Guard = aio::Guard<connect::aio::Connection>;

/// Far longer than a release takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// A wait never ends by itself: only its first await points are tested.
const MOST_POLLS: usize = 12;

/// Drops the future after one poll, after two, and so on, until it completes by itself.
///
/// Returns the number of polls after which nothing was left behind, and a description of the first one after which something
/// was.
pub(crate) async fn at_each_await(
    tested: &TestedLock,
    dropped: Dropped,
    destination: &Destination,
) -> (u64, Option<String>) {
    let mut runs = 0;
    for polls in 1..=MOST_POLLS {
        let key = format!("{{{} {dropped:?} {polls}}}", tested.name);
        let scene =
            Scene { destination, one: tested.locker_for(&key, lease()), other: tested.rival_for(&key, lease()) };
        let described =
            |problem: String| format!("{}, {dropped:?} dropped after {polls} polls: {problem}", tested.name);
        let result = match scene.run(dropped, polls).await {
            Ok(is_done) => scene.is_free_again().await.map(|()| is_done),
            Err(problem) => Err(problem),
        };
        match result {
            Ok(is_done) => {
                runs += 1;
                if is_done {
                    break;
                }
            }
            Err(problem) => return (runs, Some(described(problem))),
        }
    }
    (runs, None)
}

fn lease() -> Lease {
    Lease::new(Duration::from_secs(600)).expect("ten minutes are a lease")
}

struct Scene<'a> {
    destination: &'a Destination,
    one: Arc<dyn Locker>,
    /// The lock that the first one excludes; for most locks the same.
    other: Arc<dyn Locker>,
}

impl Scene<'_> {
    fn lock(&self, locker: &Arc<dyn Locker>) -> Lock {
        let Destination::Server(server) = self.destination else { panic!("this is result on one server") };
        aio::Lock::on_own_connection(connect::aio::Connection::to(server), Arc::clone(locker))
    }

    /// Returns whether the future completed before it was dropped.
    async fn run(&self, dropped: Dropped, polls: usize) -> Result<bool, String> {
        match dropped {
            Dropped::Attempt => Ok(polled(polls, self.lock(&self.one).try_acquire()).await.is_some()),
            Dropped::Wait => {
                let guard = won(&self.lock(&self.one), &self.one).await?;
                let (other, wait) = (self.lock(&self.other), Wait::every(Duration::from_millis(3)));
                let waited = polled(polls, other.acquire(&wait)).await;
                released(guard).await?;
                Ok(waited.is_some())
            }
            Dropped::Extend => {
                let guard = won(&self.lock(&self.one), &self.one).await?;
                let extended = polled(polls, guard.extend()).await;
                released(guard).await?;
                Ok(extended.is_some())
            }
            Dropped::Release => {
                let guard = won(&self.lock(&self.one), &self.one).await?;
                Ok(polled(polls, guard.release()).await.is_some())
            }
        }
    }

    /// Waits until the dropped operation has ended. A client of some old dialects that finds the key deleted between its SETNX and its GET writes a
    /// stamp and believes that it lost: that is a race of the dialect, not what a dropped future leaves behind.
    async fn until_deleted(&self) {
        let Destination::Server(server) = self.destination else { panic!("this is result on one server") };
        let mut connection = connect::aio::Connection::to(server);
        let mut exists = redis::cmd("EXISTS");
        exists.arg(self.one.key().as_bytes());
        for _ in 0..200 {
            if exists.query_async::<u32>(&mut connection).await == Ok(0) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Checks that both sides can acquire the lock, long before any lease ends.
    async fn is_free_again(&self) -> Result<(), String> {
        self.until_deleted().await;
        for locker in [&self.one, &self.other] {
            let guard = won(&self.lock(locker), locker).await?;
            released(guard).await?;
        }
        Ok(())
    }
}

async fn won(lock: &Lock, locker: &Arc<dyn Locker>) -> Result<Guard, String> {
    let side = if locker.mode() == Mode::Shared { "a reader" } else { "a client" };
    match lock.acquire(&Wait::every(Duration::from_millis(5)).for_at_most(PATIENCE)).await {
        Ok(Attempt::Won(guard)) => Ok(guard),
        other => Err(format!("{side} cannot acquire it: {other:?}")),
    }
}

async fn released(guard: Guard) -> Result<(), String> {
    guard.release().await.map(drop).map_err(|error| error.to_string())
}

/// Polls a future this many times, with pauses in which what it waits for can happen, and drops it. Returns its output if
/// it completed.
async fn polled<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(done);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    None
}
