//! The old locks: a table for each chapter of the catalogue.

use std::sync::Arc;
use std::time::Duration;

use lockshift::legacy::{Lock, catalogue};
use lockshift::lock::Lease;
use lockshift::wire::Key;

use super::stage::Clock;
use super::table::Table;
use super::{alike, holds};

/// A test for each table, and the tables for the test that none is missing.
macro_rules! chapters {
    ($($chapter:ident),* $(,)?) => {
        pub(super) const TABLES: &[&str] = &[$(include_str!(concat!("legacy/", stringify!($chapter), ".txt"))),*];
        $(
            #[test]
            fn $chapter() {
                sends_what_its_originals_send(include_str!(concat!("legacy/", stringify!($chapter), ".txt")));
            }
        )*
    };
}

chapters! {
    redis_page, php_article, java_article, jedis_article, php, java, ruby, ruby_resque, python, node, csharp, go,
}

fn sends_what_its_originals_send(table: &str) {
    let lease = Lease::new(Duration::from_secs(10)).expect("ten seconds are a lease");
    let rows: Vec<_> = Table::read(table)
        .names()
        .map(|name| {
            let dialect = catalogue::find(name).unwrap_or_else(|| panic!("the catalogue has no {name}"));
            alike(name, Clock::Set, Arc::new(Lock::new(dialect, Key::from("k"), lease)))
        })
        .collect();
    holds(table, &rows);
}
