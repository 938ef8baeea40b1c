//! Where mutations begin: real traces, values that interpreters and programs wrote, and whatever was found once.

use std::fs;
use std::path::{Path, PathBuf};

/// The seeds of a target, in a fixed order.
pub(crate) fn of(target: &str) -> Vec<Vec<u8>> {
    let mut seeds = found(target);
    seeds.extend(match target {
        "monitor" => ["migration.log", "php-fleet.log", "python-fleet.log", "php-beside-token.log"]
            .iter()
            .flat_map(|file| pieces(&at("tests/traces").join(file)))
            .collect(),
        "traces" => traces(),
        "replies" => lines(include_str!("seeds/replies")),
        "values" => lines(include_str!("seeds/values")),
        "proxy" => lines(include_str!("seeds/proxy")),
        "words" => lines(include_str!("seeds/words")),
        "commands" => lines(include_str!("seeds/commands")),
        "locks" => lines(include_str!("seeds/values")),
        _ => unreachable!("{target} has no seeds"),
    });
    seeds
}

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What made this target fail once.
fn found(target: &str) -> Vec<Vec<u8>> {
    let Ok(folder) = fs::read_dir(at("tests/fuzz/found").join(target)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = folder.map(|file| file.expect("the folder can be read").path()).collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

/// Some stretches of a trace.
fn pieces(path: &Path) -> Vec<Vec<u8>> {
    let text = read(path);
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    lines.chunks(12).step_by(lines.len() / 12 / 8 + 1).map(<[_]>::concat).collect()
}

/// Traces of races, as `lockshift races --show ID --json` writes them.
fn traces() -> Vec<Vec<u8>> {
    let text = include_str!("../it/explore/version-1.json");
    let old: Vec<serde_json::Value> = serde_json::from_str(text).expect("it is a list");
    old.iter().take(3).map(|trace| trace.to_string().into_bytes()).collect()
}

/// A seed in each line; `\n`, `\r` and `\xHH` are escapes, `#` begins a comment.
fn lines(text: &str) -> Vec<Vec<u8>> {
    text.lines().filter(|line| !line.starts_with('#')).map(unescaped).collect()
}

fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let escape = (byte == b'\\').then(|| after.first()).flatten();
        match escape {
            Some(b'n') => bytes.push(b'\n'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'x') => {
                let digits = std::str::from_utf8(&after[1..3]).expect("two digits follow");
                bytes.push(u8::from_str_radix(digits, 16).expect("they are hexadecimal"));
                rest = &rest[2..];
            }
            Some(other) => bytes.push(*other),
            None => {
                bytes.push(byte);
                continue;
            }
        }
        rest = &rest[1..];
    }
    bytes
}
