//! A connection that breaks where the test wants it: a proxy between client and server that counts the client's messages, and
//! cuts the connection before, within or after one of them, or within its reply.
//!
//! A message is what the client writes at once. On a loopback connection that is a whole command.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use redis::{Client, ConnectionInfo, IntoConnectionInfo};

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

/// The proxy. It goes on listening until it is dropped, so that a client can connect again after a cut.
pub(crate) struct Proxy {
    address: SocketAddr,
    plan: Arc<Mutex<Plan>>,
}

/// What is still to happen.
#[derive(Debug, Default)]
struct Plan {
    cut: Option<(usize, Cut)>,
    closed: bool,
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
                if lock(&accepted).closed {
                    return;
                }
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { continue };
                join(&client, &server, &accepted);
            }
        });
        Self { address, plan }
    }

    /// How to reach it: `redis://127.0.0.1:6379/`.
    pub(crate) fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    /// A client of the `redis` crate that sends nothing of its own when it connects.
    pub(crate) fn client(&self) -> Client {
        let info: ConnectionInfo = self.url().as_str().into_connection_info().expect("the url is well formed");
        let silent = info.redis_settings().clone().set_skip_set_lib_name();
        Client::open(info.set_redis_settings(silent)).expect("the url is well formed")
    }

    /// Cuts the connection at the next message but `skip`.
    pub(crate) fn cut(&self, skip: usize, cut: Cut) {
        lock(&self.plan).cut = Some((skip, cut));
    }

    /// Cuts nothing any more; whether what was planned is still to come.
    pub(crate) fn spare(&self) -> bool {
        lock(&self.plan).cut.take().is_some()
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
    /// What is to be done with the message that has just come.
    fn next(&mut self) -> Option<Cut> {
        match self.cut.take()? {
            (0, cut) => Some(cut),
            (skip, cut) => {
                self.cut = Some((skip - 1, cut));
                None
            }
        }
    }
}

/// Carries messages there and replies back until either side ends or a cut is due.
fn join(client: &TcpStream, server: &TcpStream, plan: &Arc<Mutex<Plan>>) {
    let clone = |stream: &TcpStream| stream.try_clone().expect("a socket has another handle");
    for stream in [client, server] {
        stream.set_nodelay(true).expect("a socket may be quick");
    }
    let at_reply = Arc::new(Mutex::new(None));
    let there = (clone(client), clone(server), Arc::clone(plan), Arc::clone(&at_reply));
    thread::spawn(move || {
        let (mut client, mut server, plan, at_reply) = there;
        carry(&mut client, &mut server, || match lock(&plan).next() {
            None => Passage::All,
            Some(Cut::Before) => Passage::Nothing,
            Some(Cut::Within) => Passage::Half,
            Some(cut @ (Cut::After | Cut::WithinReply)) => {
                *lock(&at_reply) = Some(cut);
                Passage::All
            }
        });
    });
    let mut back = (clone(client), clone(server));
    thread::spawn(move || {
        carry(&mut back.1, &mut back.0, || match lock(&at_reply).take() {
            Some(Cut::After) => Passage::Nothing,
            Some(Cut::WithinReply) => Passage::Half,
            Some(Cut::Before | Cut::Within) | None => Passage::All,
        });
    });
}

/// How much of a message passes; after anything but all the connection is cut.
enum Passage {
    All,
    Half,
    Nothing,
}

fn carry(from: &mut TcpStream, to: &mut TcpStream, passage: impl Fn() -> Passage) {
    let mut buffer = [0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let message = &buffer[..length];
        let passes = match passage() {
            Passage::All => length,
            Passage::Half => length / 2,
            Passage::Nothing => 0,
        };
        if to.write_all(&message[..passes]).is_err() || passes < length {
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
