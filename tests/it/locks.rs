//! The entry point, on a real server: what ten lines of a program rest on.

mod hung_server;
mod releasing_again;

use std::time::Duration;

use lockshift::locks::{AcquireError, ChooseError, ConnectError, ExtendError, ReleaseError, WithError};
use lockshift::{Locks, driver::Loss};
use redis::cmd;

use crate::driver::logbook;
use crate::patience::until;
use crate::server::{Server, contents};

const LEASE: Duration = Duration::from_secs(600);
const SOON: Duration = Duration::from_millis(50);
/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(600);

fn exists(server: &Server, key: &str) -> bool {
    cmd("EXISTS").arg(key).query(&mut server.connect()).unwrap()
}

fn delete(server: &Server, key: &str) {
    cmd("DEL").arg(key).exec(&mut server.connect()).unwrap();
}

#[test]
fn work_under_a_lock_is_covered_and_the_lock_released() {
    let server = Server::start();
    let lock = Locks::connect(&server.url()).unwrap().token("k", LEASE).unwrap();
    let sum = lock.with(LONG, |held| {
        assert!(exists(&server, "k") && !held.is_lost() && held.remaining() > LONG / 2);
        1 + 1
    });
    assert_eq!(sum.unwrap(), 2);
    assert!(!exists(&server, "k"));
}

#[test]
fn every_kind_of_lock_excludes_itself() {
    let server = Server::start();
    let locks = Locks::connect(&server.url()).unwrap();
    let kinds: [(&str, lockshift::locks::Lock); 6] = [
        ("token", locks.token("a", LEASE).unwrap()),
        ("fair", locks.fair("b", LEASE).unwrap()),
        ("legacy", locks.legacy("php-getset", "c", LEASE).unwrap()),
        ("bridge", locks.bridge(&["php-getset"], "d", LEASE).unwrap()),
        ("fenced", locks.protocol("token-fenced", "e", LEASE).unwrap()),
        ("watching", locks.legacy("servicestack", "f", LEASE).unwrap()),
    ];
    for (kind, lock) in kinds {
        let held = lock.try_acquire().unwrap().unwrap_or_else(|| panic!("{kind}: it is free"));
        assert!(lock.try_acquire().unwrap().is_none(), "{kind}");
        match lock.acquire_within(SOON) {
            Err(AcquireError::Timeout(timeout)) => assert_eq!(&timeout.key, lock.key()),
            other => panic!("{kind}: {other:?}"),
        }
        assert_eq!(held.fence().is_some(), kind == "fenced");
        held.release().unwrap_or_else(|error| panic!("{kind}: {error}"));
        drop(lock.acquire_within(LONG).unwrap_or_else(|error| panic!("{kind}: {error}")));
    }
    let left: u64 = cmd("DBSIZE").query(&mut server.connect()).unwrap();
    assert!(left <= 2, "fence counters only, but {left} keys are left");
}

/// Their other keys would have the same names.
#[test]
fn a_fair_lock_and_that_on_its_name_in_braces_have_nothing_to_do_with_each_other() {
    let server = Server::start();
    let locks = Locks::connect(&server.url()).unwrap();
    let [plain, in_braces] = ["orders", "{orders}"].map(|key| locks.fair(key, LEASE).unwrap());
    let held = plain.try_acquire().unwrap().expect("it is free");
    let other = in_braces.try_acquire().unwrap().expect("it is free");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| plain.acquire_within(Duration::from_secs(2)));
        until("it waits, and would be told of a release", || {
            let places: usize = cmd("ZCARD").arg("{orders}:queue").query(&mut server.connect()).ok()?;
            let channels: Vec<String> = cmd("PUBSUB").arg("CHANNELS").query(&mut server.connect()).ok()?;
            (places == 1 && !channels.is_empty()).then_some(())
        });
        other.release().unwrap();
        assert!(matches!(waiting.join().unwrap(), Err(AcquireError::Timeout(_))), "it is held");
    });
    held.release().unwrap();
}

/// Some old clients take a list for an expired lock. A program that locks must not, and must not delete it.
#[test]
fn a_key_of_another_type_is_never_a_lock() {
    use lockshift::{driver::ErrorKind, lock::Lease};

    let server = Server::start();
    let mut operator = server.connect();
    let locks = Locks::connect(&server.url()).unwrap();
    for (name, locker) in crate::protocols::every(&"k".into(), Lease::new(LEASE).unwrap()) {
        cmd("FLUSHALL").exec(&mut operator).unwrap();
        cmd("RPUSH").arg(locker.key().as_bytes()).arg("important").exec(&mut operator).unwrap();
        let before = contents(&mut operator);
        let Ok(lock) = locks.protocol(&name, "k", LEASE) else { continue };
        for lock in [lock].into_iter().chain(locks.legacy(&name, "k", LEASE)) {
            match lock.try_acquire() {
                Ok(None) => {}
                Ok(Some(held)) => panic!("{name}: it holds a list, but {held:?}"),
                Err(AcquireError::Failed(error)) => assert_eq!(error.kind(), ErrorKind::WrongType, "{name}: {error}"),
                Err(error) => panic!("{name}: {error}"),
            }
            assert_eq!(contents(&mut operator), before, "{name} leaves everything as it was");
        }
    }
}

#[test]
fn only_locks_that_need_it_ask_for_the_type_of_their_key() {
    let server = Server::start();
    let locks = Locks::connect(&server.url()).unwrap();
    let asked = || {
        let stats: redis::InfoDict = cmd("INFO").arg("commandstats").query(&mut server.connect()).unwrap();
        stats.get::<String>("cmdstat_type").is_some()
    };
    locks.token("a", LEASE).unwrap().try_acquire().unwrap().expect("it is free").release().unwrap();
    locks.legacy("jedis-lock", "b", LEASE).unwrap().try_acquire().unwrap().expect("it is free").release().unwrap();
    assert!(!asked());
    locks.legacy("php-getset", "c", LEASE).unwrap().try_acquire().unwrap().expect("it is free").release().unwrap();
    assert!(asked());
}

#[test]
fn a_lost_lock_is_an_error_an_event_and_a_flag() {
    let server = Server::start();
    let lock = Locks::connect(&server.url()).unwrap().token("k", Duration::from_secs(3)).unwrap();
    let lost = lock.with(LONG, |held| {
        let (tell, shown) = std::sync::mpsc::channel();
        held.on_lost(move |loss| tell.send(loss).unwrap()).unwrap();
        delete(&server, "k");
        shown.recv_timeout(LONG).unwrap()
    });
    assert!(matches!(lost, Err(WithError::Lost { loss: Loss::Taken, .. })), "{lost:?}");

    let held = lock.try_acquire().unwrap().expect("it is free");
    delete(&server, "k");
    until("the renewal learns it", || held.is_lost().then_some(()));
    assert!(held.remaining().is_zero());
    assert!(matches!(held.release(), Err(ReleaseError::Lost(_))));
}

#[test]
fn a_held_lock_is_renewed_by_default() {
    let server = Server::start();
    let locks = Locks::connect(&server.url()).unwrap();
    let lease = Duration::from_millis(1500);
    let renewed = locks.token("renewed", lease).unwrap().try_acquire().unwrap().expect("it is free");
    let once = locks.token("once", lease).unwrap().without_renewal().try_acquire().unwrap().expect("it is free");
    let brief = locks.token("brief", lease).unwrap().held_for_at_most(SOON).try_acquire().unwrap().expect("it is free");
    until("those that are not renewed expire", || {
        (!exists(&server, "once") && !exists(&server, "brief")).then_some(())
    });
    assert!(once.lost() == Some(Loss::Overrun) && brief.is_lost());
    assert!(exists(&server, "renewed") && !renewed.is_lost());
}

#[test]
fn a_lock_without_renewal_is_extended_by_hand() {
    let server = Server::start();
    let mut operator = server.connect();
    let locks = Locks::connect(&server.url()).unwrap();
    let held = locks.token("k", LEASE).unwrap().without_renewal().try_acquire().unwrap().expect("it is free");
    let mut ttl_ms = || cmd("PTTL").arg("k").query::<u64>(&mut operator).unwrap();
    let (almost, mut shortener) = (LEASE.as_millis() as u64 - 60_000, server.connect());
    cmd("PEXPIRE").arg("k").arg(almost).exec(&mut shortener).unwrap();
    held.extend().unwrap();
    assert!(ttl_ms() > almost);
    delete(&server, "k");
    assert!(matches!(held.extend(), Err(ExtendError::Lost(_))));
    assert_eq!(held.lost(), Some(Loss::Taken));

    let held = locks.legacy("mr-lock-redis", "l", LEASE).unwrap().without_renewal().try_acquire().unwrap();
    let extended = held.expect("it is free").extend();
    assert!(matches!(extended, Ok(()) | Err(ExtendError::Unsupported(_))), "{extended:?}");
}

#[test]
fn several_threads_of_one_holder_can_ask_whether_the_lock_is_lost() {
    let server = Server::start();
    let lock = Locks::connect(&server.url()).unwrap().token("k", LEASE).unwrap();
    lock.with(LONG, |held| {
        std::thread::scope(|scope| {
            let asking = [(); 2].map(|()| scope.spawn(|| held.is_lost()));
            assert_eq!(asking.map(|asking| asking.join().unwrap()), [false, false]);
        });
    })
    .unwrap();
}

#[test]
fn a_reset_disturbs_neither_holder_nor_waiter() {
    let server = Server::start();
    let locks = Locks::connect(&server.url()).unwrap();
    let lock = locks.token("k", LEASE).unwrap();
    let held = lock.try_acquire().unwrap().expect("it is free");
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| lock.clone().acquire_within(LONG).map(drop));
        for _ in 0..3 {
            cmd("CLIENT").arg("KILL").arg("TYPE").arg("normal").exec(&mut server.connect()).unwrap();
            crate::patience::pause(Duration::from_millis(100));
        }
        assert!(!held.is_lost());
        drop(held);
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn many_threads_share_one_entry_point() {
    let server = Server::start();
    let locks = Locks::connect(&server.url()).unwrap();
    let inside = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let lock = locks.clone().token("k", LEASE).unwrap();
                lock.with(LONG, |_| {
                    assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    crate::patience::pause(Duration::from_millis(2));
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                })
                .unwrap();
            });
        }
    });
}

#[test]
fn what_cannot_be_chosen_is_refused() {
    let server = Server::start();
    let locks = Locks::connect(&server.url()).unwrap();
    assert!(matches!(locks.token("k", Duration::ZERO), Err(ChooseError::Lease(_))));
    assert!(matches!(locks.protocol("tokn", "k", LEASE), Err(ChooseError::Protocol(_))));
    assert!(matches!(locks.legacy("token", "k", LEASE), Err(ChooseError::NotLegacy(_))));
    assert!(matches!(locks.protocol("redlock", "k", LEASE), Err(ChooseError::SeveralServers(_))));
    assert!(matches!(locks.bridge(&["php-getset", "java-getset"], "k", LEASE), Err(ChooseError::Unbridgeable(_))));
    assert!(matches!(Locks::connect("http://a"), Err(ConnectError::Address(_))));
    assert!(matches!(Locks::connect("redis://127.0.0.1:1"), Err(ConnectError::Connection { .. })));
}

#[test]
fn a_warning_comes_before_the_loss_when_no_renewal_is_confirmed() {
    let server = Server::start();
    let lease = Duration::from_secs(6);
    let lock = Locks::connect(&server.url()).unwrap().token("k", lease).unwrap();
    let held = lock.try_acquire().unwrap().expect("it is free");
    let (tell, warnings) = std::sync::mpsc::channel();
    held.on_about_to_be_lost(lease / 3, move |remaining| tell.send(remaining).unwrap()).unwrap();
    server.pause();
    let remaining = warnings.recv_timeout(LONG).unwrap();
    server.resume();
    assert!(remaining <= lease / 3, "{remaining:?}");

    let other = Locks::connect(&server.url()).unwrap().token("l", LEASE).unwrap().try_acquire().unwrap().unwrap();
    let (tell, warnings) = std::sync::mpsc::channel();
    other.on_about_to_be_lost(Duration::ZERO, move |_| tell.send(()).unwrap()).unwrap();
    other.release().unwrap();
    assert!(warnings.recv_timeout(LONG).is_err(), "it was released, and the thread has ended");
}

#[test]
fn a_lost_reply_is_ridden_out_until_the_deadline() {
    let server = Server::start();
    let proxy = crate::proxy::Proxy::before(&server);
    let lock = Locks::connect(&proxy.url()).unwrap().token("k", LEASE).unwrap();
    for cut in crate::proxy::Cut::ALL {
        proxy.cut(0, cut);
        lock.acquire_within(LONG).unwrap_or_else(|error| panic!("{cut:?}: {error}")).release().unwrap();
    }
}

#[test]
fn an_unconfirmed_release_is_logged_with_its_key_and_its_cause() {
    logbook::open();
    let server = Server::start();
    let proxy = crate::proxy::Proxy::before(&server);
    let lock = Locks::connect(&proxy.url()).unwrap().token("unconfirmed", LEASE).unwrap();
    // From now on the server knows the script.
    lock.with(LONG, |_| ()).unwrap();
    lock.with(LONG, |_| proxy.cut(0, crate::proxy::Cut::After)).unwrap();
    let warnings = logbook::warnings_about("unconfirmed");
    let [warning] = &warnings[..] else { panic!("one warning: {warnings:?}") };
    assert!(warning.contains("the reply to EVAL"), "{warning}");
}

#[test]
fn an_unknown_outcome_names_its_key() {
    let server = Server::start();
    let proxy = crate::proxy::Proxy::before(&server);
    let lock = Locks::connect(&proxy.url()).unwrap().token("k", LEASE).unwrap();
    proxy.cut(0, crate::proxy::Cut::After);
    let error = lock.try_acquire().unwrap_err();
    assert!(matches!(error, AcquireError::Unknown(_)) && error.to_string().starts_with("lock key `k`: "), "{error}");

    let held = lock.acquire_within(LONG).unwrap();
    proxy.cut(0, crate::proxy::Cut::After);
    let error = held.release().unwrap_err();
    assert!(matches!(error, ReleaseError::Unknown(_)) && error.to_string().starts_with("lock key `k`: "), "{error}");
}

/// Its script has deleted the key when it is refused the PUBLISH.
#[test]
fn a_release_that_may_not_publish_does_not_claim_that_the_lock_remains() {
    logbook::open();
    let server = Server::start();
    let rights = ["SETUSER", "mute", "on", ">hush", "~*", "+@all", "resetchannels"];
    cmd("ACL").arg(&rights).exec(&mut server.connect()).unwrap();
    let locks = Locks::connect(&format!("redis://mute:hush@{}/", server.address())).unwrap();
    let lock = locks.token("unpublished", LEASE).unwrap();
    lock.with(LONG, |_| ()).unwrap();
    assert!(!exists(&server, "unpublished"));
    drop(lock.try_acquire().unwrap().expect("it is free"));
    assert!(!exists(&server, "unpublished"));
    let warnings = logbook::warnings_about("unpublished");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().all(|text| text.contains("if the lock is still there")), "{warnings:?}");
}

#[test]
fn replicated_locks_need_their_replicas() {
    use lockshift::driver::{ErrorKind, Replication};

    let server = Server::start();
    let locks = Locks::connect(&server.url()).unwrap();
    let lock = locks.clone().replicated(Replication::to(1, SOON)).token("k", LEASE).unwrap();
    match lock.try_acquire() {
        Err(AcquireError::Failed(error)) => assert_eq!(error.kind(), ErrorKind::NotReplicated),
        other => panic!("no replica has it: {other:?}"),
    }
    assert!(!exists(&server, "k"));
    assert!(lock.acquire_within(SOON).is_err());
    let lock = locks.replicated(Replication::to(0, SOON)).token("k", LEASE).unwrap();
    lock.try_acquire().unwrap().expect("it is free").release().unwrap();
}

#[test]
fn a_cluster_connection_that_resends_is_refused_before_anything_is_sent() {
    use lockshift::driver::{ErrorKind, blocking};
    use lockshift::{lock::Lease, modern::TokenLock};

    let node = Server::with(&crate::server::Options::new().line("cluster-enabled yes"));
    let mut operator = node.connect();
    cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(16383).exec(&mut operator).unwrap();
    let client = redis::cluster::ClusterClient::new(vec![node.url()]).unwrap();
    until("the cluster serves all slots", || {
        let info: String = cmd("CLUSTER").arg("INFO").query(&mut operator).ok()?;
        info.contains("cluster_state:ok").then_some(())
    });
    let connection = client.get_connection().unwrap();
    let lock = blocking::Lock::new(connection, TokenLock::new("k".into(), Lease::new(LEASE).unwrap()));
    assert_eq!(lock.try_acquire().unwrap_err().kind(), ErrorKind::ResendingConnection);
    assert!(!exists(&node, "k"));
    #[cfg(feature = "tokio")]
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        use lockshift::driver::aio;

        let connection = client.get_async_connection().await.unwrap();
        let token = || TokenLock::new("k".into(), Lease::new(LEASE).unwrap());
        for lock in [aio::Lock::new(connection.clone(), token()), aio::Lock::on_own_connection(connection, token())] {
            assert_eq!(lock.try_acquire().await.unwrap_err().kind(), ErrorKind::ResendingConnection);
        }
    });
}

/// With everything of the library in scope, `tokio` and `redis` are still the crates of these names.
#[cfg(feature = "tokio")]
mod names {
    #[allow(unused_imports, reason = "that they are in scope is what is tested")]
    use lockshift::{connect::*, driver::*, locks::*, *};

    #[test]
    fn the_crate_tokio_is_not_shadowed() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(async { tokio::task::spawn(async { 7 }).await.unwrap() }), 7);
    }
}

#[cfg(feature = "tokio")]
mod tasks {
    use lockshift::aio::Locks;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Runtime::new().unwrap()
    }

    #[test]
    fn work_under_a_lock_is_covered_and_the_lock_released() {
        let server = Server::start();
        runtime().block_on(async {
            let lock = Locks::connect(&server.url()).await.unwrap().token("k", LEASE).unwrap();
            let other = lock.clone();
            let sum = lock.with(LONG, async |held| {
                assert!(!held.is_lost());
                assert!(other.try_acquire().await.unwrap().is_none());
                1 + 1
            });
            assert_eq!(sum.await.unwrap(), 2);
            assert!(!exists(&server, "k"));
        });
    }

    #[test]
    fn work_is_dropped_when_its_lock_is_lost() {
        let server = Server::start();
        runtime().block_on(async {
            let lock = Locks::connect(&server.url()).await.unwrap().token("k", Duration::from_secs(3)).unwrap();
            let work = async |_: &_| {
                delete(&server, "k");
                std::future::pending::<()>().await;
            };
            let ended = lock.with(LONG, work).await;
            assert!(matches!(ended, Err(WithError::Lost { loss: Loss::Taken, .. })), "{ended:?}");
        });
    }

    #[test]
    fn many_tasks_share_one_entry_point() {
        let server = Server::start();
        runtime().block_on(async {
            let locks = Locks::connect(&server.url()).await.unwrap();
            let mut tasks = Vec::new();
            for number in 0..8 {
                let lock = locks.clone().token("k", LEASE).unwrap();
                tasks.push(tokio::spawn(async move { lock.with(LONG, async move |_| number).await.unwrap() }));
            }
            for (number, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), number);
            }
        });
        assert!(!exists(&server, "k"));
    }

    fn runs_a_cycle(runtime: &tokio::runtime::Runtime, lock: &lockshift::aio::Lock) {
        runtime.block_on(async {
            lock.try_acquire().await.unwrap().expect("it is free").release().await.unwrap();
        });
    }

    /// What reads its replies has ended with it, or stands still. One of the locks has a connection of its own.
    #[test]
    fn locks_go_on_in_another_runtime_as_if_nothing_had_happened() {
        use tokio::runtime::Builder;

        let server = Server::start();
        let mut standing_still = Vec::new();
        for ends in [true, false] {
            let first = Builder::new_current_thread().enable_all().build().unwrap();
            let locks = first.block_on(Locks::connect(&server.url())).unwrap();
            let all = [locks.token("a", LEASE).unwrap(), locks.legacy("servicestack", "b", LEASE).unwrap()];
            all.iter().for_each(|lock| runs_a_cycle(&first, lock));
            standing_still.push(first);
            if ends {
                standing_still.clear();
            }
            let second = runtime();
            all.iter().for_each(|lock| runs_a_cycle(&second, lock));
        }
    }

    #[test]
    fn runtimes_that_run_share_a_connection_without_asking_each_time() {
        let server = Server::start();
        let runtimes = [runtime(), runtime()];
        let locks = runtimes[0].block_on(Locks::connect(&server.url())).unwrap();
        let lock = locks.token("k", LEASE).unwrap();
        for _ in 0..50 {
            runtimes.iter().for_each(|runtime| runs_a_cycle(runtime, &lock));
        }
        let mut operator = server.connect();
        let stats: redis::InfoDict = cmd("INFO").arg("commandstats").query(&mut operator).unwrap();
        let pings: Option<String> = stats.get("cmdstat_ping");
        let pings = pings.and_then(|line| line.split(['=', ',']).nth(1)?.parse::<u32>().ok()).unwrap_or(0);
        assert!((1..20).contains(&pings), "about once a second: {pings}");
    }

    /// The shorter a lease, the sooner a reply must come, and a connection has one timeout.
    #[test]
    fn locks_of_many_short_leases_share_a_few_connections() {
        let server = Server::start();
        runtime().block_on(async {
            let locks = Locks::connect(&server.url()).await.unwrap();
            for lease_ms in (900..3100).step_by(50) {
                let lock = locks.token(format!("k{lease_ms}"), Duration::from_millis(lease_ms)).unwrap();
                lock.try_acquire().await.unwrap().expect("it is free").release().await.unwrap();
            }
            let info: redis::InfoDict = cmd("INFO").arg("clients").query(&mut server.connect()).unwrap();
            let clients: usize = info.get("connected_clients").unwrap();
            assert!(clients <= 4, "1 s, 512 ms, 256 ms, and this one: {clients}");
        });
    }

    #[test]
    fn a_held_lock_names_its_loss_and_its_timeout_its_holder() {
        let server = Server::start();
        runtime().block_on(async {
            let locks = Locks::connect(&server.url()).await.unwrap();
            let lock = locks.legacy("php-getset", "k", Duration::from_secs(30)).unwrap();
            let held = lock.try_acquire().await.unwrap().expect("it is free");
            let Err(AcquireError::Timeout(timeout)) = lock.acquire_within(SOON).await else { panic!("it is held") };
            assert!(timeout.holder.is_some() && timeout.retry_in.is_some(), "{timeout}");
            held.release().await.unwrap();

            let held = locks.token("l", Duration::from_secs(3)).unwrap().try_acquire().await.unwrap().unwrap();
            let lost = held.on_lost();
            delete(&server, "l");
            assert_eq!(lost.await, Loss::Taken);
            assert!(matches!(held.release().await, Err(ReleaseError::Lost(_))));
        });
    }

    #[test]
    fn a_warning_comes_before_the_loss_when_no_renewal_is_confirmed() {
        let server = Server::start();
        runtime().block_on(async {
            let lease = Duration::from_secs(6);
            let lock = Locks::connect(&server.url()).await.unwrap().token("k", lease).unwrap();
            let held = lock.try_acquire().await.unwrap().expect("it is free");
            let warning = held.on_about_to_be_lost(lease / 3);
            server.pause();
            let remaining = warning.await;
            server.resume();
            assert!(remaining <= lease / 3, "{remaining:?}");
        });
    }

    #[test]
    fn replicated_locks_need_their_replicas() {
        use lockshift::driver::{ErrorKind, Replication};

        let server = Server::start();
        runtime().block_on(async {
            let locks = Locks::connect(&server.url()).await.unwrap();
            let lock = locks.clone().replicated(Replication::to(1, SOON)).token("k", LEASE).unwrap();
            match lock.try_acquire().await {
                Err(AcquireError::Failed(error)) => assert_eq!(error.kind(), ErrorKind::NotReplicated),
                other => panic!("no replica has it: {other:?}"),
            }
            assert!(!exists(&server, "k"));
            let lock = locks.replicated(Replication::to(0, SOON)).token("k", LEASE).unwrap();
            lock.try_acquire().await.unwrap().expect("it is free").release().await.unwrap();
        });
    }
}
