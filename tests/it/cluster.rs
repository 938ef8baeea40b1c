//! Every lock on a Redis Cluster, through both drivers; and all keys of one lock in one slot, however it is called.

use std::cell::RefCell;

use lockshift::connect::Server as Target;
use lockshift::wire::Key;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use redis::cmd;

use crate::life::{Over, lives};
use crate::server::{Cluster, Options, Server};

/// One cluster for all locks: it takes some seconds until it is one.
#[test]
fn every_lock_lives_on_a_cluster_through_both_drivers() {
    let cluster = Cluster::start();
    let target: Target = format!("{}?cluster=true", cluster.masters()[0].url()).parse().expect("it is well formed");
    let threads = Over::threads(|| target.connect().expect("the cluster is up"));
    assert_eq!(lives(&threads, "threads", |locker| locker.needs_own_connection()), Vec::<String>::new());
    assert!(cluster.keys().iter().all(|keys| *keys < 20), "released: {:?}", cluster.keys());
    #[cfg(feature = "tokio")]
    {
        let tasks = Over::tasks(async || target.connect_async().await.expect("the cluster is up"));
        assert_eq!(lives(&tasks, "tasks", |locker| locker.needs_own_connection()), Vec::<String>::new());
    }
}

/// A name with braces in odd places, often.
fn name() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(b'{'), Just(b'}'), Just(b'a'), any::<u8>()], 0..12)
}

#[test]
fn a_sibling_is_in_the_slot_that_the_server_says() {
    let node = Server::with(&Options::new().line("cluster-enabled yes"));
    let connection = RefCell::new(node.connect());
    let slot = |key: &Key| -> u16 {
        cmd("CLUSTER").arg("KEYSLOT").arg(key.as_bytes()).query(&mut *connection.borrow_mut()).expect("it is up")
    };
    TestRunner::default()
        .run(&(name(), "[a-z{}:]{0,8}"), |(name, suffix)| {
            let key = Key::new(name);
            prop_assert_eq!(key.slot(), slot(&key), "{}", key);
            let sibling = key.sibling(&suffix);
            prop_assert_eq!(slot(&sibling), slot(&key), "{} of {}", sibling, key);
            Ok(())
        })
        .unwrap();
}
