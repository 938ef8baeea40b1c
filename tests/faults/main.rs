//! The fault suite: every lock of the catalogue, through both drivers, on real servers, while something fails between the
//! protocol, the client library, the kernel and the caller. The explorer does not model these places.
//!
//! ```text
//! cargo test --all-features --test faults                          part of the suite, as `./test` runs it
//! LOCKSHIFT_FAULTS=all cargo test --all-features --test faults     the whole suite; writes docs/faults.md
//! ```
//!
//! A run combines a lock, a driver, a fault, and the command of one client at which the fault strikes. That client
//! acquires the lock, holds it for a while and releases it; two other clients compete for it. A holder asks its guard
//! again and again whether it still holds, and the witness records each answer with its time.
//!
//! The runs:
//!
//! - [`tested_locks`]: every lock of the catalogue.
//! - [`drivers`]: both drivers behind one trait.
//! - [`client`]: acquires, holds, releases.
//! - [`child`]: a client in its own process.
//! - [`faults`]: the faults that strike at a command; a row each.
//! - [`run`]: one run.
//! - [`several_servers`]: runs on a cluster, behind Sentinel, and on independent masters.
//! - [`dropped_futures`]: futures dropped at each await point.
//! - [`woken_waiter`]: a waiter that is cut off from the server when it is woken.
//! - [`many_waiters`]: thousands of waiters for one lock.
//! - [`suite`]: all of them as trials.
//!
//! The judges:
//!
//! - [`witness`]: which client held when, on a clock that no fault touches.
//! - [`protocol_traits`]: what a protocol does without faults, observed on the simulated server.
//! - [`promise`]: what a lock with these traits promises under a fault.
//! - [`judge`]: compares intervals, and what happened with what is promised.
//! - [`history`]: whether the recorded history is possible for a lock at all (linearizability).
//! - [`table`], [`page`]: all runs counted, and `docs/faults.md`.
//!
//! # Does the suite find bugs?
//!
//! It found these, and finds them again when they are reintroduced (`tests/faults/reintroduce` does so with the patches
//! in `tests/faults/bugs`):
//!
//! | bug | where | trials that fail |
//! |---|---|---|
//! | a guard that knows that its lock is lost sends a release that does not compare the owner | `HeldLock` of either driver | `holder_stands_still_*`, `process_stopped_past_its_lease` |
//! | a command is sent again when its reply is late | `connect::blocking::Connection::request` | `blocking::on_a_cluster` |
//! | a lease is measured on a clock that stops during suspend | `Instant::now` in `driver::host::mono` | `machine_suspended_past_the_lease` |
//! | a writer that gives up leaves its mark, which keeps readers out | `ReadWriteLock::withdraw` | `wait_dropped_at_each_await` (whole suite) |

mod bugs;
mod child;
mod client;
mod drivers;
mod dropped_futures;
mod faults;
mod history;
mod judge;
mod many_waiters;
mod page;
mod promise;
mod protocol_traits;
mod run;
mod several_servers;
mod suite;
mod table;
mod tested_locks;
mod witness;
mod woken_waiter;

/// Support code shared with the integration tests.
#[path = "../it"]
#[allow(dead_code, unused_imports, reason = "they use the rest of it")]
mod it {
    pub(crate) mod patience;
    pub(crate) mod protocols;
    pub(crate) mod proxy;
    pub(crate) mod server;
}

use std::process::ExitCode;

use it::{patience, protocols, proxy, server};

fn main() -> ExitCode {
    child::serve().unwrap_or_else(suite::run)
}
