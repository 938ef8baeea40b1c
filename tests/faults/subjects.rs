//! Who is put to the test: every lock of the catalogue, with what it is by nature.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use lockshift::lock::{Lease, Locker, Mode};
use lockshift::protocols::Choice;
use lockshift::wire::Key;

use crate::nature::{Nature, conversation, lease};
use crate::protocols::every;

/// A lock of the catalogue.
#[derive(Debug)]
pub(crate) struct Subject {
    /// As the command calls it.
    pub(crate) name: String,
    /// By what name the clients call it that its holder excludes: the same, but for a reader.
    against: String,
    /// By what name it is on one server.
    alone: String,
    nature: OnceLock<Nature>,
}

/// What the first is of several locks of the same nature whose clients send the same commands.
pub(crate) fn is_first_of_its_kind(subject: &Subject) -> bool {
    static FIRST: OnceLock<BTreeSet<&str>> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let mut kinds = BTreeSet::new();
        let is_new = |subject: &&Subject| {
            let locker = choice(&subject.alone).locker("k".into(), lease());
            kinds.insert((conversation(&locker), *subject.nature(), locker.needs_own_connection()))
        };
        subjects().iter().filter(is_new).map(|subject| subject.name.as_str()).collect()
    });
    first.contains(subject.name.as_str())
}

/// All of them; of read/write locks, both sides.
pub(crate) fn subjects() -> &'static [Subject] {
    static SUBJECTS: OnceLock<Vec<Subject>> = OnceLock::new();
    SUBJECTS.get_or_init(|| {
        let subject = |(name, locker): (String, Arc<dyn Locker>)| {
            let writer = name.split(',').next().unwrap_or_default().to_owned();
            let against = if locker.mode() == Mode::Shared { writer } else { name.clone() };
            Subject { alone: name.clone(), name, against, nature: OnceLock::new() }
        };
        every(&Key::from("k"), lease()).into_iter().map(subject).collect()
    })
}

/// Redlock, on this many servers.
pub(crate) fn redlock(servers: usize) -> Subject {
    let alone = choice("redlock");
    let name = alone.on_servers(servers).expect("it may be on several").to_string();
    Subject { against: name.clone(), name, alone: alone.to_string(), nature: OnceLock::new() }
}

impl Subject {
    /// The lock on this key.
    pub(crate) fn locker(&self, key: &str) -> Arc<dyn Locker> {
        self.locker_for(key, lease())
    }

    /// The lock that excludes it, on this key.
    pub(crate) fn against(&self, key: &str) -> Arc<dyn Locker> {
        self.against_for(key, lease())
    }

    /// The lock on this key, for this lease.
    pub(crate) fn locker_for(&self, key: &str, lease: Lease) -> Arc<dyn Locker> {
        choice(&self.name).locker(key.into(), lease)
    }

    /// The lock that excludes it, on this key, for this lease.
    pub(crate) fn against_for(&self, key: &str, lease: Lease) -> Arc<dyn Locker> {
        choice(&self.against).locker(key.into(), lease)
    }

    /// What it is by nature.
    pub(crate) fn nature(&self) -> &Nature {
        self.nature.get_or_init(|| {
            let one = choice(&self.alone).locker("k".into(), lease());
            let is_alone = self.alone == self.name;
            let others = if is_alone { self.against("k") } else { Arc::clone(&one) };
            Nature::between(&one, &others)
        })
    }
}

fn choice(name: &str) -> Choice {
    name.parse().expect("the catalogue knows its own names")
}
