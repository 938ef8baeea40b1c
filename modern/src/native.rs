//! What a server can compare by itself, and how to find out.
//!
//! Source: the Redis and Valkey command references, `DELIFEQ`, `DELEX`, `SET`, `COMMAND DOCS`.

use lockshift_wire::{Command, Reply, Transcript, Turn};

/// The native compare commands of a server. A lock runs a script for each command that the server lacks.
///
/// The owner of a connection calls [`detect`](Self::detect) once and passes the result to every lock on that connection.
/// A wrong result costs one round trip: the lock runs its script when the server refuses a native command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Native {
    /// The command that deletes a key if it holds a value.
    pub delete: Option<CompareDelete>,
    /// Whether SET knows `IFEQ`, which sets a new expiry if the key holds a value.
    pub set_ifeq: bool,
}

/// The command that deletes a key if it holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompareDelete {
    /// `DELIFEQ key value`.
    DelIfEq,
    /// `DELEX key IFEQ value`.
    DelEx,
}

impl Native {
    /// No native command: Redis before 8.4, Valkey before 8.1, and servers that do not describe their commands.
    pub const NONE: Self = Self { delete: None, set_ifeq: false };
    /// Valkey 8.1.
    pub const VALKEY_8_1: Self = Self { delete: None, set_ifeq: true };
    /// Valkey 9.0 and later.
    pub const VALKEY_9_0: Self = Self { delete: Some(CompareDelete::DelIfEq), set_ifeq: true };
    /// Redis 8.4 and later.
    pub const REDIS_8_4: Self = Self { delete: Some(CompareDelete::DelEx), set_ifeq: true };

    /// A [`Procedure`](lockshift_wire::Procedure) of one command, `COMMAND DOCS SET DELIFEQ DELEX`: the server's own
    /// description of its commands, which is also right for forks and managed services, whatever version they report.
    /// The result is [`NONE`](Self::NONE) if the server refuses the command (it is older than 7.0, or an ACL forbids it)
    /// or sends an unexpected reply.
    ///
    /// # Errors
    /// [`Pending`](lockshift_wire::Pending): the reply has not arrived yet.
    pub fn detect(redis: &mut Transcript) -> Turn<Self> {
        let command = Command::new("COMMAND").arg("DOCS").arg("SET").arg("DELIFEQ").arg("DELEX");
        Ok(match redis.send(command)? {
            Reply::Array(docs) => Self::described_by(&docs),
            Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Bulk(_) | Reply::Error(_) => Self::NONE,
        })
    }

    /// Reads alternating names and descriptions; the server omits commands that it lacks.
    fn described_by(docs: &[Reply]) -> Self {
        let (pairs, _) = docs.as_chunks::<2>();
        let docs_of = |command| pairs.iter().find(|[name, _]| is_word(name, command)).map(|[_, docs]| docs);
        let delete = [("DELIFEQ", CompareDelete::DelIfEq), ("DELEX", CompareDelete::DelEx)];
        Self {
            delete: delete.into_iter().find(|(name, _)| docs_of(name).is_some()).map(|(_, command)| command),
            set_ifeq: docs_of("SET").is_some_and(|docs| has_word(docs, "IFEQ")),
        }
    }
}

/// Whether the reply contains this string at any depth.
fn has_word(reply: &Reply, word: &str) -> bool {
    match reply {
        Reply::Array(items) => items.iter().any(|item| has_word(item, word)),
        single => is_word(single, word),
    }
}

fn is_word(reply: &Reply, word: &str) -> bool {
    match reply {
        Reply::Bulk(bytes) => bytes.eq_ignore_ascii_case(word.as_bytes()),
        Reply::Status(text) => text.eq_ignore_ascii_case(word),
        _ => false,
    }
}
