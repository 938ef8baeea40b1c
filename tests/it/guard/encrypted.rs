//! TLS on both sides: what is trusted, and what is refused with the reason.

use std::io::{Read, Write};

use redis::{Client, ClientTlsConfig, Commands, Connection, RedisResult, TlsCertificates, cmd};
use redis_test::utils::get_random_available_port;

use super::administered::{body, get};
use super::server_secs;
use crate::certificates::Authority;
use crate::guard_process::GuardProcess;
use crate::server::{Options, Server};

fn rules() -> [(String, &'static str); 1] {
    [("lock:*".to_owned(), "php-getset")]
}

/// A server that also listens with this certificate, on the port that is returned, and wants one of its clients or does not.
fn encrypted_server(authority: &Authority, name: &str, wants_certificates: bool) -> (Server, u16) {
    let port = get_random_available_port();
    let wants = if wants_certificates { "yes" } else { "no" };
    let options = Options::new().line(format_args!("tls-port {port}")).line(format_args!("tls-auth-clients {wants}"));
    let files = [("cert", format!("{name}.pem")), ("key", format!("{name}.key")), ("ca-cert", "ca.pem".to_owned())];
    let line = |options: Options, (option, file): (&str, String)| {
        options.line(format_args!("tls-{option}-file {}", authority.path(&file)))
    };
    (Server::with(&files.into_iter().fold(options, line)), port)
}

/// A client's connection to a guard that listens with TLS.
fn connect(guard: &GuardProcess, authority: &Authority, own: Option<&str>) -> RedisResult<Connection> {
    let client_tls = own.map(|name| ClientTlsConfig {
        client_cert: authority.pem(&format!("{name}.pem")),
        client_key: authority.pem(&format!("{name}.key")),
    });
    let trust = TlsCertificates { client_tls, root_cert: Some(authority.pem("ca.pem")) };
    let mut connection =
        Client::build_with_tls(format!("rediss://localhost:{}/", guard.port()), trust)?.get_connection()?;
    // A client that is refused for its certificate learns that with its first reply.
    cmd("PING").exec(&mut connection)?;
    Ok(connection)
}

#[test]
fn locks_and_other_traffic_pass_with_encryption_on_both_sides() {
    let authority = Authority::new();
    ["server", "guard", "client"].iter().for_each(|name| authority.issue(name, &["localhost"], false));
    let (server, port) = encrypted_server(&authority, "server", true);
    let paths = ["ca.pem", "guard.pem", "guard.key", "server.pem", "server.key"].map(|file| authority.path(file));
    let [ca, cert, key, listen_cert, listen_key] = &paths;
    let trust = ["--tls-ca", ca, "--tls-cert", cert, "--tls-key", key];
    let listen = ["--listen-tls-cert", listen_cert, "--listen-tls-key", listen_key, "--listen-tls-client-ca", ca];
    let guard = GuardProcess::start(&format!("rediss://localhost:{port}/"), &rules(), &[trust, listen].concat());

    assert!(connect(&guard, &authority, None).is_err(), "a client without a certificate is refused");
    let mut client = connect(&guard, &authority, Some("client")).unwrap();
    let big = vec![b'x'; 3_000_000];
    client.set::<_, _, ()>("big", &big).unwrap();
    assert!(client.get::<_, Vec<u8>>("big").unwrap() == big, "a value of many pieces is the same");
    let now = server_secs(&mut client);
    assert_eq!(client.set_nx("lock:a", now + 30), Ok(true));
    let stored: String = server.connect().get("lock:a").unwrap();
    assert_ne!(stored, (now + 30).to_string(), "the guard has written its own stamp");
    assert_eq!(client.del("lock:a"), Ok(1));
}

#[test]
fn a_server_that_cannot_be_trusted_gets_no_client() {
    let [authority, other] = [Authority::new(), Authority::new()];
    authority.issue("elsewhere", &["elsewhere.example"], false);
    authority.issue("expired", &["localhost"], true);
    authority.issue("good", &["localhost"], false);
    for (name, trusted, reason) in [
        ("elsewhere", &authority, "not valid for name"),
        ("expired", &authority, "expired"),
        ("good", &other, "invalid peer certificate"),
    ] {
        let (_server, port) = encrypted_server(&authority, name, false);
        let ca = trusted.path("ca.pem");
        let guard = GuardProcess::start(&format!("rediss://localhost:{port}/"), &rules(), &["--tls-ca", &ca]);
        let mut answer = String::new();
        let _ = guard.stream().read_to_string(&mut answer);
        assert!(answer.starts_with("-ERR lockshift guard: cannot connect to the server"), "{name}: {answer}");
        guard.until_message(reason);
    }
    let (_server, port) = encrypted_server(&authority, "good", true);
    let guard =
        GuardProcess::start(&format!("rediss://localhost:{port}/"), &rules(), &["--tls-ca", &authority.path("ca.pem")]);
    let mut connection = Client::open(format!("redis://127.0.0.1:{}/", guard.port())).unwrap().get_connection();
    let asked = connection.as_mut().map(|connection| cmd("PING").exec(connection).is_ok());
    assert!(!matches!(asked, Ok(true)), "the server wants a certificate");
}

/// With TLS 1.3 it does so after the handshake.
#[test]
fn a_server_that_refuses_the_certificate_of_the_guard_is_reported_and_counted() {
    let authority = Authority::new();
    authority.issue("server", &["localhost"], false);
    authority.issue("expired", &["localhost"], true);
    for own in [None, Some("expired")] {
        let (_server, port) = encrypted_server(&authority, "server", true);
        let admin = get_random_available_port();
        let mut args = vec!["--tls-ca".to_owned(), authority.path("ca.pem")];
        args.extend(["--admin".to_owned(), format!("127.0.0.1:{admin}")]);
        if let Some(name) = own {
            args.extend(["--tls-cert".to_owned(), authority.path(&format!("{name}.pem"))]);
            args.extend(["--tls-key".to_owned(), authority.path(&format!("{name}.key"))]);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let guard = GuardProcess::start(&format!("rediss://localhost:{port}/"), &rules(), &args);
        let (mut client, mut answer) = (guard.stream(), String::new());
        client.write_all(b"PING\r\n").unwrap();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "-ERR lockshift guard: the server refuses the connection\r\n", "{own:?}");
        guard.until_message("the server refuses the connection by the TLS alert ");
        let health = get(admin, "GET /healthz");
        assert!(health.starts_with("HTTP/1.1 503") && health.contains("fatal alert"), "{own:?}: {health}");
        let status: serde_json::Value = serde_json::from_str(&body(admin, "/status")).unwrap();
        let refusals = status["server_refusals"].as_object().unwrap();
        assert!(refusals.len() == 1 && refusals.values().all(|count| *count == 1), "{own:?}: {status}");
    }
}

#[test]
fn certificates_that_cannot_be_used_are_refused_at_the_start() {
    let authority = Authority::new();
    authority.issue("guard", &["localhost"], false);
    authority.issue("other", &["localhost"], false);
    let plain = Server::start();
    let file = |name: &str| authority.path(name);
    std::fs::write(file("empty.pem"), "").unwrap();
    let encrypted = format!("rediss://{}/", plain.address());
    for (redis, files, code, reason) in [
        (plain.url(), [file("guard.pem"), file("other.key")], 2, "--listen-tls-cert"),
        (plain.url(), [file("empty.pem"), file("guard.key")], 2, "contains no certificate"),
        (plain.url(), [file("guard.key"), file("guard.pem")], 2, "--listen-tls-cert"),
        (plain.url(), [file("missing.pem"), file("guard.key")], 2, "missing.pem"),
        (encrypted, [file("guard.pem"), file("guard.key")], 3, "does not speak TLS"),
    ] {
        let mut command = crate::cli::command::lockshift();
        command.args(["guard", "--listen", "127.0.0.1:0", "--guard", "lock:*=php-getset", "--redis", &redis]);
        let [cert, key] = &files;
        let done = crate::cli::command::done(command, ["--listen-tls-cert", cert, "--listen-tls-key", key]);
        assert!(done.code == Some(code) && done.stderr.contains(reason), "{files:?}: {done:?}");
    }
}

/// A client that connects and says nothing, or something that is not TLS, is dropped and concerns no other client.
#[test]
fn a_handshake_that_fails_concerns_no_other_client() {
    let authority = Authority::new();
    authority.issue("guard", &["localhost"], false);
    let server = Server::start();
    let files = [authority.path("guard.pem"), authority.path("guard.key")];
    let args = ["--listen-tls-cert", &files[0], "--listen-tls-key", &files[1]];
    let guard = GuardProcess::start(&server.url(), &rules(), &args);
    let _silent = guard.stream();
    let mut plain = guard.stream();
    plain.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"+PONG"), "it was not encrypted");
    guard.until_message("TLS handshake failed");
    assert!(connect(&guard, &authority, None).is_ok());
}

/// Only a restart changes that.
#[test]
fn a_file_that_is_read_again_does_not_end_the_encryption() {
    let authority = Authority::new();
    authority.issue("guard", &["localhost"], false);
    let server = Server::start();
    let config = authority.path("guard.toml");
    let keys = [("cert", "guard.pem"), ("key", "guard.key")]
        .map(|(name, file)| format!("listen-tls-{name} = \"{}\"\n", authority.path(file)));
    std::fs::write(&config, keys.concat()).unwrap();
    let guard = GuardProcess::start(&server.url(), &rules(), &["--config", &config]);
    std::fs::write(&config, "").unwrap();
    for _ in 0..2 {
        guard.signal(rustix::process::Signal::HUP);
    }
    guard.until_message("listen-tls-cert has changed: restart the guard to use it");
    guard.until_message("guards were read again");
    let mut plain = guard.stream();
    plain.write_all(b"PING\r\n").unwrap();
    let mut answer = [0; 5];
    let _ = plain.read(&mut answer);
    assert_ne!(&answer, b"+PONG", "it is still encrypted");
    assert!(connect(&guard, &authority, None).is_ok());
}
