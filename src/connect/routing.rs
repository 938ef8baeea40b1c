//! Which hash slot a command is for: that of its first key, wherever in the command that is.

use lockshift_wire::Key;

/// The slot of a packed command, or of the first command of a pipeline; `None` if it has no key, and any node will do.
pub(super) fn slot(packed: &[u8]) -> Option<u16> {
    let words: Vec<&[u8]> = PackedWords(packed).take(4).collect();
    let name = words.first()?.to_ascii_uppercase();
    let place = match name.as_slice() {
        b"EVAL" | b"EVALSHA" | b"EVAL_RO" | b"EVALSHA_RO" | b"FCALL" | b"FCALL_RO" => {
            if *words.get(2)? == b"0" {
                return None;
            }
            3
        }
        b"MEMORY" | b"OBJECT" | b"XINFO" | b"XGROUP" | b"BITOP" => 2,
        b"ACL" | b"AUTH" | b"CLIENT" | b"CLUSTER" | b"COMMAND" | b"CONFIG" | b"DBSIZE" | b"DISCARD" | b"ECHO"
        | b"EXEC" | b"HELLO" | b"INFO" | b"KEYS" | b"LATENCY" | b"MULTI" | b"PING" | b"PUBLISH" | b"PUBSUB"
        | b"ROLE" | b"SCAN" | b"SCRIPT" | b"TIME" | b"UNWATCH" | b"WAIT" | b"WAITAOF" => return None,
        _ => 1,
    };
    Some(Key::new(*words.get(place)?).slot())
}

/// The name of a packed command, or of the first command of a pipeline.
pub(super) fn name(packed: &[u8]) -> &[u8] {
    PackedWords(packed).next().unwrap_or_default()
}

/// Whether a packed command asks what became of those before it on the same connection. On a new one `WAIT` would count
/// replicas that have received nothing.
pub(super) fn is_about_its_connection(packed: &[u8]) -> bool {
    is_named_about_its_connection(name(packed))
}

/// The same of the command of this name.
pub(super) fn is_named_about_its_connection(name: &[u8]) -> bool {
    ["WAIT", "WAITAOF"].iter().any(|wait| name.eq_ignore_ascii_case(wait.as_bytes()))
}

/// The words of the first command in these bytes: `*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`.
struct PackedWords<'a>(&'a [u8]);

impl<'a> Iterator for PackedWords<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let end = memchr::memchr(b'\r', self.0)?;
            let (head, rest) = (&self.0[..end], self.0.get(end + 2..)?);
            let (kind, number) = head.split_first()?;
            match kind {
                b'*' => self.0 = rest,
                b'$' => {
                    let length: usize = std::str::from_utf8(number).ok()?.parse().ok()?;
                    self.0 = rest.get(length + 2..)?;
                    return Some(&rest[..length]);
                }
                _ => return None,
            }
        }
    }
}

#[test]
fn a_command_is_routed_by_its_first_key() {
    let table: [(&[&str], Option<&str>); 10] = [
        (&["GET", "k"], Some("k")),
        (&["set", "k\r\nwith a line", "v", "NX"], Some("k\r\nwith a line")),
        (&["EVAL", "return 1", "2", "k", "l", "a"], Some("k")),
        (&["EVAL", "return 1", "0", "a"], None),
        (&["EVALSHA", "0123", "1", "{k}:l"], Some("k")),
        (&["MEMORY", "USAGE", "k"], Some("k")),
        (&["PUBLISH", "channel", "text"], None),
        (&["SPUBLISH", "channel", "text"], Some("channel")),
        (&["TIME"], None),
        (&["GET"], None),
    ];
    for (words, key) in table {
        let packed = redis::pack_command(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>());
        assert_eq!(slot(&packed), key.map(|key| Key::from(key).slot()), "{words:?}");
        assert_eq!(name(&packed), words[0].as_bytes());
    }
    assert_eq!(slot(b"*2\r\n$3\r\nGE"), None);
}
