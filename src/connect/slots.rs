//! Which node of a cluster owns which hash slots, as CLUSTER SLOTS and MOVED say.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use redis::{RedisResult, Value};

use super::node::Node;

/// The owner of each slot.
#[derive(Clone, Debug)]
pub(super) struct SlotTable {
    ranges: Vec<(RangeInclusive<u16>, Node)>,
    moved: HashMap<u16, Node>,
}

impl SlotTable {
    /// What `asked` replied to CLUSTER SLOTS.
    ///
    /// # Errors
    /// The reply has another shape, or names no node.
    pub(super) fn from_reply(asked: &Node, reply: Value) -> RedisResult<Self> {
        let listed: Vec<Vec<Value>> = redis::from_redis_value(reply.extract_error()?)?;
        let ranges: Vec<_> = listed.iter().filter_map(|range| owned(asked, range)).collect();
        if ranges.is_empty() {
            return Err((redis::ErrorKind::UnexpectedReturnType, "CLUSTER SLOTS lists no node").into());
        }
        Ok(Self { ranges, moved: HashMap::new() })
    }

    /// The owner of this slot; any node if it has no owner: that one will say so.
    pub(super) fn owner(&self, slot: Option<u16>) -> &Node {
        let Some(slot) = slot else { return &self.ranges[0].1 };
        let listed = || self.ranges.iter().find(|(range, _)| range.contains(&slot)).map(|(_, node)| node);
        self.moved.get(&slot).or_else(listed).unwrap_or(&self.ranges[0].1)
    }

    /// Notes that this slot has moved.
    pub(super) fn learn(&mut self, slot: u16, owner: Node) {
        self.moved.insert(slot, owner);
    }

    /// Each master once.
    pub(super) fn masters(&self) -> Vec<Node> {
        let mut masters: Vec<Node> = Vec::new();
        for (_, node) in &self.ranges {
            if !masters.iter().any(|known| known.name() == node.name()) {
                masters.push(node.clone());
            }
        }
        masters.sort_by_key(ToString::to_string);
        masters
    }
}

/// A range and its master: `[first, last, [host, port, ...], replicas...]`. A node that does not know another's name
/// says `?`.
fn owned(asked: &Node, range: &[Value]) -> Option<(RangeInclusive<u16>, Node)> {
    let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = range else { return None };
    let [host, Value::Int(port), ..] = master.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) => std::str::from_utf8(host).ok()?,
        Value::SimpleString(host) => host,
        _ => "",
    };
    let slots = u16::try_from(*first).ok()?..=u16::try_from(*last).ok()?;
    (host != "?").then_some(())?;
    Some((slots, asked.moved_to(host, u16::try_from(*port).ok()?)))
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;

    use super::*;

    fn node(url: &str) -> Node {
        Node::new(url.into_connection_info().unwrap(), url.to_owned())
    }

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    #[test]
    fn each_slot_has_the_owner_that_was_named_last() {
        let range = |first, last, host: Value, port| {
            Value::Array(vec![
                Value::Int(first),
                Value::Int(last),
                Value::Array(vec![host, Value::Int(port), bulk("id")]),
            ])
        };
        let reply = Value::Array(vec![
            range(0, 99, bulk("a"), 1),
            range(100, 199, bulk(""), 2),
            range(200, 299, Value::Nil, 3),
            range(300, 399, bulk("?"), 4),
            range(400, 16383, bulk("a"), 1),
        ]);
        let mut table = SlotTable::from_reply(&node("redis://asked:9"), reply).unwrap();
        let owner = |table: &SlotTable, slot| table.owner(Some(slot)).to_string();
        for (slot, expected) in [(0, "a:1"), (150, "asked:2"), (200, "asked:3"), (500, "a:1"), (350, "a:1")] {
            assert_eq!(owner(&table, slot), expected, "{slot}");
        }
        table.learn(150, node("redis://b:5").moved_to("b", 5));
        assert_eq!(owner(&table, 150), "b:5");
        assert_eq!(owner(&table, 151), "asked:2");
        assert_eq!(table.masters().len(), 3);
    }

    #[test]
    fn a_server_without_a_cluster_has_no_table() {
        let refused = redis::parse_redis_value(b"-ERR This instance has cluster support disabled\r\n").unwrap();
        assert!(SlotTable::from_reply(&node("redis://a"), refused).is_err());
        assert!(SlotTable::from_reply(&node("redis://a"), Value::Array(vec![])).is_err());
    }
}
