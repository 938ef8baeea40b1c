//! Connecting within one deadline. The `redis` crate by itself waits for each reply of its handshake as long as for all, also
//! when the one before has not come.

use std::io;
use std::time::Duration;

use lockshift_wire::MonoTime;
use redis::{
    Client, Connection, ErrorKind, Pipeline, ProtocolVersion, RedisConnectionInfo, RedisResult, ServerErrorKind, Value,
};

use crate::driver::host;

/// A new connection, logged in and on its database, all within this time. Its write timeout is as long; its read timeout is
/// for the caller to set.
///
/// # Errors
/// The server cannot be reached, does not answer in time, or refuses.
pub(crate) fn connect_within(client: &Client, patience: Duration) -> RedisResult<Connection> {
    let until = host::mono().saturating_add(patience);
    let info = client.get_connection_info();
    let settings = info.redis_settings();
    let silent = Client::open(info.clone().set_redis_settings(without_pipeline(settings)))?;
    let mut connection = silent.get_connection_with_timeout(patience)?;
    connection.set_write_timeout(Some(patience))?;

    let logs_in = logs_in(settings);
    let mut user = settings.username();
    loop {
        let mut replies = exchange(&mut connection, &greeting(settings, user), until)?.into_iter();
        if logs_in && let Some(Value::ServerError(refusal)) = replies.next() {
            // A server before version 6 knows no users.
            let wants_no_user = refusal.details().is_some_and(|text| text.contains("wrong number of arguments"));
            if wants_no_user && user.take().is_some() {
                continue;
            }
            return Err((ErrorKind::AuthenticationFailed, "Password authentication failed").into());
        }
        if settings.db() != 0
            && let Some(Value::ServerError(refusal)) = replies.next()
        {
            let text = refusal.details().unwrap_or_default().to_owned();
            let kind = ErrorKind::Server(ServerErrorKind::ResponseError);
            return Err((kind, "Redis server refused to switch database", text).into());
        }
        return Ok(connection);
    }
}

/// Settings with which the `redis` crate sends at most HELLO, which logs in too, and so waits for one reply.
fn without_pipeline(settings: &RedisConnectionInfo) -> RedisConnectionInfo {
    match settings.protocol() {
        ProtocolVersion::RESP2 => RedisConnectionInfo::default(),
        _ => settings.clone().set_db(0),
    }
    .set_skip_set_lib_name()
}

/// Whether the greeting begins with AUTH.
fn logs_in(settings: &RedisConnectionInfo) -> bool {
    settings.protocol() == ProtocolVersion::RESP2 && settings.password().is_some()
}

/// What is sent first on a new connection.
fn greeting(settings: &RedisConnectionInfo, user: Option<&str>) -> Pipeline {
    let mut greeting = Pipeline::new();
    if logs_in(settings) {
        greeting.cmd("AUTH").arg(user).arg(settings.password());
    }
    if settings.db() != 0 {
        greeting.cmd("SELECT").arg(settings.db());
    }
    if !settings.skip_set_lib_name() {
        // Replies to these are not looked at: an old server does not know them.
        let (name, version) = (settings.lib_name(), settings.lib_ver());
        greeting.cmd("CLIENT").arg("SETINFO").arg("LIB-NAME").arg(name.unwrap_or("lockshift"));
        greeting.cmd("CLIENT").arg("SETINFO").arg("LIB-VER").arg(version.unwrap_or(env!("CARGO_PKG_VERSION")));
    }
    greeting
}

/// Sends commands and receives their replies, until then.
fn exchange(connection: &mut Connection, commands: &Pipeline, until: MonoTime) -> RedisResult<Vec<Value>> {
    if commands.is_empty() {
        return Ok(Vec::new());
    }
    connection.send_packed_command(&commands.get_packed_pipeline())?;
    let receive = |_| {
        let left = until.saturating_since(host::mono());
        if left.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        connection.set_read_timeout(Some(left))?;
        connection.recv_response()
    };
    (0..commands.len()).map(receive).collect()
}
