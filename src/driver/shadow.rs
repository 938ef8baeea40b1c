//! Shadow mode: the old lock decides, a new one is acquired beside it under another key, and each disagreement of the two is
//! counted. Here are the counts and the requests that are still unanswered; the drivers send the requests.

mod comparison;
mod state;
mod summary;

pub(super) use comparison::ShadowComparison;
pub(super) use state::{PATIENCE, Question, ShadowState};
pub use summary::ShadowSummary;
