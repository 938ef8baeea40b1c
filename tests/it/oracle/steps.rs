//! What is done to both servers: commands on several connections, and waiting.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use lockshift::wire::Command;
use proptest::collection::vec;
use proptest::prelude::*;

use super::duel::SESSIONS;

/// One thing done to both servers.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A command on one of the connections.
    Send(usize, Phrase),
    /// Time passes.
    Wait(Duration),
}

/// A command whose words may be relative to the time at which it is sent.
#[derive(Clone)]
pub(super) struct Phrase(pub(super) Vec<Word>);

/// One word of a command.
#[derive(Clone, Debug)]
pub(super) enum Word {
    Bytes(Vec<u8>),
    /// The Unix time that many milliseconds from now, in milliseconds.
    AtMillis(i64),
    /// The Unix time that many seconds from now, in seconds.
    AtSecs(i64),
}

impl Word {
    pub(super) fn text(text: impl AsRef<[u8]>) -> Self {
        Self::Bytes(text.as_ref().to_vec())
    }

    fn at(&self, now_ms: i64) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::AtMillis(millis) => (now_ms + millis).to_string().into_bytes(),
            Self::AtSecs(secs) => (now_ms / 1_000 + secs).to_string().into_bytes(),
        }
    }
}

impl Phrase {
    /// The command, sent at this time.
    pub(super) fn command(&self, now_ms: i64) -> Command {
        Command::from_words(self.0.iter().map(|word| word.at(now_ms))).expect("a phrase has words")
    }
}

impl fmt::Debug for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.command(0).fmt(f)
    }
}

/// Sequences of these phrases on several connections, with a wait now and then.
pub(super) fn of(
    phrases: impl Strategy<Value = Phrase> + 'static,
    length: Range<usize>,
) -> impl Strategy<Value = Vec<Step>> {
    vec(prop_oneof![25 => send(phrases), 1 => wait(1..30)], length)
}

/// Sequences on one connection, mostly, in which a short expiry is likely to pass between two commands.
pub(super) fn slowly(
    phrases: impl Strategy<Value = Phrase> + 'static,
    length: Range<usize>,
) -> impl Strategy<Value = Vec<Step>> {
    let step =
        (prop_oneof![4 => Just(0), 1 => Just(1)], phrases).prop_map(|(session, phrase)| Step::Send(session, phrase));
    vec(prop_oneof![4 => step, 1 => wait(1..15)], length)
}

fn send(phrases: impl Strategy<Value = Phrase> + 'static) -> impl Strategy<Value = Step> {
    (0..SESSIONS, phrases).prop_map(|(session, phrase)| Step::Send(session, phrase))
}

fn wait(millis: Range<u64>) -> impl Strategy<Value = Step> {
    millis.prop_map(|millis| Step::Wait(Duration::from_millis(millis)))
}

/// Sequences in which the last connection does the listening, and the others the publishing.
pub(super) fn with_a_listener(
    publishing: impl Strategy<Value = Phrase> + 'static,
    listening: impl Strategy<Value = Phrase> + 'static,
    length: Range<usize>,
) -> impl Strategy<Value = Vec<Step>> {
    let publish = (0..SESSIONS - 1, publishing).prop_map(|(session, phrase)| Step::Send(session, phrase));
    let listen = listening.prop_map(|phrase| Step::Send(SESSIONS - 1, phrase));
    vec(prop_oneof![1 => publish, 1 => listen], length)
}
