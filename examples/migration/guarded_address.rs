//! A guard in bridge mode before the server, in this process: `lockshift guard --mode bridge`.

use std::error::Error;
use std::sync::Arc;

use lockshift::guard::{Lifetime, Rule};
use lockshift::legacy;
use lockshift::proxy::{GuardedKeys, ProxySettings, Treatment, Upstream, bind};
use redis::IntoConnectionInfo;
use tokio::runtime::{Builder, Runtime};

use crate::role::JOBS;

/// A running guard.
pub(crate) struct GuardedAddress {
    /// Where old workers connect in place of the server.
    pub(crate) url: String,
    /// The guard ends with it.
    _runtime: Runtime,
}

impl GuardedAddress {
    /// Starts a guard before this server, on a free port.
    pub(crate) fn before(url: &str) -> Result<Self, Box<dyn Error>> {
        let info = url.into_connection_info()?;
        let redis::ConnectionAddr::Tcp(host, port) = info.addr() else {
            return Err("the guard of this example needs a plain address: redis://HOST:PORT/".into());
        };
        let rules = JOBS.iter().map(|job| {
            let dialect = legacy::find(job.dialect).ok_or("no such dialect")?;
            let rule = Rule::new(&[dialect], Lifetime::BeyondStamp)?.bridged()?;
            Ok((job.key.as_bytes().to_vec(), Treatment::Decide(Arc::new(rule))))
        });
        let keys = rules.collect::<Result<GuardedKeys, Box<dyn Error>>>()?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let server = Upstream::Plain(format!("{host}:{port}").parse()?);
        let settings = ProxySettings { keys, ..ProxySettings::default() };
        let proxy = runtime.block_on(bind(&"127.0.0.1:0".parse()?, server, settings))?;
        let url = format!("redis://{}/", proxy.address());
        runtime.spawn(proxy.run(std::future::pending()));
        Ok(Self { url, _runtime: runtime })
    }
}
