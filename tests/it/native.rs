//! The native compare commands, on the servers that have them: found, used, and done without where they are refused.

use std::time::Duration;

use lockshift::driver::blocking::run;
use lockshift::lock::{Acquired, Extended, Hold, Lease, Locker, Owner, Ownership, Released, Token};
use lockshift::modern::{CompareDelete, Native, Timing, TokenLock};
use lockshift::wire::{Key, MonoTime, Pending, Reading, Transcript, Turn, UnixTime};
use redis::{Connection, FromRedisValue};

use crate::monitor::{Monitor, address_of, commands_of};
use crate::server::{Options, Server, fetched};

const LEASE: Duration = Duration::from_secs(10);
const OWNER: Owner = Owner::new(Token::new([0xab; 16]), 7, 1);

#[test]
fn on_the_server_in_path() {
    let server = Server::start();
    let native = detected(&mut server.connect());
    assert_eq!(native, spoken(&mut server.connect()), "the server has the commands that it claims to have");
    plays(&server, native);
}

#[test]
fn on_valkey_8_1() {
    newer("valkey-8.1", Native::VALKEY_8_1);
}

#[test]
fn on_valkey_9_0() {
    newer("valkey-9.0", Native::VALKEY_9_0);
}

#[test]
fn on_redis_8_4() {
    newer("redis-8.4", Native::REDIS_8_4);
}

fn newer(name: &str, native: Native) {
    let server = Server::with(&Options::new().program(fetched(name)));
    assert_eq!(detected(&mut server.connect()), native);
    assert_eq!(spoken(&mut server.connect()), native);
    plays(&server, native);
}

fn detected(connection: &mut Connection) -> Native {
    run(connection, &Native::detect).expect("detection has no faults")
}

/// What the server does not refuse, tried on a key that is not there.
fn spoken(connection: &mut Connection) -> Native {
    let mut takes = |words: &str| ask::<redis::Value>(connection, words).is_ok();
    let delete = match (takes("DELIFEQ absent x"), takes("DELEX absent IFEQ x")) {
        (true, _) => Some(CompareDelete::DelIfEq),
        (false, true) => Some(CompareDelete::DelEx),
        (false, false) => None,
    };
    Native { delete, set_ifeq: takes("SET absent x IFEQ y") }
}

fn name(delete: CompareDelete) -> &'static str {
    match delete {
        CompareDelete::DelIfEq => "DELIFEQ",
        CompareDelete::DelEx => "DELEX",
        other => panic!("no test for {other:?}"),
    }
}

fn ask<T: FromRedisValue>(connection: &mut Connection, words: &str) -> redis::RedisResult<T> {
    let (name, args) = words.split_once(' ').unwrap_or((words, ""));
    redis::cmd(name).arg(args.split_terminator(' ').collect::<Vec<_>>()).query(connection)
}

/// Everything that a server which speaks `native` must do.
fn plays(server: &Server, native: Native) {
    every_timing_is_won_extended_and_released(server, native);
    what_is_not_ours_is_left_alone(server, native);
    a_refused_command_is_replaced_by_its_script(server, native);
    a_moment_of_the_past_is_not_a_lock(server, native);
}

/// A token lock, at a time of our choice.
struct Scene {
    connection: Connection,
    lock: TokenLock,
    now: Reading,
}

impl Scene {
    fn new(connection: Connection, native: Native, timing: Timing) -> Self {
        let lock = TokenLock::new(Key::from("k"), Lease::new(LEASE).unwrap()).timed(timing).native(native);
        // In 2096, so that no moment has passed.
        Self { connection, lock, now: at(UnixTime::from_secs(4_000_000_000).unwrap()) }
    }

    /// The server empty, and the lock held.
    fn held(&mut self) -> Hold {
        ask::<()>(&mut self.connection, "FLUSHALL").unwrap();
        match self.play(|lock, redis| lock.acquire(&OWNER, redis)) {
            Ok(Acquired::Won(hold)) => hold,
            other => panic!("the key is free: {other:?}"),
        }
    }

    fn play<T>(&mut self, turn: impl Fn(&TokenLock, &mut Transcript) -> Turn<T>) -> Result<T, String> {
        let (lock, now) = (&self.lock, self.now);
        run(&mut self.connection, &|redis: &mut Transcript| at_the_time(now, redis, |inner| turn(lock, inner)))
            .map_err(|interrupted| interrupted.cause.to_string())
    }

    fn extend(&mut self, hold: &Hold) -> Result<Extended, String> {
        self.play(|lock, redis| lock.extend(hold, redis))
    }

    fn release(&mut self, hold: &Hold) -> Result<Released, String> {
        self.play(|lock, redis| lock.release(hold, redis))
    }

    fn look(&mut self, hold: &Hold) -> Result<Ownership, String> {
        self.play(|lock, redis| lock.ownership(hold, redis))
    }

    fn redis<T: FromRedisValue>(&mut self, words: &str) -> T {
        ask(&mut self.connection, words).unwrap()
    }
}

fn at(wall: UnixTime) -> Reading {
    Reading { wall, mono: MonoTime::since_origin(Duration::from_secs(1)) }
}

/// One turn of a protocol whose every clock reading is this time.
fn at_the_time<T>(now: Reading, redis: &mut Transcript, turn: impl Fn(&mut Transcript) -> Turn<T>) -> Turn<T> {
    let mut inner = Transcript::new();
    loop {
        match turn(inner.rewind()) {
            Err(Pending::Clock) => inner.record_clock(now),
            Err(Pending::Send(command)) => {
                let reply = redis.send(command)?;
                inner.record_reply(reply);
            }
            ended => return ended,
        }
    }
}

fn every_timing_is_won_extended_and_released(server: &Server, native: Native) {
    let delete = native.delete.map_or("EVALSHA EVAL get del", name);
    for (timing, expire, look) in [
        (Timing::Px, "pexpire", ""),
        (Timing::Ex, "pexpire", ""),
        (Timing::PxAt, "pexpireat", " PTTL GET"),
        (Timing::ExAt, "pexpireat", " PTTL GET"),
    ] {
        let mut scene = Scene::new(server.connect(), native, timing);
        scene.redis::<()>("SCRIPT FLUSH");
        let us = address_of(&mut scene.connection);
        let mut monitor = Monitor::on(server);

        let hold = scene.held();
        assert_eq!(scene.extend(&hold), Ok(Extended::Until(hold.clone())), "{timing:?}");
        assert_eq!(scene.release(&hold), Ok(Released::Freed), "{timing:?}");

        let extend = if native.set_ifeq { "SET".into() } else { format!("EVALSHA EVAL get {expire}") };
        let commands = commands_of(us, &monitor.take()).join("\n");
        let names: Vec<_> = commands.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(names.join(" "), format!("FLUSHALL SET{look} {extend}{look} {delete}"), "{timing:?}");

        assert_eq!(scene.look(&hold), Ok(Ownership::Free), "{timing:?}");
    }
}

fn what_is_not_ours_is_left_alone(server: &Server, native: Native) {
    let mut scene = Scene::new(server.connect(), native, Timing::Px);
    let hold = scene.held();
    scene.redis::<()>("SET k theirs PX 5000");
    assert_eq!(
        scene.play(|lock, redis| lock.acquire(&OWNER, redis)).map(|end| matches!(end, Acquired::Held(_))),
        Ok(true)
    );
    assert_eq!(scene.extend(&hold), Ok(Extended::Lost));
    assert_eq!(scene.release(&hold), Ok(Released::Lost));
    assert_eq!(scene.look(&hold), Ok(Ownership::Theirs));
    assert_eq!(scene.redis::<String>("GET k"), "theirs");
    assert!((1..=5_000).contains(&scene.redis::<i64>("PTTL k")), "no client changed its expiry");

    scene.redis::<()>("DEL k");
    assert_eq!(scene.extend(&hold), Ok(Extended::Lost));
    assert_eq!(scene.release(&hold), Ok(Released::Lost));
    assert!(!scene.redis::<bool>("EXISTS k"), "an extension makes no lock");

    scene.redis::<()>("HSET k field value");
    assert!(scene.extend(&hold).is_err_and(|fault| fault.contains("WRONGTYPE")));
    assert!(scene.release(&hold).is_err_and(|fault| fault.contains("WRONGTYPE")));
    assert_eq!(scene.redis::<String>("TYPE k"), "hash");
}

fn a_refused_command_is_replaced_by_its_script(server: &Server, native: Native) {
    // Configured for a server that has all of them, which then fails over to this one.
    for claimed in [native, Native::VALKEY_9_0, Native::REDIS_8_4] {
        let mut scene = Scene::new(server.connect(), claimed, Timing::Px);
        let hold = scene.held();
        scene.redis::<()>("CONFIG SET maxmemory 1");
        assert_eq!(scene.extend(&hold), Ok(Extended::Until(hold.clone())), "a full memory refuses SET");
        scene.redis::<()>("CONFIG SET maxmemory 0");
        assert_eq!(scene.release(&hold), Ok(Released::Freed));
    }
    if let Some(delete) = native.delete {
        let mut scene = Scene::new(server.connect(), native, Timing::Px);
        let hold = scene.held();
        scene.redis::<()>(&format!("ACL SETUSER scripts on nopass ~* +@all -{}", name(delete)));
        scene.redis::<()>("AUTH scripts x");
        assert_eq!(scene.release(&hold), Ok(Released::Freed), "an ACL forbids the command");
    }
}

/// The server's clock is 50 years ahead of the client's.
fn a_moment_of_the_past_is_not_a_lock(server: &Server, native: Native) {
    let long_ago = at(UnixTime::from_secs(200_000_000).unwrap());
    for timing in [Timing::PxAt, Timing::ExAt] {
        let mut scene = Scene::new(server.connect(), native, timing);
        let hold = scene.held();
        let now = std::mem::replace(&mut scene.now, long_ago);
        assert_eq!(scene.extend(&hold), Ok(Extended::Lost), "{timing:?}: the server has ended it");
        assert!(!scene.redis::<bool>("EXISTS k"));

        let hold = scene.held();
        assert_eq!(hold.valid_until(), now.mono, "{timing:?}: won, and over at once");
        assert_eq!(scene.look(&hold), Ok(Ownership::Free), "{timing:?}: the server answers OK, and there is no key");
    }
}
