//! Servers that cannot be used: exit status 3, and one sentence that names the server, the key where there is one, and
//! what to do.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use super::command::{Done, done, lockshift, lockshift_at};
use crate::server::{Options, Server};

/// One short sentence on standard error, with these words in it, and nothing else.
fn assert_reported(done: &Done, code: i32, expected: &[&str]) {
    assert_eq!((done.code, done.stdout.as_str()), (Some(code), ""), "{done:?}");
    assert_eq!(done.stderr.lines().count(), 1, "{done:?}");
    for words in [&["lockshift: "], expected].concat() {
        assert!(done.stderr.contains(words), "no {words:?} in {done:?}");
    }
}

/// Every command that uses a server, as it is tried there.
const USING_A_SERVER: [&[&str]; 6] = [
    &["run", "stock", "--", "true"],
    &["inspect", "stock"],
    &["compare", "token"],
    &["scan"],
    &["record", "--for", "1s"],
    &["races", "late-unlock", "--replay"],
];

/// What `run` says there.
fn run(command: Command) -> Done {
    done(command, ["run", "stock", "--nonblock", "--", "echo", "not reached"])
}

#[test]
fn a_server_that_is_down() {
    let mut server = Server::start();
    server.kill();
    let url = server.url();
    for args in USING_A_SERVER {
        assert_reported(&done(lockshift_at(&server), args), 3, &[&url, "no server answers", "start the server"]);
    }
}

#[test]
fn a_host_that_is_unknown() {
    for args in USING_A_SERVER {
        let mut command = lockshift();
        command.env("REDIS_URL", "redis://no.such.host.invalid");
        let shown = done(command, args);
        assert_reported(&shown, 3, &["redis://no.such.host.invalid", "no connection (", "correct the address"]);
        assert!(!shown.stderr.contains("os error"), "{args:?}: {shown:?}");
    }
}

#[test]
fn sentinels_that_are_none() {
    let server = Server::start();
    let address = server.address().to_string();
    let mut command = lockshift();
    command.env("REDIS_URL", format!("redis+sentinel://{address}/main"));
    let shown = run(command);
    assert_reported(&shown, 3, &[&address, "it is not a sentinel: it does not know SENTINEL", "correct the address"]);
}

/// A server that is full, or in protected mode, closes each connection as soon as it has accepted it.
#[test]
fn a_server_that_admits_no_client() {
    let server = Server::start();
    let url = server.url();
    let mut operator = server.connect();
    redis::cmd("CONFIG").arg("SET").arg("maxclients").arg(1).exec(&mut operator).unwrap();
    for args in USING_A_SERVER {
        let shown = done(lockshift_at(&server), args);
        assert_reported(&shown, 3, &[&url, "the server closed the connection (", "protected mode", "maxclients"]);
        assert!(!shown.stderr.contains("correct the address"), "{args:?}: {shown:?}");
    }
}

#[test]
fn a_file_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().display().to_string();
    let missing = format!("{folder}/missing.log");
    for (args, expected) in [
        (&["audit", &missing][..], "there is no such file or directory"),
        (&["audit", &folder], "it is a directory"),
        (&["dry-run", &missing, "--to", "token", "--lease", "1s"], "there is no such file or directory"),
    ] {
        let shown = done(lockshift(), args);
        assert_reported(&shown, 3, &[&folder, expected]);
        assert!(!shown.stderr.contains("os error"), "{args:?}: {shown:?}");
    }
}

#[test]
fn a_password_that_is_wrong_or_missing() {
    let server = Server::with(&Options::new().password("sesame"));
    let address = server.address();
    for login in ["", ":poppy@"] {
        let mut command = lockshift();
        command.env("REDIS_URL", format!("redis://{login}{address}/"));
        let shown = run(command);
        assert_reported(&shown, 3, &[&address.to_string(), "wants another login"]);
        assert!(!shown.stderr.contains("poppy"), "{shown:?}");
    }
    assert_eq!(run(lockshift_at(&server)).stdout, "not reached\n");
}

#[test]
fn a_key_of_another_type() {
    let server = Server::start();
    redis::cmd("LPUSH").arg("stock").arg("apples").exec(&mut server.connect()).unwrap();
    let shown = done(lockshift_at(&server), ["run", "stock", "--protocol", "java-getset", "--", "true"]);
    assert_reported(&shown, 3, &["`stock`", &server.url(), "holds another type", "choose another key"]);
    let shown = done(lockshift_at(&server), ["run", "stock", "--protocol", "mlanett-redis-lock", "--", "true"]);
    assert_eq!(shown.code, Some(0), "its keys have other names: {shown:?}");
}

/// The script of the release has deleted the key when it is refused the PUBLISH.
#[test]
fn a_release_that_may_not_publish() {
    let server = Server::start();
    let rights = ["SETUSER", "mute", "on", ">hush", "~*", "+@all", "resetchannels"];
    redis::cmd("ACL").arg(&rights).exec(&mut server.connect()).unwrap();
    let mut command = lockshift();
    command.env("REDIS_URL", format!("redis://mute:hush@{}/", server.address()));
    let shown = done(command, ["run", "stock", "--protocol", "token,announce=publish", "--", "true"]);
    assert_reported(&shown, 0, &["`stock`", "if the lock is still there"]);
    assert_eq!(redis::cmd("EXISTS").arg("stock").query(&mut server.connect()), Ok(false));
}

#[test]
fn a_replica_that_only_reads() {
    let master = Server::start();
    let replica = Server::with(&Options::new().replica_of(&master));
    let shown = run(lockshift_at(&replica));
    assert_reported(&shown, 3, &["`stock`", &replica.url(), "replica", "connect to its master"]);
}

#[test]
fn a_server_out_of_memory() {
    let server = Server::with(&Options::new().max_memory(1));
    assert_reported(&run(lockshift_at(&server)), 3, &["`stock`", "out of memory", "maxmemory"]);
}

#[test]
fn a_user_that_may_not() {
    let server = Server::start();
    redis::cmd("ACL")
        .arg("SETUSER")
        .arg("guest")
        .arg(&["on", "nopass", "~*", "+@read", "+@connection"][..])
        .exec(&mut server.connect())
        .unwrap();
    let mut command = lockshift();
    command.env("REDIS_URL", format!("redis://guest:any@{}/", server.address()));
    assert_reported(&run(command), 3, &["`stock`", "may not", "ACL SETUSER"]);
}

/// As a server that another person controls: its words could change the title of the terminal, or hide what stands before them.
#[test]
fn the_words_of_a_server_do_not_control_the_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = client.read(&mut bytes) {
                let commands = bytes[..count].iter().filter(|byte| **byte == b'*').count();
                let replies = "-ERR \x1b]0;owned\x07\x1b[31m\u{9b}1m\r\n".repeat(commands);
                if client.write_all(replies.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    // The refusal of a command, and of the choice of a database while connecting.
    for url in [url.clone(), format!("{url}/7")] {
        let mut command = lockshift();
        command.env("REDIS_URL", &url);
        let shown = run(command);
        assert_reported(&shown, 3, &[&url, "\\x1b]0;owned\\a\\x1b[31m\\xc2\\x9b1m"]);
        assert!(shown.stderr.trim_end().bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{shown:?}");
    }
}
