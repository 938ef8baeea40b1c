//! Shadow mode: the old lock decides, a new one is taken beside it under another key, and where the two disagree that is
//! counted. What they have said so far, and what is still to be answered; how it is asked belongs to the drivers.

mod book;
mod comparison;
mod tally;

pub(super) use book::{Book, PATIENCE, Question};
pub(super) use comparison::Comparison;
pub use tally::Tally;
