//! The ledger of one run: how many commands its clients have sent, about which keys, and whether they deleted any. So it
//! can be counted what a protocol costs, and cleaned up after it, without knowing how it names its keys or what its
//! clients make of a reply.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::{Cmd, ConnectionLike, RedisResult, Value};

use crate::wire::Key;

/// What the clients of one run have sent.
pub(super) struct Ledger {
    /// What stands in the name of every key of the run, and in no value.
    mark: Vec<u8>,
    commands: AtomicU64,
    keys: Mutex<BTreeSet<Vec<u8>>>,
}

impl Ledger {
    /// Nothing sent yet by the run whose keys bear this mark.
    pub(super) fn new(mark: &Key) -> Self {
        Self { mark: mark.as_bytes().to_vec(), commands: AtomicU64::new(0), keys: Mutex::default() }
    }

    /// How many commands have been sent.
    pub(super) fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }

    /// The keys that were named.
    pub(super) fn keys(&self) -> Vec<Key> {
        self.names().iter().cloned().map(Key::new).collect()
    }

    /// Enters a command, the words of it.
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
        // A set is sound whoever panicked.
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a client has deleted anything lately.
#[derive(Clone, Debug, Default)]
pub(super) struct Deletion(Arc<AtomicBool>);

impl Deletion {
    /// Forgets what has been deleted before.
    pub(super) fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether anything has been deleted since.
    pub(super) fn has_happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection whose commands are entered into a ledger.
pub(super) struct Entered<C> {
    connection: C,
    ledger: Arc<Ledger>,
    deletion: Deletion,
}

impl<C> Entered<C> {
    /// This connection, with this ledger.
    pub(super) fn new(connection: C, ledger: Arc<Ledger>) -> Self {
        Self { connection, ledger, deletion: Deletion::default() }
    }

    /// What it tells of its deletions.
    pub(super) fn deletion(&self) -> Deletion {
        self.deletion.clone()
    }

    /// Enters a command, as it goes over the wire, and what came back.
    fn enter(&self, packed: &[u8], reply: &RedisResult<Value>) {
        let words = words(packed);
        if words.first().is_some_and(|name| may_delete(name)) && reply.as_ref().is_ok_and(says_so) {
            self.deletion.0.store(true, Ordering::Relaxed);
        }
        self.ledger.enter(words);
    }
}

/// A command on the wire is an array of strings.
fn words(packed: &[u8]) -> Vec<Vec<u8>> {
    let Ok(Value::Array(words)) = redis::parse_redis_value(packed) else { return Vec::new() };
    let bytes = |word| if let Value::BulkString(bytes) = word { Some(bytes) } else { None };
    words.into_iter().filter_map(bytes).collect()
}

/// Commands that delete, and those that others can be in. In a release, a script or a transaction has no other purpose.
fn may_delete(name: &[u8]) -> bool {
    const DELETERS: [&[u8]; 7] = [b"DEL", b"UNLINK", b"DELEX", b"DELIFEQ", b"EVAL", b"EVALSHA", b"EXEC"];
    DELETERS.iter().any(|deleter| name.eq_ignore_ascii_case(deleter))
}

/// Whether the reply to one of these says that something was deleted.
fn says_so(reply: &Value) -> bool {
    match reply {
        Value::Int(number) => *number > 0,
        Value::Boolean(yes) => *yes,
        Value::Array(replies) => replies.iter().any(says_so),
        _ => false,
    }
}

impl<C: ConnectionLike> ConnectionLike for Entered<C> {
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

    // Pipelines, which no blocking lock uses.
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
fn a_deletion_is_what_redis_says_it_is() {
    let entered = Entered::new((), Arc::new(Ledger::new(&Key::from("{run}"))));
    let sent = |words: &[&str], reply: Value| {
        entered.deletion.forget();
        entered.enter(&redis::cmd(words[0]).arg(&words[1..]).get_packed_command(), &Ok(reply));
        entered.deletion().has_happened()
    };
    assert!(sent(&["DEL", "{run}"], Value::Int(1)));
    assert!(!sent(&["DEL", "{run}"], Value::Int(0)));
    assert!(sent(&["evalsha", "5e", "1", "{run}:script"], Value::Int(1)));
    assert!(!sent(&["EVAL", "return 0", "1", "{run}"], Value::Int(0)), "whatever the client makes of it");
    assert!(!sent(&["EVALSHA", "5e", "1", "{run}"], Value::Nil));
    assert!(sent(&["EXEC"], Value::Array(vec![Value::Int(0), Value::Int(1)])));
    assert!(!sent(&["EXEC"], Value::Nil));
    assert!(!sent(&["SETNX", "lock:{run}", "1"], Value::Int(1)));

    assert_eq!(entered.ledger.commands(), 8);
    let keys: Vec<_> = entered.ledger.keys().iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["lock:{run}", "{run}", "{run}:script"]);
}
