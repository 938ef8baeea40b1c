//! The integration tests: one binary, so that it is built and linked once.
//!
//! What they stand on:
//!
//! - [`patience`]: waiting for something to become true, for a bounded time.
//! - [`server`]: a real redis-server of one's own, on a free port, gone when dropped.
//! - [`monitor`]: what crossed the wire, as that server saw it.
//!
//! What they hold:
//!
//! - [`contract`]: every protocol, through every driver, says on the wire what its original says.
//! - [`explore`]: what the explorer finds, and that it finds the same however it is asked.
//! - [`tidy`]: the rules of the house: who imports whom, how files are named and opened, what the library brings along.

mod contract;
mod explore;
mod monitor;
mod patience;
mod server;
mod tidy;
