//! `--clients-by`: by what the clients of a trace are distinguished.

use super::exit::{Exit, Failure};
use crate::audit::{Audit, ClientsBy, LockSummary};

/// By what clients are distinguished.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct IdentityArgs {
    /// By what clients are distinguished: the tokens that they write (else the connection), the address without its port, or
    /// the connection; without this option by tokens, and where clients could only be guessed there is no all-clear
    #[arg(long, value_name = "WHAT", value_enum)]
    clients_by: Option<Identity>,
}

/// By what clients are distinguished.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Identity {
    Token,
    Address,
    Connection,
}

impl IdentityArgs {
    /// What was asked for, or the default.
    pub(super) fn clients_by(self) -> ClientsBy {
        match self.clients_by {
            None | Some(Identity::Token) => ClientsBy::Token,
            Some(Identity::Address) => ClientsBy::Address,
            Some(Identity::Connection) => ClientsBy::Connection,
        }
    }

    /// Whether the command line says what a client is, so that this is no guess.
    pub(super) fn is_given(self) -> bool {
        self.clients_by.is_some()
    }

    /// Why an audit without a race is no all-clear: on some keys the clients could only be guessed.
    pub(super) fn doubt<'a>(self, audits: impl Iterator<Item = &'a Audit>) -> Option<Failure> {
        let is_guessed = |lock: &&LockSummary| lock.statistics.guessed > 0;
        let of_audit = |audit: &Audit| audit.locks.iter().filter(is_guessed).count() as u64 + audit.others.guessed;
        let keys: u64 = audits.map(of_audit).sum();
        let noun = if keys == 1 { "key" } else { "keys" };
        let sentence = format_args!(
            "the clients of {keys} {noun} share or pool connections and write no tokens, so races may be missing: \
             pass --clients-by to say what a client is"
        )
        .to_string();
        (keys > 0 && !self.is_given()).then(|| Failure::new(Exit::Unusable, sentence))
    }
}
