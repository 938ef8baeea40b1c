//! A connection that breaks where the test wants it: a proxy between client and server that counts the client's messages,
//! and cuts the connection at one of them or within its reply, delays either, splits the reply, or does something else
//! first.
//!
//! A message is what the client writes at once. On a loopback connection that is a whole command.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Client, ConnectionInfo, IntoConnectionInfo};

use crate::patience::{now, pause};
use crate::server::Server;

/// Where a message is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing of it arrives.
    Before,
    /// Half of it arrives: the server throws it away.
    Within,
    /// It arrives and is answered; nothing of the reply comes back.
    After,
    /// Half of the reply comes back.
    WithinReply,
}

impl Cut {
    pub(crate) const ALL: [Self; 4] = [Self::Before, Self::Within, Self::After, Self::WithinReply];
}

/// What happens at a message.
pub(crate) enum MessageFault {
    /// The connection is cut.
    Cut(Cut),
    /// The connection is cut within the reply, after this many bytes of it; counted on from its start if it is shorter.
    CutReply(usize),
    /// The message arrives this much later.
    Late(Duration),
    /// Its reply arrives this much later.
    LateReply(Duration),
    /// Its reply arrives byte by byte.
    Trickle,
    /// Neither it nor anything after it arrives, and the connection stays open.
    Hang,
    /// This is done before it passes.
    First(Box<dyn FnOnce() + Send>),
}

/// The proxy. It goes on listening until it is dropped, so that a client can connect again after a cut.
pub(crate) struct Proxy {
    address: SocketAddr,
    plan: Arc<Mutex<Plan>>,
}

/// What is still to happen.
#[derive(Default)]
struct Plan {
    strike: Option<(usize, MessageFault)>,
    struck: Option<Instant>,
    messages: Vec<Vec<u8>>,
    held_back: bool,
    accepted: usize,
    /// So many connections, the first ones, carry nothing any more.
    silenced: usize,
    closed: bool,
    /// Where connections lead from now on, if not to the first server.
    leads_to: Option<SocketAddr>,
}

impl Proxy {
    /// A proxy before `server`, which passes on everything.
    pub(crate) fn before(server: &Server) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let plan = Arc::new(Mutex::new(Plan::default()));
        let (server, accepted) = (server.address(), Arc::clone(&plan));
        thread::spawn(move || {
            for client in listener.incoming() {
                let leads_to = {
                    let plan = lock(&accepted);
                    if plan.closed {
                        return;
                    }
                    plan.leads_to.unwrap_or(server)
                };
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(leads_to)) else { continue };
                let number = {
                    let mut plan = lock(&accepted);
                    plan.accepted += 1;
                    plan.accepted
                };
                join(number, &client, &server, &accepted);
            }
        });
        Self { address, plan }
    }

    /// How to reach it: `redis://127.0.0.1:6379/`.
    pub(crate) fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// What has come from clients since the last call of `forget`.
    pub(crate) fn messages(&self) -> Vec<Vec<u8>> {
        lock(&self.plan).messages.clone()
    }

    /// Forgets what has come from clients.
    pub(crate) fn forget(&self) {
        lock(&self.plan).messages.clear();
    }

    /// A client of the `redis` crate that sends nothing of its own when it connects.
    pub(crate) fn client(&self) -> Client {
        let info: ConnectionInfo = self.url().as_str().into_connection_info().expect("the url is well formed");
        let silent = info.redis_settings().clone().set_skip_set_lib_name();
        Client::open(info.set_redis_settings(silent)).expect("the url is well formed")
    }

    /// Cuts the connection at the next message but `skip`.
    pub(crate) fn cut(&self, skip: usize, cut: Cut) {
        self.strike(skip, MessageFault::Cut(cut));
    }

    /// Strikes at the next message but `skip`.
    pub(crate) fn strike(&self, skip: usize, strike: MessageFault) {
        lock(&self.plan).strike = Some((skip, strike));
    }

    /// When it has struck, for the first time.
    pub(crate) fn struck(&self) -> Option<Instant> {
        lock(&self.plan).struck
    }

    /// Holds back everything from now on, both ways, and closes nothing: what a peer does that has vanished.
    pub(crate) fn hold_back(&self) {
        lock(&self.plan).held_back = true;
    }

    /// Lets everything through again, also what was held back.
    pub(crate) fn let_through(&self) {
        lock(&self.plan).held_back = false;
    }

    /// Leads new connections to this server; those that are open stay where they are. So does a name that a failover moves.
    pub(crate) fn lead_to(&self, server: &Server) {
        lock(&self.plan).leads_to = Some(server.address());
    }

    /// Throws away everything that comes on the present connections from now on, both ways, and closes nothing: what a path
    /// does that was cut while another one leads around the cut.
    pub(crate) fn silence(&self) {
        let mut plan = lock(&self.plan);
        plan.silenced = plan.accepted;
    }

    /// Strikes no more; whether what was planned is still to come.
    pub(crate) fn spare(&self) -> bool {
        lock(&self.plan).strike.take().is_some()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        lock(&self.plan).closed = true;
        // The listener sleeps until a client connects.
        drop(TcpStream::connect(self.address));
    }
}

impl Plan {
    /// What happens at the message that has just come.
    fn next(&mut self, message: &[u8]) -> Option<MessageFault> {
        self.messages.push(message.to_vec());
        match self.strike.take()? {
            (0, strike) => {
                self.struck.get_or_insert_with(now);
                Some(strike)
            }
            (skip, strike) => {
                self.strike = Some((skip - 1, strike));
                None
            }
        }
    }
}

/// Carries messages there and replies back until either side ends or a cut is due.
fn join(number: usize, client: &TcpStream, server: &TcpStream, plan: &Arc<Mutex<Plan>>) {
    let clone = |stream: &TcpStream| stream.try_clone().expect("a socket has another handle");
    for stream in [client, server] {
        stream.set_nodelay(true).expect("a socket may be quick");
    }
    let at_reply = Arc::new(Mutex::new(Passage::All));
    let there = (clone(client), clone(server), Arc::clone(plan), Arc::clone(&at_reply));
    thread::spawn(move || {
        let (mut client, mut server, plan, at_reply) = there;
        carry(number, &mut client, &mut server, &plan, |message| {
            // Out of the plan's lock first: what is done at a message may take its time.
            let strike = lock(&plan).next(message);
            let (message, reply) = strike.map_or((Passage::All, Passage::All), passages);
            *lock(&at_reply) = reply;
            message
        });
    });
    let mut back = (clone(client), clone(server), Arc::clone(plan));
    thread::spawn(move || {
        carry(number, &mut back.1, &mut back.0, &back.2, |_| std::mem::replace(&mut *lock(&at_reply), Passage::All));
    });
}

/// How a message passes.
enum Passage {
    All,
    /// Half of it, and the connection is cut.
    Half,
    /// Nothing of it, and the connection is cut.
    None,
    /// So many bytes of it, counted on from its start if it is shorter, and the connection is cut.
    Part(usize),
    Late(Duration),
    ByteByByte,
    /// Nothing of it, nor of any after it.
    Never,
}

/// How the message at which this happens passes, and its reply.
fn passages(strike: MessageFault) -> (Passage, Passage) {
    match strike {
        MessageFault::Cut(Cut::Before) => (Passage::None, Passage::All),
        MessageFault::Cut(Cut::Within) => (Passage::Half, Passage::All),
        MessageFault::Cut(Cut::After) => (Passage::All, Passage::None),
        MessageFault::Cut(Cut::WithinReply) => (Passage::All, Passage::Half),
        MessageFault::CutReply(bytes) => (Passage::All, Passage::Part(bytes)),
        MessageFault::Late(delay) => (Passage::Late(delay), Passage::All),
        MessageFault::LateReply(delay) => (Passage::All, Passage::Late(delay)),
        MessageFault::Trickle => (Passage::All, Passage::ByteByByte),
        MessageFault::Hang => (Passage::Never, Passage::All),
        MessageFault::First(act) => {
            act();
            (Passage::All, Passage::All)
        }
    }
}

fn carry(
    number: usize,
    from: &mut TcpStream,
    to: &mut TcpStream,
    plan: &Mutex<Plan>,
    passage: impl Fn(&[u8]) -> Passage,
) {
    let mut buffer = [0; 1 << 16];
    let mut hangs = false;
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let message = &buffer[..length];
        while lock(plan).held_back {
            pause(Duration::from_millis(2));
        }
        if hangs || number <= lock(plan).silenced {
            continue;
        }
        let passes = match passage(message) {
            Passage::All => length,
            Passage::Half => length / 2,
            Passage::None => 0,
            Passage::Part(bytes) => bytes % length,
            Passage::Late(delay) => {
                pause(delay);
                length
            }
            Passage::ByteByByte => {
                if message.iter().any(|byte| to.write_all(&[*byte]).is_err()) {
                    break;
                }
                continue;
            }
            Passage::Never => {
                hangs = true;
                continue;
            }
        };
        let is_cut = passes < length;
        if to.write_all(&message[..passes]).is_err() || is_cut {
            break;
        }
    }
    for stream in [from, to] {
        // It may be closed already.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_message_is_cut_before_within_or_after() {
    let server = Server::start();
    let proxy = Proxy::before(&server);
    let mut direct = server.connect();
    for (cut, runs) in [(Cut::Before, false), (Cut::Within, false), (Cut::After, true), (Cut::WithinReply, true)] {
        redis::cmd("SET").arg("n").arg(0).exec(&mut direct).unwrap();
        let mut connection = proxy.client().get_connection().unwrap();

        proxy.cut(1, cut);
        assert_eq!(redis::cmd("INCR").arg("n").query(&mut connection), Ok(1));
        let lost = redis::cmd("INCR").arg("n").exec(&mut connection).unwrap_err();

        assert!(lost.is_connection_dropped(), "{cut:?}: {lost}");
        assert!(!proxy.spare(), "it has been cut");
        let expected = if runs { 2 } else { 1 };
        assert_eq!(redis::cmd("GET").arg("n").query(&mut direct), Ok(expected), "{cut:?}");
    }
    let mut connection = proxy.client().get_connection().unwrap();
    assert_eq!(redis::cmd("INCR").arg("n").query(&mut connection), Ok(3), "one can connect again");
}

#[test]
fn a_message_or_its_reply_is_late_split_or_never_comes() {
    const DELAY: Duration = Duration::from_millis(30);
    let server = Server::start();
    let proxy = Proxy::before(&server);
    let mut other = server.connect();
    redis::cmd("SET").arg("n").arg(0).exec(&mut other).unwrap();
    let first = MessageFault::First(Box::new(move || redis::cmd("SET").arg("n").arg(10).exec(&mut other).unwrap()));
    let mut connection = proxy.client().get_connection().unwrap();
    let mut incremented = |strike, read_within| {
        connection.set_read_timeout(read_within).unwrap();
        proxy.strike(0, strike);
        let began = now();
        (redis::cmd("INCR").arg("n").query::<u8>(&mut connection).ok(), began.elapsed() >= DELAY)
    };

    assert_eq!(incremented(MessageFault::Late(DELAY), None), (Some(1), true));
    assert_eq!(incremented(MessageFault::LateReply(DELAY), None), (Some(2), true));
    assert_eq!(incremented(MessageFault::Trickle, None).0, Some(3));
    assert_eq!(incremented(first, None).0, Some(11), "it is done before the message passes");
    assert_eq!(incremented(MessageFault::Hang, Some(DELAY)), (None, true));
    assert!(proxy.struck().is_some_and(|struck| struck.elapsed() >= DELAY), "it has struck long ago");

    let mut connection = proxy.client().get_connection().unwrap();
    proxy.strike(0, MessageFault::CutReply(1));
    assert!(redis::cmd("INCR").arg("n").exec(&mut connection).unwrap_err().is_connection_dropped());
    assert_eq!(redis::cmd("GET").arg("n").query(&mut server.connect()), Ok(12), "it ran, unlike the one that hung");
}
