//! The connection breaks in the middle of an operation: before, within or after each of its commands. The connections
//! are of the kind that connects again, so that what a broken try has left can be taken back.

use std::sync::Arc;

use lockshift::driver::{Answer, Attempt};
use lockshift::lock::{Locker, Owner, Released, Token};
use lockshift::wire::Transcript;
use redis::{Connection, cmd};

use super::{assert_helps, assert_names, key, lease};
use crate::drivers::Driver;
use crate::protocols::{Named, every};
use crate::proxy::{Cut, Proxy};
use crate::server::{Server, contents};

mod blocking {
    use crate::drivers::BlockingAnew;

    #[test]
    fn a_try_that_breaks_leaves_no_lock_behind() {
        super::a_try_that_breaks_leaves_no_lock_behind::<BlockingAnew>();
    }

    #[test]
    fn a_release_that_breaks_is_repeated_or_says_so() {
        super::a_release_that_breaks_is_repeated_or_says_so::<BlockingAnew>();
    }
}

#[cfg(feature = "tokio")]
mod tokio {
    use crate::drivers::TokioAnew;

    #[test]
    fn a_try_that_breaks_leaves_no_lock_behind() {
        super::a_try_that_breaks_leaves_no_lock_behind::<TokioAnew>();
    }

    #[test]
    fn a_release_that_breaks_is_repeated_or_says_so() {
        super::a_release_that_breaks_is_repeated_or_says_so::<TokioAnew>();
    }
}

fn a_try_that_breaks_leaves_no_lock_behind<D: Driver>() {
    let driver = D::default();
    let mut world = World::open();
    for protocol in connecting_anew() {
        let (name, locker) = &protocol;
        world.cut_everywhere(|world| {
            let lock = driver.lock(&world.proxy.client(), Arc::clone(locker));
            world.cut_from_now_on();
            let attempt = driver.try_acquire(&lock);
            let was_cut = world.was_cut();
            match attempt {
                Ok(Attempt::Won(guard)) => {
                    assert!(!was_cut, "{name}: a winner learns it from the reply");
                    driver.release(guard).map(drop).expect("nothing is cut any more");
                }
                Ok(Attempt::Unknown(unknown)) => {
                    assert_names(&protocol, &unknown);
                    assert!(world.is_free() || !disclaims(&**locker), "{name} takes back what it may have won");
                }
                Ok(other) => panic!("{name}: the lock is free, but: {other:?}"),
                Err(error) => {
                    assert_helps(&protocol, &error);
                    assert!(world.is_free(), "{name}: after an error nothing is left");
                }
            }
            was_cut
        });
    }
}

fn a_release_that_breaks_is_repeated_or_says_so<D: Driver>() {
    let driver = D::default();
    let mut world = World::open();
    for protocol in connecting_anew() {
        let (name, locker) = &protocol;
        world.cut_everywhere(|world| {
            let lock = driver.lock(&world.proxy.client(), Arc::clone(locker));
            let Ok(Attempt::Won(guard)) = driver.try_acquire(&lock) else { panic!("{name}: the lock is free") };
            world.cut_from_now_on();
            let released = driver.release(guard);
            let was_cut = world.was_cut();
            match released {
                Ok(Answer::Known(released)) => {
                    let holds_true = released == Released::LeftAlone || world.is_free();
                    assert!(!was_cut || holds_true, "{name}: the reply was lost, but {released:?}");
                }
                Ok(Answer::Unknown(unknown)) => {
                    assert_names(&protocol, &unknown);
                    assert!(world.is_free() || !locker.release_is_repeatable(), "{name}: it was repeated");
                }
                Err(error) => assert_helps(&protocol, &error),
            }
            was_cut
        });
    }
}

/// A server, the wire to it, and where that is to break.
struct World {
    operator: Connection,
    proxy: Proxy,
    skip: usize,
    cut: Cut,
    _server: Server,
}

impl World {
    fn open() -> Self {
        let server = Server::start();
        let (operator, proxy) = (server.connect(), Proxy::before(&server));
        Self { operator, proxy, skip: 0, cut: Cut::Before, _server: server }
    }

    /// Plays the story once for each of its commands and each way to cut there, until it says that there was no such
    /// command to be cut.
    fn cut_everywhere(&mut self, mut story: impl FnMut(&mut Self) -> bool) {
        for cut in Cut::ALL {
            self.cut = cut;
            self.skip = 0;
            loop {
                cmd("FLUSHALL").exec(&mut self.operator).expect("the operator does not use the wire");
                if !story(self) {
                    break;
                }
                self.skip += 1;
            }
        }
    }

    fn cut_from_now_on(&self) {
        self.proxy.cut(self.skip, self.cut);
    }

    fn was_cut(&self) -> bool {
        !self.proxy.spare()
    }

    /// Whether nothing is left: a counter of fences is no lock, and only ever grows.
    fn is_free(&mut self) -> bool {
        contents(&mut self.operator).keys().all(|name| name.ends_with(b":fence"))
    }
}

/// The protocols that bear a new connection between two of their commands: not those of WATCH and MULTI.
fn connecting_anew() -> impl Iterator<Item = Named> {
    every(&key(), lease()).into_iter().filter(|(_, locker)| !locker.needs_own_connection())
}

/// Whether the protocol can tell its own lock from another's, and so take it back unseen.
fn disclaims(locker: &dyn Locker) -> bool {
    let owner = Owner::new(Token::new([1; 16]), 1, 1);
    locker.disclaim(&owner, &mut Transcript::new()).is_err()
}
