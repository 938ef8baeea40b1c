//! Where a scene is played: one server, its recording, and two contenders with a driver each.

use std::collections::BTreeMap;
use std::time::Duration;

use lockshift::lock::{Acquired, Hold, Locker, Owner, Token};
use lockshift::wire::UnixTime;
use redis::{Cmd, Connection, cmd};

use super::driver::Driver;
use super::elsewhen::Elsewhen;
use super::scene::{Action, Given, Scene};
use super::telling;
use crate::monitor::Monitor;
use crate::server::Server;

/// When Alice comes. The digits tell one rounding from another.
const ALICE_COMES: UnixTime = UnixTime::from_nanos(2_000_000_000_891_234_567);

pub(super) const ALICE: Owner = Owner { token: Token::new([0xaa; 16]), pid: 4711, thread: 7 };
pub(super) const BOB: Owner = Owner { token: Token::new([0xbb; 16]), pid: 4712, thread: 8 };

/// One server, its recording, and two contenders.
pub(super) struct Stage<D> {
    monitor: Monitor,
    operator: Connection,
    alice: D,
    bob: D,
    _server: Server,
}

impl<D: Driver> Stage<D> {
    pub(super) fn open() -> Self {
        let server = Server::start();
        let (alice, bob) = (D::connect(&server), D::connect(&server));
        Self { monitor: Monitor::on(&server), operator: server.connect(), alice, bob, _server: server }
    }

    /// What is said on the wire in the scene's action, and how that ends.
    pub(super) fn play(&mut self, lock: &dyn Locker, scene: Scene) -> String {
        self.operate(&cmd("FLUSHALL"));
        let hold = self.set(lock, scene.given);
        let before = self.contents();
        self.monitor.skip();
        let ending = self.act(lock, scene, hold.as_ref());
        let said = telling::wire(&self.monitor.take());
        let change = telling::change(&before, &self.contents());
        format!("{said} => {ending}{change}")
    }

    /// Brings about what is given; what Alice has won, if she has.
    fn set(&mut self, lock: &dyn Locker, given: Given) -> Option<Hold> {
        match given {
            Given::NoKey => None,
            Given::Junk => {
                self.operate(cmd("SET").arg(lock.key().as_bytes()).arg("junk"));
                None
            }
            Given::AliceHolds => Some(self.alice_wins(lock)),
            Given::NoTtl => {
                let hold = self.alice_wins(lock);
                self.for_keys_with_ttl("PERSIST");
                Some(hold)
            }
            Given::TtlOver => {
                let hold = self.alice_wins(lock);
                self.for_keys_with_ttl("DEL");
                Some(hold)
            }
            Given::BobOvertook => {
                let hold = self.set(lock, Given::TtlOver);
                if !self.bob_wins(lock) {
                    self.operate(&cmd("FLUSHALL"));
                    assert!(self.bob_wins(lock), "nobody holds it, so Bob wins");
                }
                hold
            }
        }
    }

    /// The scene's action, and how it ends.
    fn act(&mut self, lock: &dyn Locker, scene: Scene, hold: Option<&Hold>) -> String {
        let lock = &at(lock, scene.after);
        let won = || hold.expect("Alice has won in the scenes where she goes on");
        match scene.action {
            Action::AliceAcquires => telling::ending(self.alice.acquire(lock, &ALICE), telling::acquired),
            Action::BobAcquires => telling::ending(self.bob.acquire(lock, &BOB), telling::acquired),
            Action::AliceReleases => telling::ending(self.alice.release(lock, won()), telling::released),
            Action::AliceExtends => telling::ending(self.alice.extend(lock, won()), telling::extended),
            Action::AliceLooks => telling::ending(self.alice.standing(lock, won()), telling::standing),
        }
    }

    fn alice_wins(&mut self, lock: &dyn Locker) -> Hold {
        match self.alice.acquire(&at(lock, Duration::ZERO), &ALICE) {
            Ok(Acquired::Won(hold)) => hold,
            other => panic!("nobody holds it, so Alice wins, but: {other:?}"),
        }
    }

    fn bob_wins(&mut self, lock: &dyn Locker) -> bool {
        matches!(self.bob.acquire(&at(lock, Duration::from_secs(99)), &BOB), Ok(Acquired::Won(_)))
    }

    fn for_keys_with_ttl(&mut self, verb: &str) {
        for key in self.contents().into_keys() {
            let ttl_ms: i64 = cmd("PTTL").arg(&key).query(&mut self.operator).expect("the operator may look");
            if ttl_ms >= 0 {
                self.operate(cmd(verb).arg(&key));
            }
        }
    }

    /// All keys, with their values as Redis serialises them.
    fn contents(&mut self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let keys: Vec<Vec<u8>> = cmd("KEYS").arg("*").query(&mut self.operator).expect("the operator may look");
        let dump = |key: Vec<u8>| {
            let value = cmd("DUMP").arg(&key).query(&mut self.operator).expect("the operator may look");
            (key, value)
        };
        keys.into_iter().map(dump).collect()
    }

    fn operate(&mut self, command: &Cmd) {
        command.exec(&mut self.operator).expect("the operator may do everything");
    }
}

/// The lock, as it behaves that long after Alice came.
fn at(lock: &dyn Locker, after: Duration) -> Elsewhen<'_> {
    Elsewhen { lock, wall: ALICE_COMES.saturating_add(after) }
}
