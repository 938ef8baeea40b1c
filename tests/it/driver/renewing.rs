//! Renewing in the background, and learning when that fails.

use lockshift::driver::blocking::Lock;
use lockshift::driver::{Answer, Attempt, ErrorKind, Loss, Renewal};
use lockshift::lock::{Ownership, Released};
use lockshift::wire::script_file;
use redis::cmd;

use super::hanging::Hanging;
use super::lockers::SetnxExpire;
use super::losing_replies::{Break, Plan};
use super::world::{AN_HOUR, World, in_both_worlds, ms, token};
use crate::monitor::{Line, Monitor};
use crate::patience::{pause, until};
use crate::server::Server;

in_both_worlds! {
    a_renewed_lock_outlives_its_lease,
    nothing_is_sent_after_the_release,
    nothing_is_sent_after_a_drop,
    the_holder_is_notified_when_another_client_takes_the_key,
    the_holder_is_warned_before_the_lock_is_lost,
    the_holder_is_notified_in_time_though_the_server_hangs,
    one_lost_reply_does_not_end_a_renewal,
    a_renewal_has_an_end_if_it_is_given_one,
    so_many_renewals_and_no_more,
    what_cannot_be_extended_is_held_for_its_lease,
    a_second_renewal_takes_the_place_of_the_first,
}

/// The scripts that were run.
fn scripts(lines: &[Line]) -> usize {
    lines.iter().filter(|line| line.words[0].starts_with(b"EVAL")).count()
}

fn a_renewed_lock_outlives_its_lease<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(ms(600)));
    let mut guard = world.win();
    world.renew(&mut guard, Renewal::every_third());
    let mut monitor = Monitor::on(&server);

    let mut renewed = 0;
    until("it was renewed six times: for two leases", || {
        renewed += scripts(&monitor.take());
        (renewed >= 6).then_some(())
    });

    assert_eq!(W::lost(&guard), None);
    assert!(matches!(world.ownership(&guard), Ok(Ownership::Ours { .. })));
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))));
}

fn nothing_is_sent_after_the_release<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut monitor = Monitor::on(&server);
    for round in 0..100 {
        let mut guard = world.win();
        world.renew(&mut guard, Renewal::every(ms(1)));
        pause(ms(round % 5));
        let released = world.release(guard);

        let lines = monitor.take();
        assert!(matches!(released, Ok(Answer::Known(Released::Freed))), "{released:?}");
        let last = lines.last().unwrap().to_string().to_lowercase();
        assert!(last.starts_with("del k"), "the release is the last command, in round {round}: {last}");
    }
    pause(ms(20));
    assert_eq!(monitor.take(), [], "no renewal has outlived its lock");
}

fn nothing_is_sent_after_a_drop<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut operator = server.connect();
    for _ in 0..20 {
        let mut guard = world.win();
        world.renew(&mut guard, Renewal::every(ms(1)));
        pause(ms(3));
        drop(guard);
        until("the dropped lock is free", || {
            let exists: bool = cmd("EXISTS").arg("k").query(&mut operator).unwrap();
            (!exists).then_some(())
        });
    }
    let mut monitor = Monitor::on(&server);
    pause(ms(20));
    assert_eq!(monitor.take(), [], "no renewal has outlived its lock");
}

fn the_holder_is_notified_when_another_client_takes_the_key<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut guard = world.win();
    world.renew(&mut guard, Renewal::every(ms(5)));
    cmd("SET").arg("k").arg("stolen").exec(&mut server.connect()).unwrap();

    assert_eq!(world.wait_until_lost(&guard), Some(Loss::Taken));

    let mut monitor = Monitor::on(&server);
    pause(ms(20));
    assert_eq!(monitor.take(), [], "what is lost is not renewed");
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Lost))));
}

fn the_holder_is_warned_before_the_lock_is_lost<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(ms(10_000)));
    let guard = world.win();

    let remaining = world.about_to_be_lost(&guard, ms(9500));

    assert_eq!(W::lost(&guard), None, "there is still time");
    assert!(remaining.is_some_and(|remaining| !remaining.is_zero() && remaining <= ms(9500)), "{remaining:?}");
}

fn the_holder_is_notified_in_time_though_the_server_hangs<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(ms(500)));
    let mut guard = world.win();
    world.renew(&mut guard, Renewal::every_third());

    server.pause();
    let loss = world.wait_until_lost(&guard);
    server.resume();

    assert_eq!(loss, Some(Loss::Overrun));
    assert_eq!(W::lost(&guard), Some(Loss::Overrun), "and lost it stays, though the server is back");
    assert!(matches!(world.release(guard), Ok(Answer::Known(_))));
    assert_eq!(cmd("EXISTS").arg("k").query(&mut server.connect()), Ok(false));
}

fn one_lost_reply_does_not_end_a_renewal<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(ms(900)), plan.clone());
    let mut guard = world.win();
    let mut monitor = Monitor::on(&server);

    plan.set(Break::Reply("EVALSHA"));
    world.renew(&mut guard, Renewal::every_third());
    let mut renewed = 0;
    until("four more are confirmed", || {
        renewed += scripts(&monitor.take());
        (renewed >= 5).then_some(())
    });

    assert_eq!(W::lost(&guard), None);
}

fn a_renewal_has_an_end_if_it_is_given_one<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(ms(300)));
    let mut guard = world.win();

    world.renew(&mut guard, Renewal::every(ms(50)).for_at_most(ms(120)));
    assert_eq!(world.wait_until_lost(&guard), Some(Loss::Overrun));

    let mut operator = server.connect();
    until("the server lets it go as well", || {
        let exists: bool = cmd("EXISTS").arg("k").query(&mut operator).unwrap();
        (!exists).then_some(())
    });
}

fn so_many_renewals_and_no_more<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(ms(300)));
    cmd("SCRIPT")
        .arg("LOAD")
        .arg(script_file!("../../../modern/src/lua/extend.lua").text())
        .exec(&mut server.connect())
        .unwrap();
    let mut monitor = Monitor::on(&server);
    let mut guard = world.win();

    world.renew(&mut guard, Renewal::every(ms(20)).times(2));
    assert_eq!(world.wait_until_lost(&guard), Some(Loss::Overrun));

    assert_eq!(scripts(&monitor.take()), 2);
}

fn what_cannot_be_extended_is_held_for_its_lease<W: World>() {
    let server = Server::start();
    let world = W::open(&server, SetnxExpire::new("k"));
    let mut guard = world.win();
    let mut monitor = Monitor::on(&server);

    world.renew(&mut guard, Renewal::every(ms(1)));
    pause(ms(20));

    assert_eq!(monitor.take(), []);
    assert_eq!(W::lost(&guard), None);
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))));
}

fn a_second_renewal_takes_the_place_of_the_first<W: World>() {
    let server = Server::start();
    let world = W::open(&server, token(AN_HOUR));
    let mut guard = world.win();
    world.renew(&mut guard, Renewal::every(ms(1)));
    pause(ms(5));

    world.renew(&mut guard, Renewal::every(AN_HOUR / 2));

    let mut monitor = Monitor::on(&server);
    pause(ms(20));
    assert_eq!(monitor.take(), []);
}

/// The peer sends its reply byte by byte, without end: no timeout of a socket ends that.
#[test]
fn a_release_does_not_wait_for_an_extension_that_outlasts_the_lease() {
    let server = Server::start();
    let (connection, hang) = Hanging::over(server.connect());
    let lock = Lock::new(connection, token(ms(600)));
    let Ok(Attempt::Won(mut guard)) = lock.try_acquire() else { panic!("the lock is free") };
    hang.begin();
    guard.renew(Renewal::every(ms(1))).unwrap();
    until("an extension is under way", || hang.has_struck().then_some(()));
    assert_eq!(guard.release().unwrap_err().kind(), ErrorKind::TimedOut);
}
