//! The command `lockshift`, as a person or a script runs it: what it prints where, and how it exits.

mod addresses;
mod command;
mod compare;
mod inspect;
mod protocols;
mod run;
mod troubles;
mod usage;
