//! Redis' refusals: which code means which kind.

use super::error_kind::ErrorKind;

/// Error codes, each with its kind. Those with several words are the beginning of a text.
const CODES: [(&str, ErrorKind); 24] = [
    ("WRONGTYPE", ErrorKind::WrongType),
    ("READONLY", ErrorKind::ReadOnly),
    ("OOM", ErrorKind::OutOfMemory),
    ("NOAUTH", ErrorKind::NotAuthenticated),
    ("WRONGPASS", ErrorKind::NotAuthenticated),
    // A client that is not logged in may not even send a command of more than ten words.
    ("ERR Protocol error: unauthenticated", ErrorKind::NotAuthenticated),
    ("NOPERM", ErrorKind::NoPermission),
    // Scripts lose that code. In this order: Redis 6, 7.0, and 7.2 as well as Valkey.
    ("The user executing the script", ErrorKind::NoPermission),
    ("ERR The user executing the script", ErrorKind::NoPermission),
    ("ERR ACL failure in script:", ErrorKind::NoPermission),
    ("LOADING", ErrorKind::Loading),
    ("BUSY", ErrorKind::Busy),
    ("MISCONF", ErrorKind::CannotSave),
    ("NOREPLICAS", ErrorKind::TooFewReplicas),
    ("MASTERDOWN", ErrorKind::MasterDown),
    ("CLUSTERDOWN", ErrorKind::ClusterDown),
    ("TRYAGAIN", ErrorKind::ClusterDown),
    ("MOVED", ErrorKind::OtherNode),
    ("ASK", ErrorKind::OtherNode),
    ("CROSSSLOT", ErrorKind::CrossSlot),
    ("ERR unknown command", ErrorKind::UnknownCommand),
    ("Unknown Redis command called from Lua script", ErrorKind::UnknownCommand),
    // A script that reads the time and then writes: since 3.2 it can say that its commands are replicated, not itself.
    ("Write commands not allowed after non deterministic commands", ErrorKind::TooOld),
    ("ERR This Redis command is not allowed", ErrorKind::NoPermission),
];

/// The kind behind this error text.
///
/// Before Redis 7 a script that met an error answered `ERR Error running script ...: WRONGTYPE Operation ...`: the
/// code that matters is the last one in the text.
pub(super) fn kind(text: &str) -> ErrorKind {
    let begins = |text: &str| CODES.iter().find(|(code, _)| starts_with_words(text, code)).map(|(_, kind)| *kind);
    let inner = || text.split(": ").skip(1).filter_map(begins).last();
    begins(text).or_else(inner).unwrap_or(ErrorKind::Refused)
}

fn starts_with_words(text: &str, words: &str) -> bool {
    text.trim_start_matches('-').strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_redis_2_8_to_8_and_of_valkey() {
        let table = [
            ("WRONGTYPE Operation against a key holding the wrong kind of value", ErrorKind::WrongType),
            (
                "WRONGTYPE Operation against a key holding the wrong kind of value script: 5e, on @user_script:1.",
                ErrorKind::WrongType,
            ),
            (
                "ERR Error running script (call to f_5e): @user_script:1: WRONGTYPE Operation against a key",
                ErrorKind::WrongType,
            ),
            (
                "ERR Error running script (call to f_5e): @user_script:1: @user_script: 1: -OOM command not allowed",
                ErrorKind::OutOfMemory,
            ),
            ("READONLY You can't write against a read only replica.", ErrorKind::ReadOnly),
            ("OOM command not allowed when used memory > 'maxmemory'.", ErrorKind::OutOfMemory),
            ("NOPERM this user has no permissions to run the 'set' command", ErrorKind::NoPermission),
            (
                "ERR Error running script (call to f_7b): @user_script:1: @user_script: 1: The user executing the script can't \
                 run this command or subcommand",
                ErrorKind::NoPermission,
            ),
            (
                "ERR The user executing the script can't run this command or subcommand script: 7b, on @user_script:1.",
                ErrorKind::NoPermission,
            ),
            (
                "ERR The user executing the script can't publish to the channel mentioned in the command script: 3a, on \
                 @user_script:1.",
                ErrorKind::NoPermission,
            ),
            (
                "ERR ACL failure in script: User u has no permissions to run the 'set' command script: 7b, on @user_script:1.",
                ErrorKind::NoPermission,
            ),
            (
                "ERR ACL failure in script: No permissions to access a key script: on @user_script:1.",
                ErrorKind::NoPermission,
            ),
            ("ERR unknown command 'DELEX', with args beginning with: 'k' ", ErrorKind::UnknownCommand),
            (
                "ERR Error running script (call to f_5e): @user_script:15: @user_script: 15: Write commands not allowed after \
                 non deterministic commands",
                ErrorKind::TooOld,
            ),
            ("ERR Protocol error: unauthenticated multibulk length", ErrorKind::NotAuthenticated),
            ("ERR Protocol error: unauthenticated bulk length", ErrorKind::NotAuthenticated),
            ("ERR value is not an integer or out of range", ErrorKind::Refused),
            ("BUSYKEY Target key name already exists.", ErrorKind::Refused),
        ];
        for (text, expected) in table {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
