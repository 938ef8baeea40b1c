//! Futures that are dropped at each of their await points, and clients that give up: nothing of theirs stays behind. The
//! leases here are longer than any test, so that only a release can free a lock.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lockshift::connect;
use lockshift::driver::{Attempt, Wait, aio};
use lockshift::lock::{Lease, Locker, Mode};

use crate::drivers::Way;
use crate::promise::{Harm, Row};
use crate::subjects::Subject;

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

    /// What happens, as a row of the table.
    pub(crate) const fn row(self) -> Row {
        let name = match self {
            Self::Attempt => "future of an attempt dropped at each await",
            Self::Wait => "future of a wait dropped at each await",
            Self::Extend => "future of an extension dropped at each await",
            Self::Release => "future of a release dropped at each await",
        };
        Row::new(name, Harm::None)
    }
}

/// What a lock is made over.
type Lock = aio::Lock<connect::aio::Connection>;
type Guard = aio::Guard<connect::aio::Connection>;

/// Far longer than a release takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// A wait has as many await points as attempts, and never ends by itself: it is dropped at the first of these.
const MOST_POLLS: usize = 12;

/// Drops the future after one poll, after two, and so on, until it is done by itself.
///
/// At how many of them nothing stayed behind, and after which something did.
pub(crate) async fn at_each_await(subject: &Subject, dropped: Dropped, way: &Way) -> (u64, Option<String>) {
    let mut runs = 0;
    for polls in 1..=MOST_POLLS {
        let key = format!("{{{} {dropped:?} {polls}}}", subject.name);
        let scene = Scene { way, one: subject.locker_for(&key, lease()), other: subject.against_for(&key, lease()) };
        let described =
            |problem: String| format!("{}, {dropped:?} dropped after {polls} polls: {problem}", subject.name);
        let played = match scene.play(dropped, polls).await {
            Ok(is_done) => scene.can_be_had().await.map(|()| is_done),
            Err(problem) => Err(problem),
        };
        match played {
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
    way: &'a Way,
    one: Arc<dyn Locker>,
    /// The lock that excludes the first: mostly the same.
    other: Arc<dyn Locker>,
}

impl Scene<'_> {
    fn lock(&self, locker: &Arc<dyn Locker>) -> Lock {
        let Way::Server(server) = self.way else { panic!("this is played on one server") };
        aio::Lock::on_own_connection(connect::aio::Connection::to(server), Arc::clone(locker))
    }

    /// Whether the future was done before it was dropped.
    async fn play(&self, dropped: Dropped, polls: usize) -> Result<bool, String> {
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

    /// Lets what was dropped end. A client of some old dialects that finds the key deleted between its SETNX and its GET writes a
    /// stamp and believes that it lost: that is a race of the dialect, not what a dropped future leaves behind.
    async fn left_alone(&self) {
        let Way::Server(server) = self.way else { panic!("this is played on one server") };
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

    /// Whether either side gets the lock, long before any lease ends.
    async fn can_be_had(&self) -> Result<(), String> {
        self.left_alone().await;
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
        other => Err(format!("{side} does not get it: {other:?}")),
    }
}

async fn released(guard: Guard) -> Result<(), String> {
    guard.release().await.map(drop).map_err(|error| error.to_string())
}

/// Polls a future so many times, lets what it waits for happen in between, and drops it: what it came to before.
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
