//! A worker: a process that acquires the lock, does a piece of work, releases, and starts again until its standard input
//! ends.

use std::error::Error;
use std::io::{Read, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockshift::connect::{Server, blocking::Connection};
use lockshift::driver::blocking::{Guard, Lock};
use lockshift::driver::{Answer, Attempt, Wait, host};
use lockshift::lock::Released;
use redis::Client;

use crate::hold_report::HoldReport;
use crate::role::{Job, Role};
use crate::witness::Witness;

/// How long a piece of work takes.
const WORK: Duration = Duration::from_millis(3);

pub(crate) fn work(role: Role, job: &Job, number: &str, url: &str) -> Result<(), Box<dyn Error>> {
    // Twenty processes may share one core, and a worker that learns no outcome ends the whole run.
    let server = url.parse::<Server>()?.answering_within(Duration::from_secs(10));
    let number = number.parse()?;
    let stop = stop_at_end_of_input();
    let has_ended = || stop.load(Ordering::Relaxed);
    let lock = Lock::new(server.connect()?, role.locker(job)?);
    let mut witness = Witness::of(job, &Client::open(url)?)?;
    let wait = Wait::backoff_between(Duration::from_millis(5), Duration::from_millis(40), 2);
    while !has_ended() {
        let wanted = host::mono();
        let attempt = lock.acquire_while(&wait, |_, pause| {
            host::sleep(pause);
            !has_ended()
        })?;
        match attempt {
            Attempt::Won(guard) => {
                let waited = host::mono().saturating_since(wanted);
                let report = hold(guard, &mut witness)?;
                let waited_ms = u64::try_from(waited.as_millis())?;
                witness.report(&HoldReport { number, waited_ms, ..report })?;
                // A worker that tried again at once would acquire before all that wait for their next attempt.
                host::sleep(host::jitter(WORK * 2));
            }
            Attempt::Held(_) | Attempt::TooLate => {}
            Attempt::Unknown(unknown) => return Err(unknown.into()),
        }
    }
    Ok(())
}

/// Does a piece of work under the lock, and releases it.
fn hold(guard: Guard<Connection>, witness: &mut Witness) -> Result<HoldReport, Box<dyn Error>> {
    let (inside, done) = witness.enter()?;
    host::sleep(WORK);
    witness.leave(done)?;
    let is_late = guard.remaining().is_zero();
    let is_intruded = match guard.release()? {
        Answer::Known(released) => released == Released::Intruded,
        Answer::Unknown(unknown) => return Err(unknown.into()),
    };
    Ok(HoldReport { number: 0, waited_ms: 0, is_double: inside > 1, is_late, is_intruded })
}

/// A flag that is set when standard input ends: the parent wants this worker to stop, or has exited.
fn stop_at_end_of_input() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&stop);
    std::thread::spawn(move || {
        // An error is an end as well.
        let _ = stdin().read_to_end(&mut Vec::new());
        ended.store(true, Ordering::Relaxed);
    });
    stop
}
