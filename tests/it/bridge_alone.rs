//! The tests of the bridge alone, without the command: `tests/mutants bridge` builds this for every change that it tries.
//! They run with all others in the binary of `main.rs`, to which nothing here adds.
#![allow(dead_code, unused_imports, reason = "the other tests use the rest of what these stand on")]

mod bridge;
mod clients;
mod contract;
mod drivers;
mod golden;
mod monitor;
mod patience;
mod server;
