//! The contract: every protocol, through every driver, on a real server, says on the wire exactly what its original says.
//!
//! What is expected stands in tables of text ([`table`]), a line for each protocol and scene; [`scene`] lists
//! what happens in each scene; [`stage`] plays it at a time of its own ([`timed_locker`]), so that every stamp is a literal.

mod bridge;
mod legacy;
mod modern;
mod redisson;
mod scene;
mod stage;
mod table;
mod timed_locker;
mod wording;

use std::fmt::Write;
use std::sync::Arc;

use lockshift::lock::{Locker, Mode};
use lockshift::protocols::{self, Protocol};

use crate::drivers::{self, Driver};
use crate::server::Options;
use scene::SCENES;
use stage::{Again, Cast, Clock, Stage};
use table::Table;

/// A name in the tables, and the protocols of the two contenders.
type Row = (String, Cast);

/// Plays every scene of every row through every driver; panics with every difference from `table`.
fn holds(table: &str, rows: &[Row]) {
    holds_on(&Options::new(), table, rows);
}

/// The same on a server with these options.
fn holds_on(options: &Options, table: &str, rows: &[Row]) {
    let table = Table::read(table);
    table.assert_names_only(rows.iter().map(|(name, _)| name.as_str()));
    let broken = [
        through::<drivers::Blocking>(options, &table, rows),
        #[cfg(feature = "tokio")]
        through::<drivers::Tokio>(options, &table, rows),
    ];
    let broken = broken.concat();
    assert!(broken.is_empty(), "the contract is broken:\n{broken}");
}

/// The differences from the table through the driver `D`.
fn through<D: Driver>(options: &Options, table: &Table, rows: &[Row]) -> String {
    let mut stage = Stage::<D>::open(options);
    let mut broken = String::new();
    for (name, cast) in rows {
        for scene in SCENES.into_iter().filter(|scene| cast.plays(*scene)) {
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

#[test]
fn every_protocol_has_its_expectations() {
    let tables = [legacy::TABLES, modern::TABLES, bridge::TABLES].concat();
    let tables: Vec<_> = tables.into_iter().map(Table::read).collect();
    let is_named = |name: &str| tables.iter().flat_map(Table::names).any(|row| row.split(',').next() == Some(name));
    let missing: Vec<_> = protocols::catalogue().map(Protocol::name).filter(|name| !is_named(name)).collect();
    assert!(missing.is_empty(), "no table has a row for {missing:?}");
}

/// The row of a protocol that both contenders run.
fn alike(name: &str, clock: Clock, locker: Arc<dyn Locker>) -> Row {
    (name.to_owned(), Cast { alice: Arc::clone(&locker), bob: locker, clock, again: Again::NothingNew })
}

/// The same row, in which Alice attempts again while she holds the lock.
fn again(again: Again, (name, cast): Row) -> Row {
    (name, Cast { again, ..cast })
}

/// The rows of a lock with two sides: readers among themselves, writers among themselves, and one after the other.
fn two_sided(name: &str, side: impl Fn(Mode) -> Arc<dyn Locker>) -> [Row; 4] {
    let (reader, writer) = (side(Mode::Shared), side(Mode::Exclusive));
    let row = |who: &str, alice: &Arc<dyn Locker>, bob: &Arc<dyn Locker>| {
        let cast =
            Cast { alice: Arc::clone(alice), bob: Arc::clone(bob), clock: Clock::Runs, again: Again::NothingNew };
        (format!("{name}, {who}"), cast)
    };
    [
        row("two readers", &reader, &reader),
        row("two writers", &writer, &writer),
        row("a reader, then a writer", &reader, &writer),
        row("a writer, then a reader", &writer, &reader),
    ]
}
