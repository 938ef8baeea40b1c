//! Every typed command: what it says, the replies that it takes, and those that are faults.

use core::fmt::Debug;

use lockshift_wire::{Command, Fault, Key, Pending, Reply, Transcript, Ttl, Turn, UnixTime};

fn k() -> Key {
    Key::from("k")
}

fn status(text: &str) -> Reply {
    Reply::Status(text.into())
}

/// Asks one command: it must be `typed`; these replies have these meanings; all others are faults.
fn check<T: Debug + PartialEq>(typed: &str, ask: impl Fn(&mut Transcript) -> Turn<T>, meanings: &[(Reply, T)]) {
    let answer = |reply: Reply| {
        let mut redis = Transcript::new();
        let asked = ask(redis.rewind());
        assert!(matches!(asked, Err(Pending::Send(command)) if command.to_string() == typed), "{typed}");
        redis.record_reply(reply);
        ask(redis.rewind())
    };
    for (reply, meaning) in meanings {
        assert_eq!(answer(reply.clone()).as_ref(), Ok(meaning), "{typed} -> {reply}");
    }
    let known = |reply: &Reply| meanings.iter().any(|(other, _)| same_kind(other, reply));
    for reply in one_of_each().into_iter().filter(|reply| !known(reply)) {
        let ended = answer(reply.clone());
        assert!(matches!(ended, Err(Pending::Fault(Fault::Unexpected { .. }))), "{typed} -> {reply}");
    }
    let refused = answer(Reply::Error("READONLY You can't write".into()));
    let Err(Pending::Fault(fault)) = refused else { panic!("{typed}: a refusal is a fault") };
    assert_eq!(fault.code(), Some("READONLY"));
}

/// A reply of every shape, each such as no command here expects.
fn one_of_each() -> [Reply; 5] {
    [Reply::Nil, Reply::Int(77), status("SO"), Reply::bulk("so"), Reply::Array(vec![Reply::Nil])]
}

/// Numbers and statuses are of one kind only if they are the same.
fn same_kind(known: &Reply, reply: &Reply) -> bool {
    match (known, reply) {
        (Reply::Nil, Reply::Nil) | (Reply::Bulk(_), Reply::Bulk(_)) | (Reply::Array(_), Reply::Array(_)) => true,
        (known, reply) => known == reply,
    }
}

#[test]
fn one_is_yes_and_zero_is_no() {
    let yes_or_no = [(Reply::Int(1), true), (Reply::Int(0), false)];
    check("SETNX k v", |redis| redis.setnx(&k(), b"v"), &yes_or_no);
    check("MSETNX k v j w", |redis| redis.msetnx([(&k(), b"v"), (&Key::from("j"), b"w")]), &yes_or_no);
    check("DEL k", |redis| redis.del(&k()), &yes_or_no);
    check("DELIFEQ k v", |redis| redis.delifeq(&k(), b"v"), &yes_or_no);
    check("DELEX k IFEQ v", |redis| redis.delex_ifeq(&k(), b"v"), &yes_or_no);
    check("EXISTS k", |redis| redis.exists(&k()), &yes_or_no);
    check("EXPIRE k -5", |redis| redis.expire(&k(), -5), &yes_or_no);
    check("PEXPIRE k 5", |redis| redis.pexpire(&k(), 5), &yes_or_no);
    check("EXPIREAT k 5", |redis| redis.expireat(&k(), 5), &yes_or_no);
    check("HEXISTS k f", |redis| redis.hexists(&k(), b"f"), &yes_or_no);
}

#[test]
fn a_string_or_nothing() {
    let string = [(Reply::bulk("\u{0}v"), Some(b"\0v".to_vec())), (Reply::bulk(""), Some(vec![])), (Reply::Nil, None)];
    check("GET k", |redis| redis.get(&k()), &string);
    check("GETSET k v", |redis| redis.getset(&k(), b"v"), &string);
}

#[test]
fn any_number() {
    check("INCR k", |redis| redis.incr(&k()), &[(Reply::Int(77), 77), (Reply::Int(i64::MIN), i64::MIN)]);
    let ttl = [(Reply::Int(77), Ttl(77)), (Reply::Int(-1), Ttl::NO_EXPIRY), (Reply::Int(-2), Ttl::NO_KEY)];
    check("TTL k", |redis| redis.ttl(&k()), &ttl);
    check("PTTL k", |redis| redis.pttl(&k()), &ttl);
    let left = ttl.map(|(_, ttl)| ttl.left_of_millis());
    assert_eq!(left, [Some(core::time::Duration::from_millis(77)), None, None]);
}

#[test]
fn a_word() {
    check("SETEX k 5 v", |redis| redis.setex(&k(), 5, b"v"), &[(Reply::ok(), ())]);
    check("WATCH k j", |redis| redis.watch_all(&[&k(), &Key::from("j")]), &[(Reply::ok(), ())]);
    check("UNWATCH", Transcript::unwatch, &[(Reply::ok(), ())]);
    check("TYPE k", |redis| redis.type_of(&k()), &[(status("SO"), "SO".into()), (status("none"), "none".into())]);
}

#[test]
fn the_time() {
    let time = |secs: &str, micros: &str| Reply::Array(vec![Reply::bulk(secs), Reply::bulk(micros)]);
    let moment = UnixTime::from_nanos(1_700_000_000_000_007_000);
    check("TIME", Transcript::time, &[(time("1700000000", "7"), moment)]);

    let odd = [time("soon", "7"), time("9223372036854775807", "0"), time("\u{ff}", "0"), Reply::Array(vec![])];
    for reply in odd {
        let mut redis = Transcript::from_iter([lockshift_wire::Entry::Exchange(Command::new("TIME"), reply)]);
        assert!(matches!(redis.time(), Err(Pending::Fault(Fault::Unexpected { .. }))));
    }
}

#[test]
fn fields_with_their_values() {
    let array = |items: &[&str]| Reply::Array(items.iter().map(Reply::bulk).collect());
    let pair = (b"f".to_vec(), b"v".to_vec());
    check("HGETALL k", |redis| redis.hgetall(&k()), &[(array(&["f", "v"]), vec![pair]), (array(&[]), vec![])]);
    for odd in [array(&["f"]), Reply::Array(vec![Reply::bulk("f"), Reply::Int(1)])] {
        let mut redis = Transcript::from_iter([lockshift_wire::Entry::Exchange(Command::new("HGETALL").arg("k"), odd)]);
        assert!(matches!(redis.hgetall(&k()), Err(Pending::Fault(Fault::Unexpected { .. }))));
    }
}

#[test]
fn a_transaction_is_all_or_nothing() {
    let commands = [Command::new("SET").arg("k").arg("v"), Command::new("DEL").arg("j")];
    let play = |replies: &[Reply]| {
        let mut redis = Transcript::new();
        let mut sent = Vec::new();
        let mut replies = replies.iter().cloned();
        loop {
            match redis.rewind().transaction(&commands) {
                Err(Pending::Send(command)) => sent.push(command.to_string()),
                ended => return (sent.join("; "), ended),
            }
            redis.record_reply(replies.next().unwrap());
        }
    };
    let queued = || status("QUEUED");
    let all = "MULTI; SET k v; DEL j; EXEC";
    let both = vec![Reply::ok(), Reply::Int(0)];
    let done = play(&[Reply::ok(), queued(), queued(), Reply::Array(both.clone())]);
    assert_eq!(done, (all.into(), Ok(Some(both))));
    assert_eq!(
        play(&[Reply::ok(), queued(), queued(), Reply::Nil]),
        (all.into(), Ok(None)),
        "a watched key was touched"
    );

    // The permission was withdrawn after the command had been queued: EXEC executes the others.
    let refused = Reply::Error("NOPERM User default has no permissions".into());
    let (_, ended) = play(&[Reply::ok(), queued(), queued(), Reply::Array(vec![refused, Reply::Int(1)])]);
    assert!(matches!(ended, Err(Pending::Fault(fault)) if fault.code() == Some("NOPERM")));

    let (sent, ended) = play(&[Reply::ok(), Reply::Error("OOM command not allowed".into())]);
    assert_eq!(sent, "MULTI; SET k v");
    assert!(matches!(ended, Err(Pending::Fault(fault)) if fault.code() == Some("OOM")));
}
