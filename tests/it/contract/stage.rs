//! Where scenes are played: one server, its recording, and a driver for both contenders.

use std::sync::Arc;
use std::time::Duration;

use lockshift::driver::Attempt;
use lockshift::lock::{Locker, Owner, Token};
use redis::{Cmd, Connection, cmd};

use super::scene::{Action, Given, Scene};
use super::timed_locker::{FakeClock, TimedLocker};
use super::wording;
use crate::drivers::Driver;
use crate::monitor::Monitor;
use crate::patience::pause;
use crate::server::{Options, Server, contents};

pub(super) const ALICE: Owner = Owner::new(Token::new([0xaa; 16]), 4711, 7);
pub(super) const BOB: Owner = Owner::new(Token::new([0xbb; 16]), 4712, 8);

/// The protocols of the two contenders: the same, or two sides of one lock.
pub(super) struct Cast {
    pub(super) alice: Arc<dyn Locker>,
    pub(super) bob: Arc<dyn Locker>,
    pub(super) clock: Clock,
    pub(super) again: Again,
}

/// What happens when a holder attempts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It contends like any other client: the scene shows nothing new.
    NothingNew,
    /// The server refuses.
    Refused,
    /// It enters once more, and has to leave once more.
    Enters,
}

/// Which clock the protocols go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// The test's: it stands in for the client's wall clock, and for what TIME answers.
    Set,
    /// The server's own, asked for in scripts or running down in TTLs.
    Runs,
}

impl Cast {
    /// Whether the scene shows anything that it does not show when both run the protocol of Alice.
    pub(super) fn plays(&self, scene: Scene) -> bool {
        let shows_more = Arc::ptr_eq(&self.alice, &self.bob) || matches!(scene.action, Action::BobAcquires);
        shows_more
            && match scene.given {
                Given::AliceHoldsTwice => self.again == Again::Enters,
                Given::AliceHolds if matches!(scene.action, Action::AliceAcquires) => self.again != Again::NothingNew,
                Given::AliceHolds | Given::NoKey | Given::Junk | Given::NoTtl | Given::TtlOver | Given::BobOvertook => {
                    true
                }
            }
    }
}

/// One server, its recording, and a driver.
pub(super) struct Stage<D> {
    driver: D,
    server: Server,
    monitor: Monitor,
    operator: Connection,
}

/// The two contenders of a scene: their locks, and what they have won so far.
struct Players<D: Driver> {
    clock: FakeClock,
    alice: D::Lock,
    bob: D::Lock,
    alices: Option<D::Guard>,
    bobs: Option<D::Guard>,
}

impl<D: Driver> Stage<D> {
    pub(super) fn open(options: &Options) -> Self {
        let server = Server::with(options);
        Self { driver: D::default(), monitor: Monitor::on(&server), operator: server.connect(), server }
    }

    /// What is sent in the scene's action, and how that ends.
    pub(super) fn play(&mut self, cast: &Cast, scene: Scene) -> String {
        self.operate(&cmd("FLUSHALL"));
        let mut players = self.players(cast);
        self.set(&mut players, cast.alice.key().as_bytes(), scene.given);
        if cast.clock == Clock::Runs {
            // So that nothing is still as it was in the same millisecond.
            pause(Duration::from_millis(2));
        }
        let before = contents(&mut self.operator);
        self.monitor.skip();
        players.clock.set(scene.after);
        let ending = self.act(&mut players, scene.action);
        let sent = wording::wire(&self.monitor.take());
        let change = wording::change(&before, &contents(&mut self.operator));
        self.send_home(players);
        format!("{sent} => {ending}{change}").trim_start().to_owned()
    }

    fn players(&self, cast: &Cast) -> Players<D> {
        let clock = FakeClock::new();
        let lock = |lock: &Arc<dyn Locker>, owner| {
            let timed_locker = TimedLocker {
                lock: Arc::clone(lock),
                owner,
                clock: clock.clone(),
                also_time: cast.clock == Clock::Set,
            };
            self.driver.lock(&self.server.client(), timed_locker)
        };
        let (alice, bob) = (lock(&cast.alice, ALICE), lock(&cast.bob, BOB));
        Players { clock, alice, bob, alices: None, bobs: None }
    }

    /// Brings about the start of the scene.
    fn set(&mut self, players: &mut Players<D>, key: &[u8], given: Given) {
        match given {
            Given::NoKey => {}
            Given::Junk => self.operate(cmd("SET").arg(key).arg("junk")),
            Given::AliceHolds => {
                players.alices = self.won(&players.alice);
                assert!(players.alices.is_some(), "the lock is free, so Alice wins");
            }
            Given::AliceHoldsTwice => {
                let first = self.won(&players.alice).expect("the lock is free, so Alice wins");
                self.driver.abandon(first);
                self.set(players, key, Given::AliceHolds);
            }
            Given::NoTtl => {
                self.set(players, key, Given::AliceHolds);
                self.for_keys_with_ttl("PERSIST");
            }
            Given::TtlOver => {
                self.set(players, key, Given::AliceHolds);
                self.for_keys_with_ttl("DEL");
            }
            Given::BobOvertook => {
                self.set(players, key, Given::TtlOver);
                players.clock.set(Duration::from_secs(99));
                players.bobs = self.won(&players.bob);
                if players.bobs.is_none() {
                    self.operate(&cmd("FLUSHALL"));
                    players.bobs = self.won(&players.bob);
                }
                assert!(players.bobs.is_some(), "the lock is free, so Bob wins");
            }
        }
    }

    fn won(&self, lock: &D::Lock) -> Option<D::Guard> {
        match self.driver.try_acquire(lock) {
            Ok(Attempt::Won(guard)) => Some(guard),
            Ok(Attempt::Held(_)) => None,
            Ok(Attempt::TooLate | Attempt::Unknown(_)) => panic!("the server answers in time"),
            Err(error) => panic!("{error}"),
        }
    }

    /// The scene's action, and how it ends.
    fn act(&self, players: &mut Players<D>, action: Action) -> String {
        const HAS_WON: &str = "Alice has won in the scenes where she goes on";
        let Players { alice, bob, alices, bobs, .. } = players;
        match action {
            Action::AliceAcquires => {
                if let Some(first) = alices.take() {
                    self.driver.abandon(first);
                }
                wording::attempt(self.driver.try_acquire(alice), alices)
            }
            Action::BobAcquires => wording::attempt(self.driver.try_acquire(bob), bobs),
            Action::AliceReleases => wording::released(self.driver.release(alices.take().expect(HAS_WON))),
            Action::AliceExtends => wording::extended(self.driver.extend(alices.as_ref().expect(HAS_WON))),
            Action::AliceLooks => wording::ownership(self.driver.ownership(alices.as_ref().expect(HAS_WON))),
        }
    }

    /// Releases what both still hold, so that it does not reach into the next scene.
    fn send_home(&self, players: Players<D>) {
        for guard in [players.alices, players.bobs].into_iter().flatten() {
            self.driver.release(guard).map(drop).expect("the server answers");
        }
    }

    fn for_keys_with_ttl(&mut self, verb: &str) {
        for key in contents(&mut self.operator).into_keys() {
            let ttl_ms: i64 = cmd("PTTL").arg(&key).query(&mut self.operator).expect("the operator may look");
            if ttl_ms >= 0 {
                self.operate(cmd(verb).arg(&key));
            }
        }
    }

    fn operate(&mut self, command: &Cmd) {
        command.exec(&mut self.operator).expect("the operator may do everything");
    }
}
