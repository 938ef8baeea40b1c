//! When a reply proves that a command changed nothing.

use lockshift_wire::{Command, Reply};

#[test]
fn a_reply_tells_whether_anything_was_changed() {
    let nothing = true;
    let perhaps = false;
    let table = [
        ("GET k", Reply::bulk("v"), nothing),
        ("SETNX k v", Reply::Int(0), nothing),
        ("SETNX k v", Reply::Int(1), perhaps),
        ("SET k v NX PX 5", Reply::Nil, nothing),
        ("SET k v NX PX 5", Reply::ok(), perhaps),
        ("SET k v NX GET", Reply::Nil, perhaps),
        ("GETSET k v", Reply::Nil, perhaps),
        ("GETSET k v", Reply::Error("WRONGTYPE Operation".into()), nothing),
        ("DEL k", Reply::Int(0), nothing),
        ("EXPIRE k 5", Reply::Int(0), nothing),
        ("INCR k", Reply::Int(0), perhaps),
        ("EVALSHA 00 1 k", Reply::Int(0), perhaps),
        ("EVALSHA 00 1 k", Reply::Error("NOSCRIPT No matching script".into()), nothing),
        ("EVALSHA 00 1 k", Reply::Error("OOM command not allowed".into()), perhaps),
        ("SET k v", Reply::Status("QUEUED".into()), nothing),
        ("EXEC", Reply::Nil, nothing),
        ("EXEC", Reply::Array(vec![]), perhaps),
    ];
    for (typed, reply, expected) in table {
        let words = typed.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let command = Command::from_words(words).unwrap();
        assert_eq!(command.changed_nothing(&reply), expected, "{command} -> {reply}");
    }
}
