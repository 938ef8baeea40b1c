//! Both drivers behind one blocking trait, so that a run is written once.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lockshift::connect::{self, Server};
use lockshift::driver::{Answer, Attempt, Error, Loss, Renewal, Wait, aio, blocking};
use lockshift::lock::{Locker, Released};
use redis::Client;
use tokio::runtime::{Builder, Runtime};

/// How long a client waits for a reply: less than any lease here.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(250);

/// A driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Driver {
    Blocking,
    Tokio,
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Blocking => "blocking",
            Self::Tokio => "tokio",
        })
    }
}

/// What a client connects to.
#[derive(Clone)]
pub(crate) enum Destination {
    /// One server, a cluster, or the master that sentinels name.
    Server(Server),
    /// Several independent masters.
    Masters(Vec<Client>),
}

impl Destination {
    /// What these addresses name.
    pub(crate) fn to(addresses: &[String]) -> Self {
        let server = Server::at(addresses).expect("the addresses are well formed");
        Self::Server(server.connecting_within(TIMEOUT).answering_within(TIMEOUT))
    }
}

/// A lock of either driver.
pub(crate) trait Lock: Send {
    fn acquire(&self, wait: &Wait) -> Result<Attempt<Box<dyn Held>>, Error>;
}

/// A held lock of either driver. Dropping it drops the guard.
pub(crate) trait Held: Send {
    fn lost(&self) -> Option<Loss>;
    fn left(&self) -> Duration;
    fn renew(&mut self) -> Result<(), Error>;
    fn release(self: Box<Self>) -> Result<Answer<Released>, Error>;
}

impl Driver {
    pub(crate) const BOTH: [Self; 2] = [Self::Blocking, Self::Tokio];

    /// A lock over a connection of its own, which is opened when it is first needed.
    pub(crate) fn lock(self, destination: &Destination, locker: Arc<dyn Locker>) -> Box<dyn Lock> {
        match (self, destination) {
            (Self::Blocking, Destination::Server(server)) => {
                Box::new(blocking::Lock::new(connect::blocking::Connection::to(server), locker))
            }
            (Self::Tokio, Destination::Server(server)) => {
                Box::new(aio::Lock::on_own_connection(connect::aio::Connection::to(server), locker))
            }
            (Self::Blocking, Destination::Masters(clients)) => {
                Box::new(blocking::Lock::new(blocking::Masters::new(clients.clone(), TIMEOUT), locker))
            }
            (Self::Tokio, Destination::Masters(clients)) => {
                Box::new(aio::Lock::new(aio::Masters::new(clients.clone(), TIMEOUT), locker))
            }
        }
    }
}

/// A listener for release notifications, of either driver.
pub(crate) enum Listener {
    Blocking(blocking::ReleaseListener),
    Tokio(aio::ReleaseListener),
}

impl Listener {
    /// A listener of this driver.
    pub(crate) fn on(driver: Driver, server: &Client) -> Self {
        match driver {
            Driver::Blocking => {
                Self::Blocking(blocking::ReleaseListener::new(server.clone()).expect("the system has random bits"))
            }
            Driver::Tokio => Self::Tokio(aio::ReleaseListener::new(server.clone())),
        }
    }

    /// A lock over a connection of its own to this server, whose waiters are notified of releases.
    pub(crate) fn lock(&self, server: &Server, locker: Arc<dyn Locker>) -> Box<dyn Lock> {
        match self {
            Self::Blocking(listener) => {
                Box::new(blocking::Lock::new(connect::blocking::Connection::to(server), locker).notified_by(listener))
            }
            Self::Tokio(listener) => {
                let connection = connect::aio::Connection::to(server);
                Box::new(aio::Lock::on_own_connection(connection, locker).notified_by(listener))
            }
        }
    }
}

/// The runtime of all tasks.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime"))
}

fn boxed<G: Held + 'static>(attempt: Attempt<G>) -> Attempt<Box<dyn Held>> {
    match attempt {
        Attempt::Won(guard) => Attempt::Won(Box::new(guard)),
        Attempt::Held(held) => Attempt::Held(held),
        Attempt::TooLate => Attempt::TooLate,
        Attempt::Unknown(unknown) => Attempt::Unknown(unknown),
    }
}

impl<C: blocking::Carrier + Send + 'static> Lock for blocking::Lock<C> {
    fn acquire(&self, wait: &Wait) -> Result<Attempt<Box<dyn Held>>, Error> {
        self.acquire(wait).map(boxed)
    }
}

impl<C: blocking::Carrier + Send + 'static> Held for blocking::Guard<C> {
    fn lost(&self) -> Option<Loss> {
        self.lost()
    }

    fn left(&self) -> Duration {
        self.remaining()
    }

    fn renew(&mut self) -> Result<(), Error> {
        self.renew(Renewal::every_third())
    }

    fn release(self: Box<Self>) -> Result<Answer<Released>, Error> {
        (*self).release()
    }
}

impl<C: aio::Carrier + Clone + Sync + 'static> Lock for aio::Lock<C> {
    fn acquire(&self, wait: &Wait) -> Result<Attempt<Box<dyn Held>>, Error> {
        runtime().block_on(self.acquire(wait)).map(boxed)
    }
}

impl<C: aio::Carrier + Sync + 'static> Held for aio::Guard<C> {
    fn lost(&self) -> Option<Loss> {
        self.lost()
    }

    fn left(&self) -> Duration {
        self.remaining()
    }

    fn renew(&mut self) -> Result<(), Error> {
        runtime().block_on(self.renew(Renewal::every_third()));
        Ok(())
    }

    fn release(self: Box<Self>) -> Result<Answer<Released>, Error> {
        runtime().block_on((*self).release())
    }
}
