//! Whether a connection watches keys or collects a transaction, so that no other one can take its place.

/// What WATCH and MULTI have begun on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Transaction {
    is_open: bool,
}

impl Transaction {
    /// One that has begun.
    pub(super) const fn begun() -> Self {
        Self { is_open: true }
    }

    /// Whether something has begun that a new connection would not know of.
    pub(super) fn is_open(self) -> bool {
        self.is_open
    }

    /// Notes a command that was answered, or was not.
    pub(super) fn note(&mut self, name: &[u8], was_answered: bool) {
        self.is_open = was_answered && (is_one_of(name, &BEGIN) || self.is_open && !is_one_of(name, &END));
    }

    /// Whether such a command can make a difference: nearly all make none.
    #[cfg(any(feature = "tokio", test))]
    pub(super) fn is_changed_by(name: &[u8], was_answered: bool) -> bool {
        !was_answered || is_one_of(name, &BEGIN) || is_one_of(name, &END)
    }
}

/// The commands with which something begins, or ends, that a new connection would not know of.
const BEGIN: [&str; 2] = ["WATCH", "MULTI"];
const END: [&str; 3] = ["EXEC", "DISCARD", "UNWATCH"];

fn is_one_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()))
}

#[test]
fn a_transaction_lasts_from_watch_to_exec_or_until_the_connection_breaks() {
    let mut transaction = Transaction::default();
    for (name, was_answered, is_open) in [
        ("GET", true, false),
        ("watch", true, true),
        ("GET", true, true),
        ("MULTI", true, true),
        ("SET", true, true),
        ("EXEC", true, false),
        ("WATCH", true, true),
        ("GET", false, false),
        ("WATCH", false, false),
        ("MULTI", true, true),
        ("discard", true, false),
        ("WATCH", true, true),
        ("UNWATCH", true, false),
    ] {
        let before = transaction;
        transaction.note(name.as_bytes(), was_answered);
        assert_eq!(transaction.is_open(), is_open, "{name}");
        assert!(transaction == before || Transaction::is_changed_by(name.as_bytes(), was_answered), "{name}");
    }
}
