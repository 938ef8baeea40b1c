//! Traces that do not suffice for a verdict: exit status 3, never *no race*; and compressed ones, which are read as they are.

use std::fmt::Write as _;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::command::{Done, done, lockshift};
use super::traces::BESIDE;

fn file_of(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn audited(bytes: &[u8]) -> Done {
    let file = file_of(bytes);
    let mut command = lockshift();
    command.arg("audit").arg(file.path());
    done(command, ["--json"])
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
}

/// A trace without a race.
fn calm() -> String {
    BESIDE.lines().take(2).map(|line| line.to_owned() + "\n").collect()
}

#[test]
fn a_compressed_trace_is_read_as_it_is() {
    let plain = audited(BESIDE.as_bytes());
    assert_eq!(plain.code, Some(1));
    let (first, second) = BESIDE.split_at(200);
    let in_two = |compressed: fn(&str) -> Vec<u8>| [compressed(first), compressed(second)].concat();
    for compressed in [gzip(BESIDE), zstd(BESIDE), in_two(gzip), in_two(zstd)] {
        let ended = audited(&compressed);
        assert_eq!((ended.code, &ended.stdout), (Some(1), &plain.stdout), "{}", ended.stderr);
    }
    let file = file_of(&gzip(BESIDE));
    let mut command = lockshift();
    command.args(["dry-run", "--to", "token", "--lease", "10s", "--json"]).arg(file.path());
    let played: Value = serde_json::from_str(&done(command, [""; 0]).stdout).unwrap();
    assert_eq!(played["locks"][0]["key"].as_str(), Some("lock"), "{played}");
}

/// One connection of several clients, which write no tokens: the audit can only guess who they are.
#[test]
fn where_clients_are_guessed_no_command_gives_an_all_clear() {
    const SET: &str = r#""SET" "lock" "1" "NX" "EX" "5""#;
    let words = [SET, SET, SET, r#""DEL" "lock""#];
    let line = |number: usize| format!("1700000000.{number:06} [0 unix:/run/redis.sock] {}\n", words[number % 4]);
    let file = file_of((0..20).map(line).collect::<String>().as_bytes());
    for args in [&["audit"][..], &["watch"], &["dry-run", "--to", "token", "--lease", "10s"]] {
        let mut command = lockshift();
        command.args(args).arg(file.path());
        let ended = done(command, [""; 0]);
        assert_eq!(ended.code, Some(3), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains("--clients-by"), "{args:?}: {ended:?}");
    }
}

/// The quiet ones of more than 16,384 keys are counted together.
#[test]
fn what_is_not_understood_at_keys_that_are_not_listed_is_no_all_clear() {
    const KEYS: u32 = 17_000;

    let trace = |words: &[(&str, &str)]| {
        let mut text = String::new();
        for key in 0..KEYS {
            for ((client, words), place) in words.iter().zip(key % 4 * 10..) {
                let words = words.replace("KEY", &format!("lock:{key}"));
                writeln!(text, "17{:08}.{place:06} [0 {client}] {words}", key / 4).unwrap();
            }
        }
        text
    };
    let token = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
    let set = format!(r#""SET" "KEY" "{token}" "NX" "EX" "5""#);
    let unknown = trace(&[("10.0.0.1:1", &set), ("10.0.0.2:1", r#""GETSET" "KEY" "mine""#)]);
    let ended = audited(unknown.as_bytes());
    assert!(ended.code == Some(3) && ended.stderr.contains("as no known protocol does"), "{ended:?}");
    let set = r#""SET" "KEY" "1" "NX" "EX" "5""#;
    let socket = "unix:/run/redis.sock";
    let guessed = trace(&[(socket, set), (socket, set), (socket, set), (socket, r#""DEL" "KEY""#)]);
    let ended = audited(guessed.as_bytes());
    assert!(ended.code == Some(3) && ended.stderr.contains("the clients of 17000 keys"), "{ended:?}");
}

#[test]
fn input_that_is_not_understood_is_no_all_clear() {
    let noise: Vec<u8> = (0..4_096_u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80).collect();
    let half = calm() + "what is this?\n" + "and this?\n";
    let whole = gzip(&calm());
    for (bytes, why) in [
        (&b""[..], "the trace is empty"),
        (b"OK\n", "the trace is empty"),
        (&noise, "line"),
        (b"NOAUTH Authentication required.\n", "none of 1 lines was understood"),
        (half.as_bytes(), "only 1 of 3 lines were understood"),
        (&whole[..whole.len() - 12], ": "),
        (&zstd(&calm())[..20], ": "),
        ((calm() + "# recording ended early: the server is gone\n").as_bytes(), "ended early (the server is gone)"),
    ] {
        let ended = audited(bytes);
        assert!(ended.code == Some(3) && ended.stderr.contains(why), "{why}: {ended:?}");
    }
    assert_eq!(audited(calm().as_bytes()).code, Some(0));
    assert_eq!(audited((calm() + "17000000").as_bytes()).code, Some(0), "a file may end in the middle of a line");
}

#[test]
fn what_stands_before_the_damage_in_compressed_input_is_judged() {
    // The decoder of zstd keeps its last pieces, here all, until the frame ends.
    for lines in [20_000, 3_000].map(|times| BESIDE.to_owned() + &calm().repeat(times)) {
        for (whole, why) in [(gzip(&lines), ""), (zstd(&lines), "the file is cut off inside a zstd frame")] {
            let ended = audited(&whole[..whole.len() - 12]);
            assert!(ended.code == Some(3) && ended.stderr.contains("the recording ended early"), "{ended:?}");
            assert!(ended.stderr.contains(why) && !ended.stderr.contains("Error"), "{ended:?}");
            let found: Value = serde_json::from_str(&ended.stdout).expect("what was found is shown");
            assert!(found["findings"].as_array().is_some_and(|findings| !findings.is_empty()), "{found}");
        }
    }
}

#[test]
fn one_wrong_byte_in_compressed_input_is_no_all_clear() {
    let lines: String = (0..60).map(|at| calm().replace("000001", &format!("{at:06}"))).collect();
    for whole in [gzip(&lines), zstd(&lines)] {
        assert_eq!(audited(&whole).code, Some(0));
        for place in (20..whole.len()).step_by(whole.len() / 20) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x10;
            let ended = audited(&damaged);
            assert_eq!(ended.code, Some(3), "byte {place} of {}: {ended:?}", whole.len());
        }
    }
}

#[test]
fn a_pipe_whose_writer_failed_is_no_all_clear() {
    for (written, code) in [(calm(), 0), (calm() + "17000", 3), (String::new(), 3)] {
        let mut command = lockshift();
        command.args(["audit", "-"]).stdin(std::fs::File::open(file_of(written.as_bytes()).path()).unwrap());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{written}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn clients_that_can_only_be_guessed_are_no_all_clear_unless_the_caller_says_what_a_client_is() {
    let pooled = "\
1700000000.000001 [0 10.0.0.1:50001] \"SETNX\" \"lock\" \"1700000010\"
1700000000.500001 [0 10.0.0.1:50002] \"DEL\" \"lock\"
";
    let ended = audited(pooled.as_bytes());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("pass --clients-by"), "{ended:?}");
    let file = file_of(pooled.as_bytes());
    for by in ["token", "address", "connection"] {
        let mut command = lockshift();
        command.arg("audit").arg(file.path());
        assert_eq!(done(command, ["--clients-by", by]).code, Some(0), "{by}");
    }
}

#[test]
fn attempts_of_no_known_protocol_at_a_lock_are_no_all_clear() {
    let unknown = |key| format!("1700000000.000000 [0 10.0.0.1:1] \"SET\" \"{key}\" \"worker 7\" \"NX\"\n");
    let ended = audited(unknown("lock").as_bytes());
    assert!(ended.code == Some(3) && ended.stderr.contains("no known protocol sends"), "{ended:?}");
    let ended = audited((unknown("lock") + &calm()).as_bytes());
    assert!(ended.code == Some(3) && ended.stderr.contains("as no known protocol does"), "{ended:?}");
    // Whether another key is a lock is not known.
    assert_eq!(audited((unknown("other") + &calm()).as_bytes()).code, Some(0));
}

#[test]
fn a_lock_that_was_changed_by_what_is_not_followed_is_no_all_clear() {
    let moved = calm() + "1700000900.000000 [0 10.0.0.9:1] \"MOVE\" \"lock\" \"1\"\n";
    let ended = audited(moved.as_bytes());
    assert!(ended.code == Some(3) && ended.stderr.contains("does not follow may have changed a lock"), "{ended:?}");
}
