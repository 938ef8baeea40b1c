//! The contract: every protocol, through every driver, on a real server, says on the wire exactly what its original says.
//!
//! What is expected stands in tables of text ([`table`]), a line for each protocol and scene; what happens in a scene is
//! said in [`scene`]; [`stage`] plays it at a time of its own ([`elsewhen`]), so that every stamp is a literal.

mod elsewhen;
mod modern;
mod scene;
mod stage;
mod table;
mod telling;

use std::fmt::Write;
use std::sync::Arc;

use lockshift::lock::Locker;

use crate::drivers::{self, Driver};
use scene::SCENES;
use stage::{Cast, Stage};
use table::Table;

/// A protocol under its name in the tables, as both contenders speak it.
fn protocol(name: &str, lock: impl Locker + 'static) -> (String, Cast) {
    let lock: Arc<dyn Locker> = Arc::new(lock);
    (name.to_owned(), Cast { alice: Arc::clone(&lock), bob: lock })
}

/// Plays every scene of every protocol through every driver, and panics with all that went otherwise than `table` says.
fn holds(table: &str, protocols: &[(String, Cast)]) {
    let table = Table::read(table);
    table.assert_tells_only_of(protocols.iter().map(|(name, _)| name.as_str()));
    let mut broken = through::<drivers::Blocking>(&table, protocols);
    #[cfg(feature = "tokio")]
    broken.push_str(&through::<drivers::Tokio>(&table, protocols));
    assert!(broken.is_empty(), "the contract is broken:\n{broken}");
}

/// What goes otherwise than the table says through the driver `D`.
fn through<D: Driver>(table: &Table, protocols: &[(String, Cast)]) -> String {
    let mut stage = Stage::<D>::open();
    let mut broken = String::new();
    for (name, cast) in protocols {
        for scene in SCENES {
            let expected = table.expectation(name, scene.name);
            let played = stage.play(cast, scene);
            if played != expected {
                let title = format!("{name}, {}, through the {} driver", scene.name, D::NAME);
                writeln!(broken, "{title}\n  expected  {expected}\n  played    {played}").expect("a String");
            }
        }
    }
    broken
}
