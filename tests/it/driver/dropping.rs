//! Guards that are dropped instead of being released.

use std::thread;

use lockshift::driver::{Attempt, Renewal, Wait};
use redis::cmd;

use super::logbook;
use super::world::{AN_HOUR, World, in_both_worlds, ms, token, token_on};
use crate::monitor::Monitor;
use crate::patience::{pause, until};
use crate::server::Server;

in_both_worlds! {
    a_dropped_guard_releases_its_lock,
    a_guard_may_be_dropped_by_any_thread,
    an_abandoned_lock_stays_until_its_lease_has_expired,
    a_guard_that_cannot_be_released_is_logged,
    a_guard_whose_lock_was_taken_says_so_in_the_log,
}

fn until_free(server: &Server, key: &str) {
    let mut operator = server.connect();
    until(format_args!("`{key}` is free"), || {
        let exists: bool = cmd("EXISTS").arg(key).query(&mut operator).unwrap();
        (!exists).then_some(())
    });
}

fn a_dropped_guard_releases_its_lock<W: World>() {
    logbook::open();
    let server = Server::start();
    let key = format!("dropped {}", std::any::type_name::<W>());
    let world = W::open(&server, token_on(&key, AN_HOUR));
    drop(world.win());
    until_free(&server, &key);
    world.win();
    pause(ms(50));
    assert!(logbook::warnings_about(&key).is_empty(), "it is released, and nothing says that it is not");
}

fn a_guard_may_be_dropped_by_any_thread<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut guard = world.win();
    world.renew(&mut guard, Renewal::every(ms(1)));
    thread::spawn(move || drop(guard)).join().unwrap();
    until_free(&server, "k");
}

fn an_abandoned_lock_stays_until_its_lease_has_expired<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(ms(1500)));
    let mut guard = world.win();
    world.renew(&mut guard, Renewal::every(ms(1)));
    pause(ms(5));
    let mut monitor = Monitor::on(&server);

    world.abandon(guard);
    // An extension that a task had sent already may still be on its way.
    pause(ms(100));
    monitor.skip();

    let attempt = world.acquire(&Wait::every(ms(20)));
    assert!(matches!(attempt, Ok(Attempt::Won(_))));
    let sent: Vec<_> = monitor.take().iter().map(|line| line.words[0].clone()).collect();
    assert!(sent.len() > 2 && sent.iter().all(|name| name == b"SET"), "nothing but tries until then: {sent:?}");
}

fn a_guard_that_cannot_be_released_is_logged<W: World>() {
    logbook::open();
    let mut server = Server::start();
    let key = format!("gone {}", std::any::type_name::<W>());
    let world = W::open(&server, token_on(&key, AN_HOUR));
    let guard = world.win();
    server.kill();
    drop(guard);
    until("it is logged", || {
        logbook::warnings_about(&key).iter().any(|text| text.contains("its lease will end it")).then_some(())
    });
}

fn a_guard_whose_lock_was_taken_says_so_in_the_log<W: World>() {
    logbook::open();
    let server = Server::start();
    let key = format!("taken {}", std::any::type_name::<W>());
    let world = W::open(&server, token_on(&key, AN_HOUR));
    let guard = world.win();
    cmd("SET").arg(&key).arg("stolen").exec(&mut server.connect()).unwrap();
    drop(guard);
    until("it is logged", || {
        logbook::warnings_about(&key).iter().any(|text| text.contains("had been lost")).then_some(())
    });
    assert_eq!(cmd("GET").arg(&key).query(&mut server.connect()), Ok("stolen".to_owned()));
}

#[cfg(feature = "tokio")]
mod without_a_runtime {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use lockshift::driver::{Attempt, ErrorKind, aio::Lock};
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_guard_may_outlive_its_runtime() {
        logbook::open();
        let server = Server::start();
        for (key, mut builder) in [("one", Builder::new_current_thread()), ("many", Builder::new_multi_thread())] {
            let key = format!("orphan of {key}");
            let runtime = builder.enable_all().build().unwrap();
            let guard = runtime.block_on(async {
                let connection = server.client().get_multiplexed_async_connection().await.unwrap();
                match Lock::new(connection, token_on(&key, AN_HOUR)).try_acquire().await {
                    Ok(Attempt::Won(mut guard)) => {
                        guard.renew(Renewal::every(ms(1))).await;
                        guard
                    }
                    other => panic!("the lock is free, but: {other:?}"),
                }
            });
            drop(runtime);

            drop(guard);

            assert!(logbook::warnings_about(&key).iter().any(|text| text.contains("its lease will end it")));
            assert_eq!(cmd("EXISTS").arg(&key).query(&mut server.connect()), Ok(true), "the lease has to end it");
        }
    }

    #[test]
    fn a_release_after_the_runtime_is_an_error() {
        let server = Server::start();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let guard = runtime.block_on(async {
            let connection = server.client().get_multiplexed_async_connection().await.unwrap();
            match Lock::new(connection, token(AN_HOUR)).try_acquire().await {
                Ok(Attempt::Won(guard)) => guard,
                other => panic!("the lock is free, but: {other:?}"),
            }
        });
        drop(runtime);
        let other = Builder::new_current_thread().build().unwrap();
        let error = other.block_on(guard.release()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoRuntime);
        assert!(error.to_string().contains("or the runtime of this lock has ended"), "one is running here: {error}");
    }

    #[test]
    fn a_try_outside_of_any_runtime_is_an_error() {
        let server = Server::start();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let connection = runtime.block_on(server.client().get_multiplexed_async_connection()).unwrap();
        let lock = Lock::new(connection, token(AN_HOUR));
        let attempt = pin!(lock.try_acquire()).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Err(error)) = attempt else { panic!("there is nothing to wait for: {attempt:?}") };
        assert_eq!(error.kind(), ErrorKind::NoRuntime);
    }
}
