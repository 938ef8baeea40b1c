//! Compare-and-delete without Lua: most releases of a token are one of a few scripts that do just that.

use crate::sim::{Server, Session, Value};
use crate::wire::{Command, Key, Reply, UnixTime};

/// The scripts, by their SHA-1, and what each answers where it deletes nothing.
const SCRIPTS: [(&str, Reply); 5] = [
    ("e4922a95d0d34b474742a54fc2d2f94bd0db7ff8", Reply::Int(0)),
    ("fa1bc72324116ca6feede5f0230a47c3863aba07", Reply::Int(0)),
    ("dc5bfd546e24463524f2ed89cd7cb23c1cdbef34", Reply::Nil),
    ("c3f8721cbb97f72bc19e972846bd7aaf91901658", Reply::Int(0)),
    ("b255ee9bbff4d3e5607b1c4c966e4e6499f55c3c", Reply::Int(0)),
];

/// What the script of this SHA-1 answers where it deletes nothing; `None` if it does more than to compare and delete.
pub(super) fn refusal(sha1: &[u8]) -> Option<Reply> {
    SCRIPTS.iter().find(|(name, _)| name.as_bytes() == sha1).map(|(_, refusal)| refusal.clone())
}

/// What the server answers to a run of such a script, and does. `None`, and nothing done, where Lua has to say it: with
/// other than one key, or one that is no string.
pub(super) fn run(
    server: &mut Server,
    session: Session,
    run: &Command,
    refusal: &Reply,
    at: UnixTime,
) -> Option<Reply> {
    let [_, count, key, value] = run.args() else { return None };
    if count != b"1" {
        return None;
    }
    match server.see(&Key::new(key.as_slice()), at).map(|seen| seen.value) {
        Some(Value::Text(stored)) if value == stored => Some(server.call(session, &Command::new("DEL").arg(key), at)),
        Some(Value::Text(_)) | None => Some(refusal.clone()),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::scripts::scripts;
    use crate::sim::Flavour;

    const ME: Session = Session(1);
    const NOON: UnixTime = UnixTime::from_nanos(43_200_000_000_000);

    /// What may stand in the key when the script is called with the value `mine`.
    const BEFORE: [&[&str]; 6] = [
        &["DEL", "lock"],
        &["SET", "lock", "mine"],
        &["SET", "lock", "mine", "PX", "30000"],
        &["SET", "lock", "another's"],
        &["SET", "lock", ""],
        &["HSET", "lock", "mine", "1"],
    ];

    fn command(words: &[&str]) -> Command {
        Command::from_words(words.iter().copied()).unwrap()
    }

    /// Whether the script deletes in each situation what is `mine` and leaves everything else, as Lua has it.
    fn compares_and_deletes(text: &str) -> bool {
        BEFORE[..5].iter().all(|before| {
            let mut server = Server::new(Flavour::Redis70);
            server.call(ME, &command(before), NOON);
            let stood = server.peek(&"lock".into(), NOON);
            let reply = server.call(ME, &command(&["EVAL", text, "1", "lock", "mine"]), NOON);
            let is_mine = before.get(2) == Some(&"mine");
            let stands = server.peek(&"lock".into(), NOON);
            if is_mine {
                reply == Reply::Int(1) && stands.is_none()
            } else {
                reply.error_code().is_none() && stands == stood
            }
        })
    }

    #[test]
    fn they_are_those_of_the_catalogue_that_do_nothing_else() {
        // Those of a guard get more arguments.
        let known = scripts().iter().filter(|(_, script)| script.of_guard.is_none());
        let known = known.map(|(sha1, script)| {
            (String::from_utf8(sha1.clone()).unwrap(), String::from_utf8(script.text.clone()).unwrap())
        });
        for (sha1, text) in known {
            assert_eq!(compares_and_deletes(&text), refusal(sha1.as_bytes()).is_some(), "{sha1}\n{text}");
        }
    }

    #[test]
    fn the_same_is_answered_and_done_as_in_lua() {
        let known = scripts();
        for (sha1, refusal) in SCRIPTS {
            let text = String::from_utf8(known[sha1.as_bytes()].text.clone()).unwrap();
            for before in BEFORE {
                let mut by_lua = Server::new(Flavour::Redis70);
                by_lua.call(ME, &command(&["SCRIPT", "LOAD", &text]), NOON);
                by_lua.call(ME, &command(before), NOON);
                let mut at_once = by_lua.clone();
                let release = command(&["EVALSHA", sha1, "1", "lock", "mine"]);
                let reply = by_lua.call(ME, &release, NOON);
                let own = run(&mut at_once, ME, &release, &refusal, NOON);
                assert_eq!(own.as_ref(), (before[0] != "HSET").then_some(&reply), "{text} after {before:?}");
                assert!(own.is_none() || at_once == by_lua, "{text} after {before:?}");
            }
        }
    }
}
