//! A schedule on a real Redis: the commands of its trace, in its order, each client's on a connection of its own; and the
//! same replies, times to live and contents demanded. A schedule on several servers takes as many real ones.
//!
//! No time passes while it runs but that of the wire. Where the clock of the trace ticks, the times to live of the keys
//! are moved by as much, over a connection of its own, to what the simulated server says; stamps come from the
//! trace itself. So a schedule of decades takes milliseconds. Two things cannot be moved like that, and no schedule that
//! has them should be asked for: moments that the server itself reads (TIME, EXPIREAT), and a WATCH during which the
//! clock ticks, because moving a time to live touches the key.
//!
//! It knows no protocol, and not what time it is.

mod divergence;
mod mirror;
mod play;
mod wires;

pub use divergence::Divergence;
pub use play::replay;
