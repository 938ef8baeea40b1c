//! One client connection and its upstream connection.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::counters::ProxyCounters;
use super::encode::encode_command;
use super::event::{EventSink, Occurrence, ProxyEvent};
use super::frame::{Malformed, Scanned, Scanner};
use super::guarded_keys::GuardedKeys;
use super::renewals::Renewals;
use super::traffic::{GuardedCommand, LONGEST, Traffic, is_deletion};
use super::turns::Turns;
use crate::driver::{host, reply_of};
use crate::guard::{Answer, GuardedConnection, Note};
use crate::wire::{Command, Fault, Key, Pending, Reply, Transcript};

/// A stream in both directions: TCP or a Unix socket.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

pub(super) type Stream = Box<dyn Duplex>;

/// What all sessions share.
pub(super) struct ProxyShared {
    pub(super) keys: GuardedKeys,
    pub(super) counters: ProxyCounters,
    pub(super) turns: Turns,
    /// How long answers to guarded commands take, in seconds.
    pub(super) answers: Histogram,
    /// How long the locks of a living connection are extended; `None` if they are not.
    pub(super) renew_for: Option<Duration>,
    /// Where events are reported.
    pub(super) sink: Option<EventSink>,
}

/// Bytes that are read at once.
const PIECE: usize = 16 * 1024;
/// A client is read no further while so many bytes of it were not looked at: more than the first words of a command, or a
/// guarded command, can have.
const MOST_UNREAD: usize = 512 * 1024;
/// A direction that has so many bytes to deliver reads no more.
const MOST_WAITING: usize = 64 * 1024;

/// One client connection and its upstream connection.
pub(super) struct ProxySession {
    shared: Arc<ProxyShared>,
    /// The client's address.
    client_name: Arc<str>,
    client: (ReadHalf<Stream>, WriteHalf<Stream>),
    server: (ReadHalf<Stream>, WriteHalf<Stream>),
    traffic: Traffic,
    renewals: Renewals,
    /// Whether it was reported that several clients seem to share the connection, and that its client seems to use others.
    has_reported: (bool, bool),
}

/// Why a session ended before its client closed it.
enum SessionEnd {
    Io,
    Malformed,
}

impl From<io::Error> for SessionEnd {
    fn from(_: io::Error) -> Self {
        Self::Io
    }
}

impl From<Malformed> for SessionEnd {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl ProxySession {
    pub(super) fn new(shared: Arc<ProxyShared>, client_name: Arc<str>, client: Stream, server: Stream) -> Self {
        Self {
            shared,
            client_name,
            client: split(client),
            server: split(server),
            traffic: Traffic::default(),
            renewals: Renewals::default(),
            has_reported: (false, false),
        }
    }

    /// Serves the client until it or the server closes the connection, or it is asked to drain.
    pub(super) async fn run(mut self, drain: watch::Receiver<bool>) {
        self.shared.counters.connected();
        if let Err(SessionEnd::Malformed) = self.serve(drain).await {
            let _ = self.client.1.write_all(b"-ERR Protocol error: not a valid RESP frame\r\n").await;
        }
        let _ = self.client.1.shutdown().await;
        let held: Vec<Key> = self.traffic.guards.values().flat_map(GuardedConnection::held).cloned().collect();
        for key in held {
            self.note(&key, &Note::HolderDisconnected);
        }
    }

    async fn serve(&mut self, mut drain: watch::Receiver<bool>) -> Result<(), SessionEnd> {
        let mut from_client = vec![0; PIECE];
        let mut from_server = vec![0; PIECE];
        let mut is_draining = *drain.borrow();
        loop {
            while self.traffic.to_server.len() < MOST_WAITING {
                match self.traffic.advance(&self.shared.keys)? {
                    Some(guarded) => {
                        let began = Instant::now();
                        self.guard(guarded).await?;
                        self.shared.answers.observe(began.elapsed().as_secs_f64());
                    }
                    None => break,
                }
            }
            let traffic = &mut self.traffic;
            if is_draining && traffic.is_at_rest() {
                self.client.1.write_all(&traffic.to_client).await?;
                return Ok(());
            }
            let renewal = self.next_renewal();
            let traffic = &mut self.traffic;
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
                () = sleep_until(renewal.unwrap_or_else(Instant::now)), if renewal.is_some() => self.renew().await?,
                changed = drain.changed(), if !is_draining => is_draining = changed.is_err() || *drain.borrow(),
            }
        }
    }

    /// When a lock of the client is to be extended: between its commands, and not while it watches a lock.
    fn next_renewal(&mut self) -> Option<Instant> {
        let next = self.renewals.next(&self.traffic.db)?;
        let traffic = &mut self.traffic;
        let is_between = traffic.owed == 0 && traffic.to_server.is_empty() && !traffic.commands.is_inside();
        (is_between && !traffic.is_raw && traffic.connection().is_renewable()).then_some(next)
    }

    /// Extends the lock that is due.
    async fn renew(&mut self) -> Result<(), SessionEnd> {
        let Some((key, length)) = self.renewals.take_due(&self.traffic.db) else { return Ok(()) };
        let Some(rule) = self.shared.keys.rule(key.as_bytes()).cloned() else { return Ok(()) };
        let Ok(owner) = host::owner(0) else { return Err(SessionEnd::Io) };
        let before = self.traffic.connection().clone();
        let mut redis = Transcript::new();
        loop {
            match before.renew(&rule, &key, length, &owner, redis.rewind()) {
                Err(Pending::Clock) => redis.record_clock(host::reading()),
                Err(Pending::Send(command)) => {
                    let reply = self.ask(&command).await?;
                    redis.record_reply(reply);
                }
                Err(Pending::Fault(fault)) => {
                    log::warn!(target: "lockshift::guard", "{}: {key}: cannot extend the lock: {fault}", self.client_name);
                    return Ok(());
                }
                Err(Pending::Round(_)) => return Err(SessionEnd::Malformed),
                Ok((after, note)) => {
                    *self.traffic.connection() = after;
                    match note {
                        Some(note) => self.note(&key, &note),
                        None => self.renewals.forget(&self.traffic.db, &key),
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Lets the guard answer. No reply is owed by the server now.
    async fn guard(&mut self, guarded: GuardedCommand) -> Result<(), SessionEnd> {
        if self.shared.keys.rule(guarded.key.as_bytes()).is_none() {
            return self.observe(guarded).await;
        }
        if guarded.command.args().len() > 1
            && is_deletion(guarded.command.name())
            && !self.traffic.connection().is_in_multi()
        {
            return self.delete_all(&guarded.command).await;
        }
        self.serve_one(guarded).await
    }

    /// A deletion of several keys, of which some are guarded: each by itself.
    async fn delete_all(&mut self, command: &Command) -> Result<(), SessionEnd> {
        let mut deleted = 0;
        for key in command.args() {
            let one = Command::from_words(vec![command.name().to_vec(), key.clone()]).ok_or(Malformed)?;
            let reply = if self.shared.keys.rule(key).is_some() {
                let before = self.traffic.to_client.len();
                let mut frame = Vec::new();
                encode_command(&one, &mut frame);
                self.serve_one(GuardedCommand { key: Key::new(key.clone()), command: one, frame }).await?;
                let answered = self.traffic.to_client.split_off(before);
                reply_of(redis::parse_redis_value(&answered)).map_err(|_| SessionEnd::Malformed)?
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

    async fn serve_one(&mut self, guarded: GuardedCommand) -> Result<(), SessionEnd> {
        let GuardedCommand { key, command, frame } = guarded;
        let Some(rule) = self.shared.keys.rule(key.as_bytes()).cloned() else { return Ok(()) };
        let Ok(owner) = host::owner(0) else { return Err(SessionEnd::Io) };
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
                Err(Pending::Fault(_) | Pending::Round(_)) => return Err(SessionEnd::Malformed),
                Ok((after, answer, notes)) => {
                    *self.traffic.connection() = after;
                    notes.iter().for_each(|note| self.note(&key, note));
                    match answer {
                        Answer::Pass => {
                            self.traffic.to_server.extend_from_slice(&frame);
                            self.traffic.owed += 1;
                        }
                        Answer::Send(command) => {
                            encode_command(&command, &mut self.traffic.to_server);
                            self.traffic.owed += 1;
                        }
                        Answer::Reply(reply) => self.traffic.answer(&reply),
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Passes a command and its reply on unchanged, and reports them. Other observed commands on the key wait, so that the
    /// reports are in the order in which the server ran the commands.
    async fn observe(&mut self, guarded: GuardedCommand) -> Result<(), SessionEnd> {
        let GuardedCommand { key, command, frame } = guarded;
        let shared = Arc::clone(&self.shared);
        let turn = shared.turns.wait(self.traffic.database(), &key).await;
        self.traffic.to_server.extend_from_slice(&frame);
        self.server.1.write_all(&self.traffic.to_server).await?;
        self.traffic.to_server.clear();
        let reply = self.pass_reply().await?;
        let is_queued = reply.as_ref().is_some_and(|reply| *reply == Reply::Status("QUEUED".to_owned()));
        if is_queued {
            self.traffic.queued.push(Some(command));
        } else {
            let queued = std::mem::take(&mut self.traffic.queued);
            self.traffic.note_state(command.words().to_vec());
            if command.is("EXEC") {
                let replies = match &reply {
                    Some(Reply::Array(replies)) => replies.clone(),
                    _ => Vec::new(),
                };
                queued.into_iter().zip(replies).for_each(|(command, reply)| {
                    command
                        .into_iter()
                        .for_each(|command| self.report(Occurrence::Exchange(command, Some(reply.clone()))));
                });
            } else if command.is("WATCH") {
                self.traffic.watched = Some(key);
            } else if command.is("UNWATCH") {
                self.traffic.watched = None;
            }
            self.report_exchange(&command, reply);
        }
        drop(turn);
        Ok(())
    }

    /// Reports a command; a deletion of several keys as one of each, whose replies are known if they are all the same.
    fn report_exchange(&self, command: &Command, reply: Option<Reply>) {
        let keys = command.args();
        if keys.len() < 2 || !is_deletion(command.name()) {
            return self.report(Occurrence::Exchange(command.clone(), reply));
        }
        let all = i64::try_from(keys.len()).unwrap_or(i64::MAX);
        let each = match reply {
            Some(Reply::Int(0)) => Some(Reply::Int(0)),
            Some(Reply::Int(deleted)) if deleted == all => Some(Reply::Int(1)),
            _ => None,
        };
        for key in keys.iter().filter(|key| self.shared.keys.treatment(key).is_some()) {
            let one = Command::from_words(vec![command.name().to_vec(), key.clone()]).expect("it has a name");
            self.report(Occurrence::Exchange(one, each.clone()));
        }
    }

    fn report(&self, what: Occurrence) {
        if let Some(sink) = &self.shared.sink {
            sink(ProxyEvent { client: Arc::clone(&self.client_name), database: self.traffic.database(), what });
        }
    }

    /// Passes a reply on as it arrives. Returns it if it is not longer than a lock's.
    async fn pass_reply(&mut self) -> Result<Option<Reply>, SessionEnd> {
        let (mut frame, mut scanner, mut piece) = (Vec::new(), Scanner::default(), vec![0; PIECE]);
        loop {
            let length = self.server.0.read(&mut piece).await?;
            if length == 0 {
                return Err(SessionEnd::Io);
            }
            let mut rest = &piece[..length];
            while !rest.is_empty() {
                let Scanned { used, ended } = scanner.scan(rest)?;
                self.traffic.to_client.extend_from_slice(&rest[..used]);
                if frame.len() <= LONGEST {
                    frame.extend_from_slice(&rest[..used]);
                }
                rest = &rest[used..];
                match ended {
                    Some(b'>') => frame.clear(),
                    Some(_) => {
                        self.traffic.reply(rest)?;
                        let is_short = frame.len() <= LONGEST;
                        return Ok(is_short.then(|| reply_of(redis::parse_redis_value(&frame)).ok()).flatten());
                    }
                    None => {}
                }
            }
            if self.traffic.to_client.len() >= MOST_WAITING {
                self.client.1.write_all(&self.traffic.to_client).await?;
                self.traffic.to_client.clear();
            }
        }
    }

    /// Sends a command of the guard, and waits for its reply.
    async fn ask(&mut self, command: &Command) -> Result<Reply, SessionEnd> {
        encode_command(command, &mut self.traffic.to_server);
        self.server.1.write_all(&self.traffic.to_server).await?;
        self.traffic.to_server.clear();
        let (mut frame, mut scanner, mut piece) = (Vec::new(), Scanner::default(), vec![0; 4096]);
        loop {
            let length = self.server.0.read(&mut piece).await?;
            if length == 0 {
                return Err(SessionEnd::Io);
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
                        return reply_of(redis::parse_redis_value(&frame)).map_err(|_| SessionEnd::Malformed);
                    }
                    None if frame.len() > LONGEST => return Err(SessionEnd::Malformed),
                    None => {}
                }
            }
        }
    }

    /// Reports, once for each connection, that it seems not to belong to one client alone.
    fn warn_once(&mut self, key: &Key, note: &Note) {
        let client = &self.client_name;
        match note {
            Note::AttemptWhileHolding if !std::mem::replace(&mut self.has_reported.0, true) => log::warn!(
                target: "lockshift::guard",
                "{client}: an attempt on {key}, which this connection holds: several clients share the connection, or the \
                 holder did not release; a DEL is tried on the oldest lock first"
            ),
            Note::DelIgnored if !std::mem::replace(&mut self.has_reported.1, true) => log::warn!(
                target: "lockshift::guard",
                "{client}: a DEL of {key}, which this connection does not hold, was ignored: the client uses several \
                 connections, or releases what it did not acquire; such a lock ends with its lease"
            ),
            _ => {}
        }
    }

    fn note(&mut self, key: &Key, note: &Note) {
        if let Some(most) = self.shared.renew_for {
            self.renewals.note(&self.traffic.db, key, note, most);
        }
        self.shared.counters.note(note);
        self.warn_once(key, note);
        log::info!(target: "lockshift::guard", "{}: {key}: {note:?}", self.client_name);
        self.report(Occurrence::Note(key.clone(), note.clone()));
    }
}
