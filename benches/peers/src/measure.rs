//! The workloads, and how many rounds of each.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lockshift::driver::Attempt;
use lockshift::driver::blocking::Lock;
use lockshift::lock::Lease;
use lockshift::modern::FairLock;
use lockshift::wire::Key;
use redis::cmd;

use crate::peer::{FOREIGN, Peer};
use crate::server::Server;
use crate::worker;

/// One figure of one library, once a round.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) rounds: Vec<f64>,
}

/// One kind of figure of all libraries; the rounds with the same number were taken one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    /// The ratios are to this library.
    pub(crate) reference: &'static str,
    pub(crate) series: Vec<Series>,
}

/// What contention came to.
#[derive(Clone, Debug)]
pub(crate) struct Contention {
    pub(crate) clients: usize,
    pub(crate) rows: Vec<ContentionRow>,
}

#[derive(Clone, Debug)]
pub(crate) struct ContentionRow {
    pub(crate) name: String,
    pub(crate) busy: Vec<f64>,
    pub(crate) p99_of_ideal: Vec<f64>,
    pub(crate) commands: Vec<f64>,
}

/// The queue drained.
#[derive(Clone, Debug)]
pub(crate) struct Drained {
    pub(crate) processes: usize,
    pub(crate) waiters: usize,
    pub(crate) per_second: Vec<f64>,
    /// Bytes a waiter, of all processes.
    pub(crate) bytes_per_waiter: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) server: String,
    pub(crate) load: (String, String),
    pub(crate) absent: Vec<(String, String)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) contention: Vec<Contention>,
    pub(crate) drained: Vec<Drained>,
}

/// How long each holder works, in milliseconds.
const HOLD_MS: u64 = 5;

/// The workloads by name.
pub(crate) const WORKLOADS: [&str; 7] = ["blocking", "one-task", "tasks", "bridge", "reading", "contention", "queue"];

/// What is measured, and for how long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) is_short: bool,
    /// All, if it is empty.
    workloads: Vec<&'static str>,
    /// All, if it is empty.
    libraries: Vec<&'static str>,
}

impl Selection {
    /// What these options select; `None` if one of them is unknown.
    pub(crate) fn of(options: &[&str]) -> Option<Self> {
        let known = |name: &str, names: &[&'static str]| names.iter().copied().find(|known| *known == name);
        let mut selection = Self::default();
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match *option {
                "--short" => selection.is_short = true,
                "--workload" => selection.workloads.push(known(options.next()?, &WORKLOADS)?),
                "--library" => {
                    let name = options.next()?;
                    selection.libraries.push(known(name, &worker::NAMES).or_else(|| known(name, &FOREIGN))?);
                }
                _ => return None,
            }
        }
        Some(selection)
    }

    /// Whether workloads are left out.
    pub(crate) fn has_some_workloads(&self) -> bool {
        !self.workloads.is_empty()
    }

    /// Whether libraries are left out.
    pub(crate) fn has_some_libraries(&self) -> bool {
        !self.libraries.is_empty()
    }

    fn has_workload(&self, name: &str) -> bool {
        self.workloads.is_empty() || self.workloads.contains(&name)
    }

    fn has_library(&self, name: &str) -> bool {
        self.libraries.is_empty() || self.libraries.contains(&name)
    }
}

/// Runs what is selected.
pub(crate) fn all(selection: &Selection, programs: &Path) -> Measured {
    let mut server = Server::start();
    let began = load();
    let mut peers = Vec::new();
    let mut absent = Vec::new();
    for name in worker::NAMES.iter().chain(&FOREIGN).filter(|name| selection.has_library(name)) {
        match Peer::start(name, &server, programs) {
            Ok(peer) => peers.push(peer),
            Err(reason) => absent.push(((*name).to_owned(), reason)),
        }
    }
    let scale = |long: usize, short: usize| if selection.is_short { short } else { long };
    let mut all = Measuring { server: &mut server, peers: &mut peers };
    let mut tables = Vec::new();

    let blocking = ["bare-blocking", "lockshift-blocking", "redlock-rs", "redis-py", "pottery"];
    if selection.has_workload("blocking") {
        let (single, _) = all.cycles(&blocking, 1, 200, scale(60, 3));
        tables.push(Table {
            title: "One thread that blocks, no contention",
            unit: "us",
            reference: "bare-blocking",
            series: single,
        });
    }

    let tasks = [
        "bare",
        "bare-nodelay",
        "lockshift-token",
        "lockshift-batching",
        "lockshift-locks",
        "rslock",
        "distkit",
        "distributed-lock-redis",
        "node-redlock",
        "redis-semaphore",
        "redisson",
        "redsync",
        "bsm-redislock",
    ];
    if selection.has_workload("one-task") {
        let (single, cpu) = all.cycles(&tasks, 1, 200, scale(60, 3));
        tables.push(Table { title: "One task, no contention", unit: "us", reference: "bare", series: single });
        let of_all = [&blocking[..], &tasks[..]].concat();
        let (_, mut cpu_blocking) = all.cycles(&blocking, 1, 200, scale(10, 2));
        cpu_blocking.extend(cpu);
        cpu_blocking.retain(|series| of_all.contains(&series.name.as_str()));
        tables.push(Table {
            title: "The server's time for one cycle",
            unit: "us",
            reference: "bare",
            series: cpu_blocking,
        });
    }

    if selection.has_workload("tasks") {
        let (many, _) = all.cycles(&tasks, 64, 50, scale(40, 3));
        tables.push(Table {
            title: "64 tasks on one connection, a key each",
            unit: "us",
            reference: "bare",
            series: many,
        });
    }

    if selection.has_workload("bridge") {
        let (bridge, _) = all.cycles(&["lockshift-legacy", "lockshift-bridge"], 1, 200, scale(60, 3));
        tables.push(Table {
            title: "The bridge beside its legacy lock",
            unit: "us",
            reference: "lockshift-legacy",
            series: bridge,
        });
    }

    if selection.has_workload("reading") {
        let reading = all.reading(&["redisson", "distkit", "lockshift-notified"], scale(3000, 500) as u64, scale(5, 1));
        tables.push(Table {
            title: "Read/write lock, 64 clients, 95 % reads of 1 ms",
            unit: "per second",
            reference: "redisson",
            series: reading,
        });
    }

    let contenders = [
        "lockshift-fair",
        "lockshift-notified",
        "lockshift-token",
        "rslock",
        "redlock-rs",
        "distkit",
        "distributed-lock-redis",
        "redis-py",
        "pottery",
        "node-redlock",
        "redis-semaphore",
        "redisson",
        "redsync",
        "bsm-redislock",
    ];
    let contention = [(8, 1500, scale(3, 1)), (100, 4000, scale(2, 1)), (1000, 15000, 1)]
        .into_iter()
        .take(if selection.has_workload("contention") { scale(3, 1) } else { 0 })
        .map(|(clients, length, rounds)| all.contention(&contenders, clients, length, rounds))
        .collect();
    drop(peers);
    let waiters = scale(10_000, 500);
    let processes: &[usize] = if selection.has_workload("queue") { &[1, 64] } else { &[] };
    let drained = processes.iter().map(|many| drained(&mut server, *many, waiters / many, scale(3, 1))).collect();
    Measured { server: server.version(), load: (began, load()), absent, tables, contention, drained }
}

fn load() -> String {
    let averages = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    averages.split_whitespace().take(1).collect()
}

struct Measuring<'a> {
    server: &'a mut Server,
    peers: &'a mut Vec<Peer>,
}

impl Measuring<'_> {
    /// The indices of those that have what `request` asks for, which each does once first.
    fn able(&mut self, names: &[&str], request: impl Fn(&str) -> String) -> Vec<usize> {
        let mut able = Vec::new();
        for name in names {
            let Some(index) = self.peers.iter().position(|peer| peer.name == *name) else { continue };
            eprintln!("{name}: {}", request("probe"));
            self.server.reset();
            if self.peers[index].probe(self.server, &request(&format!("probe-{index}"))) {
                able.push(index);
            }
        }
        able
    }

    /// Microseconds a cycle, and of the server's time in it.
    fn cycles(&mut self, names: &[&str], tasks: usize, count: usize, rounds: usize) -> (Vec<Series>, Vec<Series>) {
        let able = self.able(names, |_| format!("cycles {tasks} 5"));
        let empty = |index: &usize| Series { name: self.peers[*index].name.clone(), rounds: Vec::new() };
        let mut times: Vec<_> = able.iter().map(empty).collect();
        let mut server_times = times.clone();
        let cycles = (tasks * count) as f64;
        // The first round warms up.
        for round in 0..=rounds {
            for turn in 0..able.len() {
                let at = (turn + round) % able.len();
                self.server.reset();
                let answer = self.peers[able[at]].ask(&format!("cycles {tasks} {count}"));
                let (Some(nanos), true) = (answer.and_then(|answer| answer.first().copied()), round > 0) else {
                    continue;
                };
                times[at].rounds.push(nanos / cycles / 1000.0);
                server_times[at].rounds.push(self.peers[able[at]].cost(self.server).1 / cycles);
            }
        }
        (times, server_times)
    }

    /// Acquisitions a second of a read/write lock.
    fn reading(&mut self, names: &[&str], length: u64, rounds: usize) -> Vec<Series> {
        let able = self.able(names, |key| format!("contend {key}-rw 2 100 1 reads"));
        let empty = |index: &usize| Series { name: self.peers[*index].name.clone(), rounds: Vec::new() };
        let mut series: Vec<_> = able.iter().map(empty).collect();
        for round in 0..rounds {
            for turn in 0..able.len() {
                let at = (turn + round) % able.len();
                self.server.reset();
                let request = format!("contend rw-{round}-{at} 64 {length} 1 reads");
                let Some(answer) = self.peers[able[at]].ask(&request) else { continue };
                series[at].rounds.push(answer[0] / length as f64 * 1000.0);
            }
        }
        series
    }

    fn contention(&mut self, names: &[&str], clients: usize, length: u64, rounds: usize) -> Contention {
        let able = self.able(names, |key| format!("contend {key}-x{clients} 4 300 {HOLD_MS} -"));
        let empty = |index: &usize| ContentionRow {
            name: self.peers[*index].name.clone(),
            busy: Vec::new(),
            p99_of_ideal: Vec::new(),
            commands: Vec::new(),
        };
        let mut rows: Vec<_> = able.iter().map(empty).collect();
        for round in 0..rounds {
            for turn in 0..able.len() {
                let at = (turn + round) % able.len();
                self.server.reset();
                let request = format!("contend x-{clients}-{round}-{at} {clients} {length} {HOLD_MS} -");
                eprintln!("{}: {request}", self.peers[able[at]].name);
                let Some(answer) = self.peers[able[at]].ask(&request) else { continue };
                let [acquisitions, held, _, p99] = answer[..] else { continue };
                let ideal = held / acquisitions * (clients - 1) as f64;
                rows[at].busy.push(held / (length as f64 * 1e6));
                rows[at].p99_of_ideal.push(p99 / ideal);
                rows[at].commands.push(self.peers[able[at]].cost(self.server).0 / acquisitions);
            }
        }
        Contention { clients, rows }
    }
}

/// So many waiters in each of so many processes, all in one fair queue, until the last has had its turn.
fn drained(server: &mut Server, processes: usize, waiters: usize, rounds: usize) -> Drained {
    let total = processes * waiters;
    let mut drained = Drained { processes, waiters: total, per_second: Vec::new(), bytes_per_waiter: Vec::new() };
    for round in 0..rounds {
        server.reset();
        let key = format!("queue-{round}");
        let client = redis::Client::open(format!("redis://127.0.0.1:{}/", server.port)).expect("it is well formed");
        let lease = Lease::new(Duration::from_secs(600)).expect("it is in bounds");
        let connection = client.get_connection().expect("the server accepts connections");
        let lock = Lock::new(connection, FairLock::new(Key::from(key.as_str()), lease));
        let Ok(Attempt::Won(held)) = lock.try_acquire() else { panic!("no other client wants it yet") };
        let mut waiting: Vec<_> = (0..processes).map(|_| start_draining(server.port, &key, waiters)).collect();
        let before: f64 = waiting.iter().map(|(process, _, at_start)| memory(process).min(*at_start)).sum();
        until_waiting(server, &key, total);
        let after: f64 = waiting.iter().map(|(process, ..)| memory(process)).sum();
        drained.bytes_per_waiter.push((after - before) / total as f64);
        let began = Instant::now();
        drop(held.release().expect("the server replies"));
        for (process, answers, _) in &mut waiting {
            let mut line = String::new();
            answers.read_line(&mut line).expect("it is text");
            process.wait().expect("it is ours");
        }
        drained.per_second.push(total as f64 / began.elapsed().as_secs_f64());
    }
    drained
}

fn start_draining(port: u16, key: &str, waiters: usize) -> (Child, BufReader<std::process::ChildStdout>, f64) {
    let mut process = Command::new(std::env::current_exe().expect("it runs"))
        .args(["drain", &port.to_string(), key, &waiters.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut answers = BufReader::new(process.stdout.take().expect("it is piped"));
    let mut line = String::new();
    answers.read_line(&mut line).expect("it is text");
    let at_start = memory(&process);
    (process, answers, at_start)
}

/// Bytes in memory.
fn memory(process: &Child) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap_or_default();
    let kib =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0
}

fn until_waiting(server: &mut Server, key: &str, waiters: usize) {
    let queue = format!("{{{key}}}:queue");
    loop {
        let places: usize = cmd("ZCARD").arg(&queue).query(&mut server.connection).expect("the server replies");
        if places >= waiters {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
