//! Futures that are dropped before their end: whatever they had begun, no lock is left behind. The leases here are an
//! hour, so that only a release can free a key.

use std::time::Duration;

use lockshift::driver::aio::{Lock, ReleaseListener, Shadow};
use lockshift::driver::{Answer, Attempt, Renewal, ShadowSummary, Wait};
use lockshift::lock::{Lease, Locker, Released};
use lockshift::modern::FairLock;
use lockshift::wire::Key;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, cmd};
use tokio::time::{sleep, timeout};

use super::gate::Gate;
use super::lockers::{Restamped, SetnxExpire};
use super::world::{AN_HOUR, ms, token, token_on};
use crate::monitor::Monitor;
use crate::patience::{pause, until};
use crate::server::Server;

async fn lock(server: &Server, locker: impl Locker + 'static) -> Lock<MultiplexedConnection> {
    let patient = AsyncConnectionConfig::new().set_response_timeout(None);
    Lock::new(server.client().get_multiplexed_async_connection_with_config(&patient).await.unwrap(), locker)
}

fn until_free(server: &Server) {
    let mut operator = server.connect();
    until("the key is free", || {
        let exists: bool = cmd("EXISTS").arg("k").query(&mut operator).unwrap();
        (!exists).then_some(())
    });
}

/// The names of all commands, without those for the gate, up to the first one named `last`.
fn until_sent(monitor: &mut Monitor, last: &str) -> Vec<String> {
    let mut sent = Vec::new();
    until(format_args!("a client sends {last}"), || {
        let names = monitor.take().into_iter().map(|line| String::from_utf8_lossy(&line.words[0]).into_owned());
        sent.extend(names.filter(|name| name != "CLIENT"));
        sent.iter().any(|name| name == last).then(|| sent.clone())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_dropped_while_its_command_is_under_way_releases_what_it_wins() {
    let server = Server::start();
    let lock = lock(&server, token(AN_HOUR)).await;
    let mut gate = Gate::shut(&server);

    let trying = tokio::spawn(async move { lock.try_acquire().await });
    gate.until_waiting(1);
    trying.abort();
    assert!(trying.await.unwrap_err().is_cancelled());
    let mut monitor = Monitor::on(&server);
    gate.open();

    assert_eq!(until_sent(&mut monitor, "del"), ["SET", "EVALSHA", "EVAL", "get", "del"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_dropped_with_a_shadow_releases_both() {
    let server = Server::start();
    let beside = server.client().get_multiplexed_async_connection().await.unwrap();
    let shadow = Shadow::new(beside, token_on("{k}:shadow", AN_HOUR)).patient_for(AN_HOUR);
    let lock = lock(&server, token(AN_HOUR)).await.shadowed(&shadow);
    let mut gate = Gate::shut(&server);

    let trying = tokio::spawn(async move { lock.try_acquire().await });
    gate.until_waiting(1);
    trying.abort();
    assert!(trying.await.unwrap_err().is_cancelled());
    let mut monitor = Monitor::on(&server);
    gate.open();

    // The shadow after the lock, and released before it.
    let mut dels = Vec::new();
    until("both are released", || {
        let lines = monitor.take();
        dels.extend(lines.into_iter().filter(|line| line.words[0] == b"del").map(|line| line.words[1].clone()));
        (dels.len() == 2).then_some(())
    });
    assert_eq!(dels, [b"{k}:shadow".to_vec(), b"k".to_vec()]);
    assert_eq!(shadow.summary(), ShadowSummary { agreed: 1, ..ShadowSummary::default() });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_of_several_steps_dropped_between_them_is_finished_and_released() {
    let server = Server::start();
    let lock = lock(&server, SetnxExpire::new("k")).await;
    let mut gate = Gate::shut(&server);

    let trying = tokio::spawn(async move { lock.try_acquire().await });
    gate.until_waiting(1);
    trying.abort();
    assert!(trying.await.unwrap_err().is_cancelled());
    let mut monitor = Monitor::on(&server);
    gate.open();

    assert_eq!(until_sent(&mut monitor, "DEL"), ["SETNX", "EXPIRE", "DEL"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_may_be_dropped_at_any_moment() {
    let server = Server::start();
    let lock = lock(&server, token(AN_HOUR)).await;
    let (mut dropped, mut won) = (0, 0);
    let mut moments = (0..3000).step_by(10).cycle().take(20_000);
    while dropped < 25 || won < 25 {
        let micros = moments.next().expect("on any machine some tries take longer than others");
        let trying = tokio::spawn({
            let lock = lock.clone();
            async move { lock.try_acquire().await }
        });
        pause(Duration::from_micros(micros));
        trying.abort();
        match trying.await {
            Err(_) => dropped += 1,
            Ok(Ok(Attempt::Won(guard))) => {
                won += 1;
                drop(guard);
            }
            Ok(other) => panic!("the lock is free, but: {other:?}"),
        }
        until_free_for_good(&server, &lock).await;
    }
}

/// The key is free, and nothing under way takes it once more: who is dropped may not have sent its command yet.
async fn until_free_for_good(server: &Server, lock: &Lock<MultiplexedConnection>) {
    match lock.acquire(&Wait::every(ms(1)).tries(10_000)).await {
        Ok(Attempt::Won(guard)) => drop(guard.release().await),
        other => panic!("the key was not released: {other:?}"),
    }
    until_free(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_dropped_while_it_is_under_way_is_carried_on() {
    let server = Server::start();
    let lock = lock(&server, token(AN_HOUR)).await;
    let Ok(Attempt::Won(guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    let mut gate = Gate::shut(&server);

    let releasing = tokio::spawn(guard.release());
    gate.until_waiting(1);
    releasing.abort();
    assert!(releasing.await.unwrap_err().is_cancelled());
    gate.open();

    until_free(&server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_knows_of_an_extension_whose_caller_has_left() {
    let server = Server::start();
    let lock = lock(&server, Restamped(Key::from("k"))).await;
    let Ok(Attempt::Won(guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    let mut gate = Gate::shut(&server);

    assert!(timeout(ms(20), guard.extend()).await.is_err());
    gate.until_waiting(1);
    let releasing = tokio::spawn(guard.release());
    sleep(ms(20)).await;
    gate.open();

    assert!(matches!(releasing.await.unwrap(), Ok(Answer::Known(Released::Freed))), "the value is another one now");
}

#[tokio::test]
async fn a_release_that_is_never_waited_for_happens_all_the_same() {
    let server = Server::start();
    let lock = lock(&server, token(AN_HOUR)).await;
    let Ok(Attempt::Won(guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    drop(guard.release());
    let mut operator = server.connect();
    while cmd("EXISTS").arg("k").query(&mut operator) == Ok(true) {
        sleep(ms(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_that_stops_does_not_acquire_the_lock_later() {
    let server = Server::start();
    let lock = lock(&server, token(AN_HOUR)).await;
    let Ok(Attempt::Won(guard)) = lock.try_acquire().await else { panic!("the lock is free") };

    assert!(timeout(ms(50), lock.acquire(&Wait::every(AN_HOUR))).await.is_err());
    assert!(matches!(guard.release().await, Ok(Answer::Known(Released::Freed))));

    let mut monitor = Monitor::on(&server);
    sleep(ms(30)).await;
    assert_eq!(monitor.take(), [], "no try goes on");
    assert_eq!(cmd("EXISTS").arg("k").query(&mut server.connect()), Ok(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_renewal_that_is_dropped_half_way_leaves_the_new_renewal() {
    let server = Server::start();
    let lock = lock(&server, token(ms(1500))).await;
    let Ok(Attempt::Won(mut guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    guard.renew(Renewal::every(ms(1))).await;
    let mut gate = Gate::shut(&server);
    // An extension is under way, for which the change has to wait.
    gate.until_waiting(1);

    assert!(timeout(ms(20), guard.renew(Renewal::every_third())).await.is_err());
    gate.open();

    assert!(timeout(ms(3000), guard.watch().wait()).await.is_err(), "it is renewed for two more leases");
}

/// A fair lock whose places are kept for an hour.
async fn queue(server: &Server) -> Lock<MultiplexedConnection> {
    let hour = Lease::new(AN_HOUR).unwrap();
    lock(server, FairLock::new(Key::from("k"), hour).keeping_places_for(hour)).await
}

fn until_places(server: &Server, count: usize) {
    let mut operator = server.connect();
    until(format_args!("{count} wait"), || {
        let places: usize = cmd("ZCARD").arg("{k}:queue").query(&mut operator).unwrap();
        (places == count).then_some(())
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_that_is_dropped_leaves_no_queue_entry() {
    let server = Server::start();
    let lock = queue(&server).await;
    let Ok(Attempt::Won(_guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    for wait in [Wait::every(AN_HOUR), Wait::notified()] {
        let waiting = tokio::spawn({
            let lock = lock.clone().notified_by(&ReleaseListener::new(server.client()));
            async move { lock.acquire(&wait).await }
        });
        until_places(&server, 1);
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        until_places(&server, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_is_dropped_removes_the_queue_entry_that_it_adds_later() {
    let server = Server::start();
    let lock = queue(&server).await;
    let Ok(Attempt::Won(_guard)) = lock.try_acquire().await else { panic!("the lock is free") };
    let mut gate = Gate::shut(&server);

    let waiting = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire(&Wait::every(AN_HOUR)).await }
    });
    gate.until_waiting(1);
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    let mut monitor = Monitor::on(&server);
    gate.open();

    let sent = until_sent(&mut monitor, "zrem");
    assert_eq!(sent.iter().filter(|name| *name == "zadd").count(), 2, "queue and deadline: {sent:?}");
    until_places(&server, 0);
}
