//! Lost replies: a connection that breaks where the test says, and what the drivers make of it.

use std::collections::VecDeque;
use std::io;
use std::sync::{self, Arc};

use lockshift::driver::{Answer, Attempt, ErrorKind, Wait};
use lockshift::lock::{Lease, Locker, Mode, Released};
use lockshift::modern::redisson::{Fair, Kind, Mutex, ReadWrite};
use lockshift::modern::{Publish, ReentrantLock};
use lockshift::wire::Key;
use redis::{ConnectionLike, RedisResult, Value};

use super::lockers::{SetnxExpire, Watched};
use super::world::{AN_HOUR, World, in_both_worlds, ms, token};
use crate::monitor::Monitor;
use crate::patience::until;
use crate::server::Server;

/// Where a connection breaks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Break {
    /// At this command, which the server runs, but its reply is lost.
    Reply(&'static str),
    /// At this command, which never leaves.
    Command(&'static str),
    /// At this command, which never arrives, and the client cannot know it.
    Lost(&'static str),
}

/// Where a connection breaks next, in this order; once for every time it is set.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan(Arc<sync::Mutex<VecDeque<Break>>>);

impl Plan {
    pub(super) fn set(&self, next: Break) {
        self.0.lock().unwrap().push_back(next);
    }

    /// Whether every connection that this was given to is gone.
    #[cfg(feature = "tokio")]
    pub(super) fn is_mine_alone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Whether the connection is to break at this command, as it is packed for the wire, and how.
    fn meets(&self, packed: &[u8]) -> Option<Break> {
        let name = packed.split(|byte| *byte == b'\n').nth(2)?.strip_suffix(b"\r")?;
        let mut breaks = self.0.lock().unwrap();
        let (Break::Reply(command) | Break::Command(command) | Break::Lost(command)) = breaks.front()?;
        if name == command.as_bytes() { breaks.pop_front() } else { None }
    }
}

/// A connection that breaks as planned.
#[derive(Clone)]
pub(super) struct Lossy<C> {
    inner: C,
    plan: Plan,
}

impl<C> Lossy<C> {
    pub(super) fn new(inner: C, plan: Plan) -> Self {
        Self { inner, plan }
    }
}

fn broken<T>() -> RedisResult<T> {
    Err(io::Error::from(io::ErrorKind::ConnectionReset).into())
}

fn refused<T>() -> RedisResult<T> {
    Err(io::Error::from(io::ErrorKind::ConnectionRefused).into())
}

impl<C: ConnectionLike> ConnectionLike for Lossy<C> {
    fn req_packed_command(&mut self, packed: &[u8]) -> RedisResult<Value> {
        match self.plan.meets(packed) {
            None => self.inner.req_packed_command(packed),
            Some(Break::Command(_)) => refused(),
            Some(Break::Lost(_)) => broken(),
            Some(Break::Reply(_)) => self.inner.req_packed_command(packed).and_then(|_| broken()),
        }
    }

    fn req_packed_commands(&mut self, _: &[u8], _: usize, _: usize) -> RedisResult<Vec<Value>> {
        unreachable!("the drivers send one command at a time")
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }

    fn check_connection(&mut self) -> bool {
        self.inner.check_connection()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }
}

#[cfg(feature = "tokio")]
mod tasks_connection {
    use redis::aio::ConnectionLike;
    use redis::{Cmd, Pipeline, RedisFuture};

    use super::*;

    impl<C: ConnectionLike + Send> ConnectionLike for Lossy<C> {
        fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
            Box::pin(async move {
                match self.plan.meets(&cmd.get_packed_command()) {
                    None => self.inner.req_packed_command(cmd).await,
                    Some(Break::Command(_)) => refused(),
                    Some(Break::Lost(_)) => broken(),
                    Some(Break::Reply(_)) => self.inner.req_packed_command(cmd).await.and_then(|_| broken()),
                }
            })
        }

        fn req_packed_commands<'a>(&'a mut self, _: &'a Pipeline, _: usize, _: usize) -> RedisFuture<'a, Vec<Value>> {
            unreachable!("the drivers send one command at a time")
        }

        fn get_db(&self) -> i64 {
            self.inner.get_db()
        }
    }
}

in_both_worlds! {
    waiting_goes_on_after_a_lost_reply,
    a_last_lost_reply_is_unknown,
    a_try_whose_reply_is_lost_is_unknown_and_leaves_no_lock_behind,
    a_disclaim_that_frees_the_lock_is_announced,
    a_try_that_never_left_is_an_error_and_nothing_happened,
    a_lost_reply_to_a_question_is_an_error,
    a_lost_reply_after_a_step_that_won_is_unknown,
    a_release_whose_reply_is_lost_is_unknown,
    a_refusal_after_the_first_step_of_two_is_an_error,
    an_attempt_that_could_not_be_disclaimed_is_not_taken_for_another_holder,
    an_entry_whose_reply_is_lost_is_disclaimed_and_counts_for_nothing,
    an_abandoned_hold_is_not_disclaimed,
}

fn a_try_whose_reply_is_lost_is_unknown_and_leaves_no_lock_behind<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(AN_HOUR), plan.clone());

    plan.set(Break::Reply("SET"));
    let Ok(Attempt::Unknown(unknown)) = world.try_acquire() else { panic!("it is unknown whether SET ran") };

    assert_eq!(
        unknown.to_string(),
        "lock key `k`: the reply to SET was lost, and whether the command took effect is unknown"
    );
    assert_eq!(server.connect().req_command(&redis::cmd("EXISTS").arg("k").to_owned()), Ok(Value::Int(0)));
    assert!(matches!(world.release(world.win()), Ok(Answer::Known(Released::Freed))));
}

fn waiting_goes_on_after_a_lost_reply<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(AN_HOUR), plan.clone());
    for wait in [Wait::every(ms(1)).for_at_most(AN_HOUR), Wait::backoff()] {
        plan.set(Break::Reply("SET"));
        plan.set(Break::Lost("SET"));
        let Ok(Attempt::Won(guard)) = world.acquire(&wait) else { panic!("it was disclaimed, and is free") };
        assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))));
    }
}

fn a_last_lost_reply_is_unknown<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(AN_HOUR), plan.clone());
    plan.set(Break::Reply("SET"));
    plan.set(Break::Reply("SET"));
    assert!(matches!(world.acquire(&Wait::every(ms(1)).tries(2)), Ok(Attempt::Unknown(_))));
}

fn a_disclaim_that_frees_the_lock_is_announced<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(AN_HOUR).announced(Publish::Everywhere), plan.clone());
    let mut monitor = Monitor::on(&server);
    plan.set(Break::Reply("SET"));
    assert!(matches!(world.try_acquire(), Ok(Attempt::Unknown(_))));
    let published = monitor.take().into_iter().filter(|line| line.words[0].eq_ignore_ascii_case(b"PUBLISH")).count();
    assert_eq!(published, 1, "waiters may have seen it");
}

fn an_attempt_that_could_not_be_disclaimed_is_not_taken_for_another_holder<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(AN_HOUR), plan.clone());
    plan.set(Break::Reply("SET"));
    plan.set(Break::Lost("EVALSHA"));
    assert!(matches!(world.try_acquire(), Ok(Attempt::Unknown(_))));
    assert_eq!(server.connect().req_command(&redis::cmd("EXISTS").arg("k").to_owned()), Ok(Value::Int(1)));

    assert!(matches!(world.release(world.win()), Ok(Answer::Known(Released::Freed))), "its own attempt held the key");
}

/// Locks that count the entries of their owner, by name.
fn reentrant_locks() -> Vec<(&'static str, Arc<dyn Locker>)> {
    let lease = Lease::new(AN_HOUR).unwrap();
    let mutex = |kind| Arc::new(Mutex::new("k".into(), lease).kind(kind));
    vec![
        ("reentrant", Arc::new(ReentrantLock::new("k".into(), lease))),
        ("reentrant,fence=yes", Arc::new(ReentrantLock::new("k".into(), lease).fenced())),
        ("redisson", mutex(Kind::Reentrant)),
        ("redisson,kind=fenced", mutex(Kind::Fenced)),
        ("redisson,kind=spin", mutex(Kind::Spin)),
        ("redisson,kind=fair", Arc::new(Fair::new("k".into(), lease))),
        ("redisson-rw,side=writer", Arc::new(ReadWrite::new("k".into(), Mode::Exclusive, lease))),
        ("redisson-rw,side=reader", Arc::new(ReadWrite::new("k".into(), Mode::Shared, lease))),
    ]
}

fn an_entry_whose_reply_is_lost_is_disclaimed_and_counts_for_nothing<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    for (name, locker) in reentrant_locks() {
        let plan = Plan::default();
        let world = W::open_lossy(&server, Arc::clone(&locker), plan.clone());
        let mut exists = || -> bool { redis::cmd("EXISTS").arg("k").query(&mut operator).unwrap() };
        // From now on the server knows the scripts.
        assert!(matches!(world.release(world.win()), Ok(Answer::Known(Released::Freed))), "{name}");

        plan.set(Break::Reply("EVALSHA"));
        assert!(matches!(world.try_acquire(), Ok(Attempt::Unknown(_))), "{name}");
        assert!(!exists(), "{name}: no client holds it");

        let outer = world.win();
        plan.set(Break::Reply("EVALSHA"));
        assert!(matches!(world.try_acquire(), Ok(Attempt::Unknown(_))), "{name}: the second entry");
        plan.set(Break::Lost("EVALSHA"));
        assert!(matches!(world.try_acquire(), Ok(Attempt::Unknown(_))), "{name}: it never arrived");
        assert!(exists(), "{name}: the first entry is still held");
        assert!(matches!(world.release(outer), Ok(Answer::Known(Released::Freed))), "{name}: it was the only one");
        assert!(!exists(), "{name}");
    }
}

fn an_abandoned_hold_is_not_disclaimed<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, ReentrantLock::new("k".into(), Lease::new(AN_HOUR).unwrap()), plan.clone());
    world.abandon(world.win());
    plan.set(Break::Lost("EVALSHA"));
    assert!(matches!(world.try_acquire(), Ok(Attempt::Unknown(_))));
    assert_eq!(server.connect().req_command(&redis::cmd("EXISTS").arg("k").to_owned()), Ok(Value::Int(1)));
}

fn a_try_that_never_left_is_an_error_and_nothing_happened<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(AN_HOUR), plan.clone());
    let mut monitor = Monitor::on(&server);

    plan.set(Break::Command("SET"));
    let error = world.try_acquire().unwrap_err();

    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(monitor.take(), []);
}

fn a_lost_reply_to_a_question_is_an_error<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(AN_HOUR), plan.clone());
    let guard = world.win();
    plan.set(Break::Reply("GET"));
    assert_eq!(world.ownership(&guard).unwrap_err().kind(), ErrorKind::Disconnected);

    let world = W::open_lossy(&server, Watched(Key::from("other")), plan.clone());
    plan.set(Break::Reply("GET"));
    assert_eq!(world.try_acquire().unwrap_err().kind(), ErrorKind::Disconnected, "nothing was written yet");
    world.win();
}

fn a_lost_reply_after_a_step_that_won_is_unknown<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, SetnxExpire::new("k"), plan.clone());
    plan.set(Break::Command("EXPIRE"));
    let Ok(Attempt::Unknown(unknown)) = world.try_acquire() else { panic!("SETNX has won before EXPIRE was lost") };
    assert!(unknown.command.is("EXPIRE"));
    world.win();
}

fn a_release_whose_reply_is_lost_is_unknown<W: World>() {
    let server = Server::start();
    let plan = Plan::default();
    let world = W::open_lossy(&server, token(AN_HOUR), plan.clone());
    let guard = world.win();

    plan.set(Break::Reply("EVALSHA"));
    // The server does not know the script yet, so the lost reply was NOSCRIPT.
    assert!(matches!(world.release(guard), Ok(Answer::Known(Released::Freed))), "it was sent again");

    let guard = world.win();
    plan.set(Break::Reply("EVALSHA"));
    plan.set(Break::Lost("EVALSHA"));
    assert!(matches!(world.release(guard), Ok(Answer::Unknown(_))), "once");

    let guard = world.win();
    plan.set(Break::Reply("EVALSHA"));
    assert!(matches!(world.release(guard), Ok(Answer::Unknown(_))));
    assert!(matches!(world.release(world.win()), Ok(Answer::Known(Released::Freed))), "it had been released");
}

fn a_refusal_after_the_first_step_of_two_is_an_error<W: World>() {
    let server = Server::start();
    let mut operator = server.connect();
    redis::cmd("ACL").arg(&["SETUSER", "default", "-expire"]).exec(&mut operator).unwrap();
    let world = W::open(&server, SetnxExpire::new("k"));

    let error = world.try_acquire().unwrap_err();

    assert_eq!(error.kind(), ErrorKind::NoPermission);
    until("what SETNX had won is disclaimed", || {
        let exists: bool = redis::cmd("EXISTS").arg("k").query(&mut operator).unwrap();
        (!exists).then_some(())
    });
}
