//! A scan that does not end as planned: stopped, its server gone, its reader gone; and where progress is shown.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use redis::cmd;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{TOKEN, set};
use crate::cli::command::{Running, done, lockshift_at};
use crate::patience::until;
use crate::server::Server;

/// More keys than a scan at ten a second sees in the time of a test, all of them locks.
fn crowded() -> Server {
    let server = Server::start();
    let mut locks = redis::pipe();
    for number in 0..10_000 {
        locks.cmd("SET").arg(format!("lock:{number}")).arg(TOKEN).arg("PX").arg(3_600_000).ignore();
    }
    locks.exec(&mut server.connect()).unwrap();
    server
}

/// A scan that has seen some keys, and will not have seen all for a long time.
fn under_way(server: &Server, args: &[&str]) -> Running {
    let mut operator = server.connect();
    cmd("CONFIG").arg("RESETSTAT").exec(&mut operator).unwrap();
    let running = Running::start(lockshift_at(server), ["scan", "--rate", "10"].iter().chain(args));
    until("it has looked at some", || {
        let stats: String = cmd("INFO").arg("commandstats").query(&mut operator).unwrap();
        let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_scan:calls=")?.split(',').next());
        (calls?.parse::<u64>().ok()? > 2).then_some(())
    });
    running
}

#[test]
fn a_stopped_scan_shows_what_it_has_found() {
    let server = crowded();
    let running = under_way(&server, &[]);
    running.signal(Signal::HUP);
    let text = running.done();
    assert_eq!((text.code, text.stderr.as_str()), (Some(129), "lockshift: stopped before all keys were seen\n"));
    assert!(text.stdout.starts_with("KEY ") && text.stdout.contains("\nNot all keys were seen.\n"), "{}", text.stdout);

    let running = under_way(&server, &["--json"]);
    running.signal(Signal::TERM);
    let done = running.done();
    let json = done.json();
    assert_eq!((done.code, json["complete"].as_bool()), (Some(143), Some(false)));
    assert_eq!(json["locks"].as_array().map(Vec::len), json["keys"].as_u64().map(|keys| keys as usize));
}

#[test]
fn a_server_that_is_lost_amid_a_scan_leaves_what_was_found() {
    let mut server = crowded();
    let running = under_way(&server, &["--json"]);
    server.kill();
    let done = running.done();
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert!(done.stderr.contains(&server.address().to_string()) && done.stderr.lines().count() == 1, "{}", done.stderr);
    let json = done.json();
    assert_eq!(json["complete"], false);
    assert!(json["locks"].as_array().is_some_and(|locks| !locks.is_empty()), "{json}");
}

#[test]
fn a_closed_pipe_ends_it_silently() {
    let server = crowded();
    for args in [["scan", "--json"], ["scan", "--limit=9999"]] {
        let mut command = lockshift_at(&server);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}

#[test]
fn how_far_it_is_stands_on_a_terminal_and_nowhere_else() {
    let server = Server::start();
    set(&server, "lock", TOKEN, Some(60));
    assert_eq!(done(lockshift_at(&server), ["scan"]).stderr, "");

    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let theirs = File::options().read(true).write(true).open(path).unwrap();
    let mut command = lockshift_at(&server);
    command.arg("scan").env("TERM", "xterm").stdout(Stdio::piped()).stderr(Stdio::from(OwnedFd::from(theirs)));
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    drop(command);

    let mut shown = [0; 4096];
    let length = File::from(ours).read(&mut shown).unwrap();
    let shown = String::from_utf8_lossy(&shown[..length]).into_owned();
    assert!(shown.contains("0/1 keys"), "{shown:?}");
    let result = String::from_utf8_lossy(&output.stdout);
    assert!(
        result.starts_with("KEY ") && result.contains("\n1 key, 1 lock\n"),
        "it is no part of the result: {result}"
    );
}
