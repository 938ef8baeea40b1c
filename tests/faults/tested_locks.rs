//! The tested locks: every lock of the catalogue, with the traits of its protocol.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use lockshift::lock::{Lease, Locker, Mode};
use lockshift::protocols::Choice;
use lockshift::wire::Key;

use crate::protocol_traits::{ProtocolTraits, conversation, lease};
use crate::protocols::every;

/// A lock of the catalogue.
#[derive(Debug)]
pub(crate) struct TestedLock {
    /// Its name on the command line.
    pub(crate) name: String,
    /// The name of the lock that its holder excludes: the same, except for readers.
    rival: String,
    /// Its name on a single server.
    on_one_server: String,
    traits: OnceLock<ProtocolTraits>,
}

/// Whether it is the first of several locks with the same traits whose clients send the same commands.
pub(crate) fn is_first_of_its_kind(tested: &TestedLock) -> bool {
    static FIRST: OnceLock<BTreeSet<&str>> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let mut kinds = BTreeSet::new();
        let is_new = |tested: &&TestedLock| {
            let locker = choice(&tested.on_one_server).locker("k".into(), lease());
            kinds.insert((conversation(&locker), *tested.traits(), locker.needs_own_connection()))
        };
        tested_locks().iter().filter(is_new).map(|tested| tested.name.as_str()).collect()
    });
    first.contains(tested.name.as_str())
}

/// All of them; of read/write locks, both sides.
pub(crate) fn tested_locks() -> &'static [TestedLock] {
    static SUBJECTS: OnceLock<Vec<TestedLock>> = OnceLock::new();
    SUBJECTS.get_or_init(|| {
        let tested = |(name, locker): (String, Arc<dyn Locker>)| {
            let writer = name.split(',').next().unwrap_or_default().to_owned();
            let rival = if locker.mode() == Mode::Shared { writer } else { name.clone() };
            TestedLock { on_one_server: name.clone(), name, rival, traits: OnceLock::new() }
        };
        every(&Key::from("k"), lease()).into_iter().map(tested).collect()
    })
}

/// Redlock, on this many servers.
pub(crate) fn redlock(servers: usize) -> TestedLock {
    let on_one_server = choice("redlock");
    let name = on_one_server.on_servers(servers).expect("it may be on several").to_string();
    TestedLock { rival: name.clone(), name, on_one_server: on_one_server.to_string(), traits: OnceLock::new() }
}

impl TestedLock {
    /// The lock on this key.
    pub(crate) fn locker(&self, key: &str) -> Arc<dyn Locker> {
        self.locker_for(key, lease())
    }

    /// The lock that excludes it, on this key.
    pub(crate) fn rival(&self, key: &str) -> Arc<dyn Locker> {
        self.rival_for(key, lease())
    }

    /// The lock on this key, for this lease.
    pub(crate) fn locker_for(&self, key: &str, lease: Lease) -> Arc<dyn Locker> {
        choice(&self.name).locker(key.into(), lease)
    }

    /// The lock that excludes it, on this key, for this lease.
    pub(crate) fn rival_for(&self, key: &str, lease: Lease) -> Arc<dyn Locker> {
        choice(&self.rival).locker(key.into(), lease)
    }

    /// The traits of its protocol.
    pub(crate) fn traits(&self) -> &ProtocolTraits {
        self.traits.get_or_init(|| {
            let one = choice(&self.on_one_server).locker("k".into(), lease());
            let is_alone = self.on_one_server == self.name;
            let others = if is_alone { self.rival("k") } else { Arc::clone(&one) };
            ProtocolTraits::between(&one, &others)
        })
    }
}

fn choice(name: &str) -> Choice {
    name.parse().expect("the catalogue knows its own names")
}
