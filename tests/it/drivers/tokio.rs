//! The driver for tasks.

use std::marker::PhantomData;
use std::time::Duration;

use lockshift::driver::aio::{Guard, Lock};
use lockshift::driver::{Answer, Attempt, Error};
use lockshift::lock::{Extended, Locker, Ownership, Released};
use redis::Client;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use tokio::runtime::{Builder, Runtime};

use super::Driver;

/// `driver::aio` over connections of the kind `C`, on a runtime of its own.
pub(crate) struct Tasks<C> {
    runtime: Runtime,
    connections: PhantomData<C>,
}

/// How a connection of this kind comes about.
pub(crate) trait Connect: ConnectionLike + Clone + Send + 'static {
    const NAME: &'static str;

    fn connect(client: &Client) -> impl Future<Output = Self>;
}

impl Connect for MultiplexedConnection {
    const NAME: &'static str = "tokio";

    async fn connect(client: &Client) -> Self {
        client.get_multiplexed_async_connection().await.expect("the server is up")
    }
}

/// A manager connects anew when its connection has broken.
impl Connect for ConnectionManager {
    const NAME: &'static str = "tokio, connecting anew";

    async fn connect(client: &Client) -> Self {
        let at_once = ConnectionManagerConfig::new().set_min_delay(Duration::from_millis(1));
        Self::new_with_config(client.clone(), at_once).await.expect("the server is up")
    }
}

impl<C> Default for Tasks<C> {
    fn default() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime of this thread");
        Self { runtime, connections: PhantomData }
    }
}

impl<C: Connect> Driver for Tasks<C> {
    const NAME: &'static str = C::NAME;
    type Lock = Lock<C>;
    type Guard = Guard<C>;

    fn lock(&self, client: &Client, locker: impl Locker + 'static) -> Self::Lock {
        let connection = self.runtime.block_on(C::connect(client));
        if locker.needs_own_connection() {
            Lock::on_own_connection(connection, locker)
        } else {
            Lock::new(connection, locker)
        }
    }

    fn try_acquire(&self, lock: &Self::Lock) -> Result<Attempt<Self::Guard>, Error> {
        self.runtime.block_on(lock.try_acquire())
    }

    fn release(&self, guard: Self::Guard) -> Result<Answer<Released>, Error> {
        self.runtime.block_on(guard.release())
    }

    fn abandon(&self, guard: Self::Guard) {
        self.runtime.block_on(guard.abandon());
    }

    fn extend(&self, guard: &Self::Guard) -> Result<Answer<Extended>, Error> {
        self.runtime.block_on(guard.extend())
    }

    fn ownership(&self, guard: &Self::Guard) -> Result<Ownership, Error> {
        self.runtime.block_on(guard.ownership())
    }
}
