//! Which server a command goes to, as far as is known: one, the present master, or the owner of its slot.

use redis::{Cmd, RedisError, RedisResult, Value, cmd};

use super::node::Node;
use super::slots::SlotTable;

/// What is known about where commands go.
#[derive(Clone, Debug)]
pub(super) enum Topology {
    /// All go to this one.
    One(Node),
    /// Each goes to the owner of its slot.
    Slots(SlotTable),
}

impl Topology {
    /// Where a command for this slot goes.
    pub(super) fn target(&self, slot: Option<u16>) -> &Node {
        match self {
            Self::One(node) => node,
            Self::Slots(table) => table.owner(slot),
        }
    }

    /// Notes that a slot has moved.
    pub(super) fn learn(&mut self, slot: u16, owner: Node) {
        match self {
            Self::One(_) => {}
            Self::Slots(table) => table.learn(slot, owner),
        }
    }
}

/// What to ask a node of a cluster.
pub(super) fn slots_command() -> Cmd {
    let mut command = cmd("CLUSTER");
    command.arg("SLOTS");
    command
}

/// What to ask a sentinel.
pub(super) fn master_command(service: &str) -> Cmd {
    let mut command = cmd("SENTINEL");
    command.arg("GET-MASTER-ADDR-BY-NAME").arg(service);
    command
}

/// The master that a sentinel named.
///
/// # Errors
/// It knows none of that name, or refused.
pub(super) fn named_master(template: &Node, reply: Value) -> RedisResult<Node> {
    let named: Option<(String, u16)> = redis::from_redis_value(reply.extract_error().map_err(no_sentinel)?)?;
    let Some((host, port)) = named else {
        return Err(
            (redis::ErrorKind::MasterNameNotFoundBySentinel, "the sentinel knows no master of this name").into()
        );
    };
    Ok(template.moved_to(&host, port))
}

/// The refusal of a server that is no sentinel: it does not know the command.
fn no_sentinel(error: RedisError) -> RedisError {
    match error.detail() {
        Some(words) if words.starts_with("unknown command") => {
            (redis::ErrorKind::InvalidClientConfig, "it is not a sentinel: it does not know SENTINEL").into()
        }
        _ => error,
    }
}

/// Accepts a server whose reply to ROLE is that it is a master. One that does not answer ROLE is accepted too: an ACL may forbid
/// the question, and a replica refuses to write in any case.
///
/// # Errors
/// It is a replica: a failover is under way.
pub(super) fn is_master(node: &Node, role: RedisResult<Value>) -> RedisResult<()> {
    let Ok(Value::Array(role)) = role else { return Ok(()) };
    match role.first() {
        Some(Value::BulkString(role)) if role != b"master" => Err(RedisError::from((
            redis::ErrorKind::Server(redis::ServerErrorKind::MasterDown),
            "the sentinels name a server as master that is a replica",
            node.to_string(),
        ))),
        _ => Ok(()),
    }
}
