//! Counts the commands that the clients of one run send, collects the keys that they name, and notes deletions. With
//! that, a run can measure the cost of a protocol and clean up after it without knowing how the protocol names its keys.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::{Cmd, ConnectionLike, RedisResult, Value};

use crate::wire::Key;

/// What the clients of one run have sent: how many commands, and which keys they named.
pub(super) struct CommandLog {
    /// Part of the name of every key of the run, and of no value.
    mark: Vec<u8>,
    commands: AtomicU64,
    keys: Mutex<BTreeSet<Vec<u8>>>,
}

impl CommandLog {
    /// An empty log for the run whose keys contain `mark`.
    pub(super) fn new(mark: &Key) -> Self {
        Self { mark: mark.as_bytes().to_vec(), commands: AtomicU64::new(0), keys: Mutex::default() }
    }

    /// The number of commands sent.
    pub(super) fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// The keys that the commands named.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.names().iter().cloned().map(Key::new).collect()
    }

    /// Records a command, given its words.
    fn enter(&self, words: Vec<Vec<u8>>) {
        self.commands.fetch_add(1, Ordering::Relaxed);
        for word in words {
            if self.is_marked(&word) {
                self.names().insert(word);
            }
        }
    }

    fn is_marked(&self, word: &[u8]) -> bool {
        word.windows(self.mark.len()).any(|part| part == self.mark)
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<Vec<u8>>> {
        // A set is valid even after a panic.
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a client has deleted a key since the last reset.
#[derive(Clone, Debug, Default)]
pub(super) struct Deletion(Arc<AtomicBool>);

impl Deletion {
    /// Resets it.
    pub(super) fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether a key has been deleted since.
    pub(super) fn has_happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection that records its commands in a log.
pub(super) struct Logged<C> {
    connection: C,
    log: Arc<CommandLog>,
    deletion: Deletion,
}

impl<C> Logged<C> {
    /// Wraps this connection, with this log.
    pub(super) fn new(connection: C, log: Arc<CommandLog>) -> Self {
        Self { connection, log, deletion: Deletion::default() }
    }

    /// The flag that its deletions set.
    pub(super) fn deletion(&self) -> Deletion {
        self.deletion.clone()
    }

    /// Records a command, packed as on the wire, and its reply.
    fn enter(&self, packed: &[u8], reply: &RedisResult<Value>) {
        let words = words(packed);
        if words.first().is_some_and(|name| may_delete(name)) && reply.as_ref().is_ok_and(reports_deletion) {
            self.deletion.0.store(true, Ordering::Relaxed);
        }
        self.log.enter(words);
    }
}

/// A command on the wire is an array of strings.
fn words(packed: &[u8]) -> Vec<Vec<u8>> {
    let Ok(Value::Array(words)) = redis::parse_redis_value(packed) else { return Vec::new() };
    let bytes = |word| if let Value::BulkString(bytes) = word { Some(bytes) } else { None };
    words.into_iter().filter_map(bytes).collect()
}

/// Commands that delete, and those that may contain a deletion. A script or a transaction in a release has no other
/// purpose.
fn may_delete(name: &[u8]) -> bool {
    const DELETERS: [&[u8]; 7] = [b"DEL", b"UNLINK", b"DELEX", b"DELIFEQ", b"EVAL", b"EVALSHA", b"EXEC"];
    DELETERS.iter().any(|deleter| name.eq_ignore_ascii_case(deleter))
}

/// Whether the reply to one of these means that a key was deleted.
fn reports_deletion(reply: &Value) -> bool {
    match reply {
        Value::Int(number) => *number > 0,
        Value::Boolean(yes) => *yes,
        Value::Array(replies) => replies.iter().any(reports_deletion),
        _ => false,
    }
}

impl<C: ConnectionLike> ConnectionLike for Logged<C> {
    fn req_packed_command(&mut self, command: &[u8]) -> RedisResult<Value> {
        let reply = self.connection.req_packed_command(command);
        self.enter(command, &reply);
        reply
    }

    fn req_command(&mut self, command: &Cmd) -> RedisResult<Value> {
        let reply = self.connection.req_command(command);
        self.enter(&command.get_packed_command(), &reply);
        reply
    }

    // No blocking lock uses pipelines.
    fn req_packed_commands(&mut self, commands: &[u8], offset: usize, count: usize) -> RedisResult<Vec<Value>> {
        self.connection.req_packed_commands(commands, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }

    fn supports_pipelining(&self) -> bool {
        self.connection.supports_pipelining()
    }

    fn check_connection(&mut self) -> bool {
        self.connection.check_connection()
    }

    fn is_open(&self) -> bool {
        self.connection.is_open()
    }
}

#[test]
fn a_deletion_is_recognised_by_its_reply() {
    let entered = Logged::new((), Arc::new(CommandLog::new(&Key::from("{run}"))));
    let sent = |words: &[&str], reply: Value| {
        entered.deletion.forget();
        entered.enter(&redis::cmd(words[0]).arg(&words[1..]).get_packed_command(), &Ok(reply));
        entered.deletion().has_happened()
    };
    assert!(sent(&["DEL", "{run}"], Value::Int(1)));
    assert!(!sent(&["DEL", "{run}"], Value::Int(0)));
    assert!(sent(&["evalsha", "5e", "1", "{run}:script"], Value::Int(1)));
    assert!(!sent(&["EVAL", "return 0", "1", "{run}"], Value::Int(0)), "however the client interprets it");
    assert!(!sent(&["EVALSHA", "5e", "1", "{run}"], Value::Nil));
    assert!(sent(&["EXEC"], Value::Array(vec![Value::Int(0), Value::Int(1)])));
    assert!(!sent(&["EXEC"], Value::Nil));
    assert!(!sent(&["SETNX", "lock:{run}", "1"], Value::Int(1)));

    assert_eq!(entered.log.commands(), 8);
    let keys: Vec<_> = entered.log.keys().iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["lock:{run}", "{run}", "{run}:script"]);
}
