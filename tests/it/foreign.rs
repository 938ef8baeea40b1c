//! What real programs were recorded to send is what their rows of the catalogue could have sent.
//!
//! `tests/traces/foreign` has the beginnings of recordings: several processes of one program and several of lockshift
//! contend for one key, and each counts its acquisitions in a key of its own (`w:...:foreign`, `w:...:ours`). The
//! simulated server answers the recorded commands, and each foreign connection is read as a row's attempts and releases.
//! A value has to have the row's form, and its stamp has to lie a lease ahead; all other words are compared.

mod audited;
mod redacted;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command as Process;
use std::time::Duration;

use lockshift::legacy::{Clock, Dialect, KeyName, Keys, Lock, Moment, find};
use lockshift::lock::{Acquired, Hold, Lease, Locker, Owner, Released, Token};
use lockshift::monitor::{Parser, Source};
use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, CommandWord, Key, MonoTime, Pending, Reading, Reply, Transcript, Turn, UnixTime};

/// All programs were recorded with leases of five seconds.
const LEASE: Duration = Duration::from_secs(5);

/// Kdyby's `acquireTimeout` is checked between the claim and the GET: such an attempt ends with its claim.
const ENDS_AFTER_ITS_CLAIM: [&str; 1] = ["kdyby-redis-php8"];

/// The scripts of the rows: the server of a recording knew them by then.
const SCRIPTS: [&str; 7] = [
    include_str!("../../legacy/src/lua/setnx_expire.lua"),
    include_str!("../../legacy/src/lua/del_if_get_equals.lua"),
    include_str!("../../legacy/src/lua/jedis_unlock.lua"),
    include_str!("../../legacy/src/lua/redis_py_acquire.lua"),
    include_str!("../../legacy/src/lua/redis_py_release.lua"),
    include_str!("../../legacy/src/lua/retools_acquire.lua"),
    include_str!("../../legacy/src/lua/retools_release.lua"),
];

/// A command of one connection, and what the simulated server answers.
#[derive(Clone, Debug)]
struct Exchange {
    at: UnixTime,
    command: Command,
    reply: Reply,
}

/// What one connection did with the lock, and who it was by the witness' counts.
#[derive(Default)]
struct Connection {
    exchanges: Vec<Exchange>,
    foreign: u32,
    ours: u32,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces/foreign")
}

/// All traces, and the row of each program.
fn traces() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../traces/foreign/index.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let [trace, row, _beside] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("three columns: {line}") };
        (trace, row)
    })
}

/// Those of programs that have a row among the old dialects.
fn legacy_traces() -> impl Iterator<Item = (&'static str, &'static Dialect)> {
    traces().filter_map(|(trace, row)| Some((trace, find(row)?)))
}

fn text(trace: &str) -> Vec<u8> {
    let file = folder().join(format!("{trace}.log.gz"));
    let output = Process::new("gzip").arg("-dc").arg(file).output().expect("gzip is there");
    assert!(output.status.success(), "{trace}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The key of the lock: what the program makes of the name, unless the recording gave it a key of its own.
fn key(trace: &str, rule: KeyName, text: &[u8]) -> Key {
    let name = format!("cont-{trace}");
    let derived = rule.key_of(name.as_bytes());
    let quoted = [b"\"", derived.as_bytes(), b"\""].concat();
    if text.windows(quoted.len()).any(|window| window == quoted) { derived } else { Key::from(name.as_str()) }
}

/// Every connection with what it did to the lock, by its address. The witness counts an acquisition a little later, by a
/// connection of its own: the first client that has acquired and was not counted yet is the one.
fn connections(row: Option<&Dialect>, key: &Key, text: &[u8]) -> BTreeMap<Vec<u8>, Connection> {
    let mut server = Server::new(Flavour::Redis70);
    for script in SCRIPTS {
        server.call(Session(0), &Command::new("SCRIPT").arg("LOAD").arg(script), UnixTime::from_nanos(0));
    }
    let mut parser = Parser::new();
    let mut lines: Vec<(UnixTime, Option<Vec<u8>>, Command)> = Vec::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"1")) {
        let line = parser.parse(line).expect("the recording is well-formed");
        let client = match line.source {
            Source::Client(address) => Some(address.to_vec()),
            Source::Script => None,
        };
        lines.push((line.at, client, line.command()));
    }
    let mut found: BTreeMap<Vec<u8>, Connection> = BTreeMap::new();
    let mut sessions: BTreeMap<Vec<u8>, Session> = BTreeMap::new();
    let mut uncounted: Vec<Vec<u8>> = Vec::new();
    let (rule, keys) = row.map_or((KeyName::PLAIN, Keys::One), |row| (row.key, row.keys));
    let mut is_unknown_script = false;
    for (index, (at, client, command)) in lines.iter().enumerate() {
        let Some(client) = client else {
            if is_unknown_script {
                server.call(Session(0), command, *at);
            }
            continue;
        };
        if command.is("INCR") {
            let side = command.args()[0].rsplit(|byte| *byte == b':').next();
            let is_of_side = matches!(side, Some(b"foreign" | b"ours"));
            if is_of_side && !uncounted.is_empty() {
                let winner = found.entry(uncounted.remove(0)).or_default();
                *(if side == Some(b"ours") { &mut winner.ours } else { &mut winner.foreign }) += 1;
            }
            continue;
        }
        // A script that the server did not know yet has called nothing.
        let ran = lines.get(index + 1).is_some_and(|(_, next, _)| next.is_none());
        if !concerns(command, key, rule, keys) || command.is("EVALSHA") && !ran {
            continue;
        }
        let new = Session(sessions.len() as u32 + 1);
        let session = *sessions.entry(client.clone()).or_insert(new);
        let before = server.peek(key, *at);
        let reply = server.call(session, command, *at);
        is_unknown_script = reply.error_code() == Some("NOSCRIPT");
        let overwrote = match (&reply, row) {
            (Reply::Bulk(old), Some(row)) if command.is("GETSET") => row.expires_at(old),
            _ => None,
        };
        let has_written = server.holds(key, *at) && server.peek(key, *at) != before;
        if command.is("DEL") {
            uncounted.retain(|winner| winner != client);
        } else if has_written && overwrote.is_none_or(|ends_at| ends_at <= *at) && !uncounted.contains(client) {
            uncounted.push(client.clone());
        }
        let connection = found.entry(client.clone()).or_default();
        connection.exchanges.push(Exchange { at: *at, command: command.clone(), reply });
    }
    found
}

/// Whether the command is about the lock, or about a transaction that is.
fn concerns(command: &Command, key: &Key, rule: KeyName, keys: Keys) -> bool {
    let name = key.as_bytes().strip_prefix(rule.before.as_bytes()).unwrap_or(key.as_bytes());
    let names_lock = |word: &CommandWord| word == key.as_bytes() || keys != Keys::One && word.ends_with(name);
    ["MULTI", "EXEC", "UNWATCH"].iter().any(|word| command.is(word)) || command.args().iter().any(names_lock)
}

/// How one attempt or release went over the recording.
enum Run<T> {
    Ended(T, Option<Vec<u8>>),
    /// The recording ends before it does.
    Cut,
}

/// Runs a procedure over what the connection did from `next` on. The value that it wrote last comes with its outcome.
fn run<T>(
    row: &Dialect,
    exchanges: &[Exchange],
    next: &mut usize,
    procedure: impl Fn(&mut Transcript) -> Turn<T>,
) -> Result<Run<T>, String> {
    let mut redis = Transcript::new();
    let mut written = None;
    loop {
        match procedure(redis.rewind()) {
            Ok(outcome) => return Ok(Run::Ended(outcome, written)),
            Err(Pending::Clock) => {
                let Some(exchange) = exchanges.get(*next).or(exchanges.last()) else { return Ok(Run::Cut) };
                redis.record_clock(reading(exchange.at));
            }
            Err(Pending::Send(expected)) => {
                let Some(exchange) = exchanges.get(*next) else { return Ok(Run::Cut) };
                let value = compare(row, &expected, exchange)?;
                written = value.or(written);
                redis.record_reply(exchange.reply.clone());
                *next += 1;
            }
            Err(pending @ (Pending::Round(_) | Pending::Fault(_))) => return Err(format!("{pending:?}")),
        }
    }
}

fn reading(at: UnixTime) -> Reading {
    Reading { wall: at, mono: MonoTime::since_origin(at.saturating_since(UnixTime::from_nanos(0))) }
}

/// Holds a command of the recording against the row's; the value of the recorded one, if it has one.
fn compare(row: &Dialect, expected: &Command, exchange: &Exchange) -> Result<Option<Vec<u8>>, String> {
    let actual = &exchange.command;
    let broken = || format!("the row sends `{expected}`, the program sent `{actual}`");
    if expected.words().len() != actual.words().len() {
        return Err(broken());
    }
    let actual_name = actual.name();
    let mut value = None;
    for (place, (expected, actual)) in expected.words().iter().zip(actual.words()).enumerate() {
        if expected == actual || place != 1 && expected.eq_ignore_ascii_case(actual) {
            if value_place(actual_name) == Some(place) {
                value = Some(actual.to_vec());
            }
            continue;
        }
        let is_script = place == 0 && actual.eq_ignore_ascii_case(b"EVAL") && expected == b"EVALSHA"
            || place == 1 && SCRIPTS.iter().any(|script| actual == script);
        if is_script {
            continue;
        }
        let is_value = row.form.matches(expected) && row.form.matches(actual);
        let digits = row.form.stamp.digits;
        let is_stamp = row.keys != Keys::One && digits.read(expected).is_some() && digits.read(actual).is_some();
        if !is_value && !is_stamp {
            return Err(broken());
        }
        if is_value {
            let ahead = row.expires_at(actual);
            let late = exchange.at.saturating_add(Duration::from_secs(60));
            let due = row.form.is_stamped() && row.form.stamp.moment == Moment::Expiry && row.clock != Clock::Uptime;
            if due && !ahead.is_some_and(|ahead| ahead > exchange.at && ahead < late) {
                return Err(format!("the stamp of `{}` does not lie a lease ahead", exchange.command));
            }
            value = Some(actual.to_vec());
        }
    }
    Ok(value)
}

/// Where the value stands in a command that writes one.
fn value_place(name: &[u8]) -> Option<usize> {
    match name.to_ascii_uppercase().as_slice() {
        b"SET" | b"SETNX" | b"GETSET" | b"MSETNX" => Some(2),
        b"SETEX" => Some(3),
        b"EVAL" | b"EVALSHA" => Some(4),
        _ => None,
    }
}

/// How often this connection acquired, if all that it did is what the row could have done.
fn acquisitions(row: &'static Dialect, key: &Key, exchanges: &[Exchange]) -> Result<u32, String> {
    let lock = Lock::new(row, key.clone(), Lease::new(LEASE).expect("five seconds are a lease"));
    let owner = Owner::new(Token::new([7; 16]), 1, 1);
    let (mut next, mut acquired) = (0, 0);
    while next < exchanges.len() {
        let began = next;
        let hold = match run(row, exchanges, &mut next, |redis| lock.acquire(&owner, redis)) {
            Ok(Run::Cut) => break,
            Ok(Run::Ended(Acquired::Held(_), _)) => continue,
            Ok(Run::Ended(Acquired::Won(hold), written)) => as_written(row, hold, written),
            Err(_) if next == began + 1 && ENDS_AFTER_ITS_CLAIM.contains(&row.name) => continue,
            Err(error) => return Err(error),
        };
        acquired += 1;
        match run(row, exchanges, &mut next, |redis| lock.release(&hold, redis))? {
            Run::Cut | Run::Ended(Released::Freed | Released::Lost | Released::LeftAlone, _) => {}
            Run::Ended(other @ (Released::StillHeld | Released::Intruded), _) => return Err(format!("{other:?}")),
        }
    }
    Ok(acquired)
}

/// The hold as the program knows it: with the value that it wrote, at the moment that its stamp was made of.
fn as_written(row: &Dialect, hold: Hold, written: Option<Vec<u8>>) -> Hold {
    let Some(value) = written else { return hold };
    let before = LEASE + row.form.stamp.margin;
    let made = row.expires_at(&value).map(|ends| UnixTime::from_nanos(ends.as_nanos() - before.as_nanos() as i64));
    let since = made.map_or(hold.since, |wall| Reading { wall, ..hold.since });
    Hold { value, since, ..hold }
}

/// How many foreign connections there are and how often they acquired; or the first that the row cannot explain.
fn foreign(trace: &str, row: &'static Dialect) -> Result<(usize, u32), String> {
    let text = text(trace);
    let key = key(trace, row.key, &text);
    let foreign = connections(Some(row), &key, &text).into_iter().filter(|(_, them)| them.foreign > them.ours);
    let (mut count, mut acquired) = (0, 0);
    for (address, connection) in foreign {
        let explained = acquisitions(row, &key, &connection.exchanges);
        acquired += explained.map_err(|error| format!("{trace}, {}: {error}", String::from_utf8_lossy(&address)))?;
        count += 1;
    }
    Ok((count, acquired))
}

#[test]
fn each_program_sends_what_its_row_could_have_sent() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for (trace, row) in legacy_traces() {
        match foreign(trace, row) {
            Ok((connections, acquired)) if connections >= 2 && acquired >= 3 => checked += 1,
            Ok((connections, acquired)) => {
                broken.push(format!("{trace}: only {acquired} acquisitions on {connections} connections"));
            }
            Err(error) => broken.push(error),
        }
    }
    assert!(
        broken.is_empty(),
        "{} of {} are explained, but not\n{}",
        checked,
        checked + broken.len(),
        broken.join("\n")
    );
    assert_eq!(checked, 53, "programs with a row among the old dialects");
}

#[test]
fn a_row_of_another_version_does_not_explain_a_program() {
    for (trace, other) in [
        ("cs-servicestack-4.0.42", "servicestack-2012"),
        ("cs-servicestack-4.0.48", "servicestack-4.0.34"),
        ("js-redis-lock-0.0.9", "npm-redis-lock-0.1.0"),
        ("js-redis-lock-0.1.0", "npm-redis-lock"),
        ("rb-redis-mutex-4.0.0", "redis-mutex"),
        ("py2-redis-py-2.10.6-Lock", "redis-py-2.10-lua"),
        ("rb-redis-getlock", "naive-check-del"),
        ("py2-redset-on-2.7", "redset"),
    ] {
        let row = find(other).expect("the catalogue has it");
        assert!(foreign(trace, row).is_err(), "{trace} is not {other}");
    }
}
