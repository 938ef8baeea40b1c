//! A cluster of two masters, with half of the slots each.

use redis::cluster::ClusterClient;
use redis::cmd;
use redis_test::utils::get_random_available_port;

use crate::patience::until;
use crate::server::{Options, Server};

/// A cluster of two masters.
pub(super) struct Cluster([Server; 2]);

impl Cluster {
    pub(super) fn start() -> Self {
        let cluster = Self([node(), node()]);
        for (epoch, (server, slots)) in (1..).zip(cluster.0.iter().zip([(0, 8191), (8192, 16383)])) {
            let mut operator = server.connect();
            cmd("CLUSTER").arg("SET-CONFIG-EPOCH").arg(epoch).exec(&mut operator).unwrap();
            cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(slots.0).arg(slots.1).exec(&mut operator).unwrap();
        }
        cluster.introduce();
        cluster
    }

    fn introduce(&self) {
        let [first, second] = &self.0;
        let (port, bus_port) = (second.address().port(), bus_port(second));
        let mut operator = first.connect();
        cmd("CLUSTER").arg("MEET").arg("127.0.0.1").arg(port).arg(bus_port).exec(&mut operator).unwrap();
        for server in &self.0 {
            let mut operator = server.connect();
            until("the nodes have found each other", || {
                let info: String = cmd("CLUSTER").arg("INFO").query(&mut operator).unwrap();
                (info.contains("cluster_state:ok") && info.contains("cluster_slots_assigned:16384")).then_some(())
            });
        }
    }

    pub(super) fn client(&self) -> ClusterClient {
        ClusterClient::new(vec![self.0[0].url()]).unwrap()
    }

    pub(super) fn nodes(&self) -> [&Server; 2] {
        self.0.each_ref()
    }

    pub(super) fn keys_per_node(&self) -> [usize; 2] {
        self.nodes().map(|server| cmd("DBSIZE").query(&mut server.connect()).unwrap())
    }
}

/// A node that knows no other. Its bus has a port of its own: by default that is 10000 above the server's, which may be
/// no port at all.
fn node() -> Server {
    let bus_port = get_random_available_port();
    Server::with(&Options::new().line("cluster-enabled yes").line(format_args!("cluster-port {bus_port}")))
}

fn bus_port(server: &Server) -> u16 {
    let (_, port): (String, String) =
        cmd("CONFIG").arg("GET").arg("cluster-port").query(&mut server.connect()).unwrap();
    port.parse().unwrap()
}
