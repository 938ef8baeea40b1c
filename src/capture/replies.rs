//! RESP2 and RESP3 as commands and replies.

use redis_protocol::resp2::decode::decode as decode2;
use redis_protocol::resp2::types::OwnedFrame as Frame2;
use redis_protocol::resp3::decode::complete::decode as decode3;
use redis_protocol::resp3::types::OwnedFrame as Frame3;

use crate::wire::{Command, Reply};

/// The version of the protocol in which a server replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Version {
    #[default]
    Resp2,
    Resp3,
}

/// What bytes begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decoded<T> {
    /// A message, of so many bytes.
    Whole(T, usize),
    /// The beginning of one.
    Partial,
    /// Nothing that the protocol allows.
    Malformed,
}

/// A reply, or what the server pushes without being asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerMessage {
    Reply(Reply),
    Push(Reply),
}

/// The request that these bytes begin with.
pub(super) fn request(bytes: &[u8]) -> Decoded<Command> {
    if bytes.first().is_some_and(|first| *first != b'*') {
        return Decoded::Malformed;
    }
    match decode2(bytes) {
        Ok(Some((Frame2::Array(items), used))) => {
            let words = items.into_iter().map(|item| match item {
                Frame2::BulkString(word) => Some(word),
                _ => None,
            });
            match words.collect::<Option<Vec<_>>>().and_then(Command::from_words) {
                Some(command) => Decoded::Whole(command, used),
                None => Decoded::Malformed,
            }
        }
        Ok(None) => Decoded::Partial,
        Ok(Some(_)) | Err(_) => Decoded::Malformed,
    }
}

/// The reply that these bytes begin with. A type that only RESP3 has changes the version.
pub(super) fn reply(bytes: &[u8], version: &mut Version) -> Decoded<ServerMessage> {
    let Some(first) = bytes.first() else { return Decoded::Partial };
    if b"_,#!=(%~|>".contains(first) {
        *version = Version::Resp3;
    }
    match *version {
        Version::Resp2 => match decode2(bytes) {
            Ok(Some((frame, used))) => Decoded::Whole(ServerMessage::Reply(reply2(frame)), used),
            Ok(None) => Decoded::Partial,
            Err(_) => Decoded::Malformed,
        },
        Version::Resp3 => match decode3(bytes) {
            Ok(Some((frame @ Frame3::Push { .. }, used))) => Decoded::Whole(ServerMessage::Push(reply3(frame)), used),
            Ok(Some((frame, used))) => Decoded::Whole(ServerMessage::Reply(reply3(frame)), used),
            Ok(None) => Decoded::Partial,
            Err(_) => Decoded::Malformed,
        },
    }
}

fn reply2(frame: Frame2) -> Reply {
    match frame {
        Frame2::SimpleString(text) => Reply::Status(String::from_utf8_lossy(&text).into_owned()),
        Frame2::Error(text) => Reply::Error(text),
        Frame2::Integer(number) => Reply::Int(number),
        Frame2::BulkString(value) => Reply::Bulk(value),
        Frame2::Array(items) => Reply::Array(items.into_iter().map(reply2).collect()),
        Frame2::Null => Reply::Nil,
    }
}

/// The RESP3 frame as RESP2 would have it.
fn reply3(frame: Frame3) -> Reply {
    let all = |items: Vec<Frame3>| Reply::Array(items.into_iter().map(reply3).collect());
    match frame {
        Frame3::BlobString { data, .. } | Frame3::VerbatimString { data, .. } | Frame3::BigNumber { data, .. } => {
            Reply::Bulk(data)
        }
        Frame3::SimpleString { data, .. } => Reply::Status(String::from_utf8_lossy(&data).into_owned()),
        Frame3::BlobError { data, .. } => Reply::Error(String::from_utf8_lossy(&data).into_owned()),
        Frame3::SimpleError { data, .. } => Reply::Error(data),
        Frame3::Boolean { data, .. } => Reply::Int(i64::from(data)),
        Frame3::Number { data, .. } => Reply::Int(data),
        Frame3::Double { data, .. } => Reply::Bulk(data.to_string().into_bytes()),
        Frame3::Array { data, .. } | Frame3::Push { data, .. } => all(data),
        Frame3::Set { data, .. } => all(data.into_iter().collect()),
        Frame3::Map { data, .. } => {
            // The parser keeps no order; a fixed one makes equal replies equal.
            let mut pairs: Vec<_> = data.into_iter().collect();
            pairs.sort_by_cached_key(|(key, _)| format!("{key:?}"));
            all(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect())
        }
        Frame3::Null | Frame3::Hello { .. } | Frame3::ChunkedString(_) => Reply::Nil,
    }
}

#[test]
fn replies_of_both_versions_mean_the_same() {
    let read = |bytes: &[u8], mut version: Version| match reply(bytes, &mut version) {
        Decoded::Whole(ServerMessage::Reply(reply), used) if used == bytes.len() => reply,
        other => panic!("{other:?}"),
    };
    for (resp2, resp3, expected) in [
        (&b"$-1\r\n"[..], &b"_\r\n"[..], Reply::Nil),
        (b":1\r\n", b"#t\r\n", Reply::Int(1)),
        (b"+OK\r\n", b"+OK\r\n", Reply::ok()),
        (b"$3\r\nabc\r\n", b"=7\r\ntxt:abc\r\n", Reply::bulk("abc")),
        (b"*2\r\n:1\r\n$-1\r\n", b"*2\r\n:1\r\n_\r\n", Reply::Array(vec![Reply::Int(1), Reply::Nil])),
        (b"-ERR no\r\n", b"!6\r\nERR no\r\n", Reply::Error("ERR no".to_owned())),
    ] {
        assert_eq!(read(resp2, Version::Resp2), expected);
        assert_eq!(read(resp3, Version::Resp3), expected);
    }
    let mut version = Version::Resp3;
    let push = b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n";
    let invalidated = Reply::Array(vec![Reply::Status("invalidate".to_owned()), Reply::Array(vec![Reply::bulk("k")])]);
    assert_eq!(reply(push, &mut version), Decoded::Whole(ServerMessage::Push(invalidated), push.len()));
    assert_eq!(reply(b"$10\r\nabc", &mut version), Decoded::Partial);
}
