//! A task that renews one lock.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::select;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::carrier::Carrier;
use super::shadow_hold::Held;
use crate::driver::host;
use crate::driver::lease_state::LeaseState;
use crate::driver::renewal::Renewal;

/// A task that renews one lock. It sleeps between two extensions and wakes when it is stopped.
pub(super) struct Renewing {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Renewing {
    /// Starts to renew, in place of `predecessor`: at once, whether the caller waits for the second value or not, which is
    /// ready when no extension of the predecessor is under way any more. Without a predecessor there is nothing to wait for.
    pub(super) fn start<C>(
        runtime: &Handle,
        held: Arc<Held<C>>,
        renewal: Renewal,
        predecessor: Option<Self>,
    ) -> (Self, Option<oneshot::Receiver<()>>)
    where
        C: Carrier + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        let (predecessor, begins) = match predecessor {
            Some(predecessor) => {
                let (begun, begins) = oneshot::channel();
                (Some((predecessor, begun)), Some(begins))
            }
            None => (None, None),
        };
        let task = async move {
            if let Some((predecessor, begun)) = predecessor {
                predecessor.stop().await;
                // The caller may have gone.
                let _ = begun.send(());
            }
            renew(held, renewal, stopped).await;
        };
        (Self { stop, task: runtime.spawn(task) }, begins)
    }

    /// Stops, and waits for an extension under way: when this returns no further one is sent.
    pub(super) async fn stop(self) {
        drop(self.stop);
        // It can only have panicked, over a protocol that breaks its contract; the panic has been printed.
        let _ = self.task.await;
    }
}

async fn renew<C>(held: Arc<Held<C>>, renewal: Renewal, mut stopped: oneshot::Receiver<()>)
where
    C: Carrier + 'static,
{
    let mut course = renewal.begin(host::mono());
    while let Some(pause) = course.pause(held.lease.read(LeaseState::remaining), host::mono()) {
        select! {
            _ = &mut stopped => return,
            () = host::sleep_async(pause) => {}
        }
        course.note(held.key(), &held.extend().await);
    }
}
