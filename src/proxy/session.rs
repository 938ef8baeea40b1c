//! One client connection and its upstream connection.

use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};

use super::decode;
use super::event::{Occurrence, ProxyEvent};
use super::frame::{Malformed, Scanned, Scanner};
use super::guarded_keys::{is_deletion, is_watch, steers_transaction};
use super::leases::HeldLeases;
use super::observed_writes::ObservedWrites;
use super::renewals::Renewals;
use super::server_refusal::ServerRefusal;
use super::settings::ProxySettings;
use super::shared::ProxyShared;
use super::stream::Stream;
use super::subscriber_question::{QuestionStep, SubscriberAnswer, SubscriberQuestion};
use super::traffic::{GuardedCommand, LONGEST, RanCommand, ReadyCommand, ReplyCounting, Traffic};
use super::unanswered::Unanswered;
use super::unconfirmed::QueuedCommand;
use crate::driver::{host, reply_of};
use crate::guard::{Answer, GuardedConnection, Note, Rule};
use crate::race_id::RaceId;
use crate::wire::{Command, CommandWord, Fault, Key, Pending, Reply, Transcript};

/// A client is read no further while so many bytes of it were not looked at: more than the first words of a command, or a
/// guarded command, can have.
const MOST_UNREAD: usize = 512 * 1024;
/// A direction that has so many bytes to deliver reads no more.
const MOST_WAITING: usize = 64 * 1024;
/// The same to a client that is read no further: it may send all of a pipeline before it reads a reply, and would wait for the
/// guard as the guard waits for it. A server keeps its replies as well.
const MOST_KEPT: usize = 64 * 1024 * 1024;
/// What a client gets for a command on a guarded key whose reply could not be found.
const UNGUARDABLE: &[u8] =
    b"-ERR lockshift guard: no guarded key after MONITOR, CLIENT REPLY, a subscription inside MULTI, or any \
    subscription if PING is not permitted\r\n";
/// What a client gets whose server refuses the guard's certificate.
const REFUSED: &[u8] = b"-ERR lockshift guard: the server refuses the connection\r\n";
/// How long the reason for which the server has ended a connection may take to arrive.
const REASON: Duration = Duration::from_millis(100);
/// How long the server may take to answer what a client has left behind.
const LAST_REPLIES: Duration = Duration::from_secs(5);

/// One client connection and its upstream connection.
pub(super) struct ProxySession {
    shared: Arc<ProxyShared>,
    /// The settings by which it serves its client.
    settings: Arc<ProxySettings>,
    changes: watch::Receiver<Arc<ProxySettings>>,
    /// The client's address.
    client_name: Arc<str>,
    client: Stream,
    server: Stream,
    traffic: Traffic,
    renewals: Renewals,
    leases: HeldLeases,
    observed_writes: ObservedWrites,
    unanswered: Unanswered,
    /// What the client will still send.
    from_client: Incoming,
    is_draining: bool,
    /// Whether it was reported that several clients seem to share the connection, and that its client seems to use others.
    has_reported: (bool, bool),
}

/// What a client will still send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Incoming {
    More,
    /// The client has ended its direction: what has arrived is still served, as a server does.
    Ended,
    /// The client has ended its direction, and that was passed on to the server.
    Passed,
}

/// What has moved.
enum Moved {
    /// Something has arrived that may make a command ready.
    Bytes,
    /// The server has closed the connection.
    ServerEnded,
}

/// A reply of the server that is being read.
struct ReplyReading {
    passes: bool,
    scanner: Scanner,
    /// Its bytes; if it passes, not many more than the longest of a lock.
    frame: Vec<u8>,
    has_ended: bool,
}

impl ReplyReading {
    /// Whether it is longer than a lock's.
    fn is_long(&self) -> bool {
        self.frame.len() > LONGEST
    }

    fn into_reply(self) -> Option<Reply> {
        let is_whole = !(self.passes && self.is_long());
        is_whole.then(|| reply_of(decode::value(&self.frame)).ok()).flatten()
    }
}

/// Why a session ended before its client closed it.
enum SessionEnd {
    Io,
    Malformed,
    /// A command cannot be guarded on this connection.
    Unguardable,
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
        let mut changes = shared.settings.subscribe();
        let settings = Arc::clone(&changes.borrow_and_update());
        Self {
            settings,
            changes,
            shared,
            client_name,
            client,
            server,
            traffic: Traffic::default(),
            renewals: Renewals::default(),
            leases: HeldLeases::default(),
            observed_writes: ObservedWrites::default(),
            unanswered: Unanswered::default(),
            from_client: Incoming::More,
            is_draining: false,
            has_reported: (false, false),
        }
    }

    /// Serves the client until it or the server closes the connection, or it is asked to drain.
    pub(super) async fn run(mut self, drain: watch::Receiver<bool>) {
        self.shared.counters.connected();
        let ended = self.serve(drain).await;
        let refusal = self.server_refusal(&ended).await;
        let error: Option<&[u8]> = match ended {
            Ok(()) | Err(SessionEnd::Io) => {
                refusal.filter(|refusal| matches!(refusal, ServerRefusal::Alert(_))).map(|_| REFUSED)
            }
            Err(SessionEnd::Malformed) => Some(b"-ERR Protocol error: not a valid RESP frame\r\n"),
            Err(SessionEnd::Unguardable) => Some(UNGUARDABLE),
        };
        if let Some(error) = error {
            // What was acquired is answered before the server is left.
            if self.client.deliver(&mut self.traffic.to_client).await.is_ok() {
                let _ = timeout(LAST_REPLIES, self.end_server()).await;
            }
            self.traffic.to_client.extend_from_slice(error);
            let _ = self.client.deliver(&mut self.traffic.to_client).await;
        }
        let _ = self.client.end().await;
        self.shared.counters.disconnected();
        // An answer of which not a byte was written has acquired nothing.
        for (database, key) in self.unanswered.take(self.client.written()) {
            let _ = timeout(LAST_REPLIES, self.withdraw_behind(database, &key)).await;
        }
        let held = self.traffic.connections().flat_map(|(database, connection)| {
            connection.held().map(move |key| (database, key.clone())).collect::<Vec<_>>()
        });
        let held: Vec<_> = held.filter(|(database, key)| holds(&self.leases, &self.renewals, *database, key)).collect();
        for (database, key) in held {
            self.note_in(database, &key, &Note::HolderDisconnected);
        }
    }

    /// Why the server has ended the connection, if it has refused it by that, which is counted and reported.
    async fn server_refusal(&mut self, ended: &Result<(), SessionEnd>) -> Option<ServerRefusal> {
        if matches!(ended, Err(SessionEnd::Io)) && self.server.received() == 0 && self.server.ended().is_none() {
            // It could not be written to, or the client has left: the reason may have arrived before.
            let _ = timeout(REASON, self.server.read_into(&mut Vec::new())).await;
        }
        let refusal = ServerRefusal::of(&self.server).filter(|refusal| {
            // A server ends a connection that the client has ended.
            matches!(refusal, ServerRefusal::Alert(_)) || self.from_client != Incoming::Passed
        })?;
        self.shared.counters.refused_by_server(&refusal);
        if self.shared.may_warn(refusal.name()) {
            log::warn!(target: "lockshift::guard", "{}: {refusal}", self.client_name);
        }
        Some(refusal)
    }

    async fn serve(&mut self, mut drain: watch::Receiver<bool>) -> Result<(), SessionEnd> {
        // The proxy is gone if the sender is.
        let mut draining = pin!(async move { drop(drain.wait_for(|drains| *drains).await) });
        let mut replaced = pin!(next_change(self.changes.clone()));
        loop {
            self.take_settings_over();
            while self.traffic.to_server.len() < MOST_WAITING {
                match self.traffic.advance(&self.settings.keys)? {
                    Some(ReadyCommand::Guarded(guarded)) => {
                        let began = Instant::now();
                        self.guard(guarded).await?;
                        self.take_settings_over();
                        self.shared.answers.observe(began.elapsed().as_secs_f64());
                    }
                    Some(ReadyCommand::AfterSubscription) => self.end_subscription().await?,
                    Some(ReadyCommand::Unguardable) => return Err(SessionEnd::Unguardable),
                    None => break,
                }
            }
            if self.is_draining && self.traffic.is_at_rest() {
                self.client.deliver(&mut self.traffic.to_client).await?;
                return Ok(());
            }
            let renewal = self.next_renewal();
            let leaves_commands = self.from_client == Incoming::Ended && !self.traffic.from_client.is_empty();
            let last_reply = leaves_commands.then(|| Instant::now() + LAST_REPLIES);
            tokio::select! {
                biased;
                moved = poll_fn(|cx| self.poll_move(cx)) => match moved? {
                    Moved::ServerEnded => {
                        self.client.deliver(&mut self.traffic.to_client).await?;
                        return Ok(());
                    }
                    // What other clients have sent by now is read first, so that the server finds more of it at once.
                    Moved::Bytes => yield_now().await,
                },
                () = due(renewal) => self.renew().await?,
                // No reply has come for so long, and none may ever come, as to BLPOP: the server learns that its client has left.
                () = due(last_reply) => if self.traffic.to_client.is_empty() { self.traffic.from_client.clear() },
                () = &mut draining, if !self.is_draining => self.is_draining = true,
                () = &mut replaced => replaced.set(next_change(self.changes.clone())),
            }
        }
    }

    /// Ends the direction to the server, and passes on what it still sends: what has passed was run then.
    async fn end_server(&mut self) -> Result<(), SessionEnd> {
        self.server.deliver(&mut self.traffic.to_server).await?;
        self.server.end().await?;
        while self.server.read_into(&mut self.traffic.to_client).await? > 0 {
            self.client.deliver(&mut self.traffic.to_client).await?;
        }
        Ok(())
    }

    /// Moves bytes in all directions, until something has arrived that may make a command ready.
    fn poll_move(&mut self, cx: &mut Context<'_>) -> Poll<Result<Moved, SessionEnd>> {
        let Self { client, server, traffic, .. } = self;
        loop {
            let was_full = traffic.to_server.len() >= MOST_WAITING;
            let had_to_send = !traffic.to_server.is_empty();
            if let Poll::Ready(delivered) = server.poll_deliver(cx, &mut traffic.to_server) {
                delivered?;
            }
            // A command may have waited until all before it was sent, and the server owes no reply that would tell.
            let has_sent = had_to_send && traffic.to_server.is_empty();
            let may_go_on = has_sent && !traffic.from_client.is_empty() && traffic.owes_none();
            // A guarded command may wait for replies. What is left otherwise is no complete command.
            let waits = !traffic.from_client.is_empty() && (traffic.owed > 0 || traffic.asks_next || may_go_on);
            if self.from_client == Incoming::Ended && traffic.to_server.is_empty() && !waits {
                match server.poll_end(cx) {
                    Poll::Ready(ended) => ended?,
                    Poll::Pending => return Poll::Pending,
                }
                self.from_client = Incoming::Passed;
            }
            let mut is_ready = may_go_on || was_full && traffic.to_server.len() < MOST_WAITING;
            is_ready |= traffic.asks_next && traffic.to_server.is_empty();
            let mut has_replied = false;
            let most_waiting = if traffic.from_client.len() < MOST_UNREAD { MOST_WAITING } else { MOST_KEPT };
            let client_was_full = traffic.to_client.len() >= most_waiting;
            if !client_was_full {
                let before = traffic.to_client.len();
                if let Poll::Ready(length) = server.poll_read_into(cx, &mut traffic.to_client) {
                    if length? == 0 {
                        return Poll::Ready(Ok(Moved::ServerEnded));
                    }
                    traffic.count_replies(before)?;
                    has_replied = true;
                }
            }
            if let Poll::Ready(delivered) = client.poll_deliver(cx, &mut traffic.to_client) {
                delivered?;
            }
            let may_read = traffic.from_client.len() < MOST_UNREAD && traffic.to_server.len() < MOST_WAITING;
            if may_read
                && self.from_client == Incoming::More
                && let Poll::Ready(length) = client.poll_read_into(cx, &mut traffic.from_client)
            {
                if length? == 0 {
                    self.from_client = Incoming::Ended;
                }
                return Poll::Ready(Ok(Moved::Bytes));
            }
            is_ready |= has_replied && (!traffic.from_client.is_empty() || self.from_client == Incoming::Ended);
            // Between commands the connection may end, and a lock of it be extended.
            let is_awaited = self.is_draining || self.settings.renew_for.is_some();
            is_ready |= has_replied && is_awaited && traffic.owed == 0;
            if is_ready {
                return Poll::Ready(Ok(Moved::Bytes));
            }
            // Pending is returned only after each side was asked that may be read or written.
            let reads_again = client_was_full && traffic.to_client.len() < most_waiting;
            if !has_replied && !reads_again {
                return Poll::Pending;
            }
        }
    }

    /// Goes over to settings that were replaced, if nothing of its client depends on the old ones.
    fn take_settings_over(&mut self) {
        if !self.changes.has_changed().unwrap_or(false) {
            return;
        }
        let Self { traffic, leases, renewals, .. } = self;
        for (database, connection) in traffic.connections() {
            for key in connection.forget_ended(|key| holds(leases, renewals, database, key)) {
                leases.forget(database, &key);
            }
        }
        if self.traffic.is_between_locks() {
            self.settings = Arc::clone(&self.changes.borrow_and_update());
            self.renewals = Renewals::default();
        }
    }

    /// Forgets the attempts that did not go on and the locks that are no longer held, but for the latest.
    fn forget(&mut self) {
        let Self { traffic, leases, renewals, .. } = self;
        let database = traffic.database;
        for key in traffic.connection().forget(|key| holds(leases, renewals, database, key)) {
            leases.forget(database, &key);
        }
    }

    /// When a lock of the client is to be extended: between its commands, and not while it watches a lock.
    fn next_renewal(&mut self) -> Option<Instant> {
        let next = self.renewals.next().filter(|_| self.from_client == Incoming::More)?;
        let traffic = &mut self.traffic;
        let is_between = traffic.owed == 0 && traffic.to_server.is_empty() && !traffic.commands.is_inside();
        (is_between && traffic.counting == ReplyCounting::Counted && traffic.is_renewable()).then_some(next)
    }

    /// Extends the lock that is due, in whichever database it is.
    async fn renew(&mut self) -> Result<(), SessionEnd> {
        let Some((database, key, length)) = self.renewals.take_due() else { return Ok(()) };
        let selected = self.traffic.database;
        if database == selected {
            return self.renew_in(database, &key, length).await;
        }
        if let Some(refusal) = self.select(database).await? {
            log::warn!(target: "lockshift::guard", "{}: {key}: cannot extend the lock: {refusal}", self.client_name);
            return Ok(());
        }
        self.renew_in(database, &key, length).await?;
        match self.select(selected).await? {
            None => Ok(()),
            // The client would go on in a database that it has not selected.
            Some(_) => Err(SessionEnd::Io),
        }
    }

    /// Selects a database without the client's knowledge. Returns why the server refused.
    async fn select(&mut self, database: u32) -> Result<Option<String>, SessionEnd> {
        Ok(match self.ask(&Command::new("SELECT").arg_int(database.into())).await? {
            Reply::Error(text) => Some(text),
            _ => None,
        })
    }

    /// Extends a lock in the database that the connection to the server is in.
    async fn renew_in(&mut self, database: u32, key: &Key, length: Duration) -> Result<(), SessionEnd> {
        let Some(rule) = self.settings.keys.rule(key.as_bytes()).cloned() else { return Ok(()) };
        let Ok(owner) = host::owner(0) else { return Err(SessionEnd::Io) };
        let Some(before) = self.traffic.connection_in(database).map(|connection| connection.part(key)) else {
            return Ok(());
        };
        let mut redis = Transcript::new();
        loop {
            match before.renew(&rule, key, length, &owner, redis.rewind()) {
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
                    if let Some(connection) = self.traffic.connection_in(database) {
                        connection.update(key, after);
                    }
                    match note {
                        Some(note) => self.note_in(database, key, &note),
                        None => self.renewals.forget(database, key),
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Asks whether a connection that has subscribed to channels answers commands. In version 2 of the protocol it does so
    /// once it subscribes to none any more, and a pool may hand it on then; in version 3 always. No reply to a command before
    /// the subscription is owed by the server now.
    async fn end_subscription(&mut self) -> Result<(), SessionEnd> {
        let mut answer = self.ask_subscriber(SubscriberQuestion::ping).await?;
        if answer == SubscriberAnswer::Refused {
            // While a script is slow, or before AUTH, the server answers no PING, whether or not there is a subscription.
            answer = self.ask_subscriber(SubscriberQuestion::time).await?;
        }
        self.traffic.counting = match answer {
            SubscriberAnswer::Answers | SubscriberAnswer::Refused => ReplyCounting::Counted,
            SubscriberAnswer::Subscribes => ReplyCounting::Subscribed,
            SubscriberAnswer::NotPermitted => ReplyCounting::Never,
        };
        self.traffic.passes_next = answer == SubscriberAnswer::Subscribes;
        Ok(())
    }

    /// Asks a question over a connection that has subscribed to channels. What else arrives is passed on.
    async fn ask_subscriber(
        &mut self,
        question: fn(String) -> SubscriberQuestion,
    ) -> Result<SubscriberAnswer, SessionEnd> {
        let Ok(owner) = host::owner(0) else { return Err(SessionEnd::Io) };
        let mut question = question(owner.token.hex());
        question.command().pack(&mut self.traffic.to_server);
        let mut arrived = Vec::new();
        loop {
            self.server.deliver(&mut self.traffic.to_server).await?;
            arrived.clear();
            self.read_server(&mut arrived).await?;
            let mut rest = &arrived[..];
            while !rest.is_empty() {
                let Scanned { used, ended } = self.traffic.replies.scan(rest)?;
                let step = question.receive(&rest[..used], ended, &mut self.traffic.to_client);
                rest = &rest[used..];
                match step {
                    QuestionStep::More => {}
                    QuestionStep::Send(command) => command.pack(&mut self.traffic.to_server),
                    QuestionStep::Answered(answer) => {
                        let before = self.traffic.to_client.len();
                        self.traffic.to_client.extend_from_slice(rest);
                        self.traffic.count_replies(before)?;
                        return Ok(answer);
                    }
                }
            }
            self.catch_up().await?;
        }
    }

    /// Reads what the server sends next. Behind a client that has left it has [`LAST_REPLIES`] for that.
    async fn read_server(&mut self, into: &mut Vec<u8>) -> Result<(), SessionEnd> {
        let Self { client, server, traffic, from_client, .. } = self;
        loop {
            let last_reply = (*from_client != Incoming::More).then(|| Instant::now() + LAST_REPLIES);
            let may_read = last_reply.is_none() && traffic.from_client.len() < MOST_UNREAD;
            tokio::select! {
                biased;
                length = server.read_into(into) => return if length? > 0 { Ok(()) } else { Err(SessionEnd::Io) },
                length = client.read_into(&mut traffic.from_client), if may_read => if length? == 0 {
                    *from_client = Incoming::Ended;
                },
                () = due(last_reply) => return Err(SessionEnd::Io),
            }
        }
    }

    /// Waits while the client is too far behind with its replies. It may be sending meanwhile, and is read as far as ever.
    async fn catch_up(&mut self) -> io::Result<()> {
        let Self { client, traffic, from_client, .. } = self;
        poll_fn(|cx| {
            loop {
                if traffic.to_client.len() < MOST_WAITING {
                    return Poll::Ready(Ok(()));
                }
                if let Poll::Ready(delivered) = client.poll_deliver(cx, &mut traffic.to_client) {
                    return Poll::Ready(delivered);
                }
                let is_unread = traffic.from_client.len() >= MOST_UNREAD;
                if traffic.to_client.len() < if is_unread { MOST_KEPT } else { MOST_WAITING } {
                    return Poll::Ready(Ok(()));
                }
                if is_unread || *from_client != Incoming::More {
                    return Poll::Pending;
                }
                if ready!(client.poll_read_into(cx, &mut traffic.from_client))? == 0 {
                    *from_client = Incoming::Ended;
                }
            }
        })
        .await
    }

    /// Lets the guard answer. No reply is owed by the server now.
    async fn guard(&mut self, guarded: GuardedCommand) -> Result<(), SessionEnd> {
        let Some(rule) = self.settings.keys.rule(guarded.key.as_bytes()).cloned() else {
            return self.observe(guarded).await;
        };
        if steers_transaction(guarded.command.name()) {
            self.exchange(&guarded.command, &guarded.frame).await?;
            return Ok(());
        }
        if self.traffic.connection().is_in_multi() {
            return self.queue(&rule, guarded);
        }
        if guarded.command.args().len() > 1 && is_deletion(guarded.command.name()) {
            return self.delete_all(&guarded.command).await;
        }
        self.serve_one(&rule, guarded).await
    }

    /// Serves a command inside MULTI.
    fn queue(&mut self, rule: &Rule, guarded: GuardedCommand) -> Result<(), SessionEnd> {
        let GuardedCommand { key, command, frame } = guarded;
        let Ok(owner) = host::owner(0) else { return Err(SessionEnd::Io) };
        self.recognise_queued_lock(rule, &key);
        let (answer, note) = self.traffic.part_in_transaction(&key).queue(rule, &key, &command, &owner);
        if let Some(note) = note {
            self.note_in(self.traffic.database_in_transaction(), &key, &note);
        }
        self.answer(answer, &frame);
        if is_deletion(command.name()) {
            let keys = command.args().iter().filter(|key| self.settings.keys.rule(key).is_some());
            self.traffic.releases(keys.cloned().map(Key::new).collect());
        }
        Ok(())
    }

    /// After a release of a lock that was lost: the client's own DEL would have deleted what is there now.
    async fn count_late_unlock(&mut self, key: &Key) -> Result<(), SessionEnd> {
        const NO_KEY: Reply = Reply::Int(-2);
        // Of the commands that the guard's scripts need permission for anyway.
        let is_there = self.ask(&Command::new("PTTL").arg(key)).await? != NO_KEY;
        is_there.then(|| self.shared.counters.prevented(RaceId::LateUnlock));
        Ok(())
    }

    /// Sends the command with these bytes to the server, or what takes its place, or answers it.
    fn answer(&mut self, answer: Answer, frame: &[u8]) {
        match answer {
            Answer::Pass => self.traffic.to_server.extend_from_slice(frame),
            Answer::Send(command) => command.pack(&mut self.traffic.to_server),
            Answer::Reply(reply) => return self.traffic.answer(&reply),
        }
        self.traffic.owed += 1;
    }

    /// Passes the rest of a message on that the server has begun to push: an answer of the guard's comes behind it.
    async fn end_message(&mut self) -> Result<(), SessionEnd> {
        while self.traffic.replies.is_inside() {
            let before = self.traffic.to_client.len();
            if self.server.read_into(&mut self.traffic.to_client).await? == 0 {
                return Err(SessionEnd::Io);
            }
            self.traffic.count_replies(before)?;
            self.catch_up().await?;
        }
        Ok(())
    }

    /// A deletion of several keys, of which some are guarded: each by itself.
    async fn delete_all(&mut self, command: &Command) -> Result<(), SessionEnd> {
        let mut deleted = 0;
        for key in command.args() {
            let one = Command::from_words([command.name(), key]).ok_or(Malformed)?;
            let answer = match self.settings.keys.rule(key).cloned() {
                Some(rule) => self.decide(&rule, &Key::new(key.clone()), &one).await?.0,
                None => Answer::Pass,
            };
            let reply = match answer {
                Answer::Pass => self.ask(&one).await?,
                Answer::Send(command) => self.ask(&command).await?,
                Answer::Reply(reply) => reply,
            };
            match reply {
                Reply::Int(number) => deleted += number,
                refused => {
                    self.end_message().await?;
                    self.traffic.answer(&refused);
                    return Ok(());
                }
            }
        }
        self.end_message().await?;
        self.traffic.answer(&Reply::Int(deleted));
        Ok(())
    }

    async fn serve_one(&mut self, rule: &Rule, guarded: GuardedCommand) -> Result<(), SessionEnd> {
        let GuardedCommand { key, command, frame } = guarded;
        let is_first_watch = is_watch(command.name()) && self.traffic.is_renewable();
        let (answer, has_acquired) = self.decide(rule, &key, &command).await?;
        let ended = self.end_message().await;
        if has_acquired {
            let from = self.client.written() + self.traffic.to_client.len() as u64;
            self.unanswered.acquired(self.traffic.database, &key, from, self.client.written());
        }
        ended?;
        self.answer(answer, &frame);
        if is_watch(command.name()) {
            let keys = command.args().iter().filter(|key| self.settings.keys.rule(key).is_some());
            keys.for_each(|key| self.traffic.connection().watches(&Key::new(key.clone())));
        }
        if is_first_watch {
            self.traffic.watches();
        }
        Ok(())
    }

    /// What becomes of a command on this key, and whether it acquires the lock for a client that is still there.
    async fn decide(&mut self, rule: &Rule, key: &Key, command: &Command) -> Result<(Answer, bool), SessionEnd> {
        let Ok(owner) = host::owner(0) else { return Err(SessionEnd::Io) };
        self.recognise_lock(rule, key).await?;
        let received = self.traffic.connection().part(key).receive(rule, key, command);
        let mut redis = Transcript::new();
        let (mut has_left, mut has_withdrawn) = (self.has_client_left().await, false);
        loop {
            match received.serve(&owner, !has_left, redis.rewind()) {
                Err(Pending::Clock) => redis.record_clock(host::reading()),
                Err(Pending::Send(command)) => match self.ask(&command).await {
                    Ok(reply) => redis.record_reply(reply),
                    Err(end) => {
                        if GuardedConnection::may_write_lock(&command) {
                            self.note(key, &Note::OutcomeUnknown);
                        }
                        return Err(end);
                    }
                },
                Err(Pending::Fault(Fault::Refused { text, .. })) => {
                    self.warn_of_refusal(&text, Some(rule));
                    return Ok((Answer::Reply(Reply::Error(text)), false));
                }
                Err(Pending::Fault(_) | Pending::Round(_)) => return Err(SessionEnd::Malformed),
                Ok((after, answer, notes)) => {
                    self.traffic.connection().update(key, after);
                    if !has_withdrawn {
                        notes.iter().for_each(|note| self.note(key, note));
                    }
                    if self.traffic.connection().has_too_many() {
                        self.forget();
                    }
                    let has_acquired = notes.iter().any(|note| matches!(note, Note::Acquired(_) | Note::TookOver(_)));
                    if has_acquired && self.has_client_left().await && self.withdraw(key).await? {
                        // It may still read the answer, if it has ended only its own direction.
                        (redis, has_left, has_withdrawn) = (Transcript::new(), true, true);
                        continue;
                    }
                    if notes.contains(&Note::ReleasedLost) {
                        self.count_late_unlock(key).await?;
                    }
                    return Ok((answer, has_acquired));
                }
            }
        }
    }

    /// A lock that the client has acquired while its key was only observed is the client's, if the key still is as the client
    /// has written it.
    async fn recognise_lock(&mut self, rule: &Rule, key: &Key) -> Result<(), SessionEnd> {
        let database = self.traffic.database;
        let Some(value) = self.observed_writes.acquired_by(database, key, rule) else { return Ok(()) };
        let part = self.traffic.connection().part(key);
        if part.holds_lock() {
            return Ok(());
        }
        match self.ask(&Command::new("GET").arg(key)).await? {
            Reply::Bulk(found) if found != value => self.observed_writes.forget(database, key.as_bytes()),
            Reply::Nil => self.observed_writes.forget(database, key.as_bytes()),
            // If the server refuses to tell, it may be so.
            _ => self.traffic.connection().update(key, part.having_acquired_by(value)),
        }
        Ok(())
    }

    /// The same inside MULTI, where the server cannot be asked.
    fn recognise_queued_lock(&mut self, rule: &Rule, key: &Key) {
        let database = self.traffic.database_in_transaction();
        let Some(value) = self.observed_writes.acquired_by(database, key, rule) else { return };
        let Some(connection) = self.traffic.connection_in(database) else { return };
        let part = connection.part(key);
        if !part.holds_lock() {
            connection.update(key, part.having_acquired_by(value));
        }
    }

    /// Whether the client has ended its direction by now. What it has sent before is kept.
    async fn has_client_left(&mut self) -> bool {
        poll_fn(|cx| {
            while self.from_client == Incoming::More && self.traffic.from_client.len() < MOST_UNREAD {
                match self.client.poll_read_into(cx, &mut self.traffic.from_client) {
                    Poll::Ready(Ok(0) | Err(_)) => self.from_client = Incoming::Ended,
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => break,
                }
            }
            Poll::Ready(())
        })
        .await;
        self.from_client != Incoming::More
    }

    /// Deletes what was written with the client's latest acquisition of this key. Whether the server did.
    async fn withdraw(&mut self, key: &Key) -> Result<bool, SessionEnd> {
        let Some(rule) = self.settings.keys.rule(key.as_bytes()).cloned() else { return Ok(false) };
        let Ok(owner) = host::owner(0) else { return Err(SessionEnd::Io) };
        let before = self.traffic.connection().part(key);
        let mut redis = Transcript::new();
        loop {
            match before.withdraw(&rule, key, &owner, redis.rewind()) {
                Err(Pending::Clock) => redis.record_clock(host::reading()),
                Err(Pending::Send(command)) => {
                    let reply = self.ask(&command).await?;
                    redis.record_reply(reply);
                }
                Err(Pending::Fault(fault)) => {
                    log::warn!(target: "lockshift::guard", "{}: {key}: cannot withdraw the lock: {fault}", self.client_name);
                    return Ok(false);
                }
                Err(Pending::Round(_)) => return Err(SessionEnd::Malformed),
                Ok(after) => {
                    self.traffic.connection().update(key, after);
                    self.note(key, &Note::Withdrawn);
                    return Ok(true);
                }
            }
        }
    }

    /// The same behind the commands that the client has left, where the connection can take a command and is still in this
    /// database.
    async fn withdraw_behind(&mut self, database: u32, key: &Key) -> Result<(), SessionEnd> {
        let traffic = &mut self.traffic;
        if traffic.counting != ReplyCounting::Counted
            || traffic.commands.is_inside()
            || traffic.connection().is_in_multi()
        {
            return Ok(());
        }
        self.server.deliver(&mut self.traffic.to_server).await?;
        while self.traffic.owed > 0 {
            self.traffic.to_client.clear();
            if self.server.read_into(&mut self.traffic.to_client).await? == 0 {
                return Err(SessionEnd::Io);
            }
            self.traffic.count_replies(0)?;
        }
        if self.traffic.database == database {
            self.withdraw(key).await?;
        }
        Ok(())
    }

    /// Passes a command and its reply on unchanged, and reports them. Other observed commands on the key wait, so that the
    /// reports are in the order in which the server ran the commands. They do not wait for the client.
    async fn observe(&mut self, guarded: GuardedCommand) -> Result<(), SessionEnd> {
        let GuardedCommand { key, command, frame } = guarded;
        self.catch_up().await?;
        let shared = Arc::clone(&self.shared);
        // EXEC runs what was queued, whatever database that selects: events of those few come in any order.
        let keys = self.traffic.keys_in_transaction(command.name()).into_iter().chain(observed(
            &command,
            &key,
            &self.settings,
        ));
        let turn = shared.turns.wait(self.traffic.database, keys).await;
        self.traffic.observes(&command);
        self.traffic.to_server.extend_from_slice(&frame);
        let mut reading = self.begin_reply(true).await?;
        while !(reading.has_ended || reading.is_long()) {
            self.read_reply(&mut reading).await?;
        }
        if !reading.has_ended {
            // A reply that is longer than a lock's is not reported, and the server has run the command, or the transaction: the
            // turn does not wait for a client that may be slow to read all of it.
            self.exchanged(&command, None).await?;
            self.report_exchange(&command, None);
            drop(turn);
            return self.end_reply(reading).await.map(drop);
        }
        let reply = reading.into_reply();
        self.exchanged(&command, reply.as_ref()).await?;
        if !is_queued(reply.as_ref()) {
            if command.is("WATCH") && !is_refusal(reply.as_ref()) {
                self.traffic.watched = Some(key);
            } else if command.is("UNWATCH") {
                self.traffic.watched = None;
            }
            if let Some(reply) = &reply {
                if let Reply::Error(text) = reply {
                    self.warn_of_refusal(text, None);
                }
                self.observed_writes.note(self.traffic.database, &command, reply, host::wall());
            }
            self.report_exchange(&command, reply);
        }
        drop(turn);
        Ok(())
    }

    /// Passes a command and its reply on unchanged.
    async fn exchange(&mut self, command: &Command, frame: &[u8]) -> Result<(), SessionEnd> {
        self.traffic.to_server.extend_from_slice(frame);
        let reading = self.begin_reply(true).await?;
        let reply = self.end_reply(reading).await?;
        self.exchanged(command, reply.as_ref()).await
    }

    /// A command and its reply have passed: `None` if that is longer than a lock's.
    async fn exchanged(&mut self, command: &Command, reply: Option<&Reply>) -> Result<(), SessionEnd> {
        self.traffic.owed += 1;
        if is_queued(reply) {
            self.traffic.replied(false, &[]);
            return Ok(());
        }
        let replies = replies_of(command, reply);
        let failed: Vec<u64> = (0..).zip(replies).filter(|(_, it)| is_error(it)).map(|(place, _)| place).collect();
        self.traffic.note_state(command.name(), command.args().first().map_or(&[], CommandWord::as_slice));
        self.traffic.replied(is_refusal(reply), &failed);
        for RanCommand { command, database, place } in std::mem::take(&mut self.traffic.ran) {
            let reply = usize::try_from(place).ok().and_then(|place| replies.get(place));
            match command {
                QueuedCommand::Observed(command) => {
                    if let Some(reply) = reply {
                        self.observed_writes.note(database, &command, reply, host::wall());
                    }
                    self.report_in(database, Occurrence::Exchange(command, reply.cloned()));
                }
                QueuedCommand::Releases(keys) => {
                    self.released(database, &keys, reply == Some(&Reply::Int(0))).await?;
                }
            }
        }
        Ok(())
    }

    /// A transaction has released these locks, or found that they were lost.
    async fn released(&mut self, database: u32, keys: &[Key], were_lost: bool) -> Result<(), SessionEnd> {
        let note = if were_lost { Note::ReleasedLost } else { Note::Released };
        for key in keys {
            if self.traffic.connections().any(|(of, connection)| of == database && connection.released(key)) {
                self.note_in(database, key, &note);
                if were_lost && database == self.traffic.database {
                    self.count_late_unlock(key).await?;
                }
            }
        }
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
        for key in keys.iter().filter(|key| self.settings.keys.treatment(key).is_some()) {
            let one = Command::from_words([command.name(), key]).expect("it has a name");
            self.report(Occurrence::Exchange(one, each.clone()));
        }
    }

    fn report(&self, what: Occurrence) {
        self.report_in(self.traffic.database, what);
    }

    fn report_in(&self, database: u32, what: Occurrence) {
        if let Some(sink) = &self.shared.sink {
            sink(ProxyEvent { client: Arc::clone(&self.client_name), database, what });
        }
    }

    /// Sends a command of the guard, and waits for its reply.
    async fn ask(&mut self, command: &Command) -> Result<Reply, SessionEnd> {
        command.pack(&mut self.traffic.to_server);
        let reading = self.begin_reply(false).await?;
        self.end_reply(reading).await?.ok_or(SessionEnd::Malformed)
    }

    /// Sends what waits for the server, whose next reply is then read. It goes to the client if it `passes`.
    async fn begin_reply(&mut self, passes: bool) -> Result<ReplyReading, SessionEnd> {
        self.server.deliver(&mut self.traffic.to_server).await?;
        // A message of the server may have arrived in part.
        let scanner = std::mem::take(&mut self.traffic.replies);
        Ok(ReplyReading { passes, scanner, frame: Vec::new(), has_ended: false })
    }

    /// Reads more of a reply as soon as it arrives, without waiting for the client. Messages that the server pushes before it
    /// go to the client.
    async fn read_reply(&mut self, reading: &mut ReplyReading) -> Result<(), SessionEnd> {
        let mut arrived = Vec::new();
        if self.server.read_into(&mut arrived).await? == 0 {
            return Err(SessionEnd::Io);
        }
        let mut rest = &arrived[..];
        while !rest.is_empty() {
            let Scanned { used, ended } = reading.scanner.scan(rest)?;
            let is_message = reading.scanner.kind() == b'>';
            if reading.passes || is_message {
                self.traffic.to_client.extend_from_slice(&rest[..used]);
            }
            let is_needed = !reading.passes || !reading.is_long();
            if is_needed && !is_message {
                reading.frame.extend_from_slice(&rest[..used]);
            }
            rest = &rest[used..];
            if ended.is_some() && !is_message {
                let before = self.traffic.to_client.len();
                self.traffic.to_client.extend_from_slice(rest);
                self.traffic.count_replies(before)?;
                reading.has_ended = true;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads a reply to its end: `None` if it passes and is longer than a lock's.
    async fn end_reply(&mut self, mut reading: ReplyReading) -> Result<Option<Reply>, SessionEnd> {
        while !reading.has_ended {
            self.read_reply(&mut reading).await?;
            self.catch_up().await?;
        }
        Ok(reading.into_reply())
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
                 connections, acquired before the key was guarded, or releases what it did not acquire; a lock of the guard \
                 ends with its lease, any other with its own time to live, or only when its key is deleted"
            ),
            _ => {}
        }
    }

    /// Reports, once for each text (which names the user on some servers), that the user may not run the guard's commands by
    /// this rule; and once, that the server is a node of a cluster.
    fn warn_of_refusal(&self, text: &str, rule: Option<&Rule>) {
        match (text.split(' ').next(), rule) {
            (Some("NOPERM"), Some(rule)) if self.shared.may_warn_once(text) => {
                let by = if rule.is_bridged() { "bridge-guard" } else { "guard" };
                let protocol = rule.dialects()[0].name;
                log::warn!(
                    target: "lockshift::guard",
                    "{}: the server refuses the guard's commands: {text}: see `lockshift protocols --acl {by}:{protocol}`",
                    self.client_name
                );
            }
            (Some(code @ ("MOVED" | "ASK" | "CLUSTERDOWN")), _) if self.shared.may_warn_once("cluster") => log::warn!(
                target: "lockshift::guard",
                "the server is a node of a cluster ({code}), before which a guard cannot stand: locks of other nodes are refused"
            ),
            _ => {}
        }
    }

    fn note(&mut self, key: &Key, note: &Note) {
        self.note_in(self.traffic.database, key, note);
    }

    fn note_in(&mut self, database: u32, key: &Key, note: &Note) {
        if let Some(most) = self.settings.renew_for {
            self.renewals.note(database, key, note, most);
        }
        self.shared.counters.note(note);
        let overrun = self.leases.note(database, key, note);
        overrun.into_iter().for_each(|overrun| self.shared.counters.overran(overrun));
        self.warn_once(key, note);
        log::info!(target: "lockshift::guard", "{}: {key}: {note:?}", self.client_name);
        self.report_in(database, Occurrence::Note(key.clone(), note.clone()));
    }
}

/// The keys of an observed command: of a deletion or MSETNX, all that are guarded.
fn observed(command: &Command, key: &Key, settings: &ProxySettings) -> Vec<Key> {
    let step = match command.name() {
        name if is_deletion(name) || is_watch(name) => 1,
        _ if command.is("MSETNX") => 2,
        _ => return vec![key.clone()],
    };
    let keys = command.args().iter().step_by(step).filter(|key| settings.keys.treatment(key).is_some());
    keys.map(|key| Key::new(key.clone())).collect()
}

/// When the settings are replaced again.
async fn next_change(mut changes: watch::Receiver<Arc<ProxySettings>>) {
    // Those before are known, whether or not they were taken over.
    drop(changes.borrow_and_update());
    drop(changes.changed().await);
}

/// At this moment, if there is one.
async fn due(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}

/// Whether a client still has a lock of this key that it has acquired: its lease has not ended, or the guard extends it.
fn holds(leases: &HeldLeases, renewals: &Renewals, database: u32, key: &Key) -> bool {
    leases.is_running(database, key) || renewals.has(database, key)
}

fn is_queued(reply: Option<&Reply>) -> bool {
    matches!(reply, Some(Reply::Status(text)) if text == "QUEUED")
}

fn is_refusal(reply: Option<&Reply>) -> bool {
    matches!(reply, Some(Reply::Error(_) | Reply::Nil))
}

/// The replies of a transaction's commands, if this command has run one.
fn replies_of<'a>(command: &Command, reply: Option<&'a Reply>) -> &'a [Reply] {
    match reply {
        Some(Reply::Array(replies)) if command.is("EXEC") => replies,
        _ => &[],
    }
}

fn is_error(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(_))
}
