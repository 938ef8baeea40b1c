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
use crate::monitor::{KeptLine, KeptLines, Line};

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
    batch: Batch,
    sender: SyncSender<Batch>,
    /// Batches that it has done, for their memory.
    done: Receiver<Batch>,
    thread: Option<JoinHandle<()>>,
}

/// Work that is sent at once, in its order.
#[derive(Default)]
struct Batch {
    work: Vec<LockWork>,
    lines: KeptLines,
}

/// What a thread has to do for one of its locks.
enum LockWork {
    /// To observe a line. The thread makes the event itself: memory that one thread allocates and another one frees costs both
    /// of them more.
    Observe { lock: LockId, number: u64, line: KeptLine, asks_time: bool },
    /// Anything else.
    Call(Box<dyn FnOnce(&mut LockShare) + Send>),
}

/// How much work is sent at once.
const BATCH: usize = 256;
/// How many bytes of lines are sent at once, unless one line has more.
const BATCH_BYTES: usize = 1 << 18;
/// A batch whose lines take more memory than this is not used again.
const MOST_BATCH_BYTES: usize = 2 * BATCH_BYTES;
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

    /// Lets this lock observe a line, after what was sent to its thread before, and does not wait for it.
    pub(super) fn observe(&mut self, lock: LockId, number: u64, line: &Line<'_>, asks_time: bool) {
        match self {
            Self::Here(share) => share.observe_line(lock, number, line, asks_time),
            Self::InThreads(threads) => {
                let place = lock.0 % threads.len();
                threads[place].observe(lock, number, line, asks_time);
            }
        }
    }

    /// Runs this in the thread of the lock, after what was sent to it before, and does not wait for it.
    pub(super) fn send(&mut self, lock: LockId, work: impl FnOnce(&mut LockShare) + Send + 'static) {
        match self {
            Self::Here(share) => work(share),
            Self::InThreads(threads) => {
                let place = lock.0 % threads.len();
                threads[place].push(LockWork::Call(Box::new(work)));
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
        let (returned, done) = mpsc::sync_channel(MOST_BATCHES);
        let thread = Builder::new().name("audit".to_owned()).spawn(|| judge(share, receiver, returned))?;
        Ok(Self { batch: Batch::default(), sender, done, thread: Some(thread) })
    }

    fn observe(&mut self, lock: LockId, number: u64, line: &Line<'_>, asks_time: bool) {
        let line = self.batch.lines.keep(line);
        self.push(LockWork::Observe { lock, number, line, asks_time });
    }

    fn push(&mut self, work: LockWork) {
        self.batch.work.push(work);
        if self.batch.work.len() >= BATCH || self.batch.lines.len() >= BATCH_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let next = self.done.try_recv().unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, next);
        if self.sender.send(batch).is_err() {
            self.panicked();
        }
    }

    fn call<R: Send + 'static>(&mut self, work: impl FnOnce(&mut LockShare) -> R + Send + 'static) -> Receiver<R> {
        let (sender, result) = mpsc::sync_channel(1);
        // Without a receiver, the thread that waited for it has panicked.
        self.push(LockWork::Call(Box::new(move |share| drop(sender.send(work(share))))));
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
        f.debug_struct("ShareThread").field("unsent", &self.batch.work.len()).finish_non_exhaustive()
    }
}

/// Does the work that arrives, until the sender is dropped, and returns the emptied batches for which there is room.
fn judge(mut share: LockShare, batches: Receiver<Batch>, done: SyncSender<Batch>) {
    for Batch { mut work, mut lines } in batches {
        for work in work.drain(..) {
            match work {
                LockWork::Observe { lock, number, line, asks_time } => {
                    share.observe_line(lock, number, &lines.line(&line), asks_time);
                }
                LockWork::Call(call) => call(&mut share),
            }
        }
        lines.clear();
        if lines.capacity() <= MOST_BATCH_BYTES {
            // If there is no room, or nobody waits for it any more, its memory is freed.
            drop(done.try_send(Batch { work, lines }));
        }
    }
}
