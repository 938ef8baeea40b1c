//! Real foreign clients and lockshift on one key of one redis-server. The clients use the libraries of their communities.
//! Each test is a row: a client, a protocol that it speaks, and a scene.
//!
//! Parts:
//!
//! - [`roster`]: the clients, and which of our protocols each of them speaks.
//! - [`foreign`]: a client as a child process, and the requests that it answers.
//! - [`testbed`]: the one server and the clients that are running.
//! - [`ours`]: our side of a scene.
//! - [`content`]: what a key holds, read from a server and written to another.
//! - [`foreign_values`]: what every client writes, kept for the other clients to meet.
//! - [`prediction`]: how our protocol judges a content at a moment, run on a simulated server.
//! - [`wire`]: any command on a real server or a simulated one.
//! - [`clock`]: the wall clock, and how far a reading of it can be trusted.
//!
//! Tests:
//!
//! - [`scenes`]: a lock held by one side is refused to the other, and the release wakes its waiters; a lock that was
//!   released, has expired or was left by a crash can be acquired; an extension; bytes; contention; values of other protocols, from the
//!   matrix and from their real clients.
//! - [`masters`]: a Redlock of theirs and ours on three servers.
//! - [`packages`]: this project's packages in other languages write and judge the stamps of every dialect.
//! - [`scoped`]: their waiting and scoped forms, what these throw when the lock is lost, and the tests that each package has.
//! - [`proven`]: compares the results with the table in `docs/interop.md`, or writes it.
//!
//! `tests/interop/prepare` makes the clients ready; `./test` calls it. A client that is not ready fails its tests.

mod clock;
mod content;
mod foreign;
mod foreign_values;
mod masters;
mod ours;
mod packages;
mod prediction;
mod proven;
mod roster;
mod scenes;
mod scoped;
mod testbed;
mod wire;

/// Shared with the other integration tests.
#[path = "../it"]
#[allow(dead_code, unused_imports, reason = "they use the rest of it")]
mod it {
    pub(crate) mod golden;
    pub(crate) mod guard_process;
    pub(crate) mod monitor;
    pub(crate) mod patience;
    pub(crate) mod server;
}

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, run};

use it::{golden, guard_process, monitor, patience, server};
use testbed::Testbed;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The scenes mostly wait.
    arguments.test_threads = arguments.test_threads.or(Some(8));
    let testbed = Arc::new(Testbed::new());
    // The longest ones begin first: at the end, nothing would run beside them.
    let packages = scoped::trials(&testbed).chain(packages::trials(&testbed));
    let apart = masters::trials().chain(scenes::trials_apart(&testbed));
    let trials = packages.chain(apart).chain(scenes::trials(&testbed)).collect();
    let conclusion = run(&arguments, trials);
    // A run of some scenes renews the rows that it has played in whole, and compares nothing.
    let is_compared = conclusion.num_filtered_out == 0 || golden::is_renewed();
    if conclusion.has_failed() || arguments.list || !is_compared {
        return conclusion.exit_code();
    }
    proven::compare(&testbed)
}
