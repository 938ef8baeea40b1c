//! What every client writes, kept for the other clients to meet: one lock whose holder lives, and one whose holder has died.

use std::time::Duration;

use lockshift::driver::host;
use lockshift::wire::UnixTime;

use crate::content::{Content, Contents};
use crate::foreign::is_ready;
use crate::prediction::ends;
use crate::roster::{CLIENTS, Client, KEYS_BEGIN, Spoken};
use crate::scenes::word;
use crate::stand::Stand;

/// A lease that outlasts all tests.
pub(crate) const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_secs(1);

/// What one client wrote in one protocol.
pub(crate) struct Written {
    pub(crate) client: &'static Client,
    pub(crate) spoken: Spoken,
    /// For a long lease.
    pub(crate) living: Content,
    /// For a short one.
    pub(crate) dead: Content,
    /// When that ends in its own protocol; `None` if it does not.
    pub(crate) end: Option<UnixTime>,
}

/// What all clients that are ready write, in all protocols that they speak.
pub(crate) fn written(stand: &Stand) -> Vec<Written> {
    let ready = CLIENTS.iter().filter(|client| is_ready(client.name));
    ready.flat_map(|client| client.speaks.iter().map(|spoken| write(stand, client, *spoken))).collect()
}

fn write(stand: &Stand, client: &'static Client, spoken: Spoken) -> Written {
    let holder = stand.session(client);
    let mut connection = stand.connect();
    let mut written = |lease: Duration| {
        let key = format!("{KEYS_BEGIN}foreign_values.{}.{}.{}", client.name, word(&spoken.label()), lease.as_secs());
        assert!(holder.acquires(spoken.protocol, &key, lease), "{} acquires the free key {key}", client.name);
        let contents = Contents::of(&mut connection, &key);
        let locker = spoken.locker(&key, lease);
        let end = ends(&*locker, &contents, host::wall());
        (contents.0[locker.key().as_bytes()].clone(), end)
    };
    let (living, _) = written(LONG);
    let (dead, end) = written(SHORT);
    Written { client, spoken, living, dead, end }
}
