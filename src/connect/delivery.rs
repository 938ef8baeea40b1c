//! One command on its way to the node that owns its slot: what each reply says about where to send it next. A command
//! that may have run is never sent again.

use std::time::Duration;

use lockshift_wire::MonoTime;
use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};

use crate::driver::{FRESH, refusal_kind};

/// How often a command is sent on to another node. Where two nodes name each other it would never end.
const MOST_REDIRECTS: u8 = 5;

/// How long to wait while a slot is being moved.
const PAUSE: Duration = Duration::from_millis(20);

/// Whether a connection is to be asked PING before it is used: it owes a reply, or has been idle for so long that the
/// other side may have closed it.
pub(super) fn is_to_be_asked(answered: Option<MonoTime>, now: MonoTime) -> bool {
    answered.is_none_or(|answered| now.saturating_since(answered) >= FRESH)
}

/// One command on its way.
#[derive(Debug)]
pub(super) struct Delivery {
    began: MonoTime,
    patience: Duration,
    redirects: u8,
    has_looked_again: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// This reply is the answer.
    Answer,
    /// This reply is the answer, and the client must connect anew, and ask which server is the master, or owns which slots.
    AnswerAndForget,
    /// This slot now belongs to that node for good: send it there.
    Moved { slot: u16, host: String, port: u16 },
    /// Send it to that node this once, after ASKING.
    Ask { host: String, port: u16 },
    /// Wait, and send it again: it was not executed.
    Pause(Duration),
}

impl Delivery {
    pub(super) fn begin(now: MonoTime, patience: Duration) -> Self {
        Self { began: now, patience, redirects: 0, has_looked_again: false }
    }

    /// The node could not be reached, so nothing was sent: whether to ask anew which node it is, and try that one.
    pub(super) fn may_look_again(&mut self) -> bool {
        !std::mem::replace(&mut self.has_looked_again, true)
    }

    /// What this reply says about where to send the command next.
    pub(super) fn after(&mut self, answer: &RedisResult<Value>, now: impl FnOnce() -> MonoTime) -> Next {
        let Some(refusal) = refusal(answer) else { return Next::Answer };
        match refusal.kind() {
            ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask) if self.redirects < MOST_REDIRECTS => {
                self.redirects += 1;
                let Some((host, port, slot)) = target(&refusal) else { return Next::Answer };
                match refusal.kind() {
                    ErrorKind::Server(ServerErrorKind::Ask) => Next::Ask { host, port },
                    _ => Next::Moved { slot, host, port },
                }
            }
            ErrorKind::Server(ServerErrorKind::TryAgain)
                if now().saturating_since(self.began) + PAUSE < self.patience =>
            {
                Next::Pause(PAUSE)
            }
            ErrorKind::Server(ServerErrorKind::TryAgain) => Next::Answer,
            _ if is_of_another_master(&refusal) => Next::AnswerAndForget,
            _ => Next::Answer,
        }
    }
}

/// Whether another server is the master by now. Before Redis 7 a script says so in the middle of its text.
fn is_of_another_master(refusal: &RedisError) -> bool {
    use crate::driver::ErrorKind::{ClusterDown, MasterDown, ReadOnly};

    matches!(refusal_kind(refusal), Some(ReadOnly | MasterDown | ClusterDown))
}

/// The error that the server replied, if it did: such a command was not executed, or says itself what it did.
fn refusal(answer: &RedisResult<Value>) -> Option<RedisError> {
    match answer {
        Ok(Value::ServerError(error)) => Some(error.clone().into()),
        Ok(_) => None,
        Err(error) => Some(error.clone()),
    }
}

/// `3999 127.0.0.1:6381`; without a host it is that of the node which replied.
fn target(refusal: &RedisError) -> Option<(String, u16, u16)> {
    let (address, slot) = refusal.redirect_node()?;
    let (host, port) = address.rsplit_once(':')?;
    Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?, slot))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    const fn at(millis: u64) -> MonoTime {
        MonoTime::since_origin(Duration::from_millis(millis))
    }

    fn replied(text: &str) -> [RedisResult<Value>; 2] {
        let value = || redis::parse_redis_value(format!("{text}\r\n").as_bytes()).unwrap();
        [Ok(value()), value().extract_error()]
    }

    #[test]
    fn only_a_command_that_was_not_executed_is_sent_again() {
        let moved = Next::Moved { slot: 3999, host: "a.example".into(), port: 6381 };
        let table = [
            ("-MOVED 3999 a.example:6381", moved),
            ("-MOVED 7 :6381", Next::Moved { slot: 7, host: String::new(), port: 6381 }),
            ("-ASK 3999 ::1:6381", Next::Ask { host: "::1".into(), port: 6381 }),
            ("-TRYAGAIN Multiple keys request during rehashing of slot", Next::Pause(PAUSE)),
            ("-READONLY You can't write against a read only replica.", Next::AnswerAndForget),
            (
                "-ERR Error running script (call to f_5e): @user_script:2: @user_script: 2: -READONLY You can't write against a \
                 read only replica.",
                Next::AnswerAndForget,
            ),
            ("-CLUSTERDOWN Hash slot not served", Next::AnswerAndForget),
            ("-MASTERDOWN Link with MASTER is down", Next::AnswerAndForget),
            ("-LOADING Redis is loading the dataset in memory", Next::Answer),
            ("-WRONGTYPE Operation against a key", Next::Answer),
            ("$-1", Next::Answer),
        ];
        for (text, expected) in table {
            for answer in replied(text) {
                let mut delivery = Delivery::begin(at(0), Duration::from_secs(1));
                assert_eq!(delivery.after(&answer, || at(0)), expected, "{answer:?}");
            }
        }
        for kind in [io::ErrorKind::TimedOut, io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe] {
            let lost = Err(io::Error::from(kind).into());
            assert_eq!(Delivery::begin(at(0), Duration::from_secs(1)).after(&lost, || at(0)), Next::Answer, "{kind:?}");
        }
    }

    #[test]
    fn an_idle_connection_and_one_that_owes_a_reply_are_asked_before_they_are_used() {
        assert!(is_to_be_asked(None, at(0)));
        assert!(is_to_be_asked(Some(at(0)), at(1000)));
        assert!(!is_to_be_asked(Some(at(0)), at(999)));
    }

    #[test]
    fn redirects_and_pauses_end() {
        let mut delivery = Delivery::begin(at(0), Duration::from_millis(100));
        let [moved, _] = replied("-MOVED 1 a:1");
        let followed = (0..100).filter(|_| delivery.after(&moved, || at(0)) != Next::Answer).count();
        assert_eq!(followed, usize::from(MOST_REDIRECTS));
        let [again, _] = replied("-TRYAGAIN later");
        assert_eq!(delivery.after(&again, || at(79)), Next::Pause(PAUSE));
        assert_eq!(delivery.after(&again, || at(80)), Next::Answer);
        assert!(delivery.may_look_again());
        assert!(!delivery.may_look_again());
    }
}
