//! A proxy that records what passes: real traffic, to be written as a capture.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::patience::wall;

/// Bytes that passed at once, or the beginning or the end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    /// Since 1970.
    pub(crate) at: Duration,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) what: What,
}

/// What passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Opened,
    Asked(Vec<u8>),
    Answered(Vec<u8>),
    Closed,
}

/// The proxy.
pub(crate) struct Recorder {
    address: SocketAddr,
    all: Arc<Mutex<Vec<Passed>>>,
}

impl Recorder {
    /// A proxy in front of this server.
    pub(crate) fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("it is bound");
        let all = Arc::new(Mutex::new(Vec::new()));
        let recorded = all.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(upstream) = TcpStream::connect(server) else { return };
                serve(client, upstream, server, &recorded);
            }
        });
        Self { address, all }
    }

    /// Where clients connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Everything that has passed.
    pub(crate) fn recorded(&self) -> Vec<Passed> {
        self.all.lock().expect("no thread has panicked").clone()
    }
}

fn serve(client: TcpStream, upstream: TcpStream, server: SocketAddr, all: &Arc<Mutex<Vec<Passed>>>) {
    let address = client.peer_addr().expect("it is connected");
    for stream in [&client, &upstream] {
        stream.set_nodelay(true).expect("it is open");
    }
    let note = {
        let all = all.clone();
        move |what: What| {
            let mut all = all.lock().expect("no thread has panicked");
            all.push(Passed { at: wall(), client: address, server, what });
        }
    };
    note(What::Opened);
    let (from, to, asked) = (client.try_clone().unwrap(), upstream.try_clone().unwrap(), note.clone());
    thread::spawn(move || {
        pass(from, to, |bytes| asked(What::Asked(bytes)));
        asked(What::Closed);
    });
    thread::spawn(move || pass(upstream, client, |bytes| note(What::Answered(bytes))));
}

/// Passes bytes on until one end closes; each is noted before it is passed on.
fn pass(mut from: TcpStream, mut to: TcpStream, note: impl Fn(Vec<u8>)) {
    let mut buffer = [0; 1 << 14];
    while let Ok(length) = from.read(&mut buffer) {
        if length == 0 {
            break;
        }
        note(buffer[..length].to_vec());
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
