//! When a reply proves that a command changed nothing.

use core::time::Duration;

use lockshift_wire::{Command, Entry, MonoTime, NoReply, Node, NodeReply, Reading, Reply, UnixTime};

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
        let command = Command::from_words(typed.split(' ')).unwrap();
        assert_eq!(command.changed_nothing(&reply), expected, "{command} -> {reply}");
        let of_one = NodeReply::Reply(reply);
        assert_eq!(of_one.changed_nothing(&command), expected, "{command} -> {of_one}");
    }
}

#[test]
fn silence_hides_what_a_command_did_unless_it_only_reads() {
    for silence in [NoReply::Unreachable, NoReply::TooSlow].map(NodeReply::NoReply) {
        assert!(silence.changed_nothing(&Command::new("GET").arg("k")));
        assert!(!silence.changed_nothing(&Command::new("DEL").arg("k")));
        assert_eq!(silence.reply(), None);
    }
    assert_eq!(NodeReply::Reply(Reply::Nil).reply(), Some(&Reply::Nil));
}

#[test]
fn an_entry_may_have_acted_unless_every_server_is_surely_as_it_was() {
    let (get, del) = (|| Command::new("GET").arg("k"), || Command::new("DEL").arg("k"));
    let round = |command: &Command, reply: Option<NodeReply>| {
        Entry::Round(vec![
            (get(), Some(NodeReply::Reply(Reply::Nil))),
            (command.clone().on(Node(1)), reply),
            (get().on(Node(2)), None),
        ])
    };
    let replied = |number| Some(NodeReply::Reply(Reply::Int(number)));
    let mono = MonoTime::since_origin(Duration::ZERO);
    let table = [
        (Entry::Exchange(get(), Reply::Nil), false),
        (Entry::Exchange(del(), Reply::Int(0)), false),
        (Entry::Exchange(del(), Reply::Int(1)), true),
        (round(&get(), None), false),
        (round(&del(), None), true),
        (round(&del(), replied(0)), false),
        (round(&del(), replied(1)), true),
        (Entry::Clock(Reading { wall: UnixTime::from_nanos(0), mono }), false),
    ];
    for (entry, expected) in table {
        assert_eq!(entry.may_have_acted(), expected, "{entry:?}");
    }
}
