//! How to wait for a lock that is held, as it is typed.

use crate::driver::Wait;
use crate::protocols::Choice;

/// How to wait for a lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum WaitPolicy {
    /// Try again after random pauses that grow
    Backoff,
    /// Sleep until a release is published; `token` publishes its releases then
    Notified,
    /// Sleep in a queue, first come, first served; `token` becomes `fair`
    Fair,
}

impl WaitPolicy {
    pub(super) fn wait(self) -> Wait {
        match self {
            Self::Backoff => Wait::backoff(),
            Self::Notified | Self::Fair => Wait::notified(),
        }
    }

    /// The variant of this protocol that can be waited for so. Only the token lock has variants; the others stay what they
    /// are.
    pub(super) fn suited(self, choice: &Choice) -> Choice {
        let written = choice.to_string();
        let is_plain_token = choice.protocol().name() == "token" && !written.contains("announce");
        let suited = match self {
            Self::Notified if is_plain_token => format!("{written},announce=publish"),
            Self::Fair if written == "token" => "fair".to_owned(),
            Self::Backoff | Self::Notified | Self::Fair => written,
        };
        suited.parse().expect("it is a protocol of the catalogue with options of its own")
    }
}
