//! The names of keys and channels that belong to a lock.

use alloc::format;

use lockshift_wire::Key;

/// `{name}`, or `name` if it contains a brace and so is expected to contain a hash tag. If it does not, the lock's keys may
/// be in different slots of a cluster, as with Redisson.
pub(super) fn tagged(name: &Key) -> Key {
    let bytes = name.as_bytes();
    if bytes.contains(&b'{') { name.clone() } else { Key::new([b"{", bytes, b"}"].concat()) }
}

/// `prefix:{name}`.
pub(super) fn prefixed(prefix: &str, name: &Key) -> Key {
    Key::new([prefix.as_bytes(), b":", tagged(name).as_bytes()].concat())
}

/// `{name}:<reader>:rwlock_timeout`: followed by `:1`, `:2`, ..., a key for each entry of the reader.
pub(super) fn read_leases(name: &Key, reader: &[u8]) -> Key {
    Key::new([tagged(name).as_bytes(), b":", reader, b":rwlock_timeout"].concat())
}

/// The channel of one waiter of a fair lock.
pub(super) fn of_waiter(channel: &Key, waiter: &str) -> Key {
    channel.with_suffix(&format!(":{waiter}"))
}
