//! The same contended workload under one protocol after the other, on one server, watched by a witness that none of them
//! knows: what each protocol costs, and what it lets happen.
//!
//! Nothing here prints. [`run`] measures one protocol; the caller goes through the list, shows the progress that it is
//! told of, and sets the flag that ends it early. Every run has its own keys and deletes them at its end.

mod client;
mod course;
mod figures;
mod ledger;
mod run;
mod stop;
mod trouble;
mod witness;
mod workload;

pub use course::Course;
pub use figures::Figures;
pub use run::run;
pub use stop::Stop;
pub use trouble::Trouble;
pub use workload::{Percent, Workload};
