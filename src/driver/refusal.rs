//! Redis' refusals: which code means which trouble.

use super::trouble::Trouble;

/// Error codes, each with its trouble. Those with several words are the beginning of a text.
const CODES: [(&str, Trouble); 19] = [
    ("WRONGTYPE", Trouble::WrongType),
    ("READONLY", Trouble::ReadOnly),
    ("OOM", Trouble::OutOfMemory),
    ("NOAUTH", Trouble::NotAuthenticated),
    ("WRONGPASS", Trouble::NotAuthenticated),
    // Who is not logged in may not even send a command of more than ten words.
    ("ERR Protocol error: unauthenticated", Trouble::NotAuthenticated),
    ("NOPERM", Trouble::NoPermission),
    ("LOADING", Trouble::Loading),
    ("BUSY", Trouble::Busy),
    ("MISCONF", Trouble::CannotSave),
    ("NOREPLICAS", Trouble::TooFewReplicas),
    ("MASTERDOWN", Trouble::MasterDown),
    ("CLUSTERDOWN", Trouble::ClusterDown),
    ("TRYAGAIN", Trouble::ClusterDown),
    ("MOVED", Trouble::OtherNode),
    ("ASK", Trouble::OtherNode),
    ("CROSSSLOT", Trouble::CrossSlot),
    ("ERR unknown command", Trouble::UnknownCommand),
    ("ERR This Redis command is not allowed", Trouble::NoPermission),
];

/// The trouble behind this error text.
///
/// Before Redis 7 a script that met an error answered `ERR Error running script ...: WRONGTYPE Operation ...`: the
/// code that matters is the last one in the text.
pub(super) fn trouble(text: &str) -> Trouble {
    let begins = |text: &str| CODES.iter().find(|(code, _)| starts_with_words(text, code)).map(|(_, trouble)| *trouble);
    let inner = || text.split(": ").skip(1).filter_map(begins).last();
    begins(text).or_else(inner).unwrap_or(Trouble::Refused)
}

fn starts_with_words(text: &str, words: &str) -> bool {
    text.trim_start_matches('-').strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_redis_5_to_7() {
        let table = [
            ("WRONGTYPE Operation against a key holding the wrong kind of value", Trouble::WrongType),
            (
                "WRONGTYPE Operation against a key holding the wrong kind of value script: 5e, on @user_script:1.",
                Trouble::WrongType,
            ),
            (
                "ERR Error running script (call to f_5e): @user_script:1: WRONGTYPE Operation against a key",
                Trouble::WrongType,
            ),
            (
                "ERR Error running script (call to f_5e): @user_script:1: @user_script: 1: -OOM command not allowed",
                Trouble::OutOfMemory,
            ),
            ("READONLY You can't write against a read only replica.", Trouble::ReadOnly),
            ("OOM command not allowed when used memory > 'maxmemory'.", Trouble::OutOfMemory),
            ("NOPERM this user has no permissions to run the 'set' command", Trouble::NoPermission),
            ("ERR unknown command 'DELEX', with args beginning with: 'k' ", Trouble::UnknownCommand),
            ("ERR Protocol error: unauthenticated multibulk length", Trouble::NotAuthenticated),
            ("ERR Protocol error: unauthenticated bulk length", Trouble::NotAuthenticated),
            ("ERR value is not an integer or out of range", Trouble::Refused),
            ("BUSYKEY Target key name already exists.", Trouble::Refused),
        ];
        for (text, expected) in table {
            assert_eq!(trouble(text), expected, "{text}");
        }
    }
}
