//! A dialogue with the simulated server, written as one would tell it:
//!
//! ```text
//! 0    A  SET lock a NX PX 100   -> OK
//! 101  B  SET lock b NX PX 100   -> OK
//! ```
//!
//! The time in milliseconds, who speaks, the command, and the reply as `redis-cli` shows it.

use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, UnixTime};

pub(super) struct Dialogue {
    server: Server,
}

impl Dialogue {
    pub(super) fn with(flavour: Flavour) -> Self {
        Self { server: Server::new(flavour) }
    }

    /// Holds the dialogue, and panics at the first line that goes otherwise.
    pub(super) fn goes(mut self, shown: &str) {
        for line in shown.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (sent, expected) = line.split_once(" -> ").expect("a line says what is answered");
            let [millis, speaker, words] = parts(sent.trim());
            let now = UnixTime::from_millis(millis.parse().expect("a line begins with the time")).expect("before 2262");
            let session = Session(speaker.bytes().map(u32::from).sum());
            let reply = self.server.call(session, &command(words), now);
            assert_eq!(reply.to_string(), expected.trim(), "at: {line}");
        }
    }
}

fn parts(sent: &str) -> [&str; 3] {
    let (millis, rest) = sent.split_once(' ').expect("a line begins with the time");
    let (speaker, words) = rest.trim().split_once(' ').expect("then comes who speaks");
    [millis, speaker, words.trim()]
}

/// The command that is written so: words between blanks, or between single quotes.
pub(super) fn command(text: &str) -> Command {
    let pieces = text.split('\'').enumerate().flat_map(|(index, piece)| match index % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![piece.to_owned()],
    });
    Command::from_words(pieces.map(String::into_bytes)).expect("there are words")
}
