//! All locks, each judged by one thread: by the one that reads the trace, or by others while it reads on.
//!
//! What happens to one lock does not depend on another one, so a thread gets what concerns its locks in the order of the
//! trace, and nothing else has an order.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::panic;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{Builder, JoinHandle};

use super::locks::LockId;
use super::share::LockShare;

/// All locks, in one share or in several.
#[derive(Debug)]
pub(super) enum LockShares {
    /// Judged by the thread that reads.
    Here(Box<LockShare>),
    /// Judged by these.
    InThreads(Vec<ShareThread>),
}

/// A thread that judges a share.
pub(super) struct ShareThread {
    /// What is not sent yet.
    batch: Vec<Work>,
    sender: SyncSender<Vec<Work>>,
    thread: Option<JoinHandle<()>>,
}

type Work = Box<dyn FnOnce(&mut LockShare) + Send>;

/// How much work is sent at once.
const BATCH: usize = 256;
/// Number of batches that a thread may be behind.
const MOST_BATCHES: usize = 8;

impl LockShares {
    /// One share, judged by the thread that reads.
    pub(super) fn here() -> Self {
        Self::Here(Box::new(LockShare::new()))
    }

    /// A share for each of so many threads, or as many as can be started, in place of one that is empty.
    pub(super) fn in_threads(self, count: NonZeroUsize) -> Self {
        let Self::Here(share) = &self else { return self };
        if !share.is_empty() {
            return self;
        }
        let threads: Vec<_> = (0..count.get()).map_while(|_| ShareThread::start(share.another()).ok()).collect();
        if threads.is_empty() { self } else { Self::InThreads(threads) }
    }

    /// Runs this in the thread of the lock, after what was sent to it before, and does not wait for it.
    pub(super) fn send(&mut self, lock: LockId, work: impl FnOnce(&mut LockShare) + Send + 'static) {
        match self {
            Self::Here(share) => work(share),
            Self::InThreads(threads) => {
                let place = lock.0 % threads.len();
                threads[place].push(Box::new(work));
            }
        }
    }

    /// Runs this in the thread of the lock, after what was sent to it before, and waits for the result.
    pub(super) fn call<R: Send + 'static>(
        &mut self,
        lock: LockId,
        work: impl FnOnce(&mut LockShare) -> R + Send + 'static,
    ) -> R {
        match self {
            Self::Here(share) => work(share),
            Self::InThreads(threads) => {
                let place = lock.0 % threads.len();
                let result = threads[place].call(work);
                threads[place].result_of(&result)
            }
        }
    }

    /// Runs this in every thread, after what was sent to it before, and waits for the results.
    pub(super) fn call_all<R: Send + 'static>(
        &mut self,
        work: impl Fn(&mut LockShare) -> R + Clone + Send + 'static,
    ) -> Vec<R> {
        match self {
            Self::Here(share) => vec![work(share)],
            Self::InThreads(threads) => {
                let results: Vec<_> = threads.iter_mut().map(|thread| thread.call(work.clone())).collect();
                threads.iter_mut().zip(results).map(|(thread, result)| thread.result_of(&result)).collect()
            }
        }
    }
}

impl ShareThread {
    fn start(share: LockShare) -> io::Result<Self> {
        let (sender, receiver) = mpsc::sync_channel(MOST_BATCHES);
        let thread = Builder::new().name("audit".to_owned()).spawn(|| judge(share, receiver))?;
        Ok(Self { batch: Vec::with_capacity(BATCH), sender, thread: Some(thread) })
    }

    fn push(&mut self, work: Work) {
        self.batch.push(work);
        if self.batch.len() == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        if self.sender.send(batch).is_err() {
            self.panicked();
        }
    }

    fn call<R: Send + 'static>(&mut self, work: impl FnOnce(&mut LockShare) -> R + Send + 'static) -> Receiver<R> {
        let (sender, result) = mpsc::sync_channel(1);
        // Without a receiver, the thread that waited for it has panicked.
        self.push(Box::new(move |share| drop(sender.send(work(share)))));
        self.flush();
        result
    }

    fn result_of<R>(&mut self, result: &Receiver<R>) -> R {
        result.recv().unwrap_or_else(|_| self.panicked())
    }

    /// Panics as the thread did: it ends in no other way while it has a sender.
    fn panicked(&mut self) -> ! {
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => panic::resume_unwind(panic),
            Some(Ok(())) | None => unreachable!("a thread judges until its sender is dropped"),
        }
    }
}

impl fmt::Debug for ShareThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShareThread").field("unsent", &self.batch.len()).finish_non_exhaustive()
    }
}

/// Does the work that arrives, until the sender is dropped.
fn judge(mut share: LockShare, batches: Receiver<Vec<Work>>) {
    for work in batches.into_iter().flatten() {
        work(&mut share);
    }
}
