//! Lock cycles of an old client: SETNX, EXPIRE, DEL.

use lockshift::driver::host;
use redis::{Client, Commands};

const CLIENTS: usize = 16;
const CYCLES: u32 = 2_000;

/// Cycles per second of all clients together, each on a key of its own.
pub(crate) fn cycles_per_second(port: u16) -> f64 {
    let client = Client::open(("127.0.0.1", port)).expect("it is an address");
    let mut connections: Vec<_> =
        (0..CLIENTS).map(|_| client.get_connection().expect("it listens")).enumerate().collect();
    let began = host::mono();
    std::thread::scope(|scope| {
        for (number, connection) in &mut connections {
            scope.spawn(move || {
                let key = format!("lock:{number}");
                for _ in 0..CYCLES {
                    let value = host::wall().as_secs() + 30;
                    assert!(connection.set_nx::<_, _, bool>(&key, value).expect("it answers"), "the lock is free");
                    connection.expire::<_, ()>(&key, 30).expect("it answers");
                    assert_eq!(connection.del(&key), Ok(1), "the lock is its own");
                }
            });
        }
    });
    let seconds = host::mono().saturating_since(began).as_secs_f64();
    CLIENTS as f64 * f64::from(CYCLES) / seconds
}
