//! The tests of the drivers alone, without the command: `tests/mutants driver` builds this for every change that it tries.
//! They run with all others in the binary of `main.rs`, to which nothing here adds.
#![allow(dead_code, unused_imports, reason = "the other tests use the rest of what these stand on")]

mod driver;
mod drivers;
mod monitor;
mod patience;
mod proxy;
mod redlock;
mod server;
