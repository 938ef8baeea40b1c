//! The proxy on a real server: what is not a lock's is answered as without it, and a lock's command by the guard.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use redis::{Commands, Connection, ConnectionLike, RedisResult, Value, cmd};

use super::{server_secs, until_blocked};
use crate::guard_process::GuardProcess;
use crate::patience::{pause, until};
use crate::server::{Options, Server};

fn guard(server: &Server) -> GuardProcess {
    GuardProcess::start(&server.url(), &[("lock:*".to_owned(), "php-getset")], &[])
}

/// The bytes of a command.
fn frame(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend_from_slice(word);
        bytes.extend(b"\r\n");
    }
    bytes
}

const END: &[u8] = b"the end of this dialogue";

/// What is answered to these bytes, sent in pieces of this length.
fn answers(mut stream: TcpStream, bytes: &[u8], piece: usize) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let bytes = [bytes, &frame(&[b"ECHO", END])].concat();
    let mut writer = stream.try_clone().unwrap();
    let writing = std::thread::spawn(move || bytes.chunks(piece).try_for_each(|piece| writer.write_all(piece)));
    let (mut answered, mut buffer) = (Vec::new(), vec![0; 65_536]);
    while !answered.windows(END.len()).rev().take(65_536 + END.len()).any(|window| window == END) {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => answered.extend_from_slice(&buffer[..length]),
            Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&answered[..answered.len().min(2_000)])),
        }
    }
    writing.join().unwrap().unwrap();
    answered
}

/// Traffic of every kind that is not a lock's, with values of this length.
fn traffic(length: usize) -> Vec<u8> {
    let big = vec![b'x'; length];
    let script: &[u8] = b"return {KEYS[1], 1, false, {ok='fine'}, redis.call('get', KEYS[1])}";
    let mut all = b"PING\r\nECHO  inline\r\n\r\n*0\r\n".to_vec();
    let commands: &[&[&[u8]]] = &[
        &[b"SET", b"a", &big],
        &[b"GET", b"a"],
        &[b"SET", b"lock:value", &big],
        &[b"STRLEN", b"lock:value"],
        &[b"NO-SUCH-COMMAND", b"x"],
        &[b"GET"],
        &[b"RPUSH", b"list", b"1", b"2", b""],
        &[b"LRANGE", b"list", b"0", b"-1"],
        &[b"GET", b"list"],
        &[b"MULTI"],
        &[b"INCR", b"n"],
        &[b"GET", b"missing"],
        &[b"EXEC"],
        &[b"WATCH", b"n"],
        &[b"MULTI"],
        &[b"SETNX", b"lock:in-multi", b"5"],
        &[b"DISCARD"],
        &[b"MULTI"],
        &[b"WRONG"],
        &[b"EXEC"],
        &[b"EVAL", script, b"1", b"n"],
        &[b"SELECT", b"3"],
        &[b"GET", b"n"],
        &[b"SELECT", b"0"],
        &[b"HELLO", b"3", b"SETNAME", b"reporting"],
        &[b"HSET", b"h", b"f", b"v"],
        &[b"HGETALL", b"h"],
        &[b"GET", b"missing"],
        &[b"ZADD", b"z", b"1.5", b"m"],
        &[b"ZRANGE", b"z", b"0", b"-1", b"WITHSCORES"],
        &[b"CLIENT", b"GETNAME"],
        &[b"HELLO", b"2"],
        &[b"BLPOP", b"nothing", b"0.05"],
        &[b"DEL", b"a", b"n", b"no-lock"],
        &[b"GETSET", b"plain", b"1"],
        &[b"SETNX", b"plain", b"2"],
        &[b"EXPIRE", b"plain", b"100"],
        &[b"SCAN", b"0", b"COUNT", b"1000", b"MATCH", b"pl*"],
    ];
    let words: Vec<&[&[u8]]> = commands.to_vec();
    // The versions and ids in the reply to HELLO differ between connections, and its length with them.
    for words in words.into_iter().filter(|words| words[0] != b"HELLO") {
        all.extend(frame(words));
    }
    all
}

#[test]
fn other_traffic_is_answered_byte_for_byte_as_without_a_guard() {
    for piece in [1_000_000_000, 4_096, 7] {
        let big = if piece == 7 { 100 } else { 3_000_000 };
        let traffic = traffic(big);
        let [direct, behind] = [Server::start(), Server::start()];
        let expected = answers(TcpStream::connect(direct.address()).unwrap(), &traffic, piece);
        let guard = guard(&behind);
        let answered = answers(guard.stream(), &traffic, piece);
        assert!(answered == expected, "pieces of {piece}: {} bytes, not {}", answered.len(), expected.len());
    }
}

/// Some clients select the database in which they are anyway.
#[test]
fn a_database_that_is_selected_again_has_the_locks_of_before() {
    let server = Server::start();
    let guard = guard(&server);
    let mut client = guard.connect();
    assert!(client.set_nx::<_, _, bool>("lock:again", 4_102_444_800_i64).unwrap());
    cmd("SELECT").arg(0).exec(&mut client).unwrap();
    assert_eq!(client.del("lock:again"), Ok(1));
    assert!(client.set_nx::<_, _, bool>("lock:again", 4_102_444_800_i64).unwrap());
    cmd("SELECT").arg(1).exec(&mut client).unwrap();
    assert_eq!(client.del("lock:again"), Ok(0));
    cmd("SELECT").arg(0).exec(&mut client).unwrap();
    assert_eq!(client.del("lock:again"), Ok(1));
    // A transaction may select another one.
    let mut transaction = redis::pipe();
    transaction.atomic().cmd("SELECT").arg(1).set_nx("lock:again", 4_102_444_800_i64);
    assert_eq!(transaction.query(&mut client), Ok(("OK".to_owned(), 1)));
}

/// The connection stays where it was if the server refuses the database, or the transaction that selects it does not run.
#[test]
fn a_database_that_is_not_selected_after_all_is_not_assumed() {
    let server = Server::start();
    let guard = guard(&server);
    let mut client = guard.connect();
    let mut other = server.connect();
    let acquire_and_release = |client: &mut Connection, between: &mut dyn FnMut(&mut Connection)| {
        assert!(client.set_nx::<_, _, bool>("lock:here", 4_102_444_800_i64).unwrap());
        between(client);
        assert_eq!(client.del("lock:here"), Ok(1));
    };
    acquire_and_release(&mut client, &mut |client| {
        let refused = cmd("SELECT").arg(99).exec(client).unwrap_err();
        assert!(refused.to_string().contains("DB index is out of range"), "{refused}");
    });
    acquire_and_release(&mut client, &mut |client| {
        cmd("MULTI").exec(client).unwrap();
        assert_eq!(cmd("SELECT").arg(1).query(client), Ok("QUEUED".to_owned()));
        cmd("DISCARD").exec(client).unwrap();
    });
    acquire_and_release(&mut client, &mut |client| {
        cmd("WATCH").arg("watched").exec(client).unwrap();
        cmd("SET").arg("watched").arg(1).exec(&mut other).unwrap();
        let mut transaction = redis::pipe();
        transaction.atomic().cmd("SELECT").arg(1);
        assert_eq!(transaction.query::<Option<()>>(client), Ok(None));
    });
    acquire_and_release(&mut client, &mut |client| {
        cmd("MULTI").exec(client).unwrap();
        for command in [cmd("PING"), cmd("DEL").arg("lock:other").clone(), cmd("SELECT").arg(99).clone()] {
            assert_eq!(command.query(client), Ok("QUEUED".to_owned()));
        }
        let refused = cmd("EXEC").exec(client).unwrap_err();
        assert!(refused.to_string().contains("DB index is out of range"), "{refused}");
    });
    // What it selects in the end is selected, also in one piece with what follows.
    assert!(client.set_nx::<_, _, bool>("lock:here", 4_102_444_800_i64).unwrap());
    let pieces = [["SELECT", "1"], ["SELECT", "99"], ["DEL", "lock:here"]];
    let pieces: Vec<u8> = pieces.iter().flat_map(|words| cmd(words[0]).arg(words[1]).get_packed_command()).collect();
    let answers = client.req_packed_commands(&pieces, 0, 3);
    assert_eq!(answers.map(|answers| answers.last().cloned()), Ok(Some(redis::Value::Int(0))));
    cmd("SELECT").arg(0).exec(&mut client).unwrap();
    assert_eq!(client.del("lock:here"), Ok(1));
}

/// A pool hands a connection on that has subscribed before.
#[test]
fn a_connection_that_has_subscribed_is_guarded_again() {
    let server = Server::start();
    let guard = guard(&server);
    let mut direct = server.connect();
    let far = 4_102_444_800_i64;
    let mut client = guard.connect();
    // In one piece: what was sent before is answered before.
    let pieces = [vec!["SELECT", "1"], vec!["SUBSCRIBE", "one", "two"], vec!["UNSUBSCRIBE"], vec!["PING"]];
    let pieces: Vec<u8> = pieces.iter().flat_map(|words| cmd(words[0]).arg(&words[1..]).get_packed_command()).collect();
    client.send_packed_command(&pieces).unwrap();
    for _ in 0..6 {
        client.recv_response().unwrap();
    }
    assert!(client.set_nx::<_, _, bool>("lock:pooled", far).unwrap());
    cmd("SELECT").arg(1).exec(&mut direct).unwrap();
    let stamp: i64 = direct.get("lock:pooled").unwrap();
    assert_ne!(stamp, far, "the client has written its own stamp");
    assert_eq!(client.del("lock:pooled"), Ok(1));
}

/// While it subscribes, a connection of version 2 is refused other commands by the server, and one of version 3 is not.
#[test]
fn a_connection_that_subscribes_is_guarded_if_it_may_send_commands() {
    let server = Server::start();
    let guard = guard(&server);
    let mut direct = server.connect();
    let far = 4_102_444_800_i64;
    for version in [2, 3] {
        let mut stream = guard.stream();
        let key = format!("lock:{version}");
        let mut ask = |words: &[&str]| {
            stream.write_all(&cmd(words[0]).arg(&words[1..]).get_packed_command()).unwrap();
            redis::parse_redis_value(&received(&mut stream)).unwrap()
        };
        ask(&["HELLO", &version.to_string()]);
        ask(&["SUBSCRIBE", "news"]);
        let answer = ask(&["SETNX", &key, &far.to_string()]);
        if version == 2 {
            let redis::Value::ServerError(error) = answer else { panic!("{answer:?}") };
            assert!(error.details().unwrap().contains("allowed in this context"), "{error:?}");
            assert_eq!(direct.exists(&key), Ok(false));
        } else {
            assert_eq!(answer, redis::Value::Int(1));
            assert_ne!(direct.get(&key), Ok(far), "the client has written its own stamp");
        }
        direct.publish::<_, _, ()>("news", "text").unwrap();
        let message = String::from_utf8(received(&mut stream)).unwrap();
        assert!(message.contains("message") && message.contains("text"), "{message}");
    }
}

/// Where the guard cannot know which reply is whose it guards nothing, and says so.
#[test]
fn a_guarded_key_is_refused_where_replies_cannot_be_counted() {
    let server = Server::start();
    let permissions = ["on", "nopass", "~*", "&*", "+@all", "-ping"];
    cmd("ACL").arg("SETUSER").arg("quiet").arg(&permissions).exec(&mut server.connect()).unwrap();
    let guard = guard(&server);
    let before: [&[&[&str]]; 3] = [
        &[&["CLIENT", "REPLY", "ON"]],
        &[&["MULTI"], &["SUBSCRIBE", "news"], &["DISCARD"]],
        &[&["AUTH", "quiet", "any"], &["SUBSCRIBE", "news"], &["UNSUBSCRIBE"], &["GET", "plain"]],
    ];
    for commands in before {
        let mut stream = guard.stream();
        let mut ask = |words: &[&str]| {
            stream.write_all(&cmd(words[0]).arg(&words[1..]).get_packed_command()).unwrap();
            String::from_utf8(received(&mut stream)).unwrap()
        };
        for words in commands {
            assert!(!ask(words).contains("guard"), "{words:?}");
        }
        let refused = ask(&["SETNX", "lock:a", "4102444800"]);
        assert!(refused.starts_with("-ERR lockshift guard: no guarded key after"), "{commands:?}: {refused}");
        assert_eq!(received(&mut stream), b"", "the connection is closed");
    }
    assert_eq!(server.connect().exists("lock:a"), Ok(false));
}

/// What arrives next.
fn received(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    let length = stream.read(&mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

/// The locks of a client that may send no MULTI are guarded after it has tried.
#[test]
fn a_transaction_that_is_refused_does_not_begin() {
    let server = Server::start();
    let permissions = ["on", "nopass", "~*", "&*", "+@all", "-multi"];
    cmd("ACL").arg("SETUSER").arg("plain").arg(&permissions).exec(&mut server.connect()).unwrap();
    let guard = guard(&server);
    let mut client = guard.connect();
    cmd("AUTH").arg("plain").arg("any").exec(&mut client).unwrap();
    let refused = cmd("MULTI").exec(&mut client).unwrap_err();
    assert_eq!(refused.code(), Some("NOPERM"));
    let far = 4_102_444_800_i64;
    assert!(client.set_nx::<_, _, bool>("lock:plain", far).unwrap());
    let stamp: i64 = server.connect().get("lock:plain").unwrap();
    assert_ne!(stamp, far, "the client has written its own stamp");
    // What is piped behind it runs at once.
    let pieces: Vec<u8> = [vec!["MULTI"], vec!["SELECT", "1"], vec!["EXEC"]]
        .iter()
        .flat_map(|words| cmd(words[0]).arg(&words[1..]).get_packed_command())
        .collect();
    let answers = client.req_packed_commands(&pieces, 0, 3).unwrap();
    assert_eq!(answers[1], redis::Value::Okay);
    assert!(client.set_nx::<_, _, bool>("lock:behind", far).unwrap());
    cmd("SELECT").arg(0).exec(&mut client).unwrap();
    cmd("SELECT").arg(1).exec(&mut client).unwrap();
    assert_eq!(client.del("lock:behind"), Ok(1), "it is the lock of this database");
}

/// A program that pipes commands and ends its direction reads the replies afterwards.
#[test]
fn commands_before_the_end_of_a_direction_are_answered() {
    let server = Server::start();
    let guard = guard(&server);
    let bytes = [frame(&[b"SETNX", b"lock:end", b"4102444800"]), frame(&[b"ECHO", &[b'x'; 20_000]])].concat();
    for stream in [TcpStream::connect(server.address()).unwrap(), guard.stream()] {
        let mut stream = stream;
        stream.write_all(&bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!((answer[0], answer.len()), (b':', 4 + 8 + 20_000 + 2));
    }
    // So does one that has subscribed before.
    let pieces = [frame(&[b"SUBSCRIBE", b"news"]), frame(&[b"UNSUBSCRIBE"]), frame(&[b"GET", b"plain"])].concat();
    let [direct, behind] = [TcpStream::connect(server.address()).unwrap(), guard.stream()].map(|mut stream| {
        stream.write_all(&pieces).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    });
    assert!(direct.ends_with("$-1\r\n"), "{direct}");
    assert_eq!(behind, direct);
    // A blocked client that goes takes nothing from the queue.
    let mut blocked = guard.stream();
    blocked.write_all(&frame(&[b"BLPOP", b"queue", b"0"])).unwrap();
    until_blocked(&server, true);
    drop(blocked);
    until_blocked(&server, false);
}

#[test]
fn an_observed_key_is_answered_byte_for_byte_as_without_a_guard() {
    for piece in [1_000_000_000, 7] {
        let traffic = traffic(if piece == 7 { 100 } else { 3_000_000 });
        let [direct, behind] = [Server::start(), Server::start()];
        let expected = answers(TcpStream::connect(direct.address()).unwrap(), &traffic, piece);
        let rules = [("*".to_owned(), "php-getset")];
        let guard = GuardProcess::start(&behind.url(), &rules, &["--mode", "observe"]);
        let answered = answers(guard.stream(), &traffic, piece);
        assert!(answered == expected, "pieces of {piece}: {} bytes, not {}", answered.len(), expected.len());
    }
}

#[test]
fn a_lock_is_decided_by_the_guard() {
    let server = Server::start();
    let guard = guard(&server);
    let [mut one, mut other, mut direct] = [guard.connect(), guard.connect(), server.connect()];
    let stamp = |connection: &mut Connection, secs: i64| -> String {
        let now = server_secs(connection);
        (now + secs).to_string()
    };
    let key = "lock:a";
    let own = stamp(&mut one, 30);
    assert!(one.set_nx::<_, _, bool>(key, &own).unwrap());
    let stored: String = direct.get(key).unwrap();
    assert!(stored != own && stored.trim_start_matches('0').parse::<i64>().unwrap() >= own.parse::<i64>().unwrap());
    assert!(one.expire::<_, bool>(key, 1).unwrap());
    assert!(direct.pttl::<_, i64>(key).unwrap() > 20_000, "the guard gives the key its time to live");
    assert_eq!(one.get::<_, String>(key).unwrap(), own, "the holder finds its own value");

    let others = stamp(&mut other, 30);
    assert!(!other.set_nx::<_, _, bool>(key, &others).unwrap());
    assert_eq!(other.get::<_, String>(key).unwrap(), "7258118400", "a stamp that is live at any clock");
    assert_eq!(other.del::<_, i64>(key).unwrap(), 0, "it is not its own");
    assert_eq!(direct.get::<_, String>(key).unwrap(), stored);

    let several: i64 = cmd("DEL").arg("plain").arg(key).arg("more").query(&mut other).unwrap();
    assert_eq!((several, direct.get::<_, String>(key).unwrap()), (0, stored.clone()));
    // The same in pieces, of which the first does not name the lock.
    let several = answers(guard.stream(), &frame(&[b"DEL", b"plain", key.as_bytes(), b"more"]), 7);
    assert!(several.starts_with(b":0\r\n"), "{}", String::from_utf8_lossy(&several));
    let several = answers(guard.stream(), format!("DEL plain {key} more\r\n").as_bytes(), 7);
    assert!(several.starts_with(b":0\r\n"), "{}", String::from_utf8_lossy(&several));
    assert_eq!(direct.get::<_, String>(key).unwrap(), stored);
    direct.set::<_, _, ()>("plain", 1).unwrap();
    let several: i64 = cmd("DEL").arg("plain").arg(key).query(&mut one).unwrap();
    assert_eq!((several, direct.exists::<_, bool>(key).unwrap()), (2, false), "both are deleted");

    // What a crashed client left is taken over; exactly that value is replaced.
    direct.set::<_, _, ()>(key, "1700000000").unwrap();
    assert!(other.set_nx::<_, _, bool>(key, &others).unwrap());
    assert_ne!(direct.get::<_, String>(key).unwrap(), "1700000000");
    drop((one, other));
    guard.terminate();
    let (output, _) = guard.done();
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "1  Free locks that were acquired",
        "1  Expired locks that were taken",
        "1  Attempts that",
        "1  Connections that ended",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
}

/// Guard and server share this machine's clock, and a stamp in seconds is right for longer than the way to the server takes.
#[test]
fn a_free_lock_costs_the_server_one_script() {
    let server = Server::start();
    let guard = guard(&server);
    let [mut client, mut direct] = [guard.connect(), server.connect()];
    let scripts = |direct: &mut Connection| {
        let all: String = redis::cmd("INFO").arg("commandstats").query(direct).unwrap();
        let calls = |name: &str| -> u64 {
            let line = all.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{name}:calls=")));
            line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
        };
        calls("eval") + calls("evalsha")
    };
    let acquisitions = 20;
    for number in 0..=acquisitions {
        let key = format!("lock:{number}");
        let now = server_secs(&mut client);
        if number == 1 {
            // By now the server knows the script.
            cmd("CONFIG").arg("RESETSTAT").exec(&mut direct).unwrap();
        }
        assert_eq!(client.set_nx(&key, now + 30), Ok(true));
    }
    let run = scripts(&mut direct);
    // A stamp that would be wrong within half a second is made anew.
    assert!((acquisitions..acquisitions * 3 / 2).contains(&run), "{run} scripts for {acquisitions} acquisitions");
}

/// An attempt takes no longer where its connection holds thousands of locks, beside one that has acquired as many and released
/// them. An idle machine wakes its cores four times as slowly at some moments; what slows the holder shows in every round.
#[test]
fn the_locks_that_a_connection_holds_do_not_slow_it() {
    const BLOCK: usize = 1_000;
    let server = Server::start();
    let guard = guard(&server);
    let [mut holder, mut other] = [guard.connect(), guard.connect()];
    let now = server_secs(&mut holder);
    let acquire = |client: &mut Connection, block: &str| -> Duration {
        let mut all = redis::pipe();
        (0..BLOCK).for_each(|number| {
            all.set_nx(format!("lock:{block}:{number}"), now + 300);
        });
        let begin = crate::patience::now();
        let won: Vec<bool> = all.query(client).unwrap();
        assert!(won.into_iter().all(|won| won));
        begin.elapsed()
    };
    let release = |client: &mut Connection, block: &str| {
        let mut all = redis::pipe();
        (0..BLOCK).for_each(|number| {
            all.del(format!("lock:{block}:{number}"));
        });
        assert_eq!(all.query::<Vec<usize>>(client).unwrap(), [1; BLOCK]);
    };
    let rounds = (0..12).map(|round| {
        let (held, released) = (format!("held:{round}"), format!("released:{round}"));
        let both = (acquire(&mut holder, &held), acquire(&mut other, &released));
        release(&mut other, &released);
        both
    });
    let rounds: Vec<(Duration, Duration)> = rounds.collect();
    assert!(rounds[8..].iter().any(|(holding, free)| *holding < *free * 3), "{rounds:?}");
}

/// Two logical clients on one connection cannot be distinguished: the DEL of the first must not delete the lock of the second.
#[test]
fn a_late_del_on_a_shared_connection_deletes_no_other_lock() {
    let server = Server::start();
    let guard = guard(&server);
    let [mut shared, mut direct] = [guard.connect(), server.connect()];
    let now = server_secs(&mut direct);
    assert!(shared.set_nx::<_, _, bool>("lock:a", now + 1).unwrap());
    until("its stamp has expired", || {
        let now = server_secs(&mut direct);
        shared.set_nx::<_, _, bool>("lock:a", now + 30).unwrap().then_some(())
    });
    let second: String = direct.get("lock:a").unwrap();
    assert_eq!(shared.del::<_, i64>("lock:a").unwrap(), 0, "the first client's lock is gone");
    assert_eq!(direct.get::<_, String>("lock:a").unwrap(), second);
    assert_eq!(shared.del::<_, i64>("lock:a").unwrap(), 1);
}

/// A connection that does not belong to one client alone is reported once, whatever it does after that.
#[test]
fn shared_connections_and_pools_are_reported_once_for_each_connection() {
    let server = Server::start();
    let guard = guard(&server);
    let [mut shared, mut pooled] = [guard.connect(), guard.connect()];
    let now = server_secs(&mut shared);
    assert!(shared.set_nx::<_, _, bool>("lock:a", now + 30).unwrap());
    for _ in 0..3 {
        assert!(!shared.set_nx::<_, _, bool>("lock:a", now + 30).unwrap());
        assert_eq!(pooled.del("lock:a"), Ok(0), "it was acquired on another connection");
    }
    drop((shared, pooled));
    guard.terminate();
    let (output, messages) = guard.done();
    let count = |text: &str| messages.iter().filter(|message| message.contains(text)).count();
    assert_eq!((count("share the connection"), count("uses several connections")), (1, 1), "{messages:#?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("3  Attempts on a connection that held the lock"), "{text}");
}

#[test]
fn nil_is_answered_in_the_version_of_the_connection() {
    let server = Server::start();
    let guard = GuardProcess::start(&server.url(), &[("lock:*".to_owned(), "npm-redis-lock-0.1.0")], &[]);
    let mut direct = server.connect();
    direct.set::<_, _, ()>("lock:a", "4102444800000").unwrap();
    let own = frame(&[b"SET", b"lock:a", b"1893456000001", b"NX", b"PX", b"1000"]);

    let two = answers(guard.stream(), &own, 4_096);
    assert!(two.starts_with(b"$-1\r\n"), "{}", String::from_utf8_lossy(&two));
    let three = answers(guard.stream(), &[frame(&[b"HELLO", b"3"]), own].concat(), 4_096);
    assert!(three.windows(4).any(|window| window == b"_\r\n$"), "{}", String::from_utf8_lossy(&three));
}

#[test]
fn messages_reach_a_subscriber_and_commands_a_monitor() {
    let server = Server::start();
    let guard = guard(&server);
    let mut subscriber = guard.connect();
    let mut pubsub = subscriber.as_pubsub();
    pubsub.subscribe("news").unwrap();
    server.connect().publish::<_, _, ()>("news", "hello").unwrap();
    assert_eq!(pubsub.get_message().unwrap().get_payload::<String>().unwrap(), "hello");

    let mut monitor = guard.connect();
    cmd("MONITOR").exec(&mut monitor).unwrap();
    cmd("PING").arg("reporting").exec(&mut server.connect()).unwrap();
    until("the monitor sees it", || {
        let Value::SimpleString(line) = monitor.recv_response().unwrap() else { return None };
        line.contains("reporting").then_some(())
    });
}

#[test]
fn malformed_and_huge_frames_concern_nobody_else() {
    let server = Server::start();
    let guard = guard(&server);
    let mut other = guard.connect();
    for bytes in [
        &b"*1\r\n$99999999999999999999999\r\n"[..],
        b"*99999999999999999999999999999999\r\n",
        b"*2\r\n+GET\r\n+a\r\n",
        b"*x\r\n",
    ] {
        let mut stream = guard.stream();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.starts_with("-ERR Protocol error"), "{answer}");
        cmd("PING").exec(&mut other).unwrap();
    }
    // In the middle of a frame, and gone.
    for bytes in
        [&b"*3\r\n$5\r\nSETNX\r\n$6\r\nlock:a\r\n$10\r\n170"[..], b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1000000\r\nxyz"]
    {
        let mut stream = guard.stream();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Both).unwrap();
    }
    assert!(!other.exists::<_, bool>(&["lock:a", "a"][..]).unwrap());

    let before = memory_kb(guard.id());
    let mut stream = guard.stream();
    let piece = vec![b'x'; 1 << 20];
    write!(stream, "*3\r\n$3\r\nSET\r\n$6\r\nlock:b\r\n${}\r\n", 100 << 20).unwrap();
    (0..100).for_each(|_| stream.write_all(&piece).unwrap());
    stream.write_all(b"\r\n*2\r\n$3\r\nGET\r\n$6\r\nlock:b\r\n").unwrap();
    let mut answer = vec![0; 5 + 12 + (100 << 20)];
    stream.read_exact(&mut answer).unwrap();
    let grown = memory_kb(guard.id()).saturating_sub(before);
    assert!(grown < 20_000, "memory has grown by {grown} kB");
}

/// What is in the name is no command: neither the guard's nor the server's.
#[test]
fn a_command_of_which_the_name_is_too_long_to_wait_for_is_answered_as_without_a_guard() {
    let server = Server::start();
    let guard = guard(&server);
    let name = [vec![b'A'; 30_000], frame(&[b"SETNX", b"lock:a", b"4102444800"]), vec![b'B'; 40_000]].concat();
    let bytes = [frame(&[&name]), frame(&[b"PING"])].concat();
    // Cut before what looks like a command, and behind it.
    for cut in [30_000, 60_000] {
        let [direct, behind] = [TcpStream::connect(server.address()).unwrap(), guard.stream()].map(|mut stream| {
            stream.write_all(&bytes[..cut]).unwrap();
            pause(Duration::from_millis(200));
            String::from_utf8(answers(stream, &bytes[cut..], 1_000_000_000)).unwrap()
        });
        assert!(direct.starts_with("-ERR unknown command") && direct.contains("+PONG"), "{direct}");
        assert_eq!(behind, direct);
    }
    assert_eq!(server.connect().exists("lock:a"), Ok(false));
}

/// What a connection needs while it is idle. `cargo bench --bench guard` measures ten thousand of a release build.
#[test]
fn idle_connections_need_little_memory() {
    const CONNECTIONS: u64 = 1_000;
    let server = Server::start();
    let guard = guard(&server);
    let use_once = || {
        let mut stream = guard.stream();
        stream.write_all(&frame(&[b"SETNX", b"plain", &[b'x'; 5_000]])).unwrap();
        stream.read_exact(&mut [0; 4]).unwrap();
        stream
    };
    let _first: Vec<TcpStream> = (0..20).map(|_| use_once()).collect();
    let before = memory_kb(guard.id());
    let _open: Vec<TcpStream> = (0..CONNECTIONS).map(|_| use_once()).collect();
    let each = memory_kb(guard.id()).saturating_sub(before) * 1_024 / CONNECTIONS;
    assert!(each < 24_000, "{each} bytes for each connection");
}

#[test]
fn the_limit_of_open_files_is_reported_and_other_clients_are_served() {
    let server = Server::start();
    let guard = GuardProcess::limited_to(64, &server.url(), &[("lock:*".to_owned(), "php-getset")]);
    let mut first = guard.connect();
    let many: Vec<TcpStream> = (0..64).map(|_| guard.stream()).collect();
    guard.until_message("the limit of open files is reached, and each client needs two: raise `ulimit -n`");
    cmd("PING").exec(&mut first).unwrap();
    drop(many);
    until("clients are accepted again", || {
        let mut stream = guard.stream();
        stream.write_all(b"PING\r\n").ok()?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).ok()?;
        (answer == *b"+PONG").then_some(())
    });
}

pub(super) fn memory_kb(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_server_that_is_down_is_reported_to_its_clients_and_found_again() {
    let mut server = Server::start();
    let guard = guard(&server);
    guard.connect().set::<_, _, ()>("a", 1).unwrap();
    server.kill();
    let mut answer = String::new();
    let _ = guard.stream().read_to_string(&mut answer);
    assert!(answer.starts_with("-ERR lockshift guard: cannot connect"), "{answer}");
    server.restart();
    assert_eq!(guard.connect().set::<_, _, String>("a", 1), Ok("OK".to_owned()));
}

#[test]
fn a_password_goes_to_the_server_and_its_refusal_to_the_client() {
    let server = Server::with(&Options::new().password("sesame"));
    let plain = format!("redis://{}/", server.address());
    let guard = GuardProcess::start(&plain, &[("lock:*".to_owned(), "php-getset")], &[]);
    let mut connection = guard.connect();
    let refused: RedisResult<bool> = connection.set_nx("lock:a", "1893456000");
    assert!(refused.unwrap_err().to_string().contains("NOAUTH"));
    cmd("AUTH").arg("sesame").exec(&mut connection).unwrap();
    assert_eq!(connection.set_nx("lock:a", "1893456000"), Ok(true));
}

#[test]
fn a_file_that_is_no_socket_is_not_replaced() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes");
    std::fs::write(&file, "data").unwrap();
    let (listen, url) = (format!("unix:{}", file.display()), server.url());
    let command = crate::cli::command::lockshift();
    let args = ["guard", "--listen", &listen, "--redis", &url, "--guard", "lock:*=php-getset"];
    let refused = crate::cli::command::done(command, args);
    assert!(refused.code == Some(3) && refused.stderr.contains("cannot listen on unix:"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "data");
}

#[test]
fn unix_sockets_serve_on_both_sides() {
    let directory = tempfile::tempdir().unwrap();
    let [outer, inner] = ["outer", "inner"].map(|name| directory.path().join(name).display().to_string());
    let server = Server::start();
    let rules = [("lock:*".to_owned(), "php-getset")];
    let inside = GuardProcess::listening_on(&format!("unix:{inner}"), &server.url(), &rules, &[]);
    let outside = GuardProcess::listening_on(&format!("unix:{outer}"), &format!("redis+unix://{inner}"), &rules, &[]);
    let mut connection = redis::Client::open(format!("redis+unix://{outer}")).unwrap().get_connection().unwrap();
    assert_eq!(connection.set_nx("plain", 1), Ok(true));
    drop(connection);
    outside.terminate();
    assert!(outside.done().0.status.success());
    assert!(!std::path::Path::new(&outer).exists(), "its socket is removed");

    // The socket of a guard that was killed is replaced, and that of a running guard is not.
    let address = format!("unix:{inner}");
    let mut command = crate::cli::command::lockshift();
    command.args(["guard", "--listen", &address, "--redis", &server.url(), "--guard", "lock:*=php-getset"]);
    let refused = crate::cli::command::done(command, [""; 0]);
    assert!(refused.code == Some(3) && refused.stderr.contains("cannot listen on unix:"), "{refused:?}");
    drop(inside);
    assert!(std::path::Path::new(&inner).exists(), "a killed guard leaves its socket");
    let next = GuardProcess::listening_on(&address, &server.url(), &rules, &[]);
    let mut connection = redis::Client::open(format!("redis+unix://{inner}")).unwrap().get_connection().unwrap();
    assert_eq!(connection.set_nx("plain", 1), Ok(false));

    // A guard that ends leaves the socket of its successor.
    std::fs::rename(&inner, format!("{inner}.old")).unwrap();
    let successor = GuardProcess::listening_on(&address, &server.url(), &rules, &[]);
    drop(connection);
    next.terminate();
    next.done();
    let mut connection = redis::Client::open(format!("redis+unix://{inner}")).unwrap().get_connection().unwrap();
    assert_eq!(connection.set_nx("plain", 1), Ok(false));
    drop(successor);
}

#[test]
fn a_guard_that_is_asked_to_end_answers_what_is_under_way() {
    let server = Server::start();
    let guard = guard(&server);
    let mut idle = guard.connect();
    let mut blocked = guard.stream();
    blocked.write_all(&frame(&[b"BLPOP", b"queue", b"0"])).unwrap();
    until("the command has arrived", || {
        let clients: String = cmd("CLIENT").arg("LIST").query(&mut server.connect()).unwrap();
        clients.contains("cmd=blpop").then_some(())
    });
    guard.terminate();
    until("an idle connection ends", || cmd("PING").exec(&mut idle).is_err().then_some(()));
    server.connect().rpush::<_, _, ()>("queue", "job").unwrap();
    let mut answer = String::new();
    blocked.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "*2\r\n$5\r\nqueue\r\n$3\r\njob\r\n");
    assert!(guard.done().0.status.success());
}

#[test]
fn what_cannot_be_guarded_is_refused_with_the_reason() {
    for (arguments, reason) in [
        (&["--guard", "lock:*=celery-once"][..], "no reply to SETEX keeps celery-once from acquiring"),
        (&["--guard", "lock:*=token"], "token is not an old dialect"),
        (&["--guard", "lock:*=jedis-lock-2015,php-getset"], "no stamp keeps them all out"),
        (&["--guard", "lock:*=php-getst"], "did you mean `php-getset`?"),
        (&["--guard", "php-getset"], "expected PATTERN=PROTOCOL"),
        (&["--guard", "lock:*=php-getset", "--redis", "redis://:sesame@127.0.0.1/"], "no user, password or database"),
    ] {
        let mut command = crate::cli::command::lockshift();
        command.args(["guard", "--listen", "127.0.0.1:0"]);
        if !arguments.contains(&"--redis") {
            command.args(["--redis", "redis://127.0.0.1:1/"]);
        }
        let done = crate::cli::command::done(command, arguments);
        assert!(done.code == Some(2) && done.stderr.contains(reason), "{arguments:?}: {done:?}");
    }
}
