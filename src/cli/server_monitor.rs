//! What a server lists under MONITOR, line by line, until it is lost or the user asks to end: once to end in order, and
//! once more to end at once.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use redis::{RedisError, Value};

use super::exit::{Exit, Failure};
use super::failure;
use super::signals::{self, Caught, StopRequest};
use crate::connect::Server;
use crate::driver::host;
use crate::wire::MonoTime;

/// How long the server may take to accept a connection, and then for each reply until MONITOR has begun.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request to end that comes so long after the first one is another one, which is not waited for: what is written may
/// have no reader. A terminal that is closed may send two at once.
const AGAIN: Duration = Duration::from_secs(1);

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
    let client = server.client().map_err(unusable)?;
    let mut connection = client.get_connection_with_timeout(PATIENCE).map_err(unusable)?;
    connection.set_read_timeout(Some(PATIENCE)).map_err(unusable)?;
    if is_replica(&mut connection).map_err(unusable)? {
        return Err(Failure::new(
            Exit::Unusable,
            format_args!(
                "{server} is a replica, which lists what its master did and not what clients tried: name its master"
            ),
        ));
    }
    let number = connection_number(&mut connection).map_err(unusable)?;
    redis::cmd("MONITOR").exec(&mut connection).map_err(unusable)?;
    connection.set_read_timeout(None).map_err(unusable)?;
    // Until here nothing would be lost, and a signal ends the process.
    listen_for_the_end(sender.clone())?;
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

/// The number of this connection; `None` if the server does not say.
fn connection_number(connection: &mut redis::Connection) -> Result<Option<u64>, RedisError> {
    unless_refused(redis::cmd("CLIENT").arg("ID").query(connection))
}

/// Whether the server says that it is a replica.
fn is_replica(connection: &mut redis::Connection) -> Result<bool, RedisError> {
    let role: Option<Vec<Value>> = unless_refused(redis::cmd("ROLE").query(connection))?;
    let name = role.as_ref().and_then(|words| words.first());
    Ok(matches!(name, Some(Value::BulkString(name)) if name == b"slave"))
}

/// Nothing where the server refuses to answer, or answers otherwise.
fn unless_refused<T>(answer: Result<T, RedisError>) -> Result<Option<T>, RedisError> {
    match answer {
        Err(error) if error.is_io_error() => Err(error),
        answered => Ok(answered.ok()),
    }
}

fn listen_for_the_end(sender: SyncSender<MonitorEvent>) -> Result<(), Failure> {
    let mut asked_at: Option<MonoTime> = None;
    signals::listen(move |caught| {
        let Caught::Stop(StopRequest { signal, .. }) = caught else { return };
        let now = host::mono();
        if now.saturating_since(*asked_at.get_or_insert(now)) >= AGAIN {
            // It is only an error for a signal that does not exist.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        let sender = sender.clone();
        // The channel may be full, and a second signal must still be received.
        thread::spawn(move || sender.send(MonitorEvent::StopRequested));
    })
}
