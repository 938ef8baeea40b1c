//! The same server with other names in it: what an exchange of clients, or a shift of the clock, makes of it.

use super::database::{Database, Entry};
use super::ranking::Ranking;
use super::server::Server;
use super::session::{Connection, Message, Session, Subscriptions, Transaction, Via};
use super::state::State;
use super::value::Value;
use crate::wire::Key;

/// What is written anew, and how.
#[derive(Clone, Copy)]
pub struct Rewrite<'a> {
    /// Every text: keys, values, fields, members, channels, queued words. Scripts and client names stay.
    pub text: &'a dyn Fn(&[u8]) -> Vec<u8>,
    /// Every connection.
    pub session: &'a dyn Fn(Session) -> Session,
    /// Every deadline, in milliseconds since 1970.
    pub deadline_ms: &'a dyn Fn(i64) -> i64,
    /// The scores of every sorted set, the lowest first.
    pub scores: &'a dyn Fn(&mut [f64]),
}

impl std::fmt::Debug for Rewrite<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rewrite").finish_non_exhaustive()
    }
}

impl Server {
    /// This server, written anew. Where the rewriting maps two different things to one, so does the result.
    #[must_use]
    pub fn rewritten(&self, rewrite: Rewrite<'_>) -> Self {
        let state = &self.state;
        let connection = |(at, connection): (&Session, &Connection)| {
            let connection = rewrite.connection(connection);
            ((rewrite.session)(*at), connection)
        };
        Self {
            state: State {
                flavour: state.flavour,
                databases: state.databases.each_ref().map(|database| rewrite.database(database)),
                #[cfg(feature = "sim")]
                library: state.library.clone(),
                connections: state.connections.iter().map(connection).collect(),
            },
        }
    }
}

impl Rewrite<'_> {
    fn text(&self, text: &[u8]) -> Vec<u8> {
        (self.text)(text)
    }

    fn texts<'t, C: FromIterator<Vec<u8>>>(&self, texts: impl IntoIterator<Item = &'t Vec<u8>>) -> C {
        texts.into_iter().map(|text| self.text(text)).collect()
    }

    fn key(&self, key: &Key) -> Key {
        Key::new(self.text(key.as_bytes()))
    }

    fn database(&self, database: &Database) -> Database {
        let entry = |entry: &Entry| Entry {
            value: self.value(&entry.value),
            deadline_ms: entry.deadline_ms.map(self.deadline_ms),
        };
        Database { entries: database.entries.iter().map(|(key, stored)| (self.key(key), entry(stored))).collect() }
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::Text(text) => Value::Text(self.text(text)),
            Value::Hash(hash) => {
                Value::Hash(hash.iter().map(|(field, value)| (self.text(field), self.text(value))).collect())
            }
            Value::Set(set) => Value::Set(self.texts(set)),
            Value::Ranking(ranking) => {
                let (members, mut scores): (Vec<_>, Vec<_>) = ranking.by_rank().into_iter().unzip();
                (self.scores)(&mut scores);
                let mut rewritten = Ranking::default();
                members.into_iter().zip(scores).for_each(|(member, score)| rewritten.insert(self.text(member), score));
                Value::Ranking(rewritten)
            }
            Value::List(list) => Value::List(self.texts(list)),
        }
    }

    fn connection(&self, connection: &Connection) -> Connection {
        let Connection { db, name, transaction, watched, touched, subscriptions, inbox } = connection;
        Connection {
            db: *db,
            name: name.clone(),
            transaction: transaction.as_ref().map(|transaction| self.transaction(transaction)),
            watched: watched.iter().map(|(db, key)| (*db, self.key(key))).collect(),
            touched: *touched,
            subscriptions: Subscriptions {
                channels: self.texts(&subscriptions.channels),
                patterns: self.texts(&subscriptions.patterns),
                shards: self.texts(&subscriptions.shards),
            },
            inbox: inbox.iter().map(|message| self.message(message)).collect(),
        }
    }

    fn transaction(&self, transaction: &Transaction) -> Transaction {
        let queue =
            transaction.queue.iter().map(|words| words.iter().map(|word| self.text(word).into()).collect()).collect();
        Transaction { queue, spoilt: transaction.spoilt }
    }

    fn message(&self, message: &Message) -> Message {
        let via = match &message.via {
            Via::Pattern(pattern) => Via::Pattern(self.text(pattern)),
            Via::Channel => Via::Channel,
            Via::Shard => Via::Shard,
        };
        Message { via, channel: self.text(&message.channel), payload: self.text(&message.payload) }
    }
}
