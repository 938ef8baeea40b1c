//! The schedules that were found, on the server that was chosen.

use std::sync::Arc;

use super::super::everywhere::Everywhere;
use super::super::exit::{Exit, Failure, warn};
use super::super::link::Link;
use super::super::server::Server;
use crate::driver::host;
use crate::races::{Account, Cast, Found};
use crate::replay::{Divergence, replay};
use crate::wire::Key;

/// A server to replay on.
pub(super) struct Rehearsal {
    server: Arc<Server>,
    key: Key,
}

impl Rehearsal {
    /// On the server that was chosen; `None` if none was.
    pub(super) fn on(everywhere: &Everywhere) -> Result<Option<Self>, Failure> {
        if !everywhere.names_a_server() {
            return Ok(None);
        }
        let server = everywhere.server()?;
        let owner = host::owner(0).map_err(|error| Failure::new(Exit::Unusable, error))?;
        // Nobody else has this key: not even another of these commands at the same time.
        let key = Key::from(format!("lockshift:races:{}", owner.token.hex()).as_str());
        Ok(Some(Self { server: Arc::new(server), key }))
    }

    /// Replays what was found, variations included: whether the server answered the same; `None` if nothing can be
    /// replayed, because the schedule loses the server.
    pub(super) fn replay(&self, account: &Account) -> Result<Option<bool>, Failure> {
        let main = account.found.iter().map(|found| (&account.race.cast, found));
        let varied =
            account.variations.iter().filter_map(|(variation, found)| Some((&variation.cast, found.as_ref()?)));
        let mut replayed = None;
        for (cast, found) in main.chain(varied) {
            if let Some(same) = self.replay_one(account.race.id, cast, found)? {
                replayed = Some(replayed.unwrap_or(true) && same);
            }
        }
        Ok(replayed)
    }

    fn replay_one(&self, id: &str, cast: &Cast, found: &Found) -> Result<Option<bool>, Failure> {
        let trace = cast.retell(found, &self.key, host::wall());
        match replay(&trace, &mut || Link::to(&self.server)) {
            Ok(()) => Ok(Some(true)),
            Err(Divergence::ServerFault { .. } | Divergence::SeveralServers { .. }) => Ok(None),
            Err(
                divergence @ (Divergence::Reply { .. } | Divergence::TimeToLive { .. } | Divergence::Contents { .. }),
            ) => {
                warn(format_args!("{id} at {}: {divergence}", self.server));
                Ok(Some(false))
            }
            Err(trouble @ (Divergence::KeyInUse(_) | Divergence::Unreachable(_) | Divergence::Unanswered(_))) => {
                Err(Failure::new(Exit::Unusable, format_args!("{}: {trouble}", self.server)))
            }
        }
    }
}
