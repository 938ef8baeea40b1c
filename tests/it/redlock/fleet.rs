//! Independent servers, and what each of them has.

use redis::{Client, InfoDict, cmd};

use crate::patience::until;
use crate::server::Server;

/// The key that everybody is after.
pub(super) const KEY: &str = "k";

/// Servers that know nothing of each other.
pub(crate) struct Fleet {
    pub(super) servers: Vec<Server>,
}

impl Fleet {
    /// So many of them, empty.
    pub(crate) fn of(servers: usize) -> Self {
        Self { servers: (0..servers).map(|_| Server::start()).collect() }
    }

    /// A client for each.
    pub(crate) fn clients(&self) -> Vec<Client> {
        self.servers.iter().map(Server::client).collect()
    }

    /// How to reach each.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.servers.iter().map(Server::url).collect()
    }

    /// Ends these at once.
    pub(crate) fn kill(&mut self, places: &[usize]) {
        places.iter().for_each(|place| self.servers[*place].kill());
    }

    /// Lets these lose all that they have.
    pub(super) fn forget(&self, places: &[usize]) {
        places.iter().for_each(|place| cmd("FLUSHALL").exec(&mut self.servers[*place].connect()).unwrap());
    }

    /// How often each of these has the key: once or not at all.
    pub(crate) fn holders<const N: usize>(&self, places: &[usize; N]) -> [u8; N] {
        places.map(|place| cmd("EXISTS").arg(KEY).query(&mut self.servers[place].connect()).expect("it is up"))
    }

    /// How many scripts this one has run.
    pub(super) fn scripts_run(&self, place: usize) -> u64 {
        let mut connection = self.servers[place].connect();
        let info: InfoDict = cmd("INFO").arg("commandstats").query(&mut connection).expect("it is up");
        let stats: String = info.get("cmdstat_eval").unwrap_or_default();
        let calls = stats.split(',').find_map(|stat| stat.strip_prefix("calls="));
        calls.map_or(0, |calls| calls.parse().expect("a number"))
    }

    /// Waits until this one has run so many scripts.
    pub(super) fn until_scripts_run(&self, place: usize, scripts: u64) {
        until(format_args!("server {place} has run {scripts} scripts"), || {
            (self.scripts_run(place) >= scripts).then_some(())
        });
    }
}
