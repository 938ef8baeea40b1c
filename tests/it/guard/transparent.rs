//! The programs that come with Redis print the same with a guard and without.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use redis::cmd;

use crate::guard_process::GuardProcess;
use crate::server::Server;

/// Runs a program of Redis against this port, with this on its standard input.
fn run(program: &str, port: u16, args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(program);
    command.args(["-h", "127.0.0.1", "-p", &port.to_string()]).args(args).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it comes with redis-server");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writing = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    output
}

/// Two servers, and guards of each mode before the second one.
fn each_mode(mut check: impl FnMut(&str, &Server, &Server, u16)) {
    for mode in ["observe", "protect"] {
        let [direct, behind] = [Server::start(), Server::start()];
        let pattern = if mode == "observe" { "*" } else { "lock:*" };
        let guard = GuardProcess::start(&behind.url(), &[(pattern.to_owned(), "php-getset")], &["--mode", mode]);
        check(mode, &direct, &behind, guard.port());
    }
}

/// A digest of all that a server contains.
fn digest(server: &Server) -> String {
    cmd("DEBUG").arg("DIGEST").query(&mut server.connect()).unwrap()
}

const COMMANDS: &str = r#"
PING "with words"
SET a 1
SET b "two\r\nlines \x00\xff"
GET b
MSET c 3 d 4
MGET a b c missing
INCRBYFLOAT a 0.5
RPUSH list 1 2 3 4
LRANGE list 0 -1
LPOP list 2
SADD set one
SMEMBERS set
SISMEMBER set one
HSET hash f 1 g 2
HGETALL hash
HGET hash missing
ZADD zset 1.5 a 2 b
ZRANGE zset 0 -1 WITHSCORES
ZSCORE zset a
XADD stream 1-1 f v
XRANGE stream - +
XREAD COUNT 1 STREAMS stream 0
SETBIT bits 7 1
BITCOUNT bits
GEOADD geo 13.361389 38.115556 Palermo
GEOPOS geo Palermo
PFADD hll a b c
PFCOUNT hll
EXPIRE c 1000
TTL c
PERSIST c
OBJECT ENCODING list
TYPE zset
EXISTS a b missing
RENAME d e
COPY e f
MULTI
INCR n
LPUSH a wrong-type
GET missing
EXEC
WATCH n
MULTI
SET n 5
EXEC
MULTI
NOSUCH
EXEC
DISCARD
EVAL "return {1, 'two', false, {3, {4}}, redis.error_reply('five')}" 0
EVAL "return redis.call('get', KEYS[1])" 1 n
EVAL "redis.setresp(3); return redis.call('hgetall', KEYS[1])" 1 hash
SCRIPT LOAD "return ARGV[1]"
EVALSHA 4ca238f611c9d0ae4e9a75a5dbac22aedc1e44282 0
EVALSHA 098e0f0d1448c0a81dafe820f66d460eb09263da 0 echoed
BLPOP list 1
BLPOP nothing 0.01
SELECT 5
GET a
SELECT 0
CLIENT SETNAME someone
CLIENT GETNAME
CLIENT NO-EVICT on
CONFIG GET maxmemory
COMMAND COUNT
SCAN 0 COUNT 1000 MATCH zs*
SORT set ALPHA
DEBUG PROTOCOL map
DEBUG PROTOCOL verbatim
DEBUG PROTOCOL set
DEBUG PROTOCOL double
DEBUG PROTOCOL true
DEBUG PROTOCOL null
PUBLISH news nobody
FUNCTION LIST
ACL WHOAMI
GET
UNKNOWN command
DEL a b missing
UNLINK c
"#;

#[test]
fn redis_cli_prints_the_same_with_both_protocols() {
    each_mode(|mode, direct, behind, port| {
        for protocol in ["-2", "-3"] {
            let args = [protocol, "--no-raw"];
            let plain = run("redis-cli", direct.address().port(), &args, COMMANDS.as_bytes());
            let guarded = run("redis-cli", port, &args, COMMANDS.as_bytes());
            let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(plain.status.success() && text(&plain).contains("unknown command 'UNKNOWN'"), "{}", text(&plain));
            assert_eq!(text(&guarded), text(&plain), "{mode} {protocol}");
            assert_eq!(guarded.stderr, plain.stderr, "{mode} {protocol}");
        }
        assert_eq!(digest(behind), digest(direct), "{mode}");
    });
}

#[test]
fn a_mass_insertion_has_the_same_result() {
    let value = "x".repeat(300);
    let input: String = (0..5_000).map(|n| format!("SET key:{n} {value}{n}\r\nRPUSH list {n}\r\n")).collect();
    each_mode(|mode, direct, behind, port| {
        let plain = run("redis-cli", direct.address().port(), &["--pipe"], input.as_bytes());
        let guarded = run("redis-cli", port, &["--pipe"], input.as_bytes());
        let text = String::from_utf8(plain.stdout).unwrap();
        assert!(text.contains("errors: 0, replies: 10000"), "{text}");
        assert_eq!(String::from_utf8(guarded.stdout).unwrap(), text, "{mode}");
        assert_eq!(digest(behind), digest(direct), "{mode}");
    });
}

/// Pipelines, large multi-bulk replies and blocking-free commands of every type, from ten connections at once.
#[test]
fn redis_benchmark_runs_the_same_and_leaves_the_same() {
    each_mode(|mode, direct, behind, port| {
        for pipeline in ["1", "16"] {
            let args = ["-n", "160", "-c", "10", "-P", pipeline, "--csv"];
            let names = |output: Output| {
                let text = String::from_utf8(output.stdout).unwrap();
                assert!(output.status.success(), "{mode}: {text} {}", String::from_utf8_lossy(&output.stderr));
                text.lines().map(|line| line.split(',').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
            };
            let plain = names(run("redis-benchmark", direct.address().port(), &args, b""));
            assert!(plain.len() > 15, "{plain:?}");
            assert_eq!(names(run("redis-benchmark", port, &args, b"")), plain, "{mode} -P {pipeline}");
        }
        assert_eq!(digest(behind), digest(direct), "{mode}");
    });
}
