//! The workers: processes that are started, replaced one by one, and listened to.

use std::error::Error;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use redis::{Client, Connection, IntoConnectionInfo};

use crate::figures::Figures;
use crate::news::{News, QUEUE};
use crate::role::{JOBS, LEASE, Role};
use crate::witness::{self, Witness};

/// How many do each job.
pub(crate) const PER_JOB: usize = 10;

/// How often each of them acquires before a phase is over.
const ENOUGH: u64 = 5;

/// For so long nobody may acquire anything, in seconds: many leases.
const PATIENCE_SECS: u64 = 120;

/// All workers.
pub(crate) struct Crew {
    client: Client,
    /// Where they tell how each hold was.
    news: Connection,
    url: String,
    /// Whether workers in PHP can be had.
    pub(crate) has_php: bool,
    places: Vec<Worker>,
    /// Of everybody who ever was here, by number.
    pub(crate) figures: Figures,
}

/// One of them.
struct Worker {
    number: usize,
    process: Child,
}

impl Crew {
    /// Nobody yet, and nothing left of an earlier run.
    pub(crate) fn new(url: String, client: &Client) -> Result<Self, Box<dyn Error>> {
        let mut news = client.get_connection()?;
        let keys = JOBS.iter().flat_map(witness::keys).chain([QUEUE.to_owned()]);
        let locks = JOBS.iter().flat_map(|job| [job.key.to_owned(), format!("{{{}}}:token", job.key)]);
        redis::cmd("DEL").arg(keys.chain(locks).collect::<Vec<_>>()).exec(&mut news)?;
        let places = Vec::new();
        Ok(Self { client: client.clone(), news, url, has_php: has_php(), places, figures: Figures::default() })
    }

    /// A worker in every place.
    pub(crate) fn start(&mut self, role: Role) -> Result<(), Box<dyn Error>> {
        for place in 0..JOBS.len() * PER_JOB {
            let worker = self.hire(place, role)?;
            self.places.push(worker);
        }
        Ok(())
    }

    /// Others take these places of every job: one after the other, each when the one before has acquired.
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

    /// Everybody works, until each has acquired often enough. The fewest.
    pub(crate) fn dwell(&mut self) -> Result<(), Box<dyn Error>> {
        self.figures.count_anew();
        self.until_each_has_acquired(ENOUGH)
    }

    /// Everybody works, until two hold a lock at once.
    pub(crate) fn until_it_breaks(&mut self) -> Result<(), Box<dyn Error>> {
        while self.figures.doubles() == 0 {
            self.listen()?;
        }
        Ok(())
    }

    /// Everybody stops. The work that was done, for each job.
    pub(crate) fn stop(&mut self) -> Result<Vec<u64>, Box<dyn Error>> {
        self.places.iter_mut().try_for_each(dismiss)?;
        while let Some(line) = redis::cmd("LPOP").arg(QUEUE).query::<Option<String>>(&mut self.news)? {
            self.figures.add(News::read(&line).ok_or(line)?);
        }
        JOBS.iter().map(|job| Witness::of(job, &self.client)?.done()).collect()
    }

    fn until_each_has_acquired(&mut self, times: u64) -> Result<(), Box<dyn Error>> {
        while self.places.iter().any(|worker| self.figures.acquired(worker.number) < times) {
            self.listen()?;
        }
        Ok(())
    }

    /// Waits for what the next hold was like.
    fn listen(&mut self) -> Result<(), Box<dyn Error>> {
        let told: Option<(String, String)> = redis::cmd("BLPOP").arg(QUEUE).arg(PATIENCE_SECS).query(&mut self.news)?;
        let (_, line) = told.ok_or("nobody acquires anything any more")?;
        self.figures.add(News::read(&line).ok_or(line)?);
        Ok(())
    }

    /// A new process, for the job of this place.
    fn hire(&mut self, place: usize, role: Role) -> Result<Worker, Box<dyn Error>> {
        let job = place / PER_JOB;
        let number = self.figures.enrol(job, role);
        let mut command = if self.is_php(place, role) { self.php(job, role)? } else { self.rust(job, role)? };
        let process = command.arg(number.to_string()).stdin(Stdio::piped()).spawn()?;
        Ok(Worker { number, process })
    }

    /// The old workers of the PHP service, and half of those who take their places.
    fn is_php(&self, place: usize, role: Role) -> bool {
        let speaks_php = JOBS[place / PER_JOB].dialect == "php-getset";
        self.has_php && speaks_php && (role == Role::Old || (place.is_multiple_of(2) && role != Role::Hasty))
    }

    fn rust(&self, job: usize, role: Role) -> Result<Command, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["worker", role.name(), JOBS[job].key]).env("REDIS_URL", &self.url);
        Ok(command)
    }

    fn php(&self, job: usize, role: Role) -> Result<Command, Box<dyn Error>> {
        let address = self.url.as_str().into_connection_info()?;
        let redis::ConnectionAddr::Tcp(host, port) = address.addr() else {
            return Err("the PHP workers need a plain address: redis://HOST:PORT/".into());
        };
        let mut command = Command::new("php");
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/migration/worker.php"));
        command.args([host, &port.to_string(), role.name(), JOBS[job].key, &LEASE.as_secs().to_string()]);
        Ok(command)
    }
}

/// Whether `php` is there, and the extension that speaks to Redis.
fn has_php() -> bool {
    let mut php = Command::new("php");
    php.args(["-r", "exit(extension_loaded('redis') ? 0 : 1);"]).stdout(Stdio::null()).stderr(Stdio::null());
    php.status().is_ok_and(|status| status.success())
}

/// Asks a worker to stop, and waits until it has given back what it holds.
fn dismiss(worker: &mut Worker) -> Result<(), Box<dyn Error>> {
    drop(worker.process.stdin.take());
    let status = worker.process.wait()?;
    status.success().then_some(()).ok_or_else(|| format!("worker {}: {status}", worker.number).into())
}
