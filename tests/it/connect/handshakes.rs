//! Connecting takes as long as was set, however many replies a handshake has, and leaves a connection that is logged in.

use std::net::TcpListener;
use std::time::Duration;

use lockshift::connect::Server as Target;
use lockshift::driver::blocking::{Carrier, Masters};
use lockshift::wire::{Command, NoReply, NodeReply};
use redis::cmd;

use crate::patience::now;
use crate::server::{Options, Server};

const PATIENCE: Duration = Duration::from_millis(400);

#[test]
fn a_server_that_hangs_is_waited_for_once_and_not_once_for_each_reply() {
    for (login, database) in [("", ""), (":p@", "2"), ("u:p@", "2?protocol=resp3")] {
        // It accepts connections and never answers.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("redis://{login}{}/{database}", listener.local_addr().unwrap());
        let target: Target = address.parse().unwrap();
        let began = now();
        let error = target.connecting_within(PATIENCE).connect().unwrap_err();
        assert!(error.is_timeout(), "{address}: {error}");
        assert!(began.elapsed() < 2 * PATIENCE, "{address}: {:?}", began.elapsed());

        let mut masters = Masters::new([redis::Client::open(address.as_str()).unwrap()], PATIENCE);
        let began = now();
        let replies = masters.round(&[Command::new("PING")]);
        assert!(matches!(replies[..], [NodeReply::NoReply(NoReply::Unreachable)]), "{address}: {replies:?}");
        assert!(began.elapsed() < 2 * PATIENCE, "{address}: {:?}", began.elapsed());
    }
}

#[test]
fn a_connection_is_logged_in_and_has_its_database() {
    let server = Server::with(&Options::new().password("p"));
    for protocol in ["", "?protocol=resp3"] {
        for login in [":p@", "default:p@"] {
            let address = server.url().replace(":p@", login) + "3" + protocol;
            let mut connection = address.parse::<Target>().unwrap().connect().unwrap();
            let info: String = cmd("CLIENT").arg("INFO").query(&mut connection).unwrap();
            assert!(info.contains(" db=3 "), "{info}");
        }
    }
}

#[test]
fn a_login_or_a_database_that_is_refused_is_an_error() {
    let server = Server::with(&Options::new().password("p"));
    let refusal = |login: &str, path: &str| {
        let address = server.url().replace(":p@", login) + path;
        address.parse::<Target>().unwrap().connect().unwrap_err()
    };
    assert_eq!(refusal(":wrong@", "").kind(), redis::ErrorKind::AuthenticationFailed);
    assert_eq!(refusal(":wrong@", "?protocol=resp3").code(), Some("WRONGPASS"));
    assert!(refusal(":p@", "9999").to_string().contains("switch database"));
}
