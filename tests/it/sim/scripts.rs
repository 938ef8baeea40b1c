//! Scripts: what they can reach, what they leave behind, and that each comes to an end.

use super::{ALICE, at};
use lockshift::sim::{Flavour, Server};
use lockshift::wire::{Command, Reply, UnixTime};

use super::dialogue::{Dialogue, command};

#[test]
fn a_script_is_known_once_it_was_sent() {
    Dialogue::with(Flavour::Redis70).goes("
        0  A  EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0  -> (error) NOSCRIPT No matching script. Please use EVAL.
        1  A  EVAL 'return 1' 0                                   -> 1
        2  B  EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0  -> 1
        3  B  SCRIPT FLUSH                                        -> OK
        4  B  SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db -> [0]
    ");
}

#[test]
fn a_script_selects_a_database_for_itself_only() {
    Dialogue::with(Flavour::Redis70).goes(
        "
        0  A  SET k zero                                                                  -> OK
        1  A  SELECT 1                                                                    -> OK
        2  A  EVAL 'redis.call(\"select\", 0) return redis.call(\"get\", KEYS[1])' 1 k  -> \"zero\"
        3  A  GET k                                                                       -> (nil)
        4  B  GET k                                                                       -> \"zero\"
    ",
    );
}

#[test]
fn time_in_a_script_is_the_clock_that_was_handed_in() {
    let mut server = Server::default();
    let time = command("EVAL 'return redis.call(\"time\")' 0");
    let now = UnixTime::from_nanos(1_795_245_592_123_456_789);
    let expected = Reply::Array(vec![Reply::bulk("1795245592"), Reply::bulk("123456")]);
    assert_eq!(server.call(ALICE, &time, now), expected);
    assert_eq!(server.call(ALICE, &command("TIME"), now), expected);
}

#[test]
fn a_script_leaves_nothing_behind_and_cannot_reach_out() {
    let mut server = Server::default();
    for attempt in [
        "x = 1",
        "string.x = 1",
        "redis.x = 1",
        "rawset(_G, \"x\", 1)",
        "getmetatable(\"\").x = 1",
        "return os.time()",
        "return io",
        "return require",
        "return loadstring(\"x = 1\")",
        "return setfenv",
        "return math.random()",
    ] {
        let reply = server.call(ALICE, &Command::new("EVAL").arg(attempt).arg("0"), at(0));
        assert_eq!(reply.error_code(), Some("ERR"), "{attempt}: {reply}");
    }
}

#[test]
fn a_script_without_end_is_stopped() {
    let mut server = Server::default();
    for endless in ["while true do end", "while true do pcall(function() while true do end end) end"] {
        let reply = server.call(ALICE, &Command::new("EVAL").arg(endless).arg("0"), at(0));
        assert_eq!(reply.error_code(), Some("ERR"), "{endless}: {reply}");
    }
    assert_eq!(server.call(ALICE, &command("EVAL 'return 1' 0"), at(0)), Reply::Int(1));
}

#[test]
fn a_script_that_takes_too_much_is_an_error_and_the_next_one_is_not() {
    let mut server = Server::default();
    for deep in [
        "local t = {} t[1] = t return t",
        "local function f() return 1 + f() end return f()",
        "return string.rep(\"x\", 2^30)",
    ] {
        let reply = server.call(ALICE, &Command::new("EVAL").arg(deep).arg("0"), at(0));
        assert!(reply.to_string().contains("(error)"), "{deep}");
        assert_eq!(server.call(ALICE, &command("EVAL 'return 1' 0"), at(0)), Reply::Int(1));
    }
}
