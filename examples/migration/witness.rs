//! The witness: counts the holders, on a connection and on keys that the locks do not use, and keeps work that is lost if
//! two workers do it at once.

use std::error::Error;

use redis::{Client, Connection};

use crate::hold_report::{HoldReport, REPORTS};
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

    /// Enters a holder that has won: returns how many are inside, and the work done so far.
    pub(crate) fn enter(&mut self) -> Result<(u64, u64), Box<dyn Error>> {
        let (inside, done): (u64, Option<u64>) =
            redis::pipe().incr(&self.inside, 1).get(&self.work).query(&mut self.connection)?;
        Ok((inside, done.unwrap_or(0)))
    }

    /// Leaves after the piece of work, before the release. Work that another worker did meanwhile is overwritten.
    pub(crate) fn leave(&mut self, done: u64) -> Result<(), Box<dyn Error>> {
        Ok(redis::pipe().set(&self.work, done + 1).decr(&self.inside, 1).exec(&mut self.connection)?)
    }

    /// Sends a report.
    pub(crate) fn report(&mut self, report: &HoldReport) -> Result<(), Box<dyn Error>> {
        Ok(redis::cmd("RPUSH").arg(REPORTS).arg(report.to_string()).exec(&mut self.connection)?)
    }

    /// The work done so far.
    pub(crate) fn done(&mut self) -> Result<u64, Box<dyn Error>> {
        Ok(redis::cmd("GET").arg(&self.work).query::<Option<u64>>(&mut self.connection)?.unwrap_or(0))
    }
}

/// The keys that count the holders and the work.
pub(crate) fn keys(job: &Job) -> [String; 2] {
    [format!("{}:inside", job.key), format!("{}:work", job.key)]
}
