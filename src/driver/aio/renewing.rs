//! A task that renews one lock.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::select;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::carrier::Carrier;
use super::held_lock::HeldLock;
use crate::driver::host;
use crate::driver::renewal::Renewal;

/// A task that renews one lock. It sleeps between two extensions and wakes when told to stop.
pub(super) struct Renewing {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Renewing {
    pub(super) fn start<C>(runtime: &Handle, tenancy: Arc<HeldLock<C>>, renewal: Renewal) -> Self
    where
        C: Carrier + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: runtime.spawn(renew(tenancy, renewal, stopped)) }
    }

    /// Stops, and waits for an extension under way: when this returns no further one is sent.
    pub(super) async fn stop(self) {
        drop(self.stop);
        // It can only have panicked, over a protocol that breaks its contract; the panic has been printed.
        let _ = self.task.await;
    }
}

async fn renew<C>(tenancy: Arc<HeldLock<C>>, renewal: Renewal, mut stopped: oneshot::Receiver<()>)
where
    C: Carrier + 'static,
{
    let mut course = renewal.begin(host::mono());
    while let Some(pause) = course.pause(tenancy.watch().left(), host::mono()) {
        select! {
            _ = &mut stopped => return,
            () = host::sleep_async(pause) => {}
        }
        course.note(tenancy.key(), &tenancy.extend().await);
    }
}
