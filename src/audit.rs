//! The audit: what a server's MONITOR trace shows of the locks on it. Who held what from when to when, in which protocol,
//! and which of the documented [races](crate::races) happened, with the lines that show them.
//!
//! MONITOR lists commands and no replies. It lists all of them in the order in which they ran, so the simulated server,
//! fed with them, finds the replies again. Which of the commands are a try, a takeover or a release, and what a client
//! made of the answers, the protocols themselves say, each run over what the client has said: the clock is an input of
//! theirs like any other. A client is taken for every protocol that would have said the same.
//!
//! A lock may have several keys. A bridge holds the old key and the new one by one script: it is counted at the old key,
//! stands against old clients there and against new ones on the new key. Where owner and stamp are in two keys, both are
//! one lock. Which keys belong together is read from the commands with which the protocols' own tries begin.
//!
//! Only keys on which a lock begins are followed, and each is forgotten when nobody has, wants or remembers it, so that
//! memory is bound by the locks that are alive. Read/write locks are counted and not judged.
//!
//! ```
//! use lockshift::audit::Auditor;
//! use lockshift::monitor::Parser;
//!
//! let trace = r#"
//! 1700000000.000001 [0 10.0.0.1:50] "SET" "lock" "0badc0de0badc0de0badc0de0badc0de" "NX" "PX" "30000"
//! 1700000000.250001 [0 10.0.0.2:50] "GETSET" "lock" "1700000010"
//! "#;
//! let (mut auditor, mut parser) = (Auditor::new(), Parser::new());
//! for (number, line) in (0..).zip(trace.lines()).skip(1) {
//!     auditor.read(number, &parser.parse(line.as_bytes()).unwrap());
//! }
//! let audit = auditor.finish();
//! assert_eq!(audit.locks[0].tally.acquisitions, 1);
//! ```

mod deletion;
mod kinds;
mod said;
mod scripts;
mod spots;
mod stamp;
mod tally;
mod verb;

mod alike;
mod feature;
mod play;

mod episode;
mod finding;
mod findings;
mod grammar;
mod hold;
mod spoken;
mod spot;
mod talk;

mod clash;
mod judge;
mod keys;
mod lifetimes;
mod listed;
mod lock;
mod losers;
mod releases;
mod talks;

mod auditor;
mod recent;
mod speakers;
mod summary;

pub use auditor::Auditor;
pub use episode::Episode;
pub use finding::{Certainty, Finding};
pub use speakers::Speaker;
pub use summary::{Audit, LockSummary, SteppedBack};
pub use tally::{Lengths, Tally};
