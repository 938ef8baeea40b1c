//! Work that is carried to its end when its caller has gone.

use std::future::Future;
use std::panic::resume_unwind;

use lockshift_wire::Key;
use tokio::runtime::Handle;

use crate::driver::error::Error;
use crate::driver::events::RELEASE;

/// Does `work` in a task of its own and waits for it. Dropping this future only stops the waiting; what `work` then
/// ends with is dropped when it is there.
pub(super) async fn to_the_end<T: Send + 'static>(
    runtime: &Handle,
    key: &Key,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    match runtime.spawn(work).await {
        Ok(outcome) => outcome,
        Err(stopped) if stopped.is_panic() => resume_unwind(stopped.into_panic()),
        Err(cancelled) => Err(Error::no_runtime(key, cancelled)),
    }
}

/// Does `work`, which releases the lock on `key` or a place in its queue, in a task of its own, and does not wait for
/// it. From any thread, inside a runtime or not; if `runtime` is shut down, that is logged, and the lease, or the
/// waiting time of the place, will end what is left.
pub(super) fn alone(runtime: &Handle, key: Key, work: impl Future<Output = ()> + Send + 'static) {
    let unfinished = Unfinished { key: Some(key) };
    runtime.spawn(async move {
        work.await;
        unfinished.finish();
    });
}

/// Says so if it is dropped before its work is done.
struct Unfinished {
    key: Option<Key>,
}

impl Unfinished {
    fn finish(mut self) {
        self.key = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            log::warn!(target: RELEASE, "lock key `{key}`: the runtime is shut down, not released, its lease will end it");
        }
    }
}
