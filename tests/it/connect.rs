//! Connections that last: none sends a command twice by itself, and each opens anew after it broke.

#[cfg(feature = "tokio")]
mod batching;
mod demoted;
mod handshakes;
mod redirects;
mod resending;
mod resets;
mod secrets;

use std::time::Duration;

use lockshift::connect::Server as Target;
use redis::cmd;

use crate::patience::until;
use crate::proxy::Proxy;
use crate::server::{Options, Server};

/// A cluster of one node that clients reach through a proxy, wherever they learn its address from.
pub(crate) struct Proxied {
    pub(crate) server: Server,
    pub(crate) proxy: Proxy,
}

impl Proxied {
    fn cluster() -> Self {
        let server = Server::with(&Options::new().line("cluster-enabled yes").line("cluster-announce-ip 127.0.0.1"));
        let mut operator = server.connect();
        cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(16383).exec(&mut operator).unwrap();
        let proxy = Proxy::before(&server);
        cmd("CONFIG").arg("SET").arg("cluster-announce-port").arg(proxy.port()).exec(&mut operator).unwrap();
        until("the cluster of one serves all slots", || {
            let info: String = cmd("CLUSTER").arg("INFO").query(&mut operator).ok()?;
            info.contains("cluster_state:ok").then_some(())
        });
        Self { server, proxy }
    }

    fn single() -> Self {
        let server = Server::start();
        let proxy = Proxy::before(&server);
        Self { server, proxy }
    }

    /// Its address behind the proxy, with a short wait for answers.
    fn target(&self, is_cluster: bool) -> Target {
        let target: Target = format!("{}?cluster={is_cluster}", self.proxy.url()).parse().expect("it is well formed");
        target.answering_within(Duration::from_millis(150))
    }
}
