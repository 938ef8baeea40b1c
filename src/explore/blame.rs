//! Who is to blame for a broken rule: the step that did it, and what tells it from other ways to break the same rule.

mod attribution;
mod breach;
mod cause;
mod culprit;

pub(super) use attribution::Attribution;
pub(super) use breach::{Blame, Breach};
pub(super) use cause::CauseId;
pub use cause::{Cause, CauseKind};
