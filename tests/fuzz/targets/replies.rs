//! Any replies, to every lock, through the blocking driver.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use lockshift::driver::blocking::Lock;
use redis::{ConnectionLike, RedisError, RedisResult, Value, parse_redis_value};

use super::locks::chosen;

/// A server that answers what it was given, then hangs up.
struct Scripted(VecDeque<Value>);

impl ConnectionLike for Scripted {
    fn req_packed_command(&mut self, _: &[u8]) -> RedisResult<Value> {
        let hung_up = || RedisError::from(io::Error::from(io::ErrorKind::ConnectionReset));
        self.0.pop_front().ok_or_else(hung_up)?.extract_error()
    }

    fn req_packed_commands(&mut self, _: &[u8], _: usize, _: usize) -> RedisResult<Vec<Value>> {
        unreachable!("the driver sends one command at a time")
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        true
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// What an attempt, an extension and a release make of these replies.
pub(crate) fn replies(input: &[u8]) {
    let Some((locker, _, mut rest)) = chosen(input) else { return };
    let mut values = VecDeque::new();
    while let Ok(value) = parse_redis_value(rest) {
        values.push_back(value);
        // The parser does not say how much it has read: the next reply begins after some line end.
        let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else { break };
        rest = &rest[end + 2..];
        if values.len() == 64 {
            break;
        }
    }
    let lock = Lock::new(Scripted(values), Arc::clone(locker));
    if let Ok(attempt) = lock.try_acquire()
        && let Some(guard) = attempt.won()
    {
        let _ = guard.extend();
        let _ = guard.release();
    }
}
