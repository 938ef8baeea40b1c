//! `lockshift record`: however it ends, what it leaves are whole lines.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use redis::cmd;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::command::{Running, done, lockshift, lockshift_at};
use crate::patience::{now, pause, until};
use crate::schemas::conforms;
use crate::server::Server;

/// A file to record to, in a folder of its own.
fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.log");
    (folder, file)
}

/// Waits until a client watches this server.
fn until_watched(server: &Server) {
    let mut operator = server.connect();
    until("a client watches", || {
        let clients: String = cmd("CLIENT").arg("LIST").query(&mut operator).unwrap();
        clients.contains("cmd=monitor").then_some(())
    });
}

/// Sets that many keys, with values of some length.
fn work(server: &Server, times: u32) {
    let mut connection = server.connect();
    for number in 0..times {
        cmd("SET").arg(format!("k:{number}")).arg("v".repeat(100)).exec(&mut connection).unwrap();
    }
}

fn recording(server: &Server, file: &Path) -> Running {
    let mut command = lockshift_at(server);
    command.args(["record", "-o"]).arg(file);
    let running = Running::start(command, [""; 0]);
    until_watched(server);
    running
}

/// How many keys were set in these lines, all of which are whole.
fn sets(text: &str) -> usize {
    assert!(text.ends_with('\n') && text.lines().all(|line| line.starts_with('1') && line.ends_with('"')), "{text}");
    text.lines().filter(|line| line.contains("\"SET\"")).count()
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn an_interrupted_recording_replaces_the_file_atomically() {
    let server = Server::start();
    let (folder, file) = file();
    fs::write(&file, "of yesterday").unwrap();
    let running = recording(&server, &file);
    work(&server, 50);
    assert_eq!(fs::read_to_string(&file).unwrap(), "of yesterday", "the new one is not whole yet");
    until("all lines have arrived", || {
        (fs::read_to_string(begun(&running, &folder)?).ok()?.lines().count() >= 50).then_some(())
    });
    running.signal(Signal::TERM);
    let done = running.done();
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""));
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(sets(&text), 50);
    let closing = format!("lockshift: recorded {} commands in ", text.lines().count());
    assert!(done.stderr.starts_with(&closing) && done.stderr.lines().count() == 1, "{done:?}");
    assert_eq!(names(&folder), ["trace.log"]);
}

/// The file that is being written, which has no name yet.
fn begun(running: &Running, folder: &TempDir) -> Option<PathBuf> {
    let open = fs::read_dir(format!("/proc/{}/fd", running.id())).ok()?;
    open.map(|entry| entry.unwrap().path()).find(|open| fs::read_link(open).is_ok_and(|to| to.starts_with(folder)))
}

/// Keys and values of production are in it.
#[test]
fn only_its_owner_may_read_a_recording_and_one_that_replaces_another_keeps_its_mode() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    let record = |more: &[&str]| {
        let mut command = lockshift_at(&server);
        command.current_dir(folder.path());
        let ended = done(command, [&["record", "--for", "100ms"], more].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
    };
    record(&["-o", "plain.log"]);
    record(&["-o", "small.log.gz"]);
    record(&["-o", "parts.log", "--rotate", "1K"]);
    assert_eq!(["plain.log", "small.log.gz", "parts.log.000001"].map(mode), [0o600; 3]);
    fs::set_permissions(folder.path().join("plain.log"), PermissionsExt::from_mode(0o640)).unwrap();
    record(&["-o", "plain.log"]);
    assert_eq!(mode("plain.log"), 0o640);
}

#[test]
fn a_recording_that_is_killed_leaves_no_file() {
    let server = Server::start();
    let (folder, file) = file();
    let running = recording(&server, &file);
    work(&server, 10);
    until("it writes", || begun(&running, &folder));
    running.signal(Signal::KILL);
    running.done();
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn only_commands_that_match_are_recorded() {
    let server = Server::start();
    let (folder, file) = file();
    let mut command = lockshift_at(&server);
    command.args(["record", "--json", "--match", "k:?", "-o"]).arg(&file);
    let running = Running::start(command, [""; 0]);
    until_watched(&server);
    work(&server, 20);
    cmd("MULTI").exec(&mut server.connect()).unwrap();
    cmd("SET").arg("k:x").arg("last \u{00}").exec(&mut server.connect()).unwrap();
    until("the last one has arrived", || {
        let open = begun(&running, &folder)?;
        fs::read_to_string(open).ok()?.contains("last").then_some(())
    });
    running.signal(Signal::TERM);
    assert_eq!(running.done().code, Some(0));
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.iter().for_each(|line| conforms("record", line));
    let words: Vec<_> = lines.iter().map(|line| line["command"].as_array().unwrap().get(1)).collect();
    let keys: Vec<_> = words.iter().map(|key| key.map_or("", |key| key.as_str().unwrap())).collect();
    assert_eq!(keys, ["k:0", "k:1", "k:2", "k:3", "k:4", "k:5", "k:6", "k:7", "k:8", "k:9", "", "k:x"], "MULTI too");
    let last = lines.last().unwrap();
    assert_eq!((last["command"][2].as_str(), last["database"].as_u64()), (Some(r"last \x00"), Some(0)), "{last}");
    assert!(last["at"].as_f64() > Some(1e9) && last["client"].is_string(), "{last}");
    let fractions = text.lines().map(|line| line.split(['.', ',']).nth(1).unwrap().len());
    assert!(fractions.max() <= Some(6), "microseconds have six digits: {text}");
}

#[test]
fn a_recording_is_rotated_and_compressed_and_audited_as_one() {
    let server = Server::start();
    let (folder, _) = file();
    let file = folder.path().join("trace.log.gz");
    let record = || {
        let mut command = lockshift_at(&server);
        command.args(["record", "--rotate", "2K", "-o"]).arg(&file);
        command
    };
    let running = Running::start(record(), [""; 0]);
    until_watched(&server);
    work(&server, 50);
    // A part is there as soon as the next one begins.
    until("some parts are complete", || (names(&folder).len() >= 3).then_some(()));
    running.signal(Signal::TERM);
    assert_eq!(running.done().code, Some(0));
    let mut parts = names(&folder);
    parts.sort_unstable();
    assert!(parts.len() >= 3 && parts[0] == "trace.log.000001.gz" && parts[1] == "trace.log.000002.gz", "{parts:?}");
    let paths: Vec<_> = parts.iter().map(|name| folder.path().join(name)).collect();
    let mut text = String::new();
    for path in &paths {
        let mut part = String::new();
        flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut part).unwrap();
        assert!(part.len() <= 2048 && part.ends_with('\n'), "{} bytes", part.len());
        text += &part;
    }
    assert_eq!(sets(&text), 50);
    let mut audit = lockshift();
    audit.args(["audit", "--json"]).args(&paths);
    let audited = done(audit, [""; 0]);
    assert_eq!(audited.json()["lines"].as_u64(), Some(text.lines().count() as u64), "{audited:?}");

    let refused = done(record(), [""; 0]);
    assert_eq!(refused.code, Some(2), "the old parts would be taken for new ones: {refused:?}");
    assert!(refused.stderr.contains("trace.log.000001.gz is there already"), "{refused:?}");
}

#[test]
fn a_server_that_goes_away_leaves_what_came_before() {
    let mut server = Server::start();
    let (folder, file) = file();
    let running = recording(&server, &file);
    work(&server, 50);
    server.kill();
    let done = running.done();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains(&server.address().to_string()) && done.stderr.lines().count() == 2, "{done:?}");
    let text = fs::read_to_string(&file).unwrap();
    let (lines, last) = text.split_at(text.trim_end().rfind('\n').unwrap() + 1);
    assert!(sets(lines) == 50 && last.starts_with("# recording ended early: ") && last.ends_with('\n'), "{text}");
    assert_eq!(names(&folder), ["trace.log"]);
    let audited = Running::start(lockshift(), [Path::new("audit"), &file]).done();
    assert!(audited.code == Some(3) && audited.stderr.contains("the recording ended early"), "{audited:?}");
}

#[test]
fn a_disk_that_is_full_leaves_the_lines_that_are_whole_and_one_that_says_so() {
    for (options, left) in [("", "trace.log"), ("--rotate 8K", "trace.log.000001")] {
        let server = Server::start();
        let (folder, file) = file();
        let mut shell = Command::new("sh");
        // A file may have so many blocks of 512 bytes, and a process that writes more gets an error instead of a signal.
        let script = r#"trap '' XFSZ; ulimit -f 15; exec "$0" record $2 -o "$1""#;
        shell.args(["-c", script, env!("CARGO_BIN_EXE_lockshift")]).arg(&file).arg(options);
        shell.env("REDIS_URL", server.url());
        let running = Running::start(shell, [""; 0]);
        until_watched(&server);
        work(&server, 300);
        let done = running.done();
        assert_eq!(done.code, Some(3), "{done:?}");
        assert!(done.stderr.contains(left) && done.stderr.contains("what came before is there"), "{done:?}");
        assert_eq!(names(&folder), [left]);
        let file = folder.path().join(left);
        let text = fs::read_to_string(&file).unwrap();
        let (lines, last) = text.split_at(text.trim_end().rfind('\n').unwrap() + 1);
        assert!((1..300).contains(&sets(lines)), "{} bytes", text.len());
        assert!(last.starts_with("# recording ended early: ") && last.ends_with('\n'), "{last}");
        let audited = Running::start(lockshift(), [Path::new("audit"), &file]).done();
        assert!(audited.code == Some(3) && audited.stderr.contains("the recording ended early"), "{audited:?}");
    }
}

/// What stood in the file before stays, however much room the last line needs.
#[test]
fn standard_output_on_a_full_disk_is_marked_as_a_file_is() {
    for (before, redirect) in [("", ">"), ("1700000000.000000 [0 127.0.0.1:1] \"GET\" \"k\"\n", ">>")] {
        let server = Server::start();
        let (folder, file) = file();
        fs::write(&file, before).unwrap();
        let script = format!("trap '' XFSZ; ulimit -f 15; exec \"$0\" record {redirect} \"$1\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_lockshift")]).arg(&file).env("REDIS_URL", server.url());
        let running = Running::start(shell, [""; 0]);
        until_watched(&server);
        work(&server, 300);
        let done = running.done();
        assert_eq!(done.code, Some(3), "{done:?}");
        assert!(done.stderr.starts_with("lockshift: standard output: "), "{done:?}");
        assert!(done.stderr.contains("what came before is there") && done.stderr.lines().count() == 1, "{done:?}");
        assert_eq!(names(&folder), ["trace.log"]);
        let text = fs::read_to_string(&file).unwrap();
        let (lines, last) = text.split_at(text.trim_end().rfind('\n').unwrap() + 1);
        assert!(text.starts_with(before) && (1..300).contains(&sets(lines)), "{} bytes", text.len());
        assert!(last.starts_with("# recording ended early: ") && last.ends_with('\n'), "{last}");
        let audited = Running::start(lockshift(), [Path::new("audit"), &file]).done();
        assert!(audited.code == Some(3) && audited.stderr.contains("the recording ended early"), "{audited:?}");
    }
}

#[test]
fn what_cannot_be_recorded_to_is_refused() {
    for (args, why) in [
        (&["-o", "trace.zst"][..], "end the name with .gz, not .zst"),
        (&["-o", "trace.log", "--rotate", "10"], "a part has at least 1K"),
    ] {
        let refused = done(lockshift(), ["record", "--redis", "redis://127.0.0.1:1"].iter().chain(args));
        assert!(refused.code == Some(2) && refused.stderr.contains(why), "{refused:?}");
    }
}

#[test]
fn a_disk_that_is_full_leaves_the_beginning_of_a_compressed_file() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.log.gz");
    let mut shell = Command::new("sh");
    let script = r#"trap '' XFSZ; ulimit -f 64; exec "$0" record -o "$1""#;
    shell.args(["-c", script, env!("CARGO_BIN_EXE_lockshift")]).arg(&file).env("REDIS_URL", server.url());
    let running = Running::start(shell, [""; 0]);
    until_watched(&server);
    // Values that cannot be compressed.
    let (mut writer, mut chance) = (server.connect(), fastrand::Rng::with_seed(1));
    for _ in 0..300 {
        cmd("SETNX").arg("lock").arg(noise(&mut chance, 1_000)).exec(&mut writer).unwrap();
    }
    let done = running.done();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("trace.log.gz: ") && done.stderr.contains("what came before is there"), "{done:?}");
    assert_eq!(names(&folder), ["trace.log.gz"]);
    let audited = Running::start(lockshift(), [Path::new("audit"), &file]).done();
    assert!(audited.code == Some(3) && audited.stderr.contains("the recording ended early"), "{audited:?}");
    assert!(audited.stdout.contains(" lines over "), "what came before is audited: {audited:?}");
}

/// So many letters and digits by chance.
fn noise(chance: &mut fastrand::Rng, length: usize) -> String {
    (0..length).map(|_| chance.alphanumeric()).collect()
}

#[test]
fn a_client_without_permission_for_monitor_begins_no_file() {
    let server = Server::start();
    let (folder, file) = file();
    let user = ["on", ">sesame", "~*", "+@all", "-monitor"];
    cmd("ACL").arg("SETUSER").arg("clerk").arg(&user[..]).exec(&mut server.connect()).unwrap();
    let mut command = lockshift();
    command.args(["record", "--for", "1s", "-o"]).arg(&file);
    let refused = done(command, ["--redis", &format!("redis://clerk:sesame@{}/", server.address())]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("monitor") && !refused.stderr.contains("sesame"), "{refused:?}");
    assert_eq!(names(&folder), [""; 0]);

    let nowhere = done(lockshift_at(&server), ["record", "--for", "1s", "-o", "no/such/folder/trace.log"]);
    assert_eq!(nowhere.code, Some(3));
    assert_eq!(nowhere.stderr, "lockshift: no/such/folder/trace.log: there is no directory no/such/folder\n");
}

#[test]
fn a_cluster_has_to_be_recorded_server_by_server() {
    for urls in [&["redis://127.0.0.1:1/?cluster=true"][..], &["redis://127.0.0.1:1/", "redis://127.0.0.1:2/"]] {
        let refused = done(lockshift(), ["record"].into_iter().chain(urls.iter().flat_map(|url| ["--redis", url])));
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("each server has a MONITOR of its own: name one"), "{refused:?}");
    }
}

#[test]
fn a_closed_pipe_ends_it_silently() {
    let server = Server::start();
    let mut command = lockshift_at(&server);
    let mut child = command.arg("record").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_watched(&server);
    drop(child.stdout.take());
    let ended = until("it ends", || {
        work(&server, 10);
        child.try_wait().unwrap()
    });
    let stderr = child.wait_with_output().unwrap().stderr;
    assert_eq!((ended.code(), String::from_utf8_lossy(&stderr).as_ref()), (Some(0), ""));
}

/// More than a pipe that is not read and the buffers of both ends hold back.
const MANY: u32 = 6_000;

#[test]
fn a_recording_that_is_behind_when_its_time_has_passed_catches_up() {
    let server = Server::start();
    let mut command = lockshift_at(&server);
    command.args(["record", "--for", "4s"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    until_watched(&server);
    let began = now();
    work(&server, MANY);
    assert!(began.elapsed().as_secs() < 4, "it still records");
    pause(Duration::from_secs(5).saturating_sub(began.elapsed()));
    work(&server, 10);
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), ""));
    assert_eq!(sets(&String::from_utf8(ended.stdout).unwrap()), MANY as usize, "what came later is not recorded");
}

#[test]
fn a_recording_that_ends_while_it_is_behind_says_how_far() {
    let server = Server::start();
    let mut command = lockshift_at(&server);
    let running = command.arg("record").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_watched(&server);
    work(&server, MANY);
    pause(Duration::from_secs(2));
    kill_process(Pid::from_child(&running), Signal::TERM).unwrap();
    pause(Duration::from_millis(200));
    let ended = running.wait_with_output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert!(stderr.contains(" s are not recorded") && stderr.lines().count() == 1, "{stderr}");
    let recorded = sets(&String::from_utf8(ended.stdout).unwrap());
    assert!((1..MANY as usize).contains(&recorded), "{recorded}");
}

#[test]
fn a_redacted_recording_has_locks_and_no_secrets() {
    let server = Server::start();
    let (folder, file) = file();
    let mut command = lockshift_at(&server);
    command.args(["record", "--redact", "-o"]).arg(&file);
    let running = Running::start(command, [""; 0]);
    until_watched(&server);
    let mut connection = server.connect();
    cmd("SET").arg("user:7").arg("{\"mail\":\"alice@example.com\"}").exec(&mut connection).unwrap();
    cmd("SET")
        .arg("lock:7")
        .arg("5f3c1b9e2d4a48c0a1b2c3d4e5f60718")
        .arg("NX")
        .arg("PX")
        .arg(9000)
        .exec(&mut connection)
        .unwrap();
    cmd("DEL").arg("lock:7").exec(&mut connection).unwrap();
    until("all lines have arrived", || {
        fs::read_to_string(begun(&running, &folder)?).ok()?.contains("\"DEL\"").then_some(())
    });
    running.signal(Signal::TERM);
    assert_eq!(running.done().code, Some(0));
    let text = fs::read_to_string(&file).unwrap();
    for secret in ["alice", "example", "5f3c1b9e2d4a48c0a1b2c3d4e5f60718"] {
        assert!(!text.contains(secret), "{text}");
    }
    let audited = done(lockshift(), ["audit".as_ref(), "--json".as_ref(), file.as_os_str()]).json();
    assert_eq!(audited["locks"][0]["key"], "lock:7", "{audited}");
    assert_eq!(audited["locks"][0]["dialects"][0], "token", "{audited}");
}
