//! What a server lists under MONITOR, line by line, until it is lost or the user asks to end.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use redis::{RedisError, Value};

use super::exit::{Exit, Failure};
use super::failure;
use super::signals::{self, Caught};
use crate::connect::Server;

/// How long the server may take to accept a connection, and then for each reply until MONITOR has begun.
const PATIENCE: Duration = Duration::from_secs(5);

/// A MONITOR that has begun.
pub(super) struct Monitored {
    /// Its events, in order.
    pub(super) events: Receiver<MonitorEvent>,
    /// The number of its connection; `None` if the server is too old to say.
    pub(super) connection: Option<u64>,
}

/// What happens while a server is monitored.
pub(super) enum MonitorEvent {
    /// The server sent a line.
    Line(String),
    /// The connection broke.
    Broken(RedisError),
    /// The user asked to end.
    StopRequested,
}

/// Begins MONITOR on this server, and listens for the request to end.
pub(super) fn monitored(server: &Server) -> Result<Monitored, Failure> {
    if server.is_cluster() {
        return Err(Failure::new(Exit::Usage, "each server has a MONITOR of its own: name one"));
    }
    let unusable = |error: RedisError| failure::of_server(server, error);
    let (sender, events) = sync_channel(1024);
    listen_for_the_end(sender.clone())?;
    let client = server.client().map_err(unusable)?;
    let mut connection = client.get_connection_with_timeout(PATIENCE).map_err(unusable)?;
    connection.set_read_timeout(Some(PATIENCE)).map_err(unusable)?;
    let number = connection_number(&mut connection).map_err(unusable)?;
    redis::cmd("MONITOR").exec(&mut connection).map_err(unusable)?;
    connection.set_read_timeout(None).map_err(unusable)?;
    thread::spawn(move || {
        loop {
            let sent = match connection.recv_response() {
                Ok(Value::SimpleString(line)) => sender.send(MonitorEvent::Line(line)),
                Ok(_) => Ok(()),
                Err(error) => {
                    // A receiver that has stopped needs no report.
                    let _ = sender.send(MonitorEvent::Broken(error));
                    return;
                }
            };
            if sent.is_err() {
                return;
            }
        }
    });
    Ok(Monitored { events, connection: number })
}

/// The number of this connection; `None` if the server does not know the question.
fn connection_number(connection: &mut redis::Connection) -> Result<Option<u64>, RedisError> {
    match redis::cmd("CLIENT").arg("ID").query(connection) {
        Err(error) if error.kind() == redis::ErrorKind::Io => Err(error),
        answered => Ok(answered.ok()),
    }
}

fn listen_for_the_end(sender: SyncSender<MonitorEvent>) -> Result<(), Failure> {
    signals::listen(move |caught| {
        if let Caught::Stop(_) = caught {
            let sender = sender.clone();
            // The channel may be full, and a second signal must still be received.
            thread::spawn(move || sender.send(MonitorEvent::StopRequested));
        }
    })
}
