//! The workers: starts and replaces their processes, and reads their reports.

use std::error::Error;
use std::process::{Child, Stdio};

use redis::{Client, Connection};

use crate::guarded_address::GuardedAddress;
use crate::hold_report::{HoldReport, REPORTS};
use crate::program::Programs;
use crate::role::{JOBS, Role};
use crate::statistics::Statistics;
use crate::witness::{self, Witness};

/// The number of workers per job.
pub(crate) const PER_JOB: usize = 10;

/// How often each worker acquires before a phase ends.
const ENOUGH: u64 = 5;

/// Fails if no worker acquires for this many seconds, which is many leases.
const PATIENCE_SECS: u64 = 120;

/// All workers.
pub(crate) struct Crew {
    client: Client,
    /// The connection on which reports are read.
    reports: Connection,
    url: String,
    guard: Option<GuardedAddress>,
    /// What the workers run.
    pub(crate) programs: Programs,
    places: Vec<Worker>,
    /// The statistics of all workers there ever were, by number.
    pub(crate) statistics: Statistics,
}

/// One worker process.
struct Worker {
    number: usize,
    process: Child,
}

impl Crew {
    /// An empty crew; deletes the keys of an earlier run.
    pub(crate) fn new(url: String, client: &Client) -> Result<Self, Box<dyn Error>> {
        let mut reports = client.get_connection()?;
        let keys = JOBS.iter().flat_map(witness::keys).chain([REPORTS.to_owned()]);
        let locks = JOBS.iter().flat_map(|job| [job.key.to_owned(), format!("{{{}}}:token", job.key)]);
        redis::cmd("DEL").arg(keys.chain(locks).collect::<Vec<_>>()).exec(&mut reports)?;
        let places = Vec::new();
        Ok(Self {
            client: client.clone(),
            reports,
            url,
            guard: None,
            programs: Programs::find()?,
            places,
            statistics: Statistics::default(),
        })
    }

    /// The same, with a guard before the server for the guarded workers.
    pub(crate) fn behind_guard(self) -> Result<Self, Box<dyn Error>> {
        Ok(Self { guard: Some(GuardedAddress::before(&self.url)?), ..self })
    }

    /// The role between the old one and the modern one, as the tables name it.
    pub(crate) fn second_role(&self) -> &'static str {
        if self.guard.is_some() { "GUARD" } else { "BRIDGE" }
    }

    /// Where the workers of this role connect.
    fn url_of(&self, role: Role) -> &str {
        self.guard.as_ref().filter(|_| role == Role::Guarded).map_or(&self.url, |guard| &guard.url)
    }

    /// Starts a worker in every place.
    pub(crate) fn start(&mut self, role: Role) -> Result<(), Box<dyn Error>> {
        for place in 0..JOBS.len() * PER_JOB {
            let worker = self.hire(place, role)?;
            self.places.push(worker);
        }
        Ok(())
    }

    /// Replaces the workers in these places of every job, each after the previous replacement has acquired.
    pub(crate) fn replace(&mut self, places: std::ops::Range<usize>, role: Role) -> Result<(), Box<dyn Error>> {
        for place in places {
            for job in 0..JOBS.len() {
                let place = job * PER_JOB + place;
                dismiss(&mut self.places[place])?;
                self.places[place] = self.hire(place, role)?;
            }
            self.until_each_has_acquired(1)?;
        }
        Ok(())
    }

    /// Lets all work until each has acquired often enough.
    pub(crate) fn dwell(&mut self) -> Result<(), Box<dyn Error>> {
        self.statistics.reset();
        self.until_each_has_acquired(ENOUGH)
    }

    /// Lets all work until two hold a lock at once.
    pub(crate) fn until_it_breaks(&mut self) -> Result<(), Box<dyn Error>> {
        while self.statistics.doubles() == 0 {
            self.listen()?;
        }
        Ok(())
    }

    /// Stops all workers and returns the work that was done, per job.
    pub(crate) fn stop(&mut self) -> Result<Vec<u64>, Box<dyn Error>> {
        self.places.iter_mut().try_for_each(dismiss)?;
        while let Some(line) = redis::cmd("LPOP").arg(REPORTS).query::<Option<String>>(&mut self.reports)? {
            self.statistics.add(HoldReport::parse(&line).ok_or(line)?);
        }
        JOBS.iter().map(|job| Witness::of(job, &self.client)?.done()).collect()
    }

    fn until_each_has_acquired(&mut self, times: u64) -> Result<(), Box<dyn Error>> {
        while self.places.iter().any(|worker| self.statistics.acquired(worker.number) < times) {
            self.listen()?;
        }
        Ok(())
    }

    /// Waits for the next report.
    fn listen(&mut self) -> Result<(), Box<dyn Error>> {
        let reported: Option<(String, String)> =
            redis::cmd("BLPOP").arg(REPORTS).arg(PATIENCE_SECS).query(&mut self.reports)?;
        let (_, line) = reported.ok_or("no worker acquires any more")?;
        self.statistics.add(HoldReport::parse(&line).ok_or(line)?);
        Ok(())
    }

    /// Starts a worker process for the job of this place.
    fn hire(&mut self, place: usize, role: Role) -> Result<Worker, Box<dyn Error>> {
        let job = place / PER_JOB;
        let program = self.programs.of(job, place % PER_JOB, role);
        let number = self.statistics.enrol(job, role, program);
        let mut command = self.programs.command(program, job, role, self.url_of(role))?;
        let process = command.arg(number.to_string()).stdin(Stdio::piped()).spawn()?;
        Ok(Worker { number, process })
    }
}

/// Stops a worker and waits until it has released its lock.
fn dismiss(worker: &mut Worker) -> Result<(), Box<dyn Error>> {
    drop(worker.process.stdin.take());
    let status = worker.process.wait()?;
    status.success().then_some(()).ok_or_else(|| format!("worker {}: {status}", worker.number).into())
}
