//! Other people's programs and ours on one key: clients that speak through the libraries of their communities, on one
//! real redis-server, in fleets with our lockers. Each test is a row: a client, a protocol that it speaks, a scene.
//!
//! What they stand on:
//!
//! - [`roster`]: the clients, and which of our protocols each of them speaks.
//! - [`foreign`]: a client as a child process, and the questions it answers.
//! - [`stand`]: the one server and the clients that are running.
//! - [`ours`]: our side of a scene.
//! - [`content`]: what a key holds, read from a server and written to another.
//! - [`gallery`]: what every client writes, kept for the others to find.
//! - [`foresight`]: what our protocol makes of a content at a moment, run on a simulated server.
//! - [`wire`]: any command on a real server or a simulated one.
//! - [`clock`]: the wall clock, and how far a reading of it can be trusted.
//!
//! What they hold:
//!
//! - [`scenes`]: held by one is refused to the other, whom the release wakes; freed, expired or left by a crash it can be
//!   had; bytes; contention; values of other protocols, as the matrix has them and as their real clients write them.
//! - [`proven`]: the table in `docs/interop.md` says what has been proven here.
//!
//! `tests/interop/prepare` makes the clients ready; `./test` calls it. A client that is not ready fails its tests.

mod clock;
mod content;
mod foreign;
mod foresight;
mod gallery;
mod ours;
mod proven;
mod roster;
mod scenes;
mod stand;
mod wire;

/// What the other tests stand on as well.
#[path = "../it"]
#[allow(dead_code, unused_imports, reason = "they use the rest of it")]
mod it {
    pub(crate) mod golden;
    pub(crate) mod monitor;
    pub(crate) mod patience;
    pub(crate) mod server;
}

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, run};

use it::{golden, monitor, patience, server};
use stand::Stand;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They wait more than they work.
    arguments.test_threads = arguments.test_threads.or(Some(8));
    let stand = Arc::new(Stand::new());
    let trials = scenes::trials(&stand).collect();
    let conclusion = run(&arguments, trials);
    if conclusion.has_failed() || arguments.list || conclusion.num_filtered_out > 0 {
        return conclusion.exit_code();
    }
    proven::compare(&stand)
}
