//! The proxy of the guard between a client and a server that send anything.

use std::sync::{Arc, LazyLock};

use lockshift::guard::{Lifetime, Rule};
use lockshift::legacy;
use lockshift::proxy::{GuardedKeys, ProxySettings, Treatment, serve_streams};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// More than both sides can have to deliver: nothing blocks.
const ROOM: usize = 1 << 22;
/// What separates the client's bytes from the server's.
const TURN: &[u8] = b"<server>";

/// Without guarded keys what arrives on either side is what the other has sent, as far as it goes; whatever is guarded, it ends.
pub(crate) fn proxy(input: &[u8]) {
    static RULE: LazyLock<Arc<Rule>> = LazyLock::new(|| {
        let dialect = legacy::find("php-getset").expect("it is in the catalogue");
        Arc::new(Rule::new(&[dialect], Lifetime::BeyondStamp).expect("it can be guarded"))
    });
    let Some((&mode, bytes)) = input.split_first() else { return };
    let place = bytes.windows(TURN.len()).position(|window| window == TURN);
    let (from_client, from_server) =
        place.map_or((bytes, &[][..]), |place| (&bytes[..place], &bytes[place + TURN.len()..]));
    let treatment = match mode % 3 {
        0 => None,
        1 => Some(Treatment::Observe),
        _ => Some(Treatment::Decide(Arc::clone(&RULE))),
    };
    let is_plain = treatment.is_none();
    let keys: GuardedKeys = treatment.map(|treatment| (b"l*".to_vec(), treatment)).into_iter().collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("the system is able to");
    runtime.block_on(async {
        let ((client, mut client_end), (server, mut server_end)) = (duplex(ROOM), duplex(ROOM));
        for (end, bytes) in [(&mut client_end, from_client), (&mut server_end, from_server)] {
            end.write_all(bytes).await.expect("there is room");
            end.shutdown().await.expect("it is open");
        }
        serve_streams(client, server, ProxySettings { keys, ..ProxySettings::default() }).await;
        let [mut to_client, mut to_server] = [Vec::new(), Vec::new()];
        client_end.read_to_end(&mut to_client).await.expect("the other end is closed");
        server_end.read_to_end(&mut to_server).await.expect("the other end is closed");
        if is_plain {
            assert!(from_client.starts_with(&to_server), "the server got something else");
            let refusal = b"-ERR Protocol error: not a valid RESP frame\r\n";
            let passed = to_client.strip_suffix(refusal).unwrap_or(&to_client);
            assert!(
                from_server.starts_with(passed) || from_server.starts_with(&to_client),
                "the client got something else"
            );
        }
    });
}
