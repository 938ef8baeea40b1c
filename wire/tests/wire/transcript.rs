//! What is recorded, in which order, and what is a broken contract.

use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lockshift_wire::{
    Command, Entry, Key, MonoTime, NoReply, Node, NodeReply, Pending, Procedure, Reading, Reply, Transcript, Turn,
    UnixTime,
};

fn reading(millis: i64) -> Reading {
    let mono = MonoTime::since_origin(Duration::from_millis(millis.unsigned_abs()));
    Reading { wall: UnixTime::from_millis(millis).unwrap(), mono }
}

/// Writes the time if the key is free, and returns the value that is there then.
fn first_to_stamp(redis: &mut Transcript) -> Turn<Option<Vec<u8>>> {
    let key = Key::from("k");
    let stamp = redis.now()?.as_millis().to_string();
    if redis.setnx(&key, stamp.as_bytes())? {
        return Ok(Some(stamp.into_bytes()));
    }
    redis.get(&key)
}

#[test]
fn questions_and_answers_are_kept_side_by_side_oldest_first() {
    let setnx = Command::new("SETNX").arg("k").arg("5");
    let get = Command::new("GET").arg("k");
    let mut redis = Transcript::new();

    assert_eq!(first_to_stamp(redis.rewind()), Err(Pending::Clock));
    redis.record_clock(reading(5));
    assert_eq!(redis.asked(), None);
    assert_eq!(first_to_stamp(redis.rewind()), Err(Pending::Send(setnx.clone())));
    assert_eq!(redis.asked(), Some(&setnx));
    redis.record_reply(Reply::Int(0));
    assert_eq!(redis.asked(), None);
    assert_eq!(first_to_stamp(redis.rewind()), Err(Pending::Send(get.clone())));
    redis.record_reply(Reply::bulk("4"));
    assert_eq!(first_to_stamp.turn(redis.rewind()), Ok(Some(b"4".to_vec())));

    let recorded =
        [Entry::Clock(reading(5)), Entry::Exchange(setnx, Reply::Int(0)), Entry::Exchange(get, Reply::bulk("4"))];
    assert_eq!(redis.entries(), recorded);
    assert_eq!(
        first_to_stamp(&mut recorded.into_iter().collect()),
        Ok(Some(b"4".to_vec())),
        "it is all there is to know"
    );
}

#[test]
fn a_question_may_be_asked_again_before_it_is_answered() {
    let mut redis = Transcript::new();
    redis.record_clock(reading(5));
    let asked = first_to_stamp(redis.rewind());
    let mut other = redis.clone();
    assert_eq!(first_to_stamp(other.rewind()), asked);
    assert_eq!(other.entries(), redis.entries());
    redis.record_reply(Reply::Int(1));
    other.record_reply(Reply::Int(0));
    assert_ne!(other, redis, "two answers are two ways to go on");
}

/// What stands in the transcript, what the protocol asks, and what the panic says.
#[test]
fn a_protocol_that_asks_something_else_on_a_rerun_is_a_bug() {
    let get = || Command::new("GET").arg("k");
    let answered = || Entry::Exchange(get(), Reply::Nil);
    let send = |command: Command| move |redis: &mut Transcript| redis.send(command.clone()).map(drop);
    let clock = |redis: &mut Transcript| redis.clock().map(drop);

    let other_key = panic_of(answered(), send(Command::new("GET").arg("other")));
    assert!(other_key.contains("asked Exchange(`GET k`, Nil) before and `GET other` now"), "{other_key}");
    let one_word_more = panic_of(answered(), send(get().arg("more")));
    assert!(one_word_more.contains("before and `GET k more` now"), "{one_word_more}");
    let time_instead = panic_of(answered(), clock);
    assert!(time_instead.contains("`GET k`, Nil) before and the time now"), "{time_instead}");
    let command_instead = panic_of(Entry::Clock(reading(5)), send(get()));
    assert!(command_instead.contains("asked Clock(Reading") && command_instead.contains("and `GET k` now"));
}

#[test]
fn an_answer_without_a_question_is_a_bug() {
    let unasked = || Transcript::new().record_reply(Reply::ok());
    assert!(catch_unwind(unasked).is_err());

    let mut redis = Transcript::new();
    let _ = redis.exists(&Key::from("k"));
    redis.record_reply(Reply::Int(1));
    assert!(catch_unwind(AssertUnwindSafe(|| redis.record_reply(Reply::Int(1)))).is_err(), "one question, one answer");
}

fn panic_of(recorded: Entry, protocol: impl Fn(&mut Transcript) -> Turn<()>) -> String {
    let mut redis = Transcript::from_iter([recorded]);
    let panic = catch_unwind(AssertUnwindSafe(|| protocol(&mut redis))).expect_err("it asked something else");
    *panic.downcast::<String>().expect("the panic has a text")
}

/// Asks three servers whether they have the key.
fn in_how_many(redis: &mut Transcript) -> Turn<usize> {
    let commands = [0, 1, 2].map(|node| Command::new("EXISTS").arg("k").on(Node(node)));
    let replies = redis.round(&commands)?;
    Ok(replies.iter().filter(|reply| **reply == NodeReply::Reply(Reply::Int(1))).count())
}

#[test]
fn a_round_is_answered_in_any_order_and_silence_is_an_answer() {
    let exists = |node| Command::new("EXISTS").arg("k").on(Node(node));
    let mut redis = Transcript::new();
    assert_eq!(in_how_many(redis.rewind()), Err(Pending::Round(vec![exists(0), exists(1), exists(2)])));
    redis.record_node_reply(Node(2), NodeReply::Reply(Reply::Int(1)));
    assert_eq!(in_how_many(redis.rewind()), Err(Pending::Round(vec![exists(0), exists(1)])));
    let mut other = redis.clone();
    for (node, reply) in [(0, NodeReply::NoReply(NoReply::TooSlow)), (1, NodeReply::Reply(Reply::Int(1)))] {
        redis.record_node_reply(Node(node), reply.clone());
    }
    for (node, reply) in [(1, NodeReply::Reply(Reply::Int(1))), (0, NodeReply::NoReply(NoReply::TooSlow))] {
        other.record_node_reply(Node(node), reply.clone());
    }
    assert_eq!(in_how_many(redis.rewind()), Ok(2));
    assert_eq!(redis.entries(), other.entries(), "the order is forgotten");
}

#[test]
fn a_protocol_goes_on_after_a_round() {
    let votes_and_time =
        |redis: &mut Transcript| -> Turn<(usize, Reading)> { Ok((in_how_many(redis)?, redis.clock()?)) };
    let mut redis = Transcript::new();
    assert!(matches!(votes_and_time(redis.rewind()), Err(Pending::Round(_))));
    for node in [Node(0), Node(1), Node(2)] {
        redis.record_node_reply(node, NodeReply::Reply(Reply::Int(1)));
    }
    assert_eq!(votes_and_time(redis.rewind()), Err(Pending::Clock));
    redis.record_clock(reading(7));
    assert_eq!(votes_and_time(redis.rewind()), Ok((3, reading(7))));
}

#[test]
fn a_round_without_commands_has_ended() {
    let mut redis = Transcript::new();
    assert_eq!(redis.round(&[]), Ok(vec![]));
    assert_eq!(redis.entries(), []);
}

#[test]
fn a_round_that_changes_on_a_rerun_and_an_answer_too_many_are_bugs() {
    let get = |node| Command::new("GET").arg("k").on(Node(node));
    let asked = |commands: Vec<Command>| move |redis: &mut Transcript| redis.round(&commands).map(drop);
    let half = || Entry::Round(vec![(get(0), Some(NodeReply::Reply(Reply::Nil))), (get(1), None)]);
    let fewer = panic_of(half(), asked(vec![get(0)]));
    assert!(fewer.contains("before and [`GET k`] now"), "{fewer}");
    let alone = panic_of(half(), |redis| redis.send(get(0)).map(drop));
    assert!(alone.contains("before and `GET k` now"), "{alone}");
    let twice = panic_of_first(asked(vec![get(1), get(1)]));
    assert!(twice.contains("asks each server once"), "{twice}");

    let mut redis = Transcript::from_iter([half()]);
    redis.record_node_reply(Node(1), NodeReply::NoReply(NoReply::Unreachable));
    for node in [0, 1, 2] {
        let mut redis = redis.clone();
        let again = AssertUnwindSafe(move || redis.record_node_reply(Node(node), NodeReply::Reply(Reply::Nil)));
        assert!(catch_unwind(again).is_err(), "no reply is awaited from {node}");
    }
}

fn panic_of_first(protocol: impl Fn(&mut Transcript) -> Turn<()>) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| protocol(&mut Transcript::new()))).expect_err("it cannot be asked");
    *panic.downcast::<String>().expect("the panic has a text")
}
