//! The role of a command for a lock, by its name.

use crate::monitor::KeyPlaces;

/// The role that a command may have for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandRole {
    /// May begin a lock on its first key: SETNX, GETSET, WATCH; SET if it says NX.
    Claims,
    /// SET, SETEX, PSETEX: begins a lock only after its client has read the key.
    Writes,
    /// GET, EXISTS: a look.
    Looks,
    /// Concerns its keys, and no lock begins with it.
    Touches,
    /// MSETNX: may begin a lock of several keys.
    Joins,
    /// TIME: some go by the server's clock.
    Times,
    /// EVAL, EVALSHA, FCALL.
    Runs,
    /// MULTI, EXEC, DISCARD, UNWATCH: concerns the connection.
    Steers,
    /// MOVE, RESTORE, LMOVE and all others that write keys: what the keys at these places hold then is not followed.
    Alters(&'static [KeyPlaces]),
    /// RENAME, RENAMENX: a key goes, and another one holds what it held.
    Moves,
    /// FLUSHALL, FLUSHDB, SWAPDB: all keys.
    Sweeps,
    /// Has nothing to do with locks.
    Other,
}

impl CommandRole {
    /// The role of the command with this name, in whatever case it was written.
    pub(super) fn of(name: &[u8]) -> Self {
        let mut small = [0_u8; 16];
        let Some(small) = small.get_mut(..name.len()) else { return Self::of_written(name) };
        small.copy_from_slice(name);
        small.make_ascii_lowercase();
        match &*small {
            b"setnx" | b"getset" | b"watch" => Self::Claims,
            b"set" | b"setex" | b"psetex" => Self::Writes,
            b"get" | b"exists" => Self::Looks,
            b"del" | b"unlink" | b"expire" | b"pexpire" | b"expireat" | b"pexpireat" | b"persist" | b"ttl"
            | b"pttl" | b"getdel" | b"delifeq" | b"delex" | b"incr" => Self::Touches,
            b"msetnx" => Self::Joins,
            b"time" => Self::Times,
            b"eval" | b"evalsha" | b"fcall" => Self::Runs,
            b"rename" | b"renamenx" => Self::Moves,
            b"multi" | b"exec" | b"discard" | b"unwatch" => Self::Steers,
            b"flushall" | b"flushdb" | b"swapdb" => Self::Sweeps,
            _ => Self::of_written(name),
        }
    }

    /// The role of a command that no protocol sends.
    fn of_written(name: &[u8]) -> Self {
        match KeyPlaces::of(name) {
            [] => Self::Other,
            places => Self::Alters(places),
        }
    }
}
