//! The integration tests: one binary, so that it is built and linked once.
//!
//! What they stand on:
//!
//! - [`patience`]: waiting for something to become true, for a bounded time.
//! - [`golden`]: texts kept in files, and how to renew them.
//! - [`server`]: a real redis-server of one's own, on a free port, gone when dropped.
//! - [`certificates`]: those of an authority of one's own.
//! - [`monitor`]: what crossed the wire, as that server saw it.
//! - [`proxy`]: a connection that breaks where the test wants it.
//! - [`drivers`]: the blocking driver and the one for tokio, behind one face.
//! - [`guard_process`]: `lockshift guard` before a server.
//! - [`protocols`]: every protocol by name.
//! - [`schemas`]: the JSON that the command prints is what its schema describes.
//! - [`life`]: two of each protocol meet.
//!
//! What they hold:
//!
//! - [`bridge`]: the bridge lock, and what remains possible beside it.
//! - [`audit`]: what the audit finds in traces of which the truth is known.
//! - [`browser`]: the page of a race, in a real browser.
//! - [`capture`]: packet captures of real traffic say what MONITOR lists, and the replies.
//! - [`clients`]: the packages in other languages have the tables and scripts of this library.
//! - [`cli`]: the command, as a person or a script runs it.
//! - [`cluster`]: every lock on a Redis Cluster, and all keys of one lock in one slot.
//! - [`driver`]: waiting, renewing, losing, cancelling and failing, with threads and with tasks.
//! - [`connect`]: connections open anew after they broke, and none sends a command twice by itself.
//! - [`contract`]: every protocol, through every driver, sends what its original sends.
//! - [`examples`]: the examples, run.
//! - [`explore`]: what the explorer finds, and that it finds the same however it is asked.
//! - [`fencing`]: fences grow, whatever becomes of their counter.
//! - [`foreign`]: what real programs were recorded to send is what their rows could have sent.
//! - [`guard`]: old clients behind a guard are safe, unchanged.
//! - [`hostile`]: servers that refuse, hang or go away, and keys that hold something else.
//! - [`locks`]: the entry point, with threads and with tasks.
//! - [`migration`]: a fleet of processes moves from the old locks to the new one under load, and back a phase.
//! - [`native`]: compare-and-delete and compare-and-set on the servers that have them as commands.
//! - [`on_servers`]: every protocol and every command on servers from Redis 2.8 to Valkey 9.
//! - [`oracle`]: the simulated server answers as a real one does.
//! - [`own_attempts`]: an attempt whose script runs twice wins once.
//! - [`semaphore`]: as many holders as there are permits.
//! - [`sentinel`]: every lock through Sentinel, before and after a failover.
//! - [`set`]: SET with all its options, and its reply.
//! - [`sim`]: what the simulated server promises as a value, and dialogues with it.
//! - [`redlock`]: a lock on most of five servers, some of which are down, hang or forget.
//! - [`races`]: the documented races, found, prevented, met at random and replayed on a real Redis.
//! - [`packaging`]: packages hold files that exist, and one version is named everywhere.
//! - [`permissions`]: every protocol runs with exactly the ACL that is derived for it.
//! - [`prose`]: every command in the documents runs as written, and every output is what the command prints.
//! - [`traces`]: the example traces, recorded from real clients, show what they were recorded for.
//! - [`waiters`]: what a client that waits leaves on the server, and what becomes of it.
//! - [`tidy`]: the rules of the house: who imports whom, how files are named and opened, what the library brings along.

#[cfg(feature = "sim")]
mod audit;
mod bridge;
mod browser;
mod capture;
mod certificates;
mod cli;
mod clients;
mod cluster;
mod connect;
mod contract;
mod driver;
mod drivers;
mod examples;
mod explore;
mod fencing;
mod foreign;
mod golden;
mod guard;
mod guard_process;
mod hostile;
mod life;
mod locks;
mod migration;
mod monitor;
mod native;
mod on_servers;
mod oracle;
mod own_attempts;
mod packaging;
mod patience;
mod permissions;
mod prose;
mod protocols;
mod proxy;
mod races;
mod redlock;
mod schemas;
mod semaphore;
mod sentinel;
mod server;
mod set;
mod sim;
mod tidy;
mod traces;
mod waiters;
