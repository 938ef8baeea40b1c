//! On which terms two replies are the same.

use std::ops::RangeInclusive;

use lockshift::sim::Flavour;
use lockshift::wire::{Command, Reply};

use super::peer::Peer;

/// Which server the real one is, and how closely it is to be followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// What simulates it best.
    pub(super) flavour: Flavour,
    /// Whether it is the very version whose texts are simulated. Of another version only the code of an error counts,
    /// and the value of a score.
    pub(super) exact: bool,
    /// Whether it has the native compare commands of its flavour.
    pub(super) compares: bool,
    /// Whether it may remove a key in the background in the very millisecond of the deadline, as Redis does since 8.0. A
    /// command that comes first in that millisecond still finds the key.
    pub(super) removes_early: bool,
}

impl Terms {
    /// The terms for the server at the other end.
    pub(super) fn with(peer: &mut Peer) -> Self {
        let Reply::Bulk(info) = peer.ask(&Command::new("INFO").arg("server")) else { panic!("INFO answers a string") };
        let info = String::from_utf8_lossy(&info).into_owned();
        let version = |name: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("_version:"))?;
            let mut numbers = line.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
            Some((numbers.next()?, numbers.next()?))
        };
        let like = |flavour| Self { flavour, exact: false, compares: false, removes_early: false };
        match (version("valkey"), version("redis")) {
            (Some(valkey), _) => Self { compares: valkey >= (9, 0), ..like(Flavour::Valkey9) },
            (None, Some((7, 0))) => Self { exact: true, ..like(Flavour::Redis70) },
            (None, Some(redis)) => {
                Self { compares: redis >= (8, 4), removes_early: redis >= (8, 0), ..like(Flavour::Redis84) }
            }
            (None, None) => panic!("this is no server known here:\n{info}"),
        }
    }

    /// What is to be compared of the reply to a command; `queued` are the commands that an EXEC runs.
    pub(super) fn essence(self, command: &Command, queued: &[Command], reply: Reply) -> Reply {
        let reply = match reply {
            Reply::Array(items) if command.is("EXEC") && items.len() == queued.len() => {
                Reply::Array(queued.iter().zip(items).map(|(command, item)| in_order(command, item)).collect())
            }
            reply => in_order(command, reply),
        };
        let reply = without_micros(reply);
        if self.exact { reply } else { loosely(reply) }
    }
}

/// With one value for every moment in microseconds: fences count from the server's clock, and the simulated server is given
/// the clock of the real one to the millisecond only.
fn without_micros(reply: Reply) -> Reply {
    // From 2020 to the largest number that Lua counts exactly.
    const MOMENTS: RangeInclusive<i64> = 1_577_836_800_000_000..=9_007_199_254_740_992;
    const ANY: i64 = *MOMENTS.start();
    match reply {
        Reply::Int(number) if MOMENTS.contains(&number) => Reply::Int(ANY),
        Reply::Bulk(digits) => {
            let number = str::from_utf8(&digits).ok().and_then(|text| text.parse().ok());
            if number.is_some_and(|number| MOMENTS.contains(&number)) {
                Reply::bulk(ANY.to_string())
            } else {
                Reply::Bulk(digits)
            }
        }
        // The parts of TIME, which a script returns: the second one counts microseconds.
        Reply::Array(mut items) if is_time(&items) => {
            items[1] = Reply::bulk("0");
            Reply::Array(items.into_iter().map(without_micros).collect())
        }
        Reply::Array(items) => Reply::Array(items.into_iter().map(without_micros).collect()),
        other => other,
    }
}

/// Whether these begin with seconds of this century and microseconds.
fn is_time(items: &[Reply]) -> bool {
    let number = |item: &Reply| match item {
        Reply::Bulk(digits) => str::from_utf8(digits).ok()?.parse::<u64>().ok(),
        _ => None,
    };
    let [secs, micros, ..] = items else { return false };
    number(secs).is_some_and(|secs| (1_577_836_800..4_102_444_800).contains(&secs))
        && number(micros).is_some_and(|micros| micros < 1_000_000)
}

/// With its items sorted, where Redis promises no order.
fn in_order(command: &Command, reply: Reply) -> Reply {
    let Reply::Array(items) = reply else { return reply };
    let sorted = |items: Vec<Reply>, width| {
        let mut groups: Vec<_> = items.chunks(width).map(<[Reply]>::to_vec).collect();
        groups.sort_by_key(|group| format!("{group:?}"));
        Reply::Array(groups.concat())
    };
    match command.name().to_ascii_uppercase().as_slice() {
        b"SMEMBERS" | b"HKEYS" | b"HVALS" | b"KEYS" | b"PUBSUB" => sorted(items, 1),
        b"HGETALL" => sorted(items, 2),
        // After its name comes what each server has for itself: version, number of the connection, modules.
        b"HELLO" => Reply::Array(items.into_iter().take(2).collect()),
        b"SCAN" => Reply::Array(items.into_iter().map(|part| in_order(&Command::new("KEYS"), part)).collect()),
        _ => Reply::Array(items),
    }
}

/// Of an error its code, of a number its value.
fn loosely(reply: Reply) -> Reply {
    let code = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    match reply {
        Reply::Error(text) => Reply::Error(code(&text)),
        Reply::Array(items) => Reply::Array(items.into_iter().map(loosely).collect()),
        Reply::Bulk(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            match text.parse::<f64>() {
                Ok(number) => Reply::bulk(number.to_string()),
                Err(_) if text.starts_with("ERR ") || text.starts_with("WRONGTYPE ") => Reply::bulk(code(&text)),
                Err(_) => Reply::Bulk(bytes),
            }
        }
        reply => reply,
    }
}
