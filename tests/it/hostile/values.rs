//! Values that no client has written.

use std::sync::Arc;

use lockshift::driver::Attempt;
use redis::cmd;

use super::{assert_helps, key, lease, through_every_driver};
use crate::drivers::Driver;
use crate::protocols::every;
use crate::server::Server;

through_every_driver! {
    a_value_that_nobody_can_read,
}

fn a_value_that_nobody_can_read<D: Driver>() {
    let long = vec![b'9'; 1 << 16];
    let values: [&[u8]; 18] = [
        b"",
        b" ",
        b"\0",
        b"-1",
        b"+",
        b"0x10",
        b"1e999",
        b"nan",
        b"-inf",
        b"9223372036854775808",
        b"true",
        b"null",
        b"{",
        b"[1,",
        b"\xff\xfe\xfd",
        b"12345678",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        &long,
    ];
    let server = Server::start();
    let mut operator = server.connect();
    let driver = D::default();
    for protocol in every(&key(), lease()) {
        let (name, locker) = &protocol;
        for value in values {
            cmd("FLUSHALL").exec(&mut operator).unwrap();
            cmd("SET").arg("lock:7").arg(value).exec(&mut operator).unwrap();
            match driver.try_acquire(&driver.lock(&server.client(), Arc::clone(locker))) {
                Ok(Attempt::Won(guard)) => {
                    driver.release(guard).map(drop).unwrap_or_else(|error| panic!("{name}: {error}"))
                }
                Ok(Attempt::Held(_)) => {}
                Ok(other) => panic!("{name}: the server answers, but: {other:?}"),
                Err(error) => assert_helps(&protocol, &error),
            }
        }
    }
}
