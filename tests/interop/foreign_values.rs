//! What every client writes, kept for the other clients to meet: one lock whose holder lives, and one whose holder has died.

use std::time::Duration;

use crate::content::{Content, Contents};
use crate::foreign::is_ready;
use crate::patience::until;
use crate::roster::{CLIENTS, Client, KEYS_BEGIN, Spoken};
use crate::scenes::word;
use crate::testbed::Testbed;

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
}

/// What all clients that are ready write, in all protocols that they speak.
pub(crate) fn written(testbed: &Testbed) -> Vec<Written> {
    let ready = CLIENTS.iter().filter(|client| is_ready(client.name));
    ready.flat_map(|client| client.speaks.iter().map(|spoken| write(testbed, client, *spoken))).collect()
}

fn write(testbed: &Testbed, client: &'static Client, spoken: Spoken) -> Written {
    let holder = testbed.session(client);
    let mut connection = testbed.connect();
    let mut written = |lease: Duration| {
        // A short lease can end before it is looked at, on a busy machine.
        let mut tries = 0..;
        until(format_args!("what {} writes is read", client.name), || {
            let (spoken_as, number) = (word(&spoken.label()), tries.next()?);
            let key = format!("{KEYS_BEGIN}foreign.{}.{spoken_as}.{}.{number}", client.name, lease.as_secs());
            assert!(holder.acquires(spoken.protocol, &key, lease), "{} acquires the free key {key}", client.name);
            let contents = Contents::of(&mut connection, &key);
            let written = contents.0.get(spoken.locker(&key, lease).key().as_bytes()).cloned();
            contents.delete(&mut connection);
            written
        })
    };
    Written { client, spoken, living: written(LONG), dead: written(SHORT) }
}
