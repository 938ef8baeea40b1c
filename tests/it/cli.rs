//! The command `lockshift`, as a person or a script runs it: what it prints where, and how it exits.

mod addresses;
mod audit;
pub(crate) mod command;
mod compare;
mod coverage;
mod doctor;
mod dry_run;
mod explore;
mod inspect;
mod matrix;
mod odds;
mod password_file;
mod plan;
mod protocols;
mod races;
mod record;
mod redlock;
mod rotation;
mod run;
mod scan;
mod server_errors;
mod server_hazards;
mod terminal;
mod traces;
mod usage;
mod watch;

pub(crate) use command::{done, done_within, lockshift, lockshift_at};
