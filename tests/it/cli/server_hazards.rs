//! `inspect` and `scan` report what endangers every lock of a server.

use redis::cmd;
use serde_json::{Value, json};

use super::command::{done, lockshift_at};
use crate::patience::until;
use crate::server::{Options, Server};

const EVICTS: &str = "maxmemory-policy is allkeys-lru: when memory is full it deletes locks that are held and fencing \
                      counters";
const WRITES_ALONE: &str = "it has a replica and min-replicas-to-write is not set: a failover can lose the last locks";
const FORGETS: &str = "it has no append-only file: after a restart this Redlock master grants locks that are held";

fn configure(server: &Server, name: &str, value: &str) {
    cmd("CONFIG").arg("SET").arg(name).arg(value).exec(&mut server.connect()).unwrap();
}

fn shown(server: &Server, args: &[&str]) -> Value {
    done(lockshift_at(server), args).json()["server_hazards"].clone()
}

#[test]
fn eviction_replicas_and_forgetful_masters_are_reported() {
    let server = Server::start();
    let commands = [["inspect", "stock", "--json"].as_slice(), &["scan", "--json"]];
    for args in commands {
        assert_eq!(shown(&server, args), json!([]));
        let of_redlock = [args, &["--fleet", "redlock"]].concat();
        assert_eq!(shown(&server, &of_redlock), json!([FORGETS]));
    }
    let replica = Server::with(&Options::new());
    let address = server.address();
    let port = address.port().to_string();
    cmd("REPLICAOF").arg(address.ip().to_string()).arg(port).exec(&mut replica.connect()).unwrap();
    until("the replica is connected", || {
        let info: redis::InfoDict = cmd("INFO").arg("replication").query(&mut server.connect()).unwrap();
        (info.get("connected_slaves") == Some(1)).then_some(())
    });
    configure(&server, "maxmemory", "100mb");
    configure(&server, "maxmemory-policy", "allkeys-lru");
    for args in commands {
        assert_eq!(shown(&server, args), json!([EVICTS, WRITES_ALONE]));
        let text = done(lockshift_at(&server), &args[..args.len() - 1]).stdout;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(args[0] == "inspect" || words(&text).contains(&words(EVICTS)), "{text}");
    }
    configure(&server, "min-replicas-to-write", "1");
    configure(&server, "maxmemory-policy", "noeviction");
    for args in commands {
        assert_eq!(shown(&server, args), json!([]));
    }
}
