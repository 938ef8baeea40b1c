//! Between the words of the `redis` crate and ours: what came back, and what a broken connection means.

use std::error::Error;
use std::io;
use std::sync::Arc;

use lockshift_wire::Reply;
use redis::{ErrorKind, RedisError, RedisResult, Value};

use super::refusal;

/// What came back: a reply, which may be an error reply, or a broken connection.
///
/// Some connections hand an error reply out as a value, others as an error: for us it is a reply either way.
pub(crate) fn reply(result: RedisResult<Value>) -> Result<Reply, RedisError> {
    match result {
        Ok(value) => Ok(from_value(value)),
        Err(error) => refusal_text(&error).map(Reply::Error).ok_or(error),
    }
}

/// Redis' own words, code first, if the error is that the server refused.
pub(super) fn refusal_text(error: &RedisError) -> Option<String> {
    Some(rejoined(error.code()?, error.detail()))
}

/// What the server's refusal means, if the error is one.
pub(crate) fn refusal_kind(error: &RedisError) -> Option<super::error_kind::ErrorKind> {
    refusal_text(error).map(|text| refusal::kind(&text))
}

/// An error that came before the command was sent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unsent(#[source] RedisError);

/// The same error, marked as one that came before the command was sent: so nothing can have been changed.
pub(crate) fn unsent(error: RedisError) -> RedisError {
    if refusal_text(&error).is_some() || never_left(&error) {
        return error;
    }
    let kind = io_error(&error).map_or(io::ErrorKind::Other, io::Error::kind);
    io::Error::new(kind, Unsent(error)).into()
}

/// The I/O error that this one is.
fn io_error(error: &RedisError) -> Option<&io::Error> {
    // The `redis` crate hands its source out inside of the `Arc` in which it keeps it.
    let source = error.source().and_then(|source| source.downcast_ref::<Arc<dyn Error + Send + Sync>>());
    source.and_then(|source| source.downcast_ref())
}

/// Whether the error certainly came before the command was sent.
pub(super) fn never_left(error: &RedisError) -> bool {
    let is_marked = || io_error(error).and_then(io::Error::get_ref).is_some_and(|source| source.is::<Unsent>());
    error.is_connection_refusal()
        || is_marked()
        || matches!(
            error.kind(),
            ErrorKind::AuthenticationFailed
                | ErrorKind::InvalidClientConfig
                | ErrorKind::RESP3NotSupported
                | ErrorKind::EmptySentinelList
                | ErrorKind::MasterNameNotFoundBySentinel
                | ErrorKind::NoValidReplicasFoundBySentinel
        )
}

/// Whether a connection whose command ended so is of no use any more. One that only was too slow may still answer.
pub(super) fn ends_its_connection(error: &RedisError) -> bool {
    (error.is_io_error() || error.is_unrecoverable_error()) && !error.is_timeout()
}

/// Whether the error is that the other side has closed the connection before something was written to it.
pub(super) fn is_broken_pipe(error: &RedisError) -> bool {
    io_error(error).map(io::Error::kind) == Some(io::ErrorKind::BrokenPipe)
}

/// Whether this is a cluster connection of the `redis` crate, or made of one. They send a command up to 16 times, and nothing
/// in their types says so; only their names tell them, whatever features this crate and its user have chosen.
pub(super) fn is_resending<C>() -> bool {
    let is_in_path = |letter: char| letter.is_alphanumeric() || ['_', ':'].contains(&letter);
    let mut types = std::any::type_name::<C>().split(|letter| !is_in_path(letter));
    types.any(|path| path.starts_with("redis::cluster"))
}

/// RESP3's shapes become those of RESP2, the only ones that protocols know.
fn from_value(value: Value) -> Reply {
    match value {
        Value::Nil => Reply::Nil,
        Value::Int(number) => Reply::Int(number),
        Value::Boolean(yes) => Reply::Int(i64::from(yes)),
        Value::BulkString(bytes) => Reply::Bulk(bytes),
        Value::VerbatimString { text, .. } => Reply::Bulk(text.into_bytes()),
        Value::Double(number) => Reply::bulk(number.to_string()),
        Value::SimpleString(text) => Reply::Status(text),
        Value::Okay => Reply::ok(),
        Value::Array(items) | Value::Set(items) | Value::Push { data: items, .. } => {
            Reply::Array(items.into_iter().map(from_value).collect())
        }
        Value::Map(pairs) => {
            Reply::Array(pairs.into_iter().flat_map(|(name, value)| [name, value]).map(from_value).collect())
        }
        Value::Attribute { data, .. } => from_value(*data),
        Value::ServerError(error) => Reply::Error(rejoined(error.code(), error.details())),
        // Big numbers, and what a later version may add: no command of a lock is answered so.
        other => Reply::bulk(format!("{other:?}")),
    }
}

/// The text as Redis sent it: the `redis` crate splits it at the first space.
fn rejoined(code: &str, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{code} {detail}"),
        None => code.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use redis::VerbatimFormat;

    use super::*;

    #[test]
    fn a_broken_pipe_is_distinguished_from_other_io_errors() {
        let error = |kind| RedisError::from(io::Error::from(kind));
        assert!(is_broken_pipe(&error(io::ErrorKind::BrokenPipe)));
        assert!(!is_broken_pipe(&error(io::ErrorKind::ConnectionReset)));
        assert!(!is_broken_pipe(&RedisError::from((ErrorKind::Io, "no cause"))));
    }

    #[test]
    fn a_reply_that_is_cut_off_ends_the_connection_and_one_that_is_late_or_refuses_does_not() {
        let io = |kind| RedisError::from(io::Error::from(kind));
        let cut_off = RedisError::from((ErrorKind::Parse, "half a reply"));
        for error in [io(io::ErrorKind::ConnectionReset), io(io::ErrorKind::Other), cut_off] {
            assert!(ends_its_connection(&error), "{error}");
        }
        let refusal = redis::parse_redis_value(b"-NOSCRIPT no\r\n").unwrap().extract_error().unwrap_err();
        for error in [io(io::ErrorKind::TimedOut), refusal] {
            assert!(!ends_its_connection(&error), "{error}");
        }
    }

    #[test]
    fn an_error_before_the_command_was_sent_keeps_what_it_is_and_says_so() {
        let timeout = RedisError::from(io::Error::from(io::ErrorKind::TimedOut));
        assert!(!never_left(&timeout));
        let before = unsent(timeout);
        assert!(never_left(&before) && before.is_timeout(), "{before}");
        let login = unsent((ErrorKind::AuthenticationFailed, "wrong password").into());
        assert!(never_left(&login) && login.kind() == ErrorKind::AuthenticationFailed, "{login}");
    }

    #[test]
    fn cluster_connections_of_the_redis_crate_are_recognised() {
        assert!(is_resending::<redis::cluster::ClusterConnection>());
        assert!(is_resending::<redis::cluster_async::ClusterConnection>());
        assert!(is_resending::<r2d2::PooledConnection<redis::cluster::ClusterClient>>());
        assert!(!is_resending::<redis::Connection>());
        assert!(!is_resending::<crate::connect::blocking::Connection>());
        assert!(!is_resending::<redis::aio::MultiplexedConnection>());
    }

    #[test]
    fn every_shape_becomes_one_of_resp2() {
        let bulk = |text: &str| Value::BulkString(text.into());
        let table = [
            (Value::Nil, Reply::Nil),
            (Value::Int(-2), Reply::Int(-2)),
            (Value::Boolean(true), Reply::Int(1)),
            (bulk("v"), Reply::bulk("v")),
            (Value::VerbatimString { format: VerbatimFormat::Text, text: "v".into() }, Reply::bulk("v")),
            (Value::Double(0.5), Reply::bulk("0.5")),
            (Value::SimpleString("QUEUED".into()), Reply::Status("QUEUED".into())),
            (Value::Okay, Reply::ok()),
            (Value::Array(vec![Value::Nil]), Reply::Array(vec![Reply::Nil])),
            (Value::Set(vec![bulk("v")]), Reply::Array(vec![Reply::bulk("v")])),
            (Value::Map(vec![(bulk("k"), Value::Int(1))]), Reply::Array(vec![Reply::bulk("k"), Reply::Int(1)])),
            (Value::Attribute { data: Box::new(Value::Int(1)), attributes: vec![] }, Reply::Int(1)),
        ];
        for (value, expected) in table {
            assert_eq!(from_value(value), expected);
        }
    }

    #[test]
    fn an_error_reply_keeps_its_whole_text_however_it_comes() {
        for text in ["WRONGTYPE Operation against a key", "ERR unknown command 'X'", "NOSCRIPT No matching", "CUSTOM"] {
            let value = || redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap();
            let expected = Ok(Reply::Error(text.to_owned()));
            assert_eq!(reply(Ok(value())), expected, "as a value");
            assert_eq!(reply(value().extract_error()), expected, "as an error");
        }
    }
}
