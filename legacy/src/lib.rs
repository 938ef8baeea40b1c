//! The old Redis timestamp locks, as data.
#![no_std]

extern crate alloc;

mod reader;

pub use reader::{Comparison, Number, Reader};
