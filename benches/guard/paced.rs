//! How long a request takes while requests come at a fixed rate, below what the proxy can deliver.

use std::time::Duration;

use lockshift::driver::host;
use redis::{Client, IntoConnectionInfo, cmd};

const CLIENTS: u32 = 8;
const LENGTH: Duration = Duration::from_secs(2);

/// The 99th percentile of the time from a request to its reply, in microseconds, at this rate.
pub(crate) fn p99_micros(port: u16, per_second: f64) -> f64 {
    // nutcracker closes a connection that sends CLIENT SETINFO.
    let info = ("127.0.0.1", port).into_connection_info().expect("it is an address");
    let silent = info.redis_settings().clone().set_skip_set_lib_name();
    let client = Client::open(info.set_redis_settings(silent)).expect("it is an address");
    let every = Duration::from_secs_f64(f64::from(CLIENTS) / per_second);
    let mut times: Vec<f64> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let mut connection = client.get_connection().expect("it listens");
                scope.spawn(move || {
                    let began = host::mono();
                    let mut times = Vec::new();
                    let mut due = Duration::ZERO;
                    while due < LENGTH {
                        // A client that waited for the exact moment would compute until then, and load the processors itself.
                        host::sleep(due.saturating_sub(host::mono().saturating_since(began)));
                        let asked = host::mono();
                        cmd("GET").arg("key").exec(&mut connection).expect("it answers");
                        times.push(host::mono().saturating_since(asked).as_secs_f64() * 1e6);
                        due += every;
                    }
                    times
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("no client panics")).collect()
    });
    times.sort_by(f64::total_cmp);
    times[times.len() * 99 / 100]
}
