//! MONITOR text: what `redis-cli monitor` prints, understood byte for byte and written back.
//!
//! A line says when the server ran a command, in which database, from which address, and its words; it does not say what was
//! answered. [`Parser`] understands one line and copies nothing; [`Lines`] cuts a file or a pipe into lines. What cannot be
//! understood is a value with a reason, never the end of the reading.
//!
//! ```
//! use lockshift::monitor::{Parser, Source};
//!
//! let mut parser = Parser::new();
//! let line = parser.parse(br#"1700000000.000250 [3 10.0.0.7:50000] "SET" "lock" "a\x00b""#).unwrap();
//! assert_eq!((line.database, line.source), (3, Source::Client(b"10.0.0.7:50000")));
//! assert_eq!(line.words().map(|word| word.bytes().into_owned()).last().unwrap(), b"a\0b");
//! ```

mod ill_formed;
#[cfg(feature = "sim")]
mod kept_lines;
mod line;
mod lines;
mod parser;
mod word;
#[cfg(feature = "sim")]
mod written_keys;

pub use ill_formed::IllFormed;
#[cfg(feature = "sim")]
pub(crate) use kept_lines::{KeptLine, KeptLines};
pub use line::{Line, Source};
pub use lines::{Lines, Text};
pub use parser::Parser;
pub use word::Word;
#[cfg(feature = "sim")]
pub(crate) use written_keys::KeyPlaces;
