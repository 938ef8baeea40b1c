//! The fault suite: every lock of the catalogue, through both drivers, on real servers, while something breaks between the
//! protocol, the client library, the kernel and the caller. The explorer cannot look there.
//!
//! ```text
//! cargo test --all-features --test faults                          a share of it, as `./test` runs it
//! LOCKSHIFT_FAULTS=all cargo test --all-features --test faults     all of it, and docs/faults.md is written anew
//! ```
//!
//! A run is a lock, a driver, a fault, and the command of one client at which the fault strikes. That client acquires,
//! stays inside and releases; two others want the lock as well. Nothing in a run waits for a moment to come: a client
//! goes by its guard, again and again, and the witness notes each time that it did.
//!
//! What they stand on:
//!
//! - [`subjects`]: every lock of the catalogue.
//! - [`drivers`]: both drivers behind one face.
//! - [`client`]: acquires, stays inside, releases.
//! - [`child`]: a client in a process of its own.
//! - [`strikes`]: the faults that strike at a command, a row each.
//! - [`life`]: a run.
//! - [`several`]: runs on a cluster and on independent masters.
//! - [`dropped`]: futures dropped at each await point, and clients that give up.
//! - [`crowd`]: many waiters.
//! - [`suite`]: all of them as trials.
//!
//! What judges them:
//!
//! - [`witness`]: who was inside when, on a clock that no fault touches.
//! - [`nature`]: what a protocol does by itself, observed on the simulated server.
//! - [`promise`]: what a lock of this nature promises under a fault.
//! - [`judge`]: what a run has shown; by intervals, and against the promise.
//! - [`history`]: whether a lock can have such a history at all.
//! - [`table`]: all runs, counted, and `docs/faults.md`.
//!
//! # Whether it would see a bug
//!
//! It has found these, and finds them again when they are put back:
//!
//! | to break | where | the trials that fail |
//! |---|---|---|
//! | a guard that knows that its lock is lost sends a release that does not compare the owner | `HeldLock` of either driver | `holder_stands_still_*`, `process_stopped_past_its_lease` |
//! | a command is sent again when its reply is late | `connect::blocking::Connection::request` | `blocking::on_a_cluster` |
//! | a lease is counted on a clock that stands still in suspend | `Instant::now` in `driver::host::mono` | `machine_suspended_past_the_lease` |
//! | a writer that gives up leaves its mark, and keeps readers out | `ReadWriteLock::withdraw` | `wait_dropped_at_each_await` (all of it) |

mod bugs;
mod child;
mod client;
mod crowd;
mod drivers;
mod dropped;
mod history;
mod judge;
mod life;
mod nature;
mod page;
mod promise;
mod several;
mod strikes;
mod subjects;
mod suite;
mod table;
mod witness;
mod woken;

/// What the other tests stand on as well.
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
