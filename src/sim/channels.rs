//! Publishing and subscribing: channels, patterns of channels, and the channels of a shard.

use std::collections::BTreeSet;

use super::call::{self, Answer, Call, Row, count};
use super::glob;
use super::refusal::Refusal;
use super::session::{Connection, Message, Subscriptions, Via};
use crate::wire::{CommandWord, Reply};

pub(super) const ROWS: &[Row] = &[
    Row::speaks("publish", 3, publish),
    Row::speaks("spublish", 3, spublish),
    Row::listens("subscribe", -2, |call| subscribe(call, ChannelKind::Channel)),
    Row::listens("unsubscribe", -1, |call| unsubscribe(call, ChannelKind::Channel)),
    Row::listens("psubscribe", -2, |call| subscribe(call, ChannelKind::Pattern)),
    Row::listens("punsubscribe", -1, |call| unsubscribe(call, ChannelKind::Pattern)),
    Row::listens("ssubscribe", -2, |call| subscribe(call, ChannelKind::Shard)),
    Row::listens("sunsubscribe", -1, |call| unsubscribe(call, ChannelKind::Shard)),
    Row::speaks("pubsub", -2, call::never).with_subcommands(),
    Row::speaks("pubsub|channels", -2, |call| listened(call, ChannelKind::Channel)),
    Row::speaks("pubsub|shardchannels", -2, |call| listened(call, ChannelKind::Shard)),
    Row::speaks("pubsub|numsub", -2, |call| listeners(call, ChannelKind::Channel)),
    Row::speaks("pubsub|shardnumsub", -2, |call| listeners(call, ChannelKind::Shard)),
    Row::speaks("pubsub|numpat", 2, |call| Ok(count(all(call, ChannelKind::Pattern).len()))),
];

#[derive(Clone, Copy)]
enum ChannelKind {
    Channel,
    Pattern,
    Shard,
}

impl ChannelKind {
    fn of(self, subscriptions: &Subscriptions) -> &BTreeSet<Vec<u8>> {
        match self {
            Self::Channel => &subscriptions.channels,
            Self::Pattern => &subscriptions.patterns,
            Self::Shard => &subscriptions.shards,
        }
    }

    fn of_mut(self, subscriptions: &mut Subscriptions) -> &mut BTreeSet<Vec<u8>> {
        match self {
            Self::Channel => &mut subscriptions.channels,
            Self::Pattern => &mut subscriptions.patterns,
            Self::Shard => &mut subscriptions.shards,
        }
    }

    /// The number that a confirmation ends with: channels and patterns are counted together, shard channels apart.
    fn count_beside(self, subscriptions: &Subscriptions) -> Reply {
        count(match self {
            Self::Channel | Self::Pattern => subscriptions.channels.len() + subscriptions.patterns.len(),
            Self::Shard => subscriptions.shards.len(),
        })
    }
}

/// How many received it: once for the channel, once more for every pattern that matches.
fn publish(call: &mut Call<'_>) -> Answer {
    let [channel, payload] = call.args() else { return Ok(Reply::Int(0)) };
    let receivers = call.state.connections.values_mut().map(|connection| {
        let before = connection.inbox.len();
        if connection.subscriptions.channels.contains(channel.as_slice()) {
            deliver(connection, Via::Channel, channel, payload);
        }
        for pattern in connection.subscriptions.patterns.clone() {
            if glob::matches(&pattern, channel) {
                deliver(connection, Via::Pattern(pattern), channel, payload);
            }
        }
        connection.inbox.len() - before
    });
    Ok(count(receivers.sum()))
}

fn spublish(call: &mut Call<'_>) -> Answer {
    let [channel, payload] = call.args() else { return Ok(Reply::Int(0)) };
    let listening =
        call.state.connections.values_mut().filter(|it| it.subscriptions.shards.contains(channel.as_slice()));
    Ok(count(listening.map(|connection| deliver(connection, Via::Shard, channel, payload)).count()))
}

fn deliver(connection: &mut Connection, via: Via, channel: &[u8], payload: &[u8]) {
    connection.inbox.push(Message { via, channel: channel.to_vec(), payload: payload.to_vec() });
}

/// Redis confirms each channel on its own; this is the last of the confirmations.
fn subscribe(call: &mut Call<'_>, kind: ChannelKind) -> Answer {
    let (name, channels) = (call.name, call.args());
    let subscriptions = &mut call.connection().subscriptions;
    kind.of_mut(subscriptions).extend(channels.iter().map(|channel| channel.to_vec()));
    Ok(confirmation(name, channels.last().map(CommandWord::as_slice), kind.count_beside(subscriptions)))
}

/// Without arguments: from everything of this kind.
fn unsubscribe(call: &mut Call<'_>, kind: ChannelKind) -> Answer {
    let (name, named) = (call.name, call.args());
    let subscriptions = &mut call.connection().subscriptions;
    let listed: Vec<_> = if named.is_empty() {
        kind.of(subscriptions).iter().cloned().collect()
    } else {
        named.iter().map(|channel| channel.to_vec()).collect()
    };
    for channel in &listed {
        kind.of_mut(subscriptions).remove(channel);
    }
    Ok(confirmation(name, listed.last().map(Vec::as_slice), kind.count_beside(subscriptions)))
}

fn confirmation(name: &str, channel: Option<&[u8]>, subscribed: Reply) -> Reply {
    Reply::Array(vec![Reply::bulk(name), channel.map_or(Reply::Nil, Reply::bulk), subscribed])
}

fn all(call: &Call<'_>, kind: ChannelKind) -> BTreeSet<Vec<u8>> {
    call.state.connections.values().flat_map(|connection| kind.of(&connection.subscriptions)).cloned().collect()
}

fn listened(call: &mut Call<'_>, kind: ChannelKind) -> Answer {
    let pattern = match call.args() {
        [_] => None,
        [_, pattern] => Some(pattern),
        _ => {
            let sub = String::from_utf8_lossy(&call.args()[0]);
            let text = "unknown subcommand or wrong number of arguments for";
            return Err(Refusal::err(format_args!("{text} '{sub}'. Try PUBSUB HELP.")));
        }
    };
    let matching = |channel: &Vec<u8>| pattern.is_none_or(|pattern| glob::matches(pattern, channel));
    Ok(Reply::Array(all(call, kind).into_iter().filter(matching).map(Reply::Bulk).collect()))
}

fn listeners(call: &mut Call<'_>, kind: ChannelKind) -> Answer {
    let subscribers = |channel: &CommandWord| {
        let connections = call.state.connections.values();
        count(connections.filter(|connection| kind.of(&connection.subscriptions).contains(channel.as_slice())).count())
    };
    let pairs = call.args()[1..].iter().flat_map(|channel| [Reply::bulk(channel), subscribers(channel)]);
    Ok(Reply::Array(pairs.collect()))
}
