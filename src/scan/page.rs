//! The next keys: SCAN.

use crate::wire::{Command, Key, Reply, Transcript, Turn};

/// Some keys, and where the next ones are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The keys; a pattern may leave none of them.
    pub keys: Vec<Key>,
    /// The cursor of the next page; `None` behind the last.
    pub next: Option<u64>,
}

/// The keys at this cursor, so many or a few more; fewer where a pattern leaves some out.
pub(super) fn page(cursor: u64, pattern: Option<&[u8]>, count: u32, redis: &mut Transcript) -> Turn<Page> {
    let mut command = Command::new("SCAN").arg(cursor.to_string());
    if let Some(pattern) = pattern {
        command = command.arg("MATCH").arg(pattern);
    }
    let command = command.arg("COUNT").arg_int(i64::from(count));
    let reply = redis.send(command.clone())?;
    match read(&reply) {
        Some(page) => Ok(page),
        None => Transcript::fault(command, reply),
    }
}

fn read(reply: &Reply) -> Option<Page> {
    let Reply::Array(parts) = reply else { return None };
    let [Reply::Bulk(cursor), Reply::Array(keys)] = parts.as_slice() else { return None };
    let cursor: u64 = str::from_utf8(cursor).ok()?.parse().ok()?;
    let key = |reply: &Reply| if let Reply::Bulk(name) = reply { Some(Key::new(name.clone())) } else { None };
    Some(Page { keys: keys.iter().map(key).collect::<Option<_>>()?, next: (cursor != 0).then_some(cursor) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_and_keys_of_any_bytes() {
        let reply = |cursor: &str| Reply::Array(vec![Reply::bulk(cursor), Reply::Array(vec![Reply::bulk(b"\xff")])]);
        let keys = vec![Key::new(vec![0xff])];
        assert_eq!(read(&reply("18446744073709551615")), Some(Page { keys: keys.clone(), next: Some(u64::MAX) }));
        assert_eq!(read(&reply("0")), Some(Page { keys, next: None }));
        assert_eq!(read(&reply("-1")), None);
        assert_eq!(read(&Reply::ok()), None);
    }
}
