//! Several servers that know nothing of each other, asked at the same time.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use lockshift_wire::{Command, Heard, Reply, Silence};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, RedisResult};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::carrier::{Carrier, cmd};
use crate::driver::connection::reply;
use crate::driver::events::CONNECT;
use crate::driver::host;
use crate::driver::interrupted::Unanswered;
use crate::driver::late_replies::LateReplies;

/// Several independent masters, for a lock that needs most of them: one connection each, made when it is first needed
/// and made anew after it broke. Clones share the connections.
///
/// A round goes to all of them at the same time, and none is waited for longer than the patience: one that is down,
/// hangs or is far away costs that much, and so do three. What it answers too late is never taken for the answer to
/// something later.
#[derive(Clone, Debug)]
pub struct Masters {
    masters: Arc<[Arc<Master>]>,
    patience: Duration,
}

#[derive(Debug)]
struct Master {
    client: Client,
    session: Mutex<Session>,
}

#[derive(Debug, Default)]
struct Session {
    open: Option<MultiplexedConnection>,
    debt: LateReplies,
}

impl Masters {
    /// The masters that these clients lead to, each of which may take this long to answer: much less than the lease,
    /// and more than a round trip. Nothing is connected yet.
    pub fn new(clients: impl IntoIterator<Item = Client>, patience: Duration) -> Self {
        let master = |client| Arc::new(Master { client, session: Mutex::default() });
        Self { masters: clients.into_iter().map(master).collect(), patience }
    }
}

impl Carrier for Masters {
    fn servers(&self) -> usize {
        self.masters.len()
    }

    async fn send(&mut self, command: &Command) -> Result<Reply, Unanswered> {
        let heard = self.round(std::slice::from_ref(command)).await.pop();
        Unanswered::of_heard(heard.unwrap_or(Heard::Silence(Silence::Unreachable)))
    }

    async fn round(&mut self, commands: &[Command]) -> Vec<Heard> {
        let mut asking = JoinSet::new();
        for (at, command) in commands.iter().enumerate() {
            let master = Arc::clone(&self.masters[usize::from(command.node().0)]);
            let (cmd, patience) = (cmd(command), self.patience);
            asking.spawn(async move { (at, master.ask(cmd, patience).await) });
        }
        let mut heard = vec![Heard::Silence(Silence::Unreachable); commands.len()];
        while let Some(asked) = asking.join_next().await {
            match asked {
                Ok((at, said)) => heard[at] = said,
                Err(stopped) if stopped.is_panic() => resume_unwind(stopped.into_panic()),
                // The runtime is being shut down.
                Err(_) => {}
            }
        }
        heard
    }
}

impl Master {
    async fn ask(&self, cmd: Cmd, patience: Duration) -> Heard {
        match host::within(patience, self.exchange(&cmd)).await {
            None => {
                self.session.lock().await.debt.owe(host::mono());
                Heard::Silence(Silence::TooSlow)
            }
            Some(answer) => match reply(answer) {
                Ok(reply) => {
                    self.session.lock().await.debt.pay();
                    Heard::Reply(reply)
                }
                Err(error) => {
                    log::debug!(target: CONNECT, "{}: {error}", self.client.get_connection_info().addr());
                    *self.session.lock().await = Session::default();
                    Heard::Silence(Silence::Unreachable)
                }
            },
        }
    }

    /// Sends on the connection that is there, or on a new one. Whoever stops to wait for the answer does not take the
    /// command back: it stays where it is in the order of this connection's commands.
    async fn exchange(&self, cmd: &Cmd) -> RedisResult<redis::Value> {
        let mut connection = self.connection().await?;
        connection.send_packed_command(cmd).await
    }

    async fn connection(&self) -> RedisResult<MultiplexedConnection> {
        let mut session = self.session.lock().await;
        if session.debt.is_hopeless(host::mono()) {
            *session = Session::default();
        }
        if let Some(open) = &session.open {
            return Ok(open.clone());
        }
        // How long this may take is up to whoever waits for it.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let open = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        *session = Session { open: Some(open.clone()), debt: LateReplies::default() };
        Ok(open)
    }
}
