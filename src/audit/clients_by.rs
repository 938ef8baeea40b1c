//! By what the clients of a trace are distinguished.

/// By what the clients of a trace are distinguished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientsBy {
    /// By the tokens that they write, and where they write none, by their connections.
    #[default]
    Token,
    /// By their addresses, whatever the port: each host is one client.
    Address,
    /// By their connections, whatever they write.
    Connection,
}

impl ClientsBy {
    /// The client behind a connection, as far as the connection tells.
    pub(super) fn client(self, connection: &[u8]) -> &[u8] {
        match self {
            Self::Token | Self::Connection => connection,
            Self::Address => match connection.iter().rposition(|byte| *byte == b':') {
                Some(colon) => &connection[..colon],
                None => connection,
            },
        }
    }
}

#[test]
fn an_address_has_no_port() {
    let clients =
        |by: ClientsBy| ["10.0.0.1:50", "[::1]:50", "/run/redis.sock:0", "x"].map(|it| by.client(it.as_bytes()));
    assert_eq!(clients(ClientsBy::Address), [&b"10.0.0.1"[..], b"[::1]", b"/run/redis.sock", b"x"]);
    assert_eq!(clients(ClientsBy::Connection)[0], b"10.0.0.1:50");
}
