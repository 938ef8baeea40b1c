//! `lockshift audit` beside `wc -l`, which only counts line feeds: a trace of a busy server, one line in twelve about a lock.
//!
//! The two take turns. `cargo bench --bench audit` prints how many lines each goes through in a second of one processor,
//! which a busy machine does not change, and the most memory that an audit needed for a tenth of the lines and for all of
//! them. With a path behind `--`, it only writes the trace there.

mod fleet;
mod traffic;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lockshift::driver::host;

use traffic::Traffic;

const LINES: u32 = 3_000_000;
const TURNS: u32 = 5;

fn main() {
    let typed = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    if let Some(path) = typed {
        return write(path.as_ref(), LINES).expect("the path can be written");
    }
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let (short, long) = (directory.path().join("short"), directory.path().join("long"));
    write(&short, LINES / 10).and_then(|()| write(&long, LINES)).expect("it has room for the trace");

    let (mut counting_s, mut auditing_s) = (0.0, 0.0);
    for _ in 0..TURNS {
        counting_s += seconds(counting(&long));
        auditing_s += seconds(auditing(&long));
    }
    let lines = f64::from(LINES * TURNS);
    println!("wc -l              {:9.0} lines/s", lines / counting_s);
    println!("lockshift audit    {:9.0} lines/s", lines / auditing_s);
    println!("time               {:9.1}    times that of wc -l ({TURNS} turns)", auditing_s / counting_s);
    let (less, more) = (memory_kib(&short), memory_kib(&long));
    println!("memory             {less:9} KiB at the most with {} lines, {more} KiB with {LINES}", LINES / 10);
}

/// Writes a trace of so many lines.
fn write(path: &Path, lines: u32) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut traffic = Traffic::new();
    for _ in 0..lines {
        traffic.line(&mut file)?;
    }
    file.flush()
}

fn counting(trace: &Path) -> Command {
    let mut command = Command::new("wc");
    command.arg("-l").arg(trace);
    command
}

fn auditing(trace: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.arg("audit").arg(trace);
    command
}

/// The seconds of a processor that a command takes.
fn seconds(mut command: Command) -> f64 {
    let before = children_s();
    let status = command.stdout(Stdio::null()).status().expect("it is installed");
    assert!(status.code().is_some_and(|code| code < 2), "{command:?} ended with {status}");
    children_s() - before
}

/// The seconds of a processor that this program's children have taken, as the system counts them: in hundredths.
fn children_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("this is Linux");
    let (_, after_name) = stat.rsplit_once(')').expect("the program has a name");
    let times = after_name.split_whitespace().skip(13).take(2);
    times.map(|ticks| ticks.parse::<f64>().expect("it is a number")).sum::<f64>() / 100.0
}

/// The most memory that an audit had, as the system tells while it runs.
fn memory_kib(trace: &Path) -> u64 {
    let mut child = auditing(trace).stdout(Stdio::null()).spawn().expect("it was built");
    let mut most = 0;
    while child.try_wait().expect("it is ours").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(peak.unwrap_or(0));
        host::sleep(Duration::from_millis(2));
    }
    most
}
