//! The ways to a server: plain, encrypted, by a socket of the machine, to a cluster.

use std::path::Path;

use redis_test::utils::get_random_available_port;
use tempfile::TempDir;

use super::command::{Done, done, lockshift};
use crate::certificates::Authority;
use crate::server::{Cluster, Options, Server};

/// What `run` comes to with this server, which the environment or the command line names.
fn run(urls: &[&str], trusted: Option<&Path>) -> Done {
    let mut command = lockshift();
    command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
    if let Some(certificates) = trusted {
        command.env("SSL_CERT_FILE", certificates);
    }
    let redis = urls.iter().flat_map(|url| ["--redis", url]);
    done(command, ["run", "stock", "--wait", "5s"].into_iter().chain(redis).chain(["--", "echo", "reached"]))
}

/// An authority that has issued a certificate to this machine.
fn authority() -> Authority {
    let authority = Authority::new();
    authority.issue("redis", &["localhost", "127.0.0.1"], false);
    authority
}

#[test]
fn an_encrypted_connection_trusts_the_authority_that_is_named() {
    let (authority, port) = (authority(), get_random_available_port());
    let mut options = Options::new().line(format_args!("tls-port {port}")).line("tls-auth-clients no");
    for (option, file) in [("cert", "redis.pem"), ("key", "redis.key"), ("ca-cert", "ca.pem")] {
        options = options.line(format_args!("tls-{option}-file {}", authority.path(file)));
    }
    let _server = Server::with(&options);
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("rediss://{host}:{port}/");
        let reached = run(&[&url], Some(authority.path("ca.pem").as_ref()));
        assert_eq!((reached.code, reached.stdout.as_str()), (Some(0), "reached\n"), "{reached:?}");

        let mut command = lockshift();
        command.env("SSL_CERT_FILE", authority.path("ca.pem"));
        let scanned = done(command, ["scan", "--json", "--redis", &url]);
        assert_eq!((scanned.code, scanned.json()["complete"].as_bool()), (Some(0), Some(true)), "{scanned:?}");

        let refused = run(&[&url], None);
        assert_eq!(refused.code, Some(3), "{refused:?}");
        assert!(refused.stderr.contains(&url) && refused.stderr.contains("SSL_CERT_FILE"), "{refused:?}");
    }
}

#[test]
fn a_server_that_wants_a_certificate_is_shown_one() {
    let authority = authority();
    let (_server, port) = encrypted_server(&authority, "redis");
    let url = format!("rediss://localhost:{port}/");
    let file = |name: &str| authority.path(name);
    let (ca, cert, key) = (file("ca.pem"), file("redis.pem"), file("redis.key"));
    let run = |more: &[&str]| {
        let all = [&["run", "stock", "--redis", &url], more, &["--", "echo", "reached"]].concat();
        done(lockshift(), all)
    };
    let reached = run(&["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &key]);
    assert_eq!((reached.code, reached.stdout.as_str()), (Some(0), "reached\n"), "{reached:?}");
    assert_eq!(run(&["--tls-ca", &ca]).code, Some(3), "without a certificate");
    assert_eq!(run(&["--tls-ca", &file("missing.pem")]).code, Some(2), "no such file");
    assert_eq!(run(&["--tls-cert", &cert]).code, Some(2), "a certificate without its key");
}

/// Trusting another authority would not help.
#[test]
fn a_server_that_refuses_the_certificate_of_its_client_is_no_server_that_is_not_trusted() {
    let (authority, stranger) = (authority(), Authority::new());
    authority.issue("expired", &["localhost"], true);
    stranger.issue("stranger", &["localhost"], false);
    let (_server, port) = encrypted_server(&authority, "redis");
    let (_old_server, old_port) = {
        let port = get_random_available_port();
        let line = |option: &str, file: &str| format!("tls-{option}-file {}", authority.path(file));
        let options = Options::new().line(format_args!("tls-port {port}")).line("tls-protocols TLSv1.2");
        let options = options.line(line("cert", "redis.pem")).line(line("key", "redis.key"));
        (Server::with(&options.line(line("ca-cert", "ca.pem"))), port)
    };
    let ca = authority.path("ca.pem");
    let [expired, strange] = [(&authority, "expired"), (&stranger, "stranger")]
        .map(|(by, name)| [by.path(&format!("{name}.pem")), by.path(&format!("{name}.key"))]);
    let own = |files: &[String; 2]| ["--tls-cert", &files[0], "--tls-key", &files[1]].map(str::to_owned).to_vec();
    for (port, own, problem) in [
        (port, vec![], "wants a certificate of its client"),
        (port, own(&expired), "refused the certificate of its client"),
        (port, own(&strange), "refused the certificate of its client"),
        (old_port, vec![], "it may want a certificate of its client"),
        (old_port, own(&expired), "refused the certificate of its client"),
    ] {
        let url = format!("rediss://localhost:{port}/");
        for args in [
            &["run", "stock"][..],
            &["inspect", "stock"],
            &["scan"],
            &["doctor", "--fleet", "token"],
            &["compare", "token", "--seconds", "1", "--clients", "2"],
            &["record", "--for", "100ms"],
            &["watch", "--for", "100ms"],
            &["races", "crash-before-expire", "--replay"],
        ] {
            let work: &[&str] = if args[0] == "run" { &["--", "true"] } else { &[] };
            let own: Vec<&str> = own.iter().map(String::as_str).collect();
            let ended = done(lockshift(), [args, &["--redis", &url, "--tls-ca", &ca], &own, work].concat());
            assert_eq!(ended.code, Some(3), "{args:?} {own:?}: {ended:?}");
            let says = |words: &str| ended.stderr.contains(words);
            assert!(says(problem) && says("--tls-cert") && says("--tls-key"), "{args:?} {own:?}: {ended:?}");
            assert!(!says("--tls-ca") && !says("SSL_CERT_FILE"), "{args:?} {own:?}: {ended:?}");
        }
    }
}

/// A server that encrypts, with the certificate of this name, and wants one of its clients.
fn encrypted_server(authority: &Authority, certificate: &str) -> (Server, u16) {
    let port = get_random_available_port();
    let mut options = Options::new().line(format_args!("tls-port {port}")).line("tls-auth-clients yes");
    let (cert, key) = (format!("{certificate}.pem"), format!("{certificate}.key"));
    for (option, file) in [("cert", cert.as_str()), ("key", &key), ("ca-cert", "ca.pem")] {
        options = options.line(format_args!("tls-{option}-file {}", authority.path(file)));
    }
    (Server::with(&options), port)
}

#[test]
fn every_command_refuses_a_server_that_it_cannot_trust() {
    let (authority, stranger) = (authority(), Authority::new());
    authority.issue("expired", &["localhost"], true);
    authority.issue("elsewhere", &["redis.example"], false);
    let [good, expired, elsewhere] = ["redis", "expired", "elsewhere"].map(|name| encrypted_server(&authority, name));
    let own = [authority.path("redis.pem"), authority.path("redis.key")];
    let own = ["--tls-cert", &own[0], "--tls-key", &own[1]];
    let cases = [
        ("all is well", good.1, authority.path("ca.pem"), &own[..], true),
        ("wrong host", elsewhere.1, authority.path("ca.pem"), &own, false),
        ("expired", expired.1, authority.path("ca.pem"), &own, false),
        ("unknown authority", good.1, stranger.path("ca.pem"), &own, false),
        ("no certificate of the client", good.1, authority.path("ca.pem"), &[], false),
    ];
    for args in [
        &["run", "stock"][..],
        &["inspect", "stock"],
        &["scan"],
        &["doctor", "--fleet", "token"],
        &["compare", "token", "--seconds", "1", "--clients", "2"],
        &["record", "--for", "100ms"],
        &["watch", "--for", "100ms"],
        &["races", "crash-before-expire", "--replay"],
    ] {
        for (case, port, ca, own, is_trusted) in &cases {
            let url = format!("rediss://:sesame@localhost:{port}/");
            let url = if *is_trusted { url.replace(":sesame@", "") } else { url };
            let work: &[&str] = if args[0] == "run" { &["--", "true"] } else { &[] };
            let ended = done(lockshift(), [args, &["--redis", &url, "--tls-ca", ca], own, work].concat());
            let expected: &[i32] = if *is_trusted { &[0, 1] } else { &[3] };
            let is_expected = ended.code.is_some_and(|code| expected.contains(&code));
            assert!(is_expected && !ended.stderr.contains("sesame"), "{args:?}, {case}: {ended:?}");
        }
    }
}

#[test]
fn a_port_without_encryption_is_reported_for_an_encrypted_address() {
    let server = Server::with(&Options::new().password("sesame"));
    let url = format!("rediss://:sesame@{}/", server.address());
    for args in [
        &["run", "stock", "--", "true"][..],
        &["inspect", "stock"],
        &["scan"],
        &["compare", "token"],
        &["record", "--for", "1s"],
    ] {
        let mut command = lockshift();
        command.env("REDIS_URL", &url);
        let refused = done(command, args);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(3), ""), "{args:?}: {refused:?}");
        let expected = format!("{} does not speak TLS: use redis://", server.address());
        assert!(refused.stderr.contains(&expected) && !refused.stderr.contains("sesame"), "{args:?}: {refused:?}");
    }
}

#[test]
fn user_and_password_may_come_from_options() {
    let server = Server::start();
    let user = ["on", ">se same", "~*", "+@all"];
    redis::cmd("ACL").arg("SETUSER").arg("clerk").arg(&user[..]).exec(&mut server.connect()).unwrap();
    redis::cmd("ACL").arg("SETUSER").arg("default").arg("off").exec(&mut server.connect()).unwrap();
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (right, wrong, empty) = (file("right", "se same\n"), file("wrong", "poppy"), file("empty", "\n"));
    for (url, login, code) in [
        (server.url(), ["clerk", &right], 0),
        (format!("redis://nobody:poppy@{}/", server.address()), ["clerk", &right], 0),
        (server.url(), ["clerk", &wrong], 3),
        (server.url(), ["clerk", &empty], 2),
        (server.url(), ["clerk", "no/such/file"], 2),
    ] {
        let [user, password] = login;
        let args = ["run", "stock", "--redis", &url, "--user", user, "--password-file", password, "--", "true"];
        let ended = done(lockshift(), args);
        assert_eq!(ended.code, Some(code), "{login:?}: {ended:?}");
        assert!(!ended.stderr.contains("same") && !ended.stderr.contains("poppy"), "{ended:?}");
    }
}

/// The `redis` crate would not log in without a password, and the commands would be sent as the user `default`.
#[test]
fn a_user_without_a_password_logs_in_all_the_same() {
    let server = Server::start();
    for (user, right) in [("open", "nopass"), ("closed", ">sesame")] {
        let rights = ["on", right, "~other:*", "+@all"];
        redis::cmd("ACL").arg("SETUSER").arg(user).arg(&rights[..]).exec(&mut server.connect()).unwrap();
    }
    let named = |user: &str| format!("redis://{user}@{}/", server.address());
    for (url, options, is_let_in) in [
        (server.url(), &["--user", "open"] as &[&str], true),
        (named("open"), &[], true),
        (server.url(), &["--user", "closed"], false),
        (named("nobody"), &[], false),
    ] {
        let run = |key: &str| {
            let args = [&["run", key, "--redis", &url], options, &["--", "true"]].concat();
            done(lockshift(), &args).code
        };
        assert_eq!(run("stock"), Some(3), "{url} {options:?}: it is not its key");
        assert_eq!(run("other:stock"), Some(if is_let_in { 0 } else { 3 }), "{url} {options:?}");
    }
}

#[test]
fn a_parameter_that_is_not_understood_is_refused() {
    let server = Server::start();
    let refused = done(lockshift(), ["inspect", "stock", "--redis", &format!("{}?db=4", server.url())]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("parameter 1 behind its question mark is not understood"), "{refused:?}");
}

#[test]
fn a_socket_of_the_machine() {
    let directory = TempDir::new().unwrap();
    let socket = directory.path().join("redis.sock");
    let _server = Server::with(&Options::new().line(format_args!("unixsocket {}", socket.display())));
    let reached = run(&[&format!("redis+unix://{}", socket.display())], None);
    assert_eq!((reached.code, reached.stdout.as_str()), (Some(0), "reached\n"), "{reached:?}");
}

#[test]
fn a_cluster_by_one_node_or_by_all() {
    let cluster = Cluster::start();
    let urls: Vec<_> = cluster.masters().iter().map(Server::url).collect();
    let all: Vec<_> = urls.iter().map(String::as_str).collect();
    let one = format!("{}?cluster=true", urls[0]);
    for (named, urls) in [("all", all.as_slice()), ("one", &[one.as_str()]), ("in one word", &[&urls.join(",")])] {
        let reached = run(urls, None);
        assert_eq!((reached.code, reached.stdout.as_str()), (Some(0), "reached\n"), "{named}: {reached:?}");
    }
}
