//! Work that begins at its moment unless it is cancelled before: one task for all of a runtime, however often work is entered
//! and cancelled. It knows nothing of what the work is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use lockshift_wire::MonoTime;
use tokio::runtime::{Handle, Id};
use tokio::select;
use tokio::sync::Notify;

use crate::driver::host;

/// How long the task sleeps at most. It ends if nothing was entered meanwhile: where locks are held briefly, work is entered
/// and cancelled over and over, and a task would begin each time.
const LOOK: Duration = Duration::from_secs(1);

/// Begins the work. It is called in a task of the runtime and must not block.
pub(super) type Begin = Box<dyn FnOnce() + Send>;

/// The work that begins later on one runtime.
pub(super) struct Timetable {
    runtime: Handle,
    state: Mutex<TimetableState>,
    /// Work was entered that begins before the task would wake.
    sooner: Notify,
}

struct TimetableState {
    entered: BTreeMap<(MonoTime, u64), Begin>,
    next: u64,
    /// Whether work was entered since the task last looked.
    is_in_use: bool,
    /// When the task wakes; `None` if no task runs.
    wakes_at: Option<MonoTime>,
}

/// Work that was entered. Dropping this cancels nothing.
pub(super) struct Entered {
    timetable: Arc<Timetable>,
    place: (MonoTime, u64),
}

/// The timetables of all runtimes.
static ALL: Mutex<Vec<(Id, Weak<Timetable>)>> = Mutex::new(Vec::new());

impl Timetable {
    /// The timetable of this runtime.
    pub(super) fn of(runtime: &Handle) -> Arc<Self> {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let id = runtime.id();
        if let Some(present) = all.iter().find(|(of, _)| *of == id).and_then(|(_, present)| present.upgrade()) {
            return present;
        }
        let state = Mutex::new(TimetableState { entered: BTreeMap::new(), next: 0, is_in_use: false, wakes_at: None });
        let new = Arc::new(Self { runtime: runtime.clone(), state, sooner: Notify::new() });
        all.retain(|(_, present)| present.strong_count() > 0);
        all.push((id, Arc::downgrade(&new)));
        new
    }

    /// Enters work that begins at this moment.
    pub(super) fn enter(self: &Arc<Self>, due: MonoTime, begin: Begin) -> Entered {
        let mut state = self.state();
        let place = (due, state.next);
        state.next += 1;
        state.is_in_use = true;
        state.entered.insert(place, begin);
        match state.wakes_at {
            Some(wakes_at) if wakes_at <= due => {}
            Some(_) => self.sooner.notify_one(),
            None => {
                state.wakes_at = Some(due);
                drop(state);
                // If the runtime is shut down, nothing begins on it any more.
                let task = TimetableTask { timetable: Arc::clone(self), is_done: false };
                self.runtime.spawn(task.run());
            }
        }
        Entered { timetable: Arc::clone(self), place }
    }

    /// What begins now, and how long to sleep then; `None` if nothing is entered and nothing was since the last look, so that
    /// the task ends.
    fn due(&self, now: MonoTime) -> (Vec<Begin>, Option<Duration>) {
        let mut state = self.state();
        let mut due = Vec::new();
        while let Some(first) = state.entered.first_entry().filter(|first| first.key().0 <= now) {
            due.push(first.remove());
        }
        let first = state.entered.first_key_value().map(|(place, _)| place.0);
        let was_in_use = std::mem::take(&mut state.is_in_use);
        // What begins now may enter more: the task looks once more before it ends.
        let pause = match first {
            Some(first) => Some(first.saturating_since(now).min(LOOK)),
            None => (was_in_use || !due.is_empty()).then_some(LOOK),
        };
        state.wakes_at = pause.map(|pause| now.saturating_add(pause));
        (due, pause)
    }

    fn state(&self) -> MutexGuard<'_, TimetableState> {
        // Each change is one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entered {
    /// Cancels it: whether it has not begun. It may only be about to begin.
    pub(super) fn cancel(self) -> bool {
        let removed = self.timetable.state().entered.remove(&self.place);
        // What it holds is dropped here, when others can use the timetable again.
        removed.is_some()
    }
}

/// The task. If its runtime ends before it does, what is entered is dropped.
struct TimetableTask {
    timetable: Arc<Timetable>,
    is_done: bool,
}

impl TimetableTask {
    async fn run(mut self) {
        loop {
            let (due, pause) = self.timetable.due(host::mono());
            self.is_done = pause.is_none();
            due.into_iter().for_each(|begin| begin());
            let Some(pause) = pause else { return };
            select! {
                () = self.timetable.sooner.notified() => {}
                () = host::sleep_async(pause) => {}
            }
        }
    }
}

impl Drop for TimetableTask {
    fn drop(&mut self) {
        if !self.is_done {
            let abandoned = {
                let mut state = self.timetable.state();
                state.wakes_at = None;
                std::mem::take(&mut state.entered)
            };
            // What it holds is dropped when others can use the timetable again.
            drop(abandoned);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn reporting(number: u8, reports: &UnboundedSender<u8>) -> Begin {
        let reports = reports.clone();
        Box::new(move || reports.send(number).unwrap())
    }

    #[tokio::test]
    async fn work_begins_in_the_order_of_its_moments_and_not_if_it_is_cancelled() {
        let timetable = Timetable::of(&Handle::current());
        let (reports, mut begun) = unbounded_channel();
        let now = host::mono();
        let later = |pause| now.saturating_add(pause);
        timetable.enter(later(ms(60)), reporting(3, &reports));
        let cancelled = timetable.enter(later(ms(40)), reporting(2, &reports));
        timetable.enter(later(ms(20)), reporting(1, &reports));
        timetable.enter(now, reporting(0, &reports));
        assert!(cancelled.cancel());
        let begun = [begun.recv().await, begun.recv().await, begun.recv().await];
        assert_eq!(begun, [Some(0), Some(1), Some(3)]);
    }

    #[tokio::test]
    async fn work_whose_time_has_come_cannot_be_cancelled() {
        let timetable = Timetable::of(&Handle::current());
        let (reports, mut begun) = unbounded_channel();
        let entered = timetable.enter(host::mono(), reporting(0, &reports));
        assert_eq!(begun.recv().await, Some(0));
        assert!(!entered.cancel());
    }

    #[test]
    fn each_runtime_keeps_its_own_timetable() {
        let runtimes = [(); 2].map(|()| tokio::runtime::Builder::new_current_thread().build().unwrap());
        let [one, other] = runtimes.each_ref().map(|runtime| Timetable::of(runtime.handle()));
        assert!(!Arc::ptr_eq(&one, &other));
        assert!(Arc::ptr_eq(&one, &Timetable::of(runtimes[0].handle())), "also when there is another one");
        drop(other);
        let third = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _kept = Timetable::of(third.handle());
        let is_listed = |runtime: &tokio::runtime::Runtime| {
            let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().any(|(of, _)| *of == runtime.handle().id())
        };
        assert_eq!([&runtimes[0], &runtimes[1], &third].map(is_listed), [true, false, true]);
    }

    #[tokio::test]
    async fn all_of_a_runtime_share_one_timetable_whose_task_ends_when_nothing_is_entered() {
        let tasks = || Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let timetable = Timetable::of(&Handle::current());
        assert!(Arc::ptr_eq(&timetable, &Timetable::of(&Handle::current())));
        let hour = host::mono().saturating_add(ms(3_600_000));
        let entered: Vec<_> = (0..10).map(|_| timetable.enter(hour, Box::new(|| {}))).collect();
        assert_eq!(tasks(), before + 1);
        assert!(entered.into_iter().all(Entered::cancel));
        while tasks() > before {
            host::sleep_async(ms(10)).await;
        }
    }

    #[tokio::test]
    async fn work_that_is_cancelled_at_once_starts_no_second_task() {
        let tasks = || Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let timetable = Timetable::of(&Handle::current());
        let hour = host::mono().saturating_add(ms(3_600_000));
        for _ in 0..10 {
            assert!(timetable.enter(hour, Box::new(|| {})).cancel());
            tokio::task::yield_now().await;
            assert_eq!(tasks(), before + 1, "it has not ended");
        }
    }

    #[test]
    fn what_is_entered_is_dropped_with_its_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let timetable = Timetable::of(runtime.handle());
        let held = Arc::new(());
        let enter = |held: &Arc<()>| {
            let held = Arc::clone(held);
            timetable.enter(host::mono().saturating_add(ms(3_600_000)), Box::new(move || drop(held)))
        };
        let before = enter(&held);
        drop(runtime);
        let after = enter(&held);
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(!before.cancel() && !after.cancel());
    }
}
