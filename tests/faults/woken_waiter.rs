//! A waiter that is woken by a release and then cannot reach the server must pass the wake-up on to the next waiter. The
//! lease is longer than any test, so that only the wake-up lets the next waiter acquire at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use lockshift::connect;
use lockshift::driver::{Attempt, Wait};
use lockshift::lock::{Lease, Locker};
use lockshift::modern::{Publish, TokenLock};
use redis::{Connection, cmd};

use crate::drivers::{Destination, Driver, Held, Listener, Lock};
use crate::patience::{PATIENCE, pause, until};
use crate::promise::{Damage, FaultRow};
use crate::proxy::Proxy;
use crate::server::Server;
use crate::table::Table;

pub(crate) const WOKEN_AND_CUT_OFF: FaultRow =
    FaultRow::new("woken waiter is cut off from the server", Damage::Nothing);

/// The next waiter looks in any case a little later than this.
const BEFORE_A_LOOK: Duration = Duration::from_millis(3500);

/// How long the first waiter keeps trying: a late command of it may hold the key for the whole lease.
const CUT_OFF: Duration = Duration::from_secs(2);

/// Cuts off a waiter that was woken by a release before its attempt arrives, `times` times.
pub(crate) fn is_cut_off(driver: Driver, times: u32, table: &Table) {
    let server = Server::start();
    for number in 0..times {
        let complaint = next_waiter_wins(&server, driver, number).err();
        let runs = u64::from(complaint.is_none());
        table.count_recoveries(WOKEN_AND_CUT_OFF.name, "token", runs, complaint);
    }
}

fn next_waiter_wins(server: &Server, driver: Driver, number: u32) -> Result<(), String> {
    let key = format!("{driver} {number}");
    let lease = Lease::new(PATIENCE * 2).expect("forty seconds are a lease");
    let locker: Arc<dyn Locker> = Arc::new(TokenLock::new(key.as_str().into(), lease).announced(Publish::Everywhere));
    let proxy = Proxy::before(server);
    let listener = Listener::on(driver, &server.client());
    let waiter = |url: String| listener.lock(&reached_at(url), Arc::clone(&locker));
    let is_released = AtomicBool::new(false);
    let insists = || !is_released.load(Ordering::SeqCst);
    let holder = driver.lock(&Destination::to(&[server.url()]), Arc::clone(&locker));
    let held = acquired(&*holder, &Wait::backoff().for_at_most(PATIENCE), insists)?;
    let held = held.ok_or_else(|| format!("{key}: a free lock was not acquired"))?;
    let (first, next) = (waiter(proxy.url()), waiter(server.url()));
    let mut operator = server.connect();
    thread::scope(|scope| {
        let first = scope.spawn(move || {
            acquired(&*first, &Wait::notified().for_at_most(CUT_OFF), insists).map(|held| held.is_some())
        });
        until_waiting(&mut operator, &key);
        until_quiet(|| proxy.messages().len());
        let (ended, ends) = channel();
        scope.spawn(move || {
            // Drop its guard, so that the first waiter can win.
            let won = acquired(&*next, &Wait::notified(), insists).map(|held| held.is_some());
            // The run may have ended.
            let _ = ended.send(won);
        });
        // It tries at once, and again when it has subscribed.
        pause(Duration::from_millis(150));

        proxy.hold_back();
        is_released.store(true, Ordering::SeqCst);
        let released = held.release();
        let won = ends.recv_timeout(BEFORE_A_LOOK);
        proxy.let_through();
        if won.is_err() {
            // Otherwise this would not end before its lease, or that of a late command of the first waiter.
            cmd("DEL").arg(&key).exec(&mut operator).map_err(|error| error.to_string())?;
            cmd("PUBLISH").arg(channel_of(&key)).arg("1").exec(&mut operator).map_err(|error| error.to_string())?;
        }
        let first = first.join().expect("a waiter does not panic");
        match won {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(format!("{key}: the next waiter ended without the lock; {released:?}; {first:?}")),
            Ok(Err(error)) => Err(format!("{key}: the next waiter: {error}; {released:?}; the first: {first:?}")),
            Err(_) => Err(format!("{key}: the next waiter slept on a free lock; {released:?}; the first: {first:?}")),
        }
    })
}

/// Acquires. While `insists` is set it tries again however an attempt ended, as needed on a busy machine.
fn acquired(lock: &dyn Lock, wait: &Wait, insists: impl Fn() -> bool) -> Result<Option<Box<dyn Held>>, String> {
    loop {
        match lock.acquire(wait) {
            Ok(Attempt::Won(held)) => return Ok(Some(held)),
            _ if insists() => {}
            Ok(_) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn reached_at(url: String) -> connect::Server {
    match Destination::to(&[url]) {
        Destination::Server(server) => server,
        Destination::Masters(_) => unreachable!("one address is one server"),
    }
}

/// The channel of this key's release notifications.
fn channel_of(key: &str) -> String {
    format!("{{{key}}}:released")
}

fn until_waiting(operator: &mut Connection, key: &str) {
    until("the waiter listens", || {
        let (_, listeners): (String, usize) = cmd("PUBSUB").arg("NUMSUB").arg(channel_of(key)).query(operator).ok()?;
        (listeners == 1).then_some(())
    });
}

/// Waits until this number stays the same for a while.
fn until_quiet(number: impl Fn() -> usize) {
    until("the waiter has tried and waits", || {
        let before = number();
        pause(Duration::from_millis(100));
        (number() == before).then_some(())
    });
}
