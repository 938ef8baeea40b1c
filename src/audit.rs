//! The audit: what a server's MONITOR trace shows of the locks on it. Who held what from when to when, in which protocol,
//! and which of the documented [races](crate::races) happened, with the lines that show them.
//!
//! MONITOR lists commands and no replies. It lists all of them in the order in which they ran, so the simulated server,
//! fed with them, finds the replies again. Which of the commands are a try, a takeover or a release, and what a client
//! made of the answers, the protocols themselves say, each run over what the client has sent: the clock is an input of
//! theirs like any other. A client may be any protocol that would have sent the same.
//!
//! A lock may have several keys. A bridge holds the old key and the new one by one script: it is counted at the old key,
//! stands against old clients there and against new ones on the new key. Where owner and stamp are in two keys, both are
//! one lock. Which keys belong together is read from the commands with which the protocols' own tries begin.
//!
//! A client is known by the token that it writes, and otherwise by its connection. Connections may be shared, and a pool may
//! lend another one for each command: where the trace shows that, it is counted, and findings on that key are at most
//! *possible*.
//!
//! Only keys on which a lock begins are followed, and each is forgotten when no client holds, wants or remembers it, so that
//! memory is bound by the locks that are alive. Read/write locks are counted and not judged.
//!
//! A whole trace is judged faster in several threads ([`Auditor::in_threads`]), which find the same.
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
//! assert_eq!(audit.locks[0].statistics.acquisitions, 1);
//! ```

mod client_names;
mod clients_by;
mod command_name;
mod command_role;
mod compare_and_delete;
mod earlier_scripts;
mod exchange;
mod finding;
mod guarded;
mod script_args;
mod scripts;
mod stamp;
mod statistics;
mod variants;

mod correspondence;
mod feature;
mod recognise;

mod episode;
mod event;
mod explanation;
mod findings;
mod grammar;
mod hold;
mod holds;

mod conversation;
mod expiry_decision;
mod judge;
mod keys;
mod live;
mod lock;
mod locks;
mod undecided_expiry;

mod clients;
mod recent_looks;
mod running_script;
mod share;
mod shares;
mod summary;
mod waiting_commands;

mod auditor;

pub use auditor::Auditor;
pub use clients::ClientSummary;
pub use clients_by::ClientsBy;
pub use episode::Episode;
pub use finding::{Certainty, Evidence, Finding, Verdict};
pub use live::{HoldChange, HoldEvent, LiveHolder, LiveLock};
pub use statistics::{Durations, LockStatistics};
pub use summary::{Audit, LockSummary, OtherLocks, SteppedBack};
