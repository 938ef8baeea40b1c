//! A worker: a process that takes the lock, does a piece of work, gives the lock back, and again, until its standard input
//! ends.

use std::error::Error;
use std::io::{Read, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockshift::driver::blocking::{Guard, Lock};
use lockshift::driver::{Answer, Attempt, Wait, host};
use lockshift::lock::Released;
use redis::{Client, Connection};

use crate::news::News;
use crate::role::{Job, Role};
use crate::witness::Witness;

/// How long a piece of work takes.
const WORK: Duration = Duration::from_millis(3);

pub(crate) fn work(role: Role, job: &Job, number: &str, client: &Client) -> Result<(), Box<dyn Error>> {
    let number = number.parse()?;
    let stop = stop_when_told();
    let is_over = || stop.load(Ordering::Relaxed);
    let lock = Lock::new(client.get_connection()?, role.locker(job)?);
    let mut witness = Witness::of(job, client)?;
    let wait = Wait::backoff_between(Duration::from_millis(5), Duration::from_millis(40), 2);
    while !is_over() {
        let wanted = host::mono();
        let attempt = lock.acquire_while(&wait, |_, pause| {
            host::sleep(pause);
            !is_over()
        })?;
        match attempt {
            Attempt::Won(guard) => {
                let waited = host::mono().saturating_since(wanted);
                let news = hold(guard, &mut witness)?;
                let waited_ms = u64::try_from(waited.as_millis())?;
                witness.tell(&News { number, waited_ms, ..news })?;
                // Whoever wants it back at once gets it back, past all who wait for their next try.
                host::sleep(host::jitter(WORK * 2));
            }
            Attempt::Held(_) | Attempt::TooLate => {}
            Attempt::Unknown(unknown) => return Err(unknown.into()),
        }
    }
    Ok(())
}

/// Does a piece of work under the lock, and gives it back.
fn hold(guard: Guard<Connection>, witness: &mut Witness) -> Result<News, Box<dyn Error>> {
    let (inside, done) = witness.enter()?;
    host::sleep(WORK);
    witness.leave(done)?;
    let is_late = guard.left().is_zero();
    let is_intruded = match guard.release()? {
        Answer::Known(released) => released == Released::Intruded,
        Answer::Unknown(unknown) => return Err(unknown.into()),
    };
    Ok(News { number: 0, waited_ms: 0, is_double: inside > 1, is_late, is_intruded })
}

/// Set once standard input is at its end: whoever started us wants us to stop, or is gone.
fn stop_when_told() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    std::thread::spawn(move || {
        // However it ends, it has ended.
        let _ = stdin().read_to_end(&mut Vec::new());
        told.store(true, Ordering::Relaxed);
    });
    stop
}
