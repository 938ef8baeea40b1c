//! Independent servers, and the keys on each of them.

use redis::{Client, InfoDict, cmd};

use crate::patience::until;
use crate::proxy::Proxy;
use crate::server::Server;

/// The key of the lock.
pub(super) const KEY: &str = "k";

/// Independent servers.
pub(crate) struct Fleet {
    pub(super) servers: Vec<Server>,
}

impl Fleet {
    /// Starts this number of empty servers.
    pub(crate) fn of(servers: usize) -> Self {
        Self { servers: (0..servers).map(|_| Server::start()).collect() }
    }

    /// A client for each.
    pub(crate) fn clients(&self) -> Vec<Client> {
        self.servers.iter().map(Server::client).collect()
    }

    /// The URL of each.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.servers.iter().map(Server::url).collect()
    }

    /// A proxy before each.
    pub(super) fn proxies(&self) -> Vec<Proxy> {
        self.servers.iter().map(Proxy::before).collect()
    }

    /// Kills these servers.
    pub(crate) fn kill(&mut self, places: &[usize]) {
        places.iter().for_each(|place| self.servers[*place].kill());
    }

    /// Deletes all data on these servers.
    pub(super) fn forget(&self, places: &[usize]) {
        places.iter().for_each(|place| cmd("FLUSHALL").exec(&mut self.servers[*place].connect()).unwrap());
    }

    /// Closes all connections of clients.
    pub(super) fn hang_up(&self) {
        for server in &self.servers {
            cmd("CLIENT")
                .arg("KILL")
                .arg("TYPE")
                .arg("normal")
                .arg("SKIPME")
                .arg("yes")
                .exec(&mut server.connect())
                .unwrap();
        }
    }

    /// Whether each of these servers has the key: 1 or 0.
    pub(crate) fn holders<const N: usize>(&self, places: &[usize; N]) -> [u8; N] {
        places.map(|place| cmd("EXISTS").arg(KEY).query(&mut self.servers[place].connect()).expect("it is up"))
    }

    /// The number of scripts that this server has run.
    pub(super) fn scripts_run(&self, place: usize) -> u64 {
        let mut connection = self.servers[place].connect();
        let info: InfoDict = cmd("INFO").arg("commandstats").query(&mut connection).expect("it is up");
        let stats: String = info.get("cmdstat_eval").unwrap_or_default();
        let calls = stats.split(',').find_map(|stat| stat.strip_prefix("calls="));
        calls.map_or(0, |calls| calls.parse().expect("a number"))
    }

    /// Waits until this server has run this number of scripts.
    pub(super) fn until_scripts_run(&self, place: usize, scripts: u64) {
        until(format_args!("server {place} has run {scripts} scripts"), || {
            (self.scripts_run(place) >= scripts).then_some(())
        });
    }
}
