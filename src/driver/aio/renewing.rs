//! The renewal of one lock. Between two extensions it costs an entry in a timetable, and each extension is a task.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lockshift_wire::MonoTime;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::carrier::Carrier;
use super::shadow_hold::Held;
use super::timetable::{Entered, Timetable};
use crate::driver::host;
use crate::driver::renewal::{Renewal, RenewalProgress};

/// The renewal of one lock.
pub(super) struct Renewing(Arc<Mutex<Progress>>);

/// How far a renewal is.
enum Progress {
    /// The next extension is entered.
    Entered(Entered),
    /// An extension is under way. The sender is dropped when it has ended.
    UnderWay(oneshot::Receiver<()>),
    /// No further extension is begun.
    Ended,
}

/// The next extension of a renewal.
struct Extension<C: Carrier + 'static> {
    held: Arc<Held<C>>,
    renewing: RenewalProgress,
    timetable: Arc<Timetable>,
    progress: Arc<Mutex<Progress>>,
}

impl Renewing {
    /// Begins to renew.
    pub(super) fn start<C: Carrier + 'static>(runtime: &Handle, held: Arc<Held<C>>, renewal: Renewal) -> Self {
        let progress = Arc::new(Mutex::new(Progress::Ended));
        let now = host::mono();
        let (renewing, timetable) = (renewal.begin(now), Timetable::of(runtime));
        Extension { held, renewing, timetable, progress: Arc::clone(&progress) }.enter(&mut lock(&progress), now);
        Self(progress)
    }

    /// Stops: no further extension is begun. What is returned waits for the one under way, if there is one; it ends with an
    /// error, which means nothing.
    pub(super) fn stop(self) -> Option<oneshot::Receiver<()>> {
        let progress = std::mem::replace(&mut *lock(&self.0), Progress::Ended);
        match progress {
            Progress::Entered(entered) => {
                entered.cancel();
                None
            }
            Progress::UnderWay(ended) => Some(ended),
            Progress::Ended => None,
        }
    }
}

impl<C: Carrier + 'static> Extension<C> {
    /// Enters it now, if there is to be one.
    fn enter(self, progress: &mut Progress, now: MonoTime) {
        *progress = match self.renewing.pause(self.held.lease.remaining(now), now) {
            Some(pause) => {
                let timetable = Arc::clone(&self.timetable);
                Progress::Entered(timetable.enter(now.saturating_add(pause), Box::new(|| self.begin())))
            }
            None => Progress::Ended,
        };
    }

    /// Begins it, unless the renewal was stopped just now.
    fn begin(self) {
        let ended = {
            let mut progress = lock(&self.progress);
            if matches!(*progress, Progress::Ended) {
                return;
            }
            let (ended, ends) = oneshot::channel();
            *progress = Progress::UnderWay(ends);
            ended
        };
        tokio::spawn(self.carry_out(ended));
    }

    /// Sends it and enters the next one.
    async fn carry_out(mut self, ended: oneshot::Sender<()>) {
        self.renewing.note(self.held.key(), &self.held.extend().await);
        let progress = Arc::clone(&self.progress);
        let mut progress = lock(&progress);
        if !matches!(*progress, Progress::Ended) {
            self.enter(&mut progress, host::mono());
        }
        drop(ended);
    }
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    // Each change is one step.
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
