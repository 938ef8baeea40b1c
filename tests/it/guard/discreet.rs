//! What the guard writes contains no password, and its messages no value.

use std::io::{Read, Write};
use std::net::TcpListener;

use redis::{Commands, cmd};

use super::server_secs;
use crate::guard_process::GuardProcess;
use crate::server::{Options, Server};

const PASSWORD: &str = "correct-horse-7f3a";
const WRONG: &str = "battery-staple-91c2";
const VALUE: &str = "secret-value-55d0";

#[test]
fn no_output_contains_a_password_and_no_message_a_value() {
    for mode in ["observe", "protect", "bridge"] {
        let server = Server::with(&Options::new().password(PASSWORD));
        let directory = tempfile::tempdir().unwrap();
        let events = directory.path().join("events.jsonl").display().to_string();
        let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let url = format!("redis://{}/", server.address());
        let args = ["--mode", mode, "--events", &events, "--admin", &admin];
        let guard = GuardProcess::logging_all(&url, &[("lock:*".to_owned(), "php-getset")], &args);

        let [mut client, mut other] = [guard.connect(), guard.connect()];
        assert!(cmd("AUTH").arg(WRONG).exec(&mut client).is_err());
        assert!(cmd("HELLO").arg(3).arg("AUTH").arg("nobody").arg(WRONG).exec(&mut client).is_err());
        cmd("AUTH").arg("default").arg(PASSWORD).exec(&mut client).unwrap();
        cmd("AUTH").arg(PASSWORD).exec(&mut other).unwrap();
        cmd("HELLO").arg(2).arg("AUTH").arg("default").arg(PASSWORD).exec(&mut client).unwrap();
        client.set::<_, _, ()>("plain", VALUE).unwrap();
        let now = server_secs(&mut client);
        let stamp = (now + 1).to_string();
        assert_eq!(client.set_nx("lock:a", &stamp), Ok(true));
        assert_eq!(other.set_nx("lock:a", now + 30), Ok(false));
        // Values of other programs on a guarded key, and a transaction.
        other.set::<_, _, ()>("lock:b", VALUE).unwrap();
        assert_eq!(other.set_nx("lock:b", VALUE), Ok(false));
        redis::pipe().atomic().set("lock:c", VALUE).del("lock:c").exec(&mut other).unwrap();
        client.del::<_, ()>("lock:a").unwrap();
        let mut malformed = guard.stream();
        // In one piece: the guard closes the connection as soon as it has read the first bytes that are no request.
        malformed.write_all(format!("*2\r\n$4\r\nAUTH\r\n+{PASSWORD}\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = malformed.read_to_string(&mut answer);
        drop((client, other));
        guard.terminate();
        let (output, messages) = guard.done();

        let shown = format!("{}{}{}", messages.join("\n"), String::from_utf8(output.stdout).unwrap(), answer);
        let is_logged = shown.contains("lock:a: Acquired");
        assert_eq!(is_logged, mode != "observe", "what the guard decides is logged: {shown}");
        let written = std::fs::read_to_string(&events).unwrap();
        for secret in [PASSWORD, WRONG] {
            assert!(!shown.contains(secret) && !written.contains(secret), "{mode}: {secret}: {shown}\n{written}");
        }
        for value in [VALUE, &stamp] {
            assert!(!shown.contains(value), "{mode}: {value}: {shown}");
        }
    }
}
