//! The names of keys and channels that belong to a lock.

use alloc::format;

use lockshift_wire::Key;

/// `{name}`, or `name` if there is a brace in it: it is then trusted to hold a hash tag. If it holds none, what belongs to
/// the lock may be in other slots of a cluster; so it is with Redisson.
pub(super) fn tagged(name: &Key) -> Key {
    let bytes = name.as_bytes();
    if bytes.contains(&b'{') { name.clone() } else { Key::new([b"{", bytes, b"}"].concat()) }
}

/// `prefix:{name}`.
pub(super) fn prefixed(prefix: &str, name: &Key) -> Key {
    Key::new([prefix.as_bytes(), b":", tagged(name).as_bytes()].concat())
}

/// `{name}:<reader>:rwlock_timeout`: with `:1`, `:2`, ... behind it, a key for each time the reader has entered.
pub(super) fn read_leases(name: &Key, reader: &[u8]) -> Key {
    Key::new([tagged(name).as_bytes(), b":", reader, b":rwlock_timeout"].concat())
}

/// The channel of one waiter of a fair lock.
pub(super) fn of_waiter(channel: &Key, waiter: &str) -> Key {
    channel.with_suffix(&format!(":{waiter}"))
}
