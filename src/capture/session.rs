//! One connection: requests and replies, paired.

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::exchange::CapturedExchange;
use super::replies::{Decoded, ServerMessage, Version, reply, request};
use super::stream::{Brought, ByteStream};
use crate::wire::{Command, Reply, UnixTime};

/// Maximum number of requests that wait for their replies.
const MOST_WAITING: usize = 1 << 14;

/// One connection.
#[derive(Debug)]
pub(super) struct CapturedConnection {
    pub(super) server: SocketAddr,
    pub(super) client: SocketAddr,
    pub(super) requests: ByteStream,
    pub(super) replies: ByteStream,
    waiting: VecDeque<(UnixTime, Command)>,
    /// The commands between MULTI and EXEC.
    queued: Vec<Command>,
    version: Version,
    database: u32,
    /// Whether each request has one reply: not after SUBSCRIBE, MONITOR, CLIENT REPLY and a gap.
    is_paired: bool,
    /// Number of gaps.
    pub(super) gaps: u64,
    pub(super) last_at: UnixTime,
}

impl CapturedConnection {
    pub(super) fn new(server: SocketAddr, client: SocketAddr, at: UnixTime) -> Self {
        Self {
            server,
            client,
            requests: ByteStream::default(),
            replies: ByteStream::default(),
            waiting: VecDeque::new(),
            queued: Vec::new(),
            version: Version::default(),
            database: 0,
            is_paired: true,
            gaps: 0,
            last_at: at,
        }
    }

    /// Reads the requests that are complete.
    pub(super) fn read_requests(&mut self, brought: Brought, at: UnixTime, each: &mut dyn FnMut(CapturedExchange)) {
        if brought == Brought::Gap {
            self.lose(each);
        }
        let mut used = 0;
        loop {
            match request(&self.requests.bytes[used..]) {
                Decoded::Whole(command, length) => {
                    used += length;
                    self.asked(at, command, each);
                }
                Decoded::Partial => break,
                Decoded::Malformed => {
                    used = self.requests.bytes.len();
                    self.lose(each);
                    break;
                }
            }
            if used == self.requests.bytes.len() {
                break;
            }
        }
        self.requests.bytes.drain(..used);
    }

    /// Reads the replies that are complete.
    pub(super) fn read_replies(&mut self, brought: Brought, at: UnixTime, each: &mut dyn FnMut(CapturedExchange)) {
        if brought == Brought::Gap {
            self.lose(each);
        }
        let mut used = 0;
        while used < self.replies.bytes.len() {
            match reply(&self.replies.bytes[used..], &mut self.version) {
                Decoded::Whole(answer, length) => {
                    used += length;
                    match answer {
                        ServerMessage::Reply(reply) => self.answered(at, reply, each),
                        ServerMessage::Push(pushed) => self.pushed(at, pushed, each),
                    }
                }
                Decoded::Partial => break,
                Decoded::Malformed => {
                    used = self.replies.bytes.len();
                    self.lose(each);
                }
            }
        }
        self.replies.bytes.drain(..used);
    }

    fn asked(&mut self, at: UnixTime, command: Command, each: &mut dyn FnMut(CapturedExchange)) {
        let is = |name: &str| command.is(name);
        let has = |word: &str| command.args().first().is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()));
        if is("MONITOR") || is("CLIENT") && has("REPLY") || is_subscription(&command) && self.version == Version::Resp2
        {
            self.is_paired = false;
        }
        if !self.is_paired || self.waiting.len() >= MOST_WAITING {
            self.forget_waiting(each);
            return each(self.exchange(at, command, None));
        }
        self.waiting.push_back((at, command));
    }

    /// RESP3 confirms a subscription by pushes alone, one for each channel, and refuses it by an error.
    fn pushed(&mut self, at: UnixTime, pushed: Reply, each: &mut dyn FnMut(CapturedExchange)) {
        let is_confirmation = match &pushed {
            Reply::Array(items) => matches!(items.first(), Some(Reply::Bulk(kind)) if kind.ends_with(b"subscribe")),
            _ => false,
        };
        if is_confirmation && self.waiting.front().is_some_and(|(_, command)| is_subscription(command)) {
            self.answered(at, pushed, each);
        }
    }

    fn answered(&mut self, answered_at: UnixTime, reply: Reply, each: &mut dyn FnMut(CapturedExchange)) {
        let Some((at, command)) = self.waiting.pop_front() else { return };
        if reply == Reply::Status("QUEUED".to_owned()) {
            self.queued.push(command);
            return;
        }
        if command.is("EXEC") {
            let replies = match &reply {
                Reply::Array(replies) => replies.clone(),
                _ => Vec::new(),
            };
            // They ran when EXEC did, not when they were queued.
            for (command, reply) in std::mem::take(&mut self.queued).into_iter().zip(replies) {
                self.note_connection(&command, &reply);
                each(self.exchange(at, command, Some((reply, answered_at))));
            }
        } else if command.is("DISCARD") || command.is("RESET") {
            self.queued.clear();
        }
        self.note_connection(&command, &reply);
        each(self.exchange(at, command, Some((reply, answered_at))));
    }

    /// A command has run: SELECT and RESET change the connection.
    fn note_connection(&mut self, command: &Command, reply: &Reply) {
        if command.is("SELECT") && *reply == Reply::ok() {
            let index = command.args().first().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
            self.database = index.unwrap_or(self.database);
        } else if command.is("RESET") && *reply == Reply::Status("RESET".to_owned()) {
            (self.database, self.version) = (0, Version::Resp2);
        }
    }

    fn exchange(&self, at: UnixTime, command: Command, reply: Option<(Reply, UnixTime)>) -> CapturedExchange {
        let (reply, answered_at) = reply.unzip();
        let Self { server, client, database, .. } = *self;
        CapturedExchange { server, client, database, at, answered_at, command, reply }
    }

    /// Bytes are lost: from now on nothing says which request a reply belongs to.
    fn lose(&mut self, each: &mut dyn FnMut(CapturedExchange)) {
        self.gaps += 1;
        self.is_paired = false;
        self.forget_waiting(each);
    }

    /// The requests that wait get no reply.
    pub(super) fn forget_waiting(&mut self, each: &mut dyn FnMut(CapturedExchange)) {
        self.queued.clear();
        for (at, command) in std::mem::take(&mut self.waiting) {
            each(self.exchange(at, command, None));
        }
    }
}

fn is_subscription(command: &Command) -> bool {
    const NAMES: [&str; 6] = ["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"];
    NAMES.iter().any(|name| command.is(name))
}
