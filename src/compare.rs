//! Runs the same contended workload under one protocol after the other, on one server, and measures what each of them
//! costs and which double holds and wrong releases it allows. An independent witness counts those.
//!
//! Nothing here prints. [`run`] measures one protocol; the caller goes through the list, shows the progress, and may stop
//! a run early. Every run has its own keys and deletes them at its end.

mod client;
mod command_log;
mod error;
mod run;
mod settings;
mod statistics;
mod stop;
mod witness;
mod workload;

pub use error::RunError;
pub use run::run;
pub use settings::Settings;
pub use statistics::Statistics;
pub use stop::CompareStop;
pub use workload::{Percent, Workload};
