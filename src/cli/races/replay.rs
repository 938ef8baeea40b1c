//! The schedules that were found, on the server that was chosen, or on several.

use super::super::exit::{Exit, Failure, warn};
use super::super::failure;
use super::super::os_error::without_number;
use super::super::server_options::ServerOptions;
use crate::connect::Server;
use crate::driver::host;
use crate::races::{RaceResult, Reproduction, Scenario};
use crate::replay::{Divergence, replay};
use crate::report::Replayed;
use crate::wire::{Key, Node};

/// Servers to replay on.
pub(super) struct Replaying {
    servers: Vec<Server>,
    key: Key,
}

impl Replaying {
    /// On the servers that were chosen.
    pub(super) fn on(chosen: &ServerOptions) -> Result<Self, Failure> {
        let servers = chosen.servers()?;
        let owner = host::owner(0).map_err(|error| Failure::new(Exit::Unusable, error))?;
        // No other program has this key, not even the same command at the same time.
        let key = Key::from(format!("lockshift:races:{}", owner.token.hex()).as_str());
        Ok(Self { servers, key })
    }

    /// Replays what was found, variations included.
    pub(super) fn replay(&self, result: &RaceResult) -> Result<Option<Replayed>, Failure> {
        let main = result.found.iter().map(|found| (&result.race.scenario, found));
        let varied =
            result.variations.iter().filter_map(|(variation, found)| Some((&variation.scenario, found.as_ref()?)));
        let all = main.chain(varied).map(|(scenario, found)| self.replay_one(result.race.id.name(), scenario, found));
        let all: Vec<Replayed> = all.collect::<Result<_, _>>()?;
        Ok(all.into_iter().max())
    }

    fn replay_one(&self, id: &str, scenario: &Scenario, found: &Reproduction) -> Result<Replayed, Failure> {
        let trace = scenario.retell(found, &self.key, host::wall());
        let count = u8::try_from(self.servers.len()).unwrap_or(u8::MAX);
        let mut connect = |node: Node| self.servers[usize::from(node.0)].connect();
        match replay(&trace, count, &mut connect) {
            Ok(()) => Ok(Replayed::Same),
            Err(why @ (Divergence::ServerFault { .. } | Divergence::SeveralServers { .. })) => {
                Ok(Replayed::Not(why.to_string()))
            }
            Err(
                divergence @ (Divergence::Reply { .. } | Divergence::TimeToLive { .. } | Divergence::Contents { .. }),
            ) => {
                warn(format_args!("{id} at {}: {divergence}", self.shown()));
                Ok(Replayed::Otherwise)
            }
            // The error does not say which of several servers it is.
            Err(Divergence::Unreachable(error)) => {
                let is_encrypted = self.servers.iter().any(Server::is_encrypted);
                Err(failure::of_connection(&self.shown(), is_encrypted, &self.key, error))
            }
            Err(error @ (Divergence::KeyInUse(_) | Divergence::Unanswered(_))) => Err(Failure::new(
                Exit::Unusable,
                format_args!("{}: {}", self.shown(), without_number(&error.to_string())),
            )),
        }
    }

    fn shown(&self) -> String {
        self.servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}
