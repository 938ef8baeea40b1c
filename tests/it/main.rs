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
//! - [`oracle`]: the simulated server answers as a real one does.
//! - [`sim`]: what the simulated server promises as a value, and dialogues with it.
//! - [`tidy`]: the rules of the house: who imports whom, how files are named and opened, what the library brings along.

mod contract;
mod monitor;
#[cfg(feature = "sim")]
mod oracle;
mod patience;
mod server;
#[cfg(feature = "sim")]
mod sim;
mod tidy;
