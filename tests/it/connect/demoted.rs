//! A failover behind one name: the server at the other end of an open connection refuses to write, as a replica, and the name
//! leads to the new master.

use std::time::Duration;

use lockshift::Locks;
use lockshift::driver::ErrorKind;
use lockshift::locks::AcquireError;
use redis::{InfoDict, cmd};

use crate::patience::until;
use crate::proxy::Proxy;
use crate::server::{Options, Server};

/// A master and its replica, and a proxy that leads to the master.
struct OneName {
    old: Server,
    new: Server,
    proxy: Proxy,
}

impl OneName {
    fn of_a_pair() -> Self {
        let old = Server::start();
        let new = Server::with(&Options::new().replica_of(&old));
        until("the replica is connected", || {
            let info: InfoDict = cmd("INFO").arg("replication").query(&mut new.connect()).ok()?;
            (info.get::<String>("master_link_status")? == "up").then_some(())
        });
        Self { proxy: Proxy::before(&old), old, new }
    }

    /// The two change places. Connections to the old master stay open, which REPLICAOF does not close.
    fn fail_over(&self) {
        until("the replica has the lock", || self.exists("held").then_some(()));
        cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut self.new.connect()).unwrap();
        let new = self.new.address();
        cmd("REPLICAOF").arg(new.ip().to_string()).arg(new.port()).exec(&mut self.old.connect()).unwrap();
        self.proxy.lead_to(&self.new);
    }

    fn exists(&self, key: &str) -> bool {
        cmd("EXISTS").arg(key).query(&mut self.new.connect()).unwrap()
    }
}

/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_thread_that_is_refused_by_a_replica_goes_to_the_new_master() {
    let name = OneName::of_a_pair();
    let locks = Locks::connect(&name.proxy.url()).unwrap();
    let held = locks.token("held", Duration::from_secs(3)).unwrap().try_acquire().unwrap().expect("it is free");
    name.fail_over();
    let lock = locks.token("acquired", Duration::from_secs(600)).unwrap();
    match lock.try_acquire() {
        Err(AcquireError::Failed(error)) => assert_eq!(error.kind(), ErrorKind::ReadOnly),
        other => panic!("its connection leads to a replica: {other:?}"),
    }
    lock.acquire_within(LONG).unwrap().release().unwrap();
    crate::patience::pause(Duration::from_secs(4));
    assert!(!held.is_lost() && name.exists("held"), "it is renewed on the new master");
    held.release().unwrap();
    assert!(!name.exists("held"));
}

#[cfg(feature = "tokio")]
#[test]
fn a_task_that_is_refused_by_a_replica_goes_to_the_new_master() {
    use lockshift::aio::Locks;

    let name = OneName::of_a_pair();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let locks = Locks::connect(&name.proxy.url()).await.unwrap();
        let held =
            locks.token("held", Duration::from_secs(3)).unwrap().try_acquire().await.unwrap().expect("it is free");
        name.fail_over();
        let lock = locks.token("acquired", Duration::from_secs(600)).unwrap();
        match lock.try_acquire().await {
            Err(AcquireError::Failed(error)) => assert_eq!(error.kind(), ErrorKind::ReadOnly),
            other => panic!("its connection leads to a replica: {other:?}"),
        }
        lock.acquire_within(LONG).await.unwrap().release().await.unwrap();
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert!(!held.is_lost() && name.exists("held"), "it is renewed on the new master");
        held.release().await.unwrap();
        assert!(!name.exists("held"));
    });
}
