//! What a server holds.

use std::collections::BTreeMap;

use redis::{Connection, cmd};

/// All keys, with their values as Redis serialises them. How long they live is not in it.
pub(crate) type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// What the server holds now.
pub(crate) fn contents(connection: &mut Connection) -> Contents {
    let keys: Vec<Vec<u8>> = cmd("KEYS").arg("*").query(connection).expect("this user may look");
    let dumped = keys.into_iter().filter_map(|key| {
        // `None`: its time has come meanwhile.
        let value: Option<Vec<u8>> = cmd("DUMP").arg(&key).query(connection).expect("this user may look");
        Some((key, value?))
    });
    dumped.collect()
}
