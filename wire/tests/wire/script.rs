//! EVALSHA, EVAL, and the hash by which Redis knows a script.

use lockshift_wire::{Fault, Key, Pending, Reply, Script, Transcript, Turn, script_file};

const CAD: &str = "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/// Measured: what `redis-cli script load` of Redis 7.0.15 answers.
#[test]
fn a_script_has_the_hash_that_redis_gives_it() {
    let table = [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"),
        ("return 'schön'", "bfae2c2d3befffcb2cef7a2837e1e6bd6234f513"),
        ("return 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "57c6ec5822217f630d54c5ac49d7508074ac8c93"),
        (
            "return 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
            "fe74ff8cd026f6349ad3ad2871ab7ed387a7d649",
        ),
        (CAD, "ae3671744a5dbb24ea37ef607b8b10ac7856d43e"),
    ];
    for (text, sha1) in table {
        assert_eq!(Script::new(text).sha1_hex(), sha1, "{text}");
        assert_eq!(Script::sha1_hex_of(text.as_bytes()), sha1.as_bytes(), "{text}");
    }
}

#[test]
fn a_script_from_a_file_is_sent_without_its_comments() {
    const SCRIPT: Script = script_file!("commented.lua");
    assert_eq!(SCRIPT.text(), "local text = '-- not a comment'\n\nreturn text\n");
    assert_eq!(SCRIPT, Script::new(SCRIPT.text()));
}

const ONE: Script = Script::new("return 1");
const BY_HASH: &str = "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 2 a b x \"\"";
const BY_TEXT: &str = "EVAL \"return 1\" 2 a b x \"\"";

/// What `ask` says against these replies, and how it ends.
fn play<T>(ask: impl Fn(&mut Transcript) -> Turn<T>, replies: &[Reply]) -> (Vec<String>, Turn<T>) {
    let mut redis = Transcript::new();
    let mut sent = Vec::new();
    let mut replies = replies.iter().cloned();
    loop {
        match ask(redis.rewind()) {
            Err(Pending::Send(command)) => sent.push(command.to_string()),
            ended => return (sent, ended),
        }
        redis.record_reply(replies.next().expect("a reply for each command"));
    }
}

fn flag(redis: &mut Transcript) -> Turn<bool> {
    redis.script_flag(&ONE, &[&Key::from("a"), &Key::from("b")], &[b"x", b""])
}

fn unknown() -> Reply {
    Reply::Error("NOSCRIPT No matching script. Please use EVAL.".into())
}

#[test]
fn a_script_is_sent_by_its_hash_and_where_that_is_unknown_by_its_text() {
    assert_eq!(play(flag, &[Reply::Int(1)]), (vec![BY_HASH.into()], Ok(true)));
    assert_eq!(play(flag, &[Reply::Int(0)]), (vec![BY_HASH.into()], Ok(false)));
    assert_eq!(play(flag, &[unknown(), Reply::Int(1)]), (vec![BY_HASH.into(), BY_TEXT.into()], Ok(true)));
}

#[test]
fn whatever_else_comes_is_a_fault() {
    let refused = Reply::Error("WRONGTYPE Operation".into());
    for replies in [vec![refused.clone()], vec![unknown(), refused], vec![unknown(), unknown()], vec![Reply::Int(2)]] {
        let (_, ended) = play(flag, &replies);
        let Err(Pending::Fault(fault)) = ended else { panic!("{replies:?} is a fault") };
        let last = replies.last().unwrap().clone();
        assert_eq!(fault, Fault::new(fault.command().clone(), last), "of the last reply");
        assert_eq!(fault.command().to_string(), BY_HASH, "under the shorter of its names");
    }
}

#[test]
fn an_answer_is_read_as_what_the_script_answers() {
    let plain = |redis: &mut Transcript| redis.script(&ONE, &[], &[]);
    let number = |redis: &mut Transcript| redis.script_int(&ONE, &[], &[]);
    for reply in [Reply::Nil, Reply::Int(7), Reply::Array(vec![Reply::Int(-1), Reply::bulk("9")])] {
        assert_eq!(play(plain, core::slice::from_ref(&reply)).1, Ok(reply));
    }
    assert_eq!(play(number, &[Reply::Int(-1)]).1, Ok(-1));
    assert!(matches!(play(number, &[Reply::Nil]).1, Err(Pending::Fault(Fault::Unexpected { .. }))));
    assert!(matches!(play(plain, &[Reply::Error("ERR".into())]).1, Err(Pending::Fault(Fault::Refused { .. }))));
}
