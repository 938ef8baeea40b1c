//! One client connection and its upstream connection.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::watch;

use super::counters::Counters;
use super::frame::{Malformed, Scanned, Scanner};
use super::guarded_keys::GuardedKeys;
use super::request::{Head, command, head};
use crate::driver::{host, reply_of};
use crate::guard::{Answer, Connection, Note};
use crate::wire::{Command, Fault, Key, Pending, Reply, Transcript};

/// A stream in both directions: TCP or a Unix socket.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

pub(super) type Stream = Box<dyn Duplex>;

/// What all sessions share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) keys: GuardedKeys,
    pub(super) counters: Counters,
}

/// Bytes that are read at once.
const PIECE: usize = 16 * 1024;
/// A client is read no further while so many bytes of it were not looked at: more than the first words of a command, or a
/// guarded command, can have.
const MOST_UNREAD: usize = 512 * 1024;
/// A direction that has so many bytes to deliver reads no more.
const MOST_WAITING: usize = 64 * 1024;
/// A guarded command or a reply to the guard is not longer.
const LONGEST: usize = 64 * 1024;

/// One client connection and its upstream connection.
pub(super) struct Session {
    shared: Arc<Shared>,
    client: (ReadHalf<Stream>, WriteHalf<Stream>),
    server: (ReadHalf<Stream>, WriteHalf<Stream>),
    traffic: Traffic,
}

/// What has arrived and was not delivered, and where in it commands and replies end.
#[derive(Default)]
struct Traffic {
    /// What the client has sent and was not looked at.
    from_client: Vec<u8>,
    /// Commands on their way to the server.
    to_server: Vec<u8>,
    /// Replies on their way to the client.
    to_client: Vec<u8>,
    commands: Scanner,
    replies: Scanner,
    /// How many replies the server owes.
    owed: u64,
    /// Whether replies cannot be counted any more: the connection listens to messages.
    is_raw: bool,
    is_resp3: bool,
    db: Vec<u8>,
    /// What the guard knows of the connection, by database.
    guards: BTreeMap<Vec<u8>, Connection>,
}

/// A guarded command on a guarded key, at the head of what the client has sent.
struct Guarded {
    key: Key,
    command: Command,
    /// Its bytes.
    frame: Vec<u8>,
}

/// Why a session ended before its client closed it.
enum Ended {
    Io,
    Malformed,
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::Io
    }
}

impl From<Malformed> for Ended {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>, client: Stream, server: Stream) -> Self {
        Self { shared, client: split(client), server: split(server), traffic: Traffic::default() }
    }

    /// Serves the client until it or the server closes the connection, or it is asked to drain.
    pub(super) async fn run(mut self, drain: watch::Receiver<bool>) {
        self.shared.counters.connected();
        if let Err(Ended::Malformed) = self.serve(drain).await {
            let _ = self.client.1.write_all(b"-ERR Protocol error: not a valid RESP frame\r\n").await;
        }
        let _ = self.client.1.shutdown().await;
        for _ in self.traffic.guards.values().flat_map(Connection::held) {
            self.shared.counters.holder_disconnected();
        }
    }

    async fn serve(&mut self, mut drain: watch::Receiver<bool>) -> Result<(), Ended> {
        let mut from_client = vec![0; PIECE];
        let mut from_server = vec![0; PIECE];
        let mut is_draining = *drain.borrow();
        loop {
            while self.traffic.to_server.len() < MOST_WAITING {
                match self.traffic.advance(&self.shared.keys)? {
                    Some(guarded) => self.guard(guarded).await?,
                    None => break,
                }
            }
            let traffic = &mut self.traffic;
            if is_draining && traffic.is_at_rest() {
                self.client.1.write_all(&traffic.to_client).await?;
                return Ok(());
            }
            let may_read_client = traffic.from_client.len() < MOST_UNREAD && traffic.to_server.len() < MOST_WAITING;
            tokio::select! {
                read = self.client.0.read(&mut from_client), if may_read_client => {
                    let length = read?;
                    if length == 0 {
                        self.server.1.write_all(&self.traffic.to_server).await?;
                        return Ok(());
                    }
                    self.traffic.from_client.extend_from_slice(&from_client[..length]);
                }
                written = self.server.1.write(&traffic.to_server), if !traffic.to_server.is_empty() => {
                    drop(traffic.to_server.drain(..written?));
                }
                read = self.server.0.read(&mut from_server), if traffic.to_client.len() < MOST_WAITING => {
                    let length = read?;
                    if length == 0 {
                        self.client.1.write_all(&self.traffic.to_client).await?;
                        return Ok(());
                    }
                    self.traffic.reply(&from_server[..length])?;
                }
                written = self.client.1.write(&traffic.to_client), if !traffic.to_client.is_empty() => {
                    drop(traffic.to_client.drain(..written?));
                }
                changed = drain.changed(), if !is_draining => is_draining = changed.is_err() || *drain.borrow(),
            }
        }
    }

    /// Lets the guard answer. No reply is owed by the server now.
    async fn guard(&mut self, guarded: Guarded) -> Result<(), Ended> {
        if guarded.command.args().len() > 1
            && is_deletion(guarded.command.name())
            && !self.traffic.connection().is_in_multi()
        {
            return self.delete_all(&guarded.command).await;
        }
        self.serve_one(guarded).await
    }

    /// A deletion of several keys, of which some are guarded: each by itself.
    async fn delete_all(&mut self, command: &Command) -> Result<(), Ended> {
        let mut deleted = 0;
        for key in command.args() {
            let one = Command::from_words(vec![command.name().to_vec(), key.clone()]).ok_or(Malformed)?;
            let reply = if self.shared.keys.rule(key).is_some() {
                let before = self.traffic.to_client.len();
                let mut frame = Vec::new();
                encode_command(&one, &mut frame);
                self.serve_one(Guarded { key: Key::new(key.clone()), command: one, frame }).await?;
                let answered = self.traffic.to_client.split_off(before);
                reply_of(redis::parse_redis_value(&answered)).map_err(|_| Ended::Malformed)?
            } else {
                self.ask(&one).await?
            };
            match reply {
                Reply::Int(number) => deleted += number,
                refused => {
                    self.traffic.answer(&refused);
                    return Ok(());
                }
            }
        }
        self.traffic.answer(&Reply::Int(deleted));
        Ok(())
    }

    async fn serve_one(&mut self, guarded: Guarded) -> Result<(), Ended> {
        let Guarded { key, command, frame } = guarded;
        let Some(rule) = self.shared.keys.rule(key.as_bytes()).cloned() else { return Ok(()) };
        let Ok(owner) = host::owner(0) else { return Err(Ended::Io) };
        let before = self.traffic.connection().clone();
        let mut redis = Transcript::new();
        loop {
            match before.serve(&rule, &key, &command, &owner, redis.rewind()) {
                Err(Pending::Clock) => redis.record_clock(host::reading()),
                Err(Pending::Send(command)) => {
                    let reply = self.ask(&command).await?;
                    redis.record_reply(reply);
                }
                Err(Pending::Fault(Fault::Refused { text, .. })) => {
                    self.traffic.answer(&Reply::Error(text));
                    return Ok(());
                }
                Err(Pending::Fault(_) | Pending::Round(_)) => return Err(Ended::Malformed),
                Ok((after, answer, notes)) => {
                    *self.traffic.connection() = after;
                    notes.iter().for_each(|note| self.note(&key, note));
                    match answer {
                        Answer::Pass => {
                            self.traffic.to_server.extend_from_slice(&frame);
                            self.traffic.owed += 1;
                        }
                        Answer::Reply(reply) => self.traffic.answer(&reply),
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Sends a command of the guard, and waits for its reply.
    async fn ask(&mut self, command: &Command) -> Result<Reply, Ended> {
        encode_command(command, &mut self.traffic.to_server);
        self.server.1.write_all(&self.traffic.to_server).await?;
        self.traffic.to_server.clear();
        let (mut frame, mut scanner, mut piece) = (Vec::new(), Scanner::default(), vec![0; 4096]);
        loop {
            let length = self.server.0.read(&mut piece).await?;
            if length == 0 {
                return Err(Ended::Io);
            }
            let mut rest = &piece[..length];
            while !rest.is_empty() {
                let Scanned { used, ended } = scanner.scan(rest)?;
                frame.extend_from_slice(&rest[..used]);
                rest = &rest[used..];
                match ended {
                    // A message that the server pushes between replies.
                    Some(b'>') => self.traffic.to_client.append(&mut frame),
                    Some(_) => {
                        self.traffic.reply(rest)?;
                        return reply_of(redis::parse_redis_value(&frame)).map_err(|_| Ended::Malformed);
                    }
                    None if frame.len() > LONGEST => return Err(Ended::Malformed),
                    None => {}
                }
            }
        }
    }

    fn note(&self, key: &Key, note: &Note) {
        self.shared.counters.note(note);
        log::info!(target: "lockshift::guard", "{key}: {note:?}");
    }
}

impl Traffic {
    /// What the guard knows of this connection in its database.
    fn connection(&mut self) -> &mut Connection {
        self.guards.entry(self.db.clone()).or_default()
    }

    /// Whether nothing is under way: the connection can end without loss.
    fn is_at_rest(&mut self) -> bool {
        let is_idle = self.owed == 0 && !self.commands.is_inside() && !self.replies.is_inside();
        is_idle && self.from_client.is_empty() && self.to_server.is_empty() && !self.connection().is_in_multi()
    }

    /// Passes on what the client has sent, up to a guarded command that can be served now.
    fn advance(&mut self, keys: &GuardedKeys) -> Result<Option<Guarded>, Malformed> {
        let mut passed = 0;
        let mut guarded = None;
        while passed < self.from_client.len() {
            let rest = &self.from_client[passed..];
            if self.commands.is_inside() {
                passed += self.commands.scan(rest)?.used;
                continue;
            }
            let (words, count, whole) = match head(rest)? {
                Head::Incomplete => break,
                Head::Inline { words, length } => (words.clone(), words.len(), Some(length)),
                Head::Array { words, count } => (words, count, None),
            };
            if words.is_empty() {
                // An empty line or an empty array: Redis answers nothing.
                passed += whole.map_or_else(|| Ok(Scanner::default().scan(rest)?.used), Ok)?;
                continue;
            }
            let key = match keys.key_of(&words) {
                // Of several keys any may be guarded, and the first stands for all.
                None if count > 2 && is_deletion(words[0]) && !keys.is_empty() => {
                    Scanner::default().scan(rest)?.ended.and_then(|_| keys.any_of(&command(rest)?))
                }
                key => key,
            };
            if let Some(key) = key {
                if self.is_raw {
                    return Err(Malformed);
                }
                let length = match whole {
                    Some(length) => Some(length),
                    None => Scanner::default().scan(rest).map(|scanned| scanned.ended.map(|_| scanned.used))?,
                };
                match length {
                    // A value of that size is not a lock's.
                    None if rest.len() > LONGEST => {}
                    None => break,
                    Some(_) if self.owed > 0 || !self.to_server.is_empty() || passed > 0 => break,
                    Some(length) => {
                        let frame = rest[..length].to_vec();
                        let command = command(&frame).ok_or(Malformed)?;
                        passed += length;
                        guarded = Some(Guarded { key, command, frame });
                        break;
                    }
                }
            }
            let words: Vec<Vec<u8>> = words.into_iter().map(<[u8]>::to_vec).collect();
            self.owed += 1;
            match whole {
                Some(length) => passed += length,
                None => passed += self.commands.scan(&self.from_client[passed..])?.used,
            }
            self.observe(words);
        }
        let waits = guarded.is_none();
        if waits {
            self.to_server.extend_from_slice(&self.from_client[..passed]);
        }
        drop(self.from_client.drain(..passed));
        Ok(guarded)
    }

    /// A command passes that changes the state of the connection, or does not.
    fn observe(&mut self, words: Vec<Vec<u8>>) {
        const UNCOUNTED: [&str; 6] = ["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "SYNC", "PSYNC"];
        let Some(command) = Command::from_words(words) else { return };
        let first = command.args().first().map(Vec::as_slice).unwrap_or_default();
        if UNCOUNTED.iter().any(|name| command.is(name)) || command.is("CLIENT") && first.eq_ignore_ascii_case(b"REPLY")
        {
            self.is_raw = true;
        } else if command.is("SELECT") {
            self.db = first.to_vec();
        } else if command.is("HELLO") {
            self.is_resp3 = if first.is_empty() { self.is_resp3 } else { first == b"3" };
        } else if ["MULTI", "EXEC", "DISCARD", "RESET"].iter().any(|name| command.is(name)) {
            self.connection().observe(&command);
            if command.is("RESET") {
                self.db = Vec::new();
                self.is_resp3 = false;
            }
        }
    }

    /// Passes on what the server has sent, and counts the replies.
    fn reply(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        self.to_client.extend_from_slice(bytes);
        if self.is_raw {
            return Ok(());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let Scanned { used, ended } = self.replies.scan(rest)?;
            rest = &rest[used..];
            if ended.is_some_and(|kind| kind != b'>') {
                self.owed = self.owed.saturating_sub(1);
            }
        }
        Ok(())
    }

    /// The guard's own answer.
    fn answer(&mut self, reply: &Reply) {
        encode_reply(reply, self.is_resp3, &mut self.to_client);
    }
}

fn is_deletion(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"DEL") || name.eq_ignore_ascii_case(b"UNLINK")
}

fn encode_command(command: &Command, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", command.words().len()).as_bytes());
    for word in command.words() {
        encode_bulk(word, out);
    }
}

fn encode_bulk(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn encode_reply(reply: &Reply, is_resp3: bool, out: &mut Vec<u8>) {
    match reply {
        Reply::Nil if is_resp3 => out.extend_from_slice(b"_\r\n"),
        Reply::Nil => out.extend_from_slice(b"$-1\r\n"),
        Reply::Int(number) => out.extend_from_slice(format!(":{number}\r\n").as_bytes()),
        Reply::Status(text) => out.extend_from_slice(format!("+{text}\r\n").as_bytes()),
        Reply::Error(text) => out.extend_from_slice(format!("-{text}\r\n").as_bytes()),
        Reply::Bulk(bytes) => encode_bulk(bytes, out),
        Reply::Array(items) => {
            out.extend_from_slice(format!("*{}\r\n", items.len()).as_bytes());
            items.iter().for_each(|item| encode_reply(item, is_resp3, out));
        }
    }
}
