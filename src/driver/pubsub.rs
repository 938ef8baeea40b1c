//! What goes over a subscribed connection: the commands, and the messages and replies that come in, in RESP2 as arrays, in
//! RESP3 as pushes.

use std::io;
use std::time::Duration;

use lockshift_lock::ReleaseChannel;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{Client, Cmd, ConnectionAddr, ConnectionInfo, PushKind, RedisResult, Value, cmd};

use super::events::LISTEN;
use super::waiters::Change;

/// After this long without any data from the server a PING is sent: a peer that is gone sends nothing, and neither does a
/// proxy on the way that has lost it.
pub(super) const QUIET: Duration = Duration::from_secs(5);

/// How long connecting, and the reply to a PING, may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The same server, over a connection that the kernel probes while nothing is sent.
pub(super) fn kept_alive(info: &ConnectionInfo) -> ConnectionInfo {
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(15)).with_interval(Duration::from_secs(5));
    info.clone().set_tcp_settings(info.tcp_settings().clone().set_keepalive(keepalive))
}

/// A message or reply that came in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// A message on a channel.
    Message(ReleaseChannel, Vec<u8>),
    /// The oldest command that was not answered is done.
    Done,
    /// This channel is no longer subscribed to: because that was asked for, or because its slot has moved to another node.
    Left(ReleaseChannel),
    /// The oldest command that was not answered is refused.
    Refused(String),
    /// The reply to a PING, with its argument.
    Pong(Vec<u8>),
    /// The connection broke.
    Broken,
    /// Anything else.
    Nothing,
}

impl Received {
    /// What this value is, on a connection that sends only SUBSCRIBE, UNSUBSCRIBE and PING.
    pub(super) fn in_value(value: Value) -> Self {
        match value {
            Value::Push { kind, data } => Self::in_push(&kind, data),
            Value::Array(items) => {
                let mut items = items.into_iter();
                match items.next() {
                    Some(Value::BulkString(kind)) if kind == b"message" => message(false, items),
                    Some(Value::BulkString(kind)) if kind == b"smessage" => message(true, items),
                    Some(Value::BulkString(kind)) if kind == b"unsubscribe" => left(false, items),
                    Some(Value::BulkString(kind)) if kind == b"sunsubscribe" => left(true, items),
                    Some(Value::BulkString(kind)) if kind == b"pong" => match items.next() {
                        Some(Value::BulkString(argument)) => Self::Pong(argument),
                        _ => Self::Nothing,
                    },
                    Some(_) | None => Self::Done,
                }
            }
            Value::BulkString(argument) => Self::Pong(argument),
            Value::ServerError(error) => Self::Refused(error.to_string()),
            _ => Self::Nothing,
        }
    }

    /// What this push is.
    pub(super) fn in_push(kind: &PushKind, data: Vec<Value>) -> Self {
        match kind {
            PushKind::Message => message(false, data.into_iter()),
            PushKind::SMessage => message(true, data.into_iter()),
            PushKind::Subscribe | PushKind::SSubscribe => Self::Done,
            PushKind::Unsubscribe => left(false, data.into_iter()),
            PushKind::SUnsubscribe => left(true, data.into_iter()),
            PushKind::Disconnection => Self::Broken,
            _ => Self::Nothing,
        }
    }
}

/// The command that makes a change.
pub(super) fn command(change: &Change) -> Cmd {
    let (name, channel) = match change {
        Change::Listen(channel) if channel.sharded => ("SSUBSCRIBE", channel),
        Change::Listen(channel) => ("SUBSCRIBE", channel),
        Change::Leave(channel) if channel.sharded => ("SUNSUBSCRIBE", channel),
        Change::Leave(channel) => ("UNSUBSCRIBE", channel),
    };
    cmd(name).arg(&channel.channel).to_owned()
}

fn left(sharded: bool, mut rest: impl Iterator<Item = Value>) -> Received {
    match rest.next() {
        Some(Value::BulkString(channel)) => Received::Left(ReleaseChannel { channel, sharded }),
        _ => Received::Done,
    }
}

/// Whether the server to listen to is still at this address.
///
/// # Errors
/// It is at another one. If it cannot be found now, the old one will do.
pub(super) fn still_at(address: &ConnectionAddr, found: RedisResult<Client>) -> RedisResult<()> {
    match found {
        Ok(client) if client.get_connection_info().addr() != address => {
            let now = client.get_connection_info().addr();
            Err(io::Error::other(format!("the server to listen to is no longer {address} but {now}")).into())
        }
        Ok(_) => Ok(()),
        Err(error) => {
            log::debug!(target: LISTEN, "cannot find the server to listen to: {error}");
            Ok(())
        }
    }
}

fn message(sharded: bool, mut rest: impl Iterator<Item = Value>) -> Received {
    match (rest.next(), rest.next()) {
        (Some(Value::BulkString(channel)), Some(Value::BulkString(text))) => {
            Received::Message(ReleaseChannel { channel, sharded }, text)
        }
        _ => Received::Nothing,
    }
}

#[test]
fn a_channel_is_subscribed_to_and_left_by_the_commands_of_its_kind() {
    let of = |sharded| ReleaseChannel { channel: b"c".to_vec(), sharded };
    let commands =
        [Change::Listen(of(false)), Change::Leave(of(false)), Change::Listen(of(true)), Change::Leave(of(true))];
    let names = ["SUBSCRIBE", "UNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE"];
    for (change, name) in commands.iter().zip(names) {
        assert_eq!(command(change).get_packed_command(), cmd(name).arg("c").get_packed_command());
    }
}

#[test]
fn a_listener_goes_to_the_server_that_has_taken_the_place_of_its_own() {
    let client = |port: u16| Client::open(("127.0.0.1", port)).unwrap();
    let own = client(1).get_connection_info().addr().clone();
    assert!(still_at(&own, Ok(client(1))).is_ok());
    assert!(still_at(&own, Ok(client(2))).is_err());
    assert!(still_at(&own, Err(io::Error::from(io::ErrorKind::TimedOut).into())).is_ok(), "it cannot be found now");
}

#[test]
fn resp2_and_resp3_are_read_alike() {
    let bulk = |text: &str| Value::BulkString(text.into());
    let channel = |sharded| ReleaseChannel { channel: b"c".to_vec(), sharded };
    let array = |kind: &str| Received::in_value(Value::Array(vec![bulk(kind), bulk("c"), bulk("0")]));
    let push = |kind| Received::in_value(Value::Push { kind, data: vec![bulk("c"), bulk("0")] });
    let message = |sharded| Received::Message(channel(sharded), b"0".to_vec());
    assert_eq!([array("message"), push(PushKind::Message)], [message(false), message(false)]);
    assert_eq!([array("smessage"), push(PushKind::SMessage)], [message(true), message(true)]);
    assert_eq!([array("subscribe"), push(PushKind::Subscribe)], [Received::Done, Received::Done]);
    let left = |sharded| Received::Left(channel(sharded));
    assert_eq!([array("unsubscribe"), push(PushKind::Unsubscribe)], [left(false), left(false)]);
    assert_eq!([array("sunsubscribe"), push(PushKind::SUnsubscribe)], [left(true), left(true)]);
    let pong = [Value::Array(vec![bulk("pong"), bulk("1")]), bulk("1")].map(Received::in_value);
    assert_eq!(pong, [Received::Pong(b"1".to_vec()), Received::Pong(b"1".to_vec())]);
    assert_eq!(push(PushKind::Disconnection), Received::Broken);
    assert_eq!(push(PushKind::Invalidate), Received::Nothing);
}

#[test]
fn a_refused_subscription_is_the_reply_to_the_oldest_command() {
    let refusal = redis::parse_redis_value(b"-NOPERM No permissions to access a channel\r\n").unwrap();
    assert!(matches!(Received::in_value(refusal), Received::Refused(_)));
}
