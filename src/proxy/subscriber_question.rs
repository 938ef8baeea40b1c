//! A question of the guard over a connection that has subscribed to channels, where replies cannot be counted.

use std::borrow::Cow;

use super::decode;
use super::traffic::LONGEST;
use crate::driver::reply_of;
use crate::wire::{Command, Reply};

/// A question that is on its way. A reply that is not its answer is one to the client, and so is a message.
///
/// A server may refuse the question, as one does that runs a slow script, in words that say nothing of what was asked. It may
/// also have refused the subscription. So an error is kept until it is known whose it is: a command that no server knows is
/// sent behind the question, and each server answers that, whatever its state is, by an error with the name.
pub(super) struct SubscriberQuestion {
    question: Command,
    /// What the answer contains, and the name of the last command.
    token: String,
    has_sent_last: bool,
    /// What has arrived of the next frame.
    frame: Vec<u8>,
    /// Whether a part of that frame was passed on already, as it is too long.
    is_cut: bool,
    answer: Option<SubscriberAnswer>,
    /// The latest error, and all that came behind it.
    kept: Vec<u8>,
    /// How long that error is.
    error_length: usize,
}

/// What a server says of a connection that has subscribed to channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubscriberAnswer {
    /// It answers commands.
    Answers,
    /// It refuses commands that are not about channels.
    Subscribes,
    /// The question is not permitted.
    NotPermitted,
    /// It refuses the question for now.
    Refused,
}

/// What follows from a frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QuestionStep {
    /// More has to arrive.
    More,
    /// This is sent, and then more has to arrive.
    Send(Command),
    Answered(SubscriberAnswer),
}

impl SubscriberQuestion {
    /// The question that is permitted to subscribers.
    pub(super) fn ping(token: String) -> Self {
        Self::new(Command::new("PING").arg(&token), token)
    }

    /// The question that is not. A server refuses it to a subscriber before it looks whether it can run any command now.
    pub(super) fn time(token: String) -> Self {
        Self::new(Command::new("TIME"), token)
    }

    fn new(question: Command, token: String) -> Self {
        Self {
            question,
            token,
            has_sent_last: false,
            frame: Vec::new(),
            is_cut: false,
            answer: None,
            kept: Vec::new(),
            error_length: 0,
        }
    }

    /// What is asked.
    pub(super) fn command(&self) -> &Command {
        &self.question
    }

    /// The next bytes of a frame have arrived, of this kind if it ends with them. What is the client's goes to it.
    pub(super) fn receive(&mut self, bytes: &[u8], ended: Option<u8>, to_client: &mut Vec<u8>) -> QuestionStep {
        self.frame.extend_from_slice(bytes);
        let is_long = self.frame.len() > LONGEST;
        let Some(kind) = ended else {
            if is_long {
                self.is_cut = true;
                self.pass(to_client);
            }
            return QuestionStep::More;
        };
        let is_whole = !std::mem::take(&mut self.is_cut) && !is_long;
        match kind {
            b'-' if is_whole => self.refused(to_client),
            _ => match is_whole.then(|| self.answered()).flatten() {
                Some(answer) => self.end(answer, to_client),
                None => {
                    self.pass(to_client);
                    QuestionStep::More
                }
            },
        }
    }

    /// The frame is an error.
    fn refused(&mut self, to_client: &mut Vec<u8>) -> QuestionStep {
        if self.has_sent_last && text(&self.frame).contains(&self.token) {
            self.frame.clear();
            let answer = self.answer.take().unwrap_or_else(|| {
                let error: Vec<u8> = self.kept.drain(..std::mem::take(&mut self.error_length)).collect();
                SubscriberAnswer::of_error(&text(&error))
            });
            to_client.append(&mut self.kept);
            return QuestionStep::Answered(answer);
        }
        // An earlier one was not the answer, as no reply comes behind that.
        to_client.append(&mut self.kept);
        self.kept.append(&mut self.frame);
        self.error_length = self.kept.len();
        if std::mem::replace(&mut self.has_sent_last, true) {
            return QuestionStep::More;
        }
        QuestionStep::Send(Command::new(&self.token))
    }

    /// The frame is the answer. The error of the last command is still to come, if that was sent.
    fn end(&mut self, answer: SubscriberAnswer, to_client: &mut Vec<u8>) -> QuestionStep {
        self.frame.clear();
        to_client.append(&mut self.kept);
        self.error_length = 0;
        if !self.has_sent_last {
            return QuestionStep::Answered(answer);
        }
        self.answer = Some(answer);
        QuestionStep::More
    }

    /// What the frame answers, if it does.
    fn answered(&self) -> Option<SubscriberAnswer> {
        let token = Reply::bulk(self.token.as_bytes());
        match (reply_of(decode::value(&self.frame)).ok()?, self.question.args()) {
            (reply, [_]) if reply == token => Some(SubscriberAnswer::Answers),
            (Reply::Array(parts), [_]) if parts == [Reply::bulk("pong"), token] => Some(SubscriberAnswer::Subscribes),
            // No message has two parts.
            (Reply::Array(parts), []) if parts.len() == 2 => Some(SubscriberAnswer::Answers),
            _ => None,
        }
    }

    fn pass(&mut self, to_client: &mut Vec<u8>) {
        if self.error_length > 0 { &mut self.kept } else { to_client }.append(&mut self.frame);
    }
}

impl SubscriberAnswer {
    fn of_error(text: &str) -> Self {
        if text.contains("allowed in this context") {
            return Self::Subscribes;
        }
        let is_permitted = !text.is_empty() && !text.starts_with("-NOPERM") && !text.contains("unknown command");
        if is_permitted { Self::Refused } else { Self::NotPermitted }
    }
}

fn text(frame: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::frame::{Scanned, Scanner};

    const LAST: &str = "-ERR unknown command 'c0ffee', with args beginning with: \r\n";
    const MESSAGE: &str = "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$1\r\nx\r\n";
    const PONG: &str = "*2\r\n$4\r\npong\r\n$6\r\nc0ffee\r\n";
    const NO_SUBSCRIPTION: &str = "-NOPERM this user has no permissions to run the 'subscribe' command\r\n";
    const NO_PING: &str = "-NOPERM this user has no permissions to run the 'ping' command\r\n";
    const ONLY: &str = "-ERR only (P)SUBSCRIBE / (P)UNSUBSCRIBE / QUIT allowed in this context\r\n";
    const BUSY: &str = "-BUSY Redis is busy running a script.\r\n";

    /// The answer that these frames are, how many commands were sent for it, and what goes to the client.
    fn asked(mut question: SubscriberQuestion, frames: &[&str]) -> (SubscriberAnswer, usize, String) {
        let bytes = frames.concat().into_bytes();
        let (mut scanner, mut sent, mut to_client, mut at) = (Scanner::default(), 1, Vec::new(), 0);
        loop {
            assert!(at < bytes.len(), "not answered by {frames:?}");
            // In pieces, as they may arrive.
            let piece = &bytes[at..(at + 7).min(bytes.len())];
            let Scanned { used, ended } = scanner.scan(piece).unwrap();
            at += used;
            match question.receive(&piece[..used], ended, &mut to_client) {
                QuestionStep::More => {}
                QuestionStep::Send(command) => {
                    assert_eq!(command, Command::new("c0ffee"));
                    sent += 1;
                }
                QuestionStep::Answered(answer) => {
                    assert_eq!(at, bytes.len(), "answered too early by {frames:?}");
                    return (answer, sent, String::from_utf8(to_client).unwrap());
                }
            }
        }
    }

    #[test]
    fn an_answer_is_found_among_messages_and_errors() {
        use SubscriberAnswer::{Answers, NotPermitted, Refused, Subscribes};
        let cases: [(&[&str], _); 9] = [
            (&[MESSAGE, "$6\r\nc0ffee\r\n"], (Answers, 1, MESSAGE.to_owned())),
            (&[MESSAGE, PONG], (Subscribes, 1, MESSAGE.to_owned())),
            (&[NO_SUBSCRIPTION, "$6\r\nc0ffee\r\n", LAST], (Answers, 2, NO_SUBSCRIPTION.to_owned())),
            (&[NO_SUBSCRIPTION, PONG, MESSAGE, LAST], (Subscribes, 2, [NO_SUBSCRIPTION, MESSAGE].concat())),
            (&[NO_SUBSCRIPTION, MESSAGE, BUSY, LAST], (Refused, 2, [NO_SUBSCRIPTION, MESSAGE].concat())),
            (&[BUSY, BUSY, MESSAGE, LAST], (Refused, 2, [BUSY, MESSAGE].concat())),
            (&[MESSAGE, NO_PING, LAST], (NotPermitted, 2, MESSAGE.to_owned())),
            (&["-ERR unknown command 'ping'\r\n", LAST], (NotPermitted, 2, String::new())),
            (&[ONLY, LAST], (Subscribes, 2, String::new())),
        ];
        for (frames, expected) in cases {
            assert_eq!(asked(SubscriberQuestion::ping("c0ffee".to_owned()), frames), expected, "{frames:?}");
        }
        let time = "*2\r\n$10\r\n1700000000\r\n$1\r\n7\r\n";
        let cases: [(&[&str], _); 4] = [
            (&[">2\r\n+message\r\n+x\r\n", time], (Answers, 1, ">2\r\n+message\r\n+x\r\n".to_owned())),
            (&[MESSAGE, ONLY, MESSAGE, LAST], (Subscribes, 2, [MESSAGE, MESSAGE].concat())),
            (&[BUSY, LAST], (Refused, 2, String::new())),
            (&["-NOPERM\r\n", LAST], (NotPermitted, 2, String::new())),
        ];
        for (frames, expected) in cases {
            assert_eq!(asked(SubscriberQuestion::time("c0ffee".to_owned()), frames), expected, "{frames:?}");
        }
    }

    /// A message may look like anything behind its first 64 KiB.
    #[test]
    fn a_part_of_a_message_is_no_answer() {
        let mut question = SubscriberQuestion::ping("c0ffee".to_owned());
        let mut to_client = Vec::new();
        let long = vec![b'x'; LONGEST + 1];
        assert_eq!(question.receive(&long, None, &mut to_client), QuestionStep::More);
        for (bytes, kind) in [("$6\r\nc0ffee\r\n", b'*'), ("-ERR\r\n", b'-')] {
            question.is_cut = true;
            assert_eq!(question.receive(bytes.as_bytes(), Some(kind), &mut to_client), QuestionStep::More);
        }
        assert_eq!(to_client.len(), long.len() + 12 + 6);
    }
}
