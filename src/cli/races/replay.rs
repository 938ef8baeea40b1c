//! The schedules that were found, on the server that was chosen, or on several.

use super::super::exit::{Exit, Failure, warn};
use super::super::global_options::GlobalOptions;
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
    pub(super) fn on(global: &GlobalOptions) -> Result<Self, Failure> {
        let servers = global.servers()?;
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
            Err(error @ (Divergence::KeyInUse(_) | Divergence::Unreachable(_) | Divergence::Unanswered(_))) => {
                Err(Failure::new(Exit::Unusable, format_args!("{}: {error}", self.shown())))
            }
        }
    }

    fn shown(&self) -> String {
        self.servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}
