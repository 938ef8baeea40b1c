//! Work that is carried to its end when its caller has gone.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use lockshift_lock::Locker;
use lockshift_wire::Key;
use tokio::runtime::Handle;

use crate::driver::error::Error;
use crate::driver::events::RELEASE;
use crate::driver::outcome::what_remains;

/// Where work is done while its caller waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workplace {
    /// In the caller's task, which costs nothing. A caller that neither polls nor drops its future keeps what the work
    /// holds: so this is for a connection that no other procedure waits for.
    CallersTask,
    /// In a task of its own, which goes on also while the caller does not poll.
    OwnTask,
}

/// Where one piece of work is done, as found when it begins.
pub(super) enum Place {
    /// In the caller's task, which is one of the runtime of this handle.
    CallersTask(Handle),
    /// In a task of its own on this runtime.
    OwnTask(Handle),
}

impl Workplace {
    /// The place for work that begins now on `runtime`. In a caller's task of another runtime it would miss the timers of its
    /// own.
    pub(super) fn now(self, runtime: &Handle) -> Place {
        match self {
            Self::CallersTask => match Handle::try_current() {
                Ok(here) if here.id() == runtime.id() => Place::CallersTask(here),
                Ok(_) | Err(_) => Place::OwnTask(runtime.clone()),
            },
            Self::OwnTask => Place::OwnTask(runtime.clone()),
        }
    }
}

/// Does `work` in this place and waits for it. If this future is dropped half-way, a task carries `work` to its end, and
/// what that ends with is dropped when it is there. `work` comes in a box, which the task takes over; and where it is made in
/// its box, it is not copied there, and the caller's own future has no room for it.
///
/// # Errors
/// The runtime is shut down.
pub(super) async fn to_the_end<T: Send + 'static>(
    place: Place,
    key: &Key,
    work: Pin<Box<impl Future<Output = Result<T, Error>> + Send + 'static>>,
) -> Result<T, Error> {
    match place {
        Place::CallersTask(runtime) => InCallersTask { runtime, work: Some(work) }.await,
        Place::OwnTask(runtime) => in_own_task(runtime, key, work).await,
    }
}

async fn in_own_task<T: Send + 'static>(
    runtime: Handle,
    key: &Key,
    work: Pin<Box<impl Future<Output = Result<T, Error>> + Send + 'static>>,
) -> Result<T, Error> {
    match runtime.spawn(work).await {
        Ok(outcome) => outcome,
        Err(stopped) if stopped.is_panic() => resume_unwind(stopped.into_panic()),
        Err(cancelled) => Err(Error::no_runtime(key, cancelled)),
    }
}

/// Work that was begun in its caller's task. Dropped before its end, it moves to a task of its own.
struct InCallersTask<W>
where
    W: Future<Output: Send> + Send + 'static,
{
    runtime: Handle,
    /// `None` once it has ended.
    work: Option<Pin<Box<W>>>,
}

impl<W: Future<Output: Send> + Send + 'static> Future for InCallersTask<W> {
    type Output = W::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<W::Output> {
        // Work that panics is dropped: nothing may poll it again.
        let mut work = self.work.take().expect("nothing polls a future after its end");
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.work = Some(work);
        }
        polled
    }
}

impl<W: Future<Output: Send> + Send + 'static> Drop for InCallersTask<W> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.runtime.spawn(work);
        }
    }
}

/// Does `work`, which releases the lock or a place in its queue, in a task of its own, and does not wait for
/// it. From any thread, inside a runtime or not; if `runtime` is shut down, that is logged, and the lease, or the
/// waiting time of the place, will end what is left.
pub(super) fn alone(runtime: &Handle, locker: Arc<dyn Locker>, work: impl Future<Output = ()> + Send + 'static) {
    let unfinished = UnfinishedRelease { locker: Some(locker) };
    runtime.spawn(async move {
        work.await;
        unfinished.finish();
    });
}

/// Says so if it is dropped before its work is done.
struct UnfinishedRelease {
    locker: Option<Arc<dyn Locker>>,
}

impl UnfinishedRelease {
    fn finish(mut self) {
        self.locker = None;
    }
}

impl Drop for UnfinishedRelease {
    fn drop(&mut self) {
        if let Some(locker) = &self.locker {
            let (key, remains) = (locker.key(), what_remains(locker.expires()));
            log::warn!(target: RELEASE, "lock key `{key}`: the runtime is shut down, not released; {remains}");
        }
    }
}

#[tokio::test]
async fn work_that_panics_in_its_own_task_panics_where_it_is_awaited() {
    let key = Key::from("k");
    let place = Place::OwnTask(Handle::current());
    let work = async { panic!("the work panics") };
    let awaited = tokio::spawn(async move { to_the_end::<()>(place, &key, Box::pin(work)).await });
    let panic = awaited.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the work panics"));
}
