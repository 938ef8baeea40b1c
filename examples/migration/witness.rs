//! The witness: who is inside, on a connection and on keys that the locks know nothing of, and work that only comes out
//! right if one does it at a time.

use std::error::Error;

use redis::{Client, Connection};

use crate::news::{News, QUEUE};
use crate::role::Job;

/// One worker's view of the witness.
pub(crate) struct Witness {
    connection: Connection,
    inside: String,
    work: String,
}

impl Witness {
    pub(crate) fn of(job: &Job, client: &Client) -> Result<Self, Box<dyn Error>> {
        let [inside, work] = keys(job);
        Ok(Self { connection: client.get_connection()?, inside, work })
    }

    /// A holder goes in, after it was told that it has the lock: how many are inside then, and the work done so far.
    pub(crate) fn enter(&mut self) -> Result<(u64, u64), Box<dyn Error>> {
        let (inside, done): (u64, Option<u64>) =
            redis::pipe().incr(&self.inside, 1).get(&self.work).query(&mut self.connection)?;
        Ok((inside, done.unwrap_or(0)))
    }

    /// It has done its piece of work and goes out, before it gives the lock back. Whatever somebody else has done since it
    /// went in is overwritten.
    pub(crate) fn leave(&mut self, done: u64) -> Result<(), Box<dyn Error>> {
        Ok(redis::pipe().set(&self.work, done + 1).decr(&self.inside, 1).exec(&mut self.connection)?)
    }

    /// Says how a hold was.
    pub(crate) fn tell(&mut self, news: &News) -> Result<(), Box<dyn Error>> {
        Ok(redis::cmd("RPUSH").arg(QUEUE).arg(news.to_string()).exec(&mut self.connection)?)
    }

    /// How much work has been done.
    pub(crate) fn done(&mut self) -> Result<u64, Box<dyn Error>> {
        Ok(redis::cmd("GET").arg(&self.work).query::<Option<u64>>(&mut self.connection)?.unwrap_or(0))
    }
}

/// How many are inside, and how much has been done.
pub(crate) fn keys(job: &Job) -> [String; 2] {
    [format!("{}:inside", job.key), format!("{}:work", job.key)]
}
