//! Complete frames as values, by the parser of the `redis` crate.

use std::cell::RefCell;

use redis::{Parser, RedisResult, Value};

thread_local! {
    /// The parser has a buffer of eight kilobytes, which serves all frames of a thread.
    static PARSER: RefCell<Parser> = RefCell::default();
}

/// The value of a complete frame.
pub(super) fn value(frame: &[u8]) -> RedisResult<Value> {
    PARSER.with_borrow_mut(|parser| {
        let value = parser.parse_value(frame);
        if value.is_err() {
            // What it could not read is still in its buffer.
            *parser = Parser::new();
        }
        value
    })
}
