//! What a world is made of, seen so that its rules can be written once: for whole values, and for small ids with a memory
//! of every step taken before.

use crate::wire::Command;

/// The parts of a world and what can happen to each of them.
///
/// Every method is a function of its arguments alone. That is what lets [`Memo`](super::memo) run the protocols and the
/// server once per distinct question.
pub(super) trait Parts {
    /// The server's side.
    type Node: Clone + PartialEq;
    /// One client's state.
    type Actor: Clone + PartialEq;
    /// A command.
    type Command: Clone;
    /// A reply.
    type Reply: Clone;
    /// Why an answer can be missing.
    type Miss;

    /// What a client is about to do and what it believes.
    fn view(&self, who: usize, actor: &Self::Actor) -> Result<ClientView<Self::Command>, Self::Miss>;
    /// The command for this server, one of those at which none of the client's round has arrived yet.
    fn command_on(&self, who: usize, actor: &Self::Actor, server: u8) -> Result<Self::Command, Self::Miss>;
    /// The client after this input.
    fn input(&self, who: usize, actor: &Self::Actor, input: Input<Self::Reply>) -> Result<Self::Actor, Self::Miss>;
    /// The server's side after it was asked something, and what it answers.
    fn ask(&self, node: &Self::Node, request: Request<Self::Command>) -> Result<(Self::Node, Self::Reply), Self::Miss>;
    /// The server's side after a client that holds has written to the guarded resource.
    fn write(&self, who: usize, actor: &Self::Actor, node: &Self::Node) -> Result<Self::Node, Self::Miss>;
    /// Whether the server says that what a client has, or is releasing, is the client's.
    fn stands(&self, who: usize, actor: &Self::Actor, node: &Self::Node, tick: u16) -> Result<bool, Self::Miss>;
    /// Whether a client's key is not the same on both.
    fn touches(&self, who: usize, before: &Self::Node, after: &Self::Node, tick: u16) -> Result<bool, Self::Miss>;
    /// Whether a newcomer that speaks as this client does would be refused if it tried now.
    fn refuses_newcomer(&self, like: usize, node: &Self::Node, tick: u16) -> Result<bool, Self::Miss>;
    /// How many writes the replica of a server may lack.
    fn lag_of(&self, node: &Self::Node, server: u8) -> Result<u8, Self::Miss>;
    /// How many keys a server has.
    fn keys_of(&self, node: &Self::Node, server: u8) -> Result<u8, Self::Miss>;
    /// The places, among all keys of a server, of those whose last millisecond this tick is.
    fn keys_at_deadline(&self, node: &Self::Node, server: u8, tick: u16) -> Result<Vec<u8>, Self::Miss>;
    /// What follows from a server's side alone.
    fn server_view(&self, node: &Self::Node) -> Result<ServerView, Self::Miss>;
}

/// What happens to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Input<R> {
    /// The time.
    Clock(u16),
    /// What its command was answered; it is on its way.
    Reply(R),
    /// What this server answered, one of several that were asked at once.
    ReplyOn(u8, R),
    /// This server will never answer, one of several that were asked at once.
    SilenceOn(u8),
    /// At this tick: go on, the reply is here, or none is needed.
    Proceed(u16),
    /// At this tick: the reply will never come.
    ReplyLost(u16),
    /// Its write to the guarded resource was made.
    Written,
    /// Another client cleared the flag by which it renews.
    RenewalEnded,
    /// Its wall clock is set so many ticks ahead.
    ClockSet(i8),
    /// It starts anew after a crash.
    Restart,
    /// It is dead.
    Crash,
}

/// What the server's side is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request<C> {
    /// This client's command, at this tick.
    Command(usize, C, u16),
    /// To forget this client's connection.
    Disconnect(usize),
    /// To note that this client has won.
    Won(usize),
    /// To keep this client's command, which its sender has given up, until it arrives.
    Delay(usize, C),
    /// To run the oldest command of this client that was kept, at this tick.
    RunLate(usize, u16),
    /// To restart this server, with the data or without.
    Restart { server: u8, keeps_data: bool },
    /// To remove on this server the key at this place of all, at this tick.
    Remove(u8, u8, u16),
    /// To set this server's clock so many ticks ahead, at this tick.
    SetClock(u8, i8, u16),
    /// To let time pass until this tick.
    Elapse(u16),
    /// To replace a server by its replica.
    FailOver {
        /// Which server.
        server: u8,
        /// How many writes it lacks.
        writes_lost: u8,
        /// Whether this happens for the last time.
        is_last: bool,
    },
}

/// What a client is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Next<C> {
    /// Nothing, ever.
    Nothing,
    /// Read the clock.
    ReadClock,
    /// Send this.
    Send(C),
    /// Have one of these commands arrive, which are on their way to several servers.
    Round(OpenServers),
    /// Receive a reply.
    Receive,
    /// End an operation that needs no reply.
    Conclude,
    /// Write to the guarded resource.
    Write,
}

/// The servers of a round at which no command has arrived yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OpenServers(u32);

/// What a client is about to do and what it believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClientView<C> {
    /// Its next step.
    pub(crate) next: Next<C>,
    /// The first tick at which it can take it.
    pub(crate) at: u16,
    /// The first tick at which it no longer believes to hold; 0: it does not now.
    pub(crate) believes_until: u16,
    /// The first tick at which its lease has ended, counting a win whose reply is on its way; 0: it has none.
    pub(crate) has_until: u16,
    /// How it stands in its program.
    pub(crate) activity: Activity,
    /// Whether it has crashed.
    pub(crate) has_crashed: bool,
    /// Whether it will try, and try again, until it wins.
    pub(crate) wants_for_ever: bool,
    /// What the operation under way has come to, its last reply being on its way.
    pub(crate) claim: Claim,
}

/// How a client stands in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Activity {
    /// Between tries.
    Resting,
    /// In the middle of a try, or cleaning up after one.
    Trying,
    /// Working.
    Holding,
    /// Working, and in the middle of an extension.
    Extending,
    /// In the middle of a release.
    Releasing,
    /// Done or dead.
    Over,
}

impl Activity {
    /// In the middle of an operation.
    pub(super) fn is_busy(self) -> bool {
        matches!(self, Self::Trying | Self::Extending | Self::Releasing)
    }

    /// Has acquired and has not begun to release.
    pub(super) fn holds(self) -> bool {
        matches!(self, Self::Holding | Self::Extending)
    }
}

/// What an operation comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Claim {
    /// It is not over.
    Open,
    /// A win, or an extension granted.
    Ours,
    /// Not won, not extended, left alone.
    NotOurs,
    /// A release that says it freed the lock, by its last command if by any.
    Freed,
    /// A release that says it freed the lock, and an earlier command may have done so.
    FreedBefore,
    /// A release that says the lock was lost before.
    Lost,
}

/// What follows from a server's side alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ServerView {
    /// The clients of which a command was kept that may still arrive: a bit for each place below 32.
    pub(super) delayed: u32,
    /// Whether the guarded resource accepted a stale write.
    pub(super) accepted_stale: bool,
}

impl<R> Input<R> {
    /// The same, about something else.
    pub(super) fn map<S>(self, reply: impl FnOnce(R) -> S) -> Input<S> {
        match self {
            Self::Clock(tick) => Input::Clock(tick),
            Self::Reply(reply_json) => Input::Reply(reply(reply_json)),
            Self::ReplyOn(node, reply_json) => Input::ReplyOn(node, reply(reply_json)),
            Self::SilenceOn(node) => Input::SilenceOn(node),
            Self::Proceed(tick) => Input::Proceed(tick),
            Self::ReplyLost(tick) => Input::ReplyLost(tick),
            Self::Written => Input::Written,
            Self::RenewalEnded => Input::RenewalEnded,
            Self::ClockSet(ticks) => Input::ClockSet(ticks),
            Self::Restart => Input::Restart,
            Self::Crash => Input::Crash,
        }
    }
}

impl<C> Request<C> {
    /// The same, about something else.
    pub(super) fn map<D>(self, command: impl FnOnce(C) -> D) -> Request<D> {
        match self {
            Self::Command(who, sent, tick) => Request::Command(who, command(sent), tick),
            Self::Disconnect(who) => Request::Disconnect(who),
            Self::Won(who) => Request::Won(who),
            Self::Delay(who, sent) => Request::Delay(who, command(sent)),
            Self::RunLate(who, tick) => Request::RunLate(who, tick),
            Self::Restart { server, keeps_data } => Request::Restart { server, keeps_data },
            Self::Remove(server, place, tick) => Request::Remove(server, place, tick),
            Self::SetClock(server, ticks, tick) => Request::SetClock(server, ticks, tick),
            Self::Elapse(tick) => Request::Elapse(tick),
            Self::FailOver { server, writes_lost, is_last } => Request::FailOver { server, writes_lost, is_last },
        }
    }
}

impl<C> Next<C> {
    /// The same, about something else.
    pub(super) fn map<D>(self, command: impl FnOnce(C) -> D) -> Next<D> {
        match self {
            Self::Nothing => Next::Nothing,
            Self::ReadClock => Next::ReadClock,
            Self::Send(sent) => Next::Send(command(sent)),
            Self::Round(open) => Next::Round(open),
            Self::Receive => Next::Receive,
            Self::Conclude => Next::Conclude,
            Self::Write => Next::Write,
        }
    }
}

impl OpenServers {
    /// Those that these commands are for.
    ///
    /// # Panics
    /// If they are more than can be explored.
    pub(super) fn of(commands: &[Command]) -> Self {
        let bit =
            |command: &Command| 1_u32.checked_shl(command.node().0.into()).expect("at most 32 servers are explored");
        Self(commands.iter().map(bit).fold(0, std::ops::BitOr::bitor))
    }

    /// Their places.
    pub(super) fn places(self) -> impl Iterator<Item = u8> {
        (0..32).filter(move |place| self.0 >> place & 1 == 1)
    }
}
