//! `lockshift audit` beside `wc -l`, which only counts line feeds: on a trace of a busy server, one line in twelve about a
//! lock, and on one of nothing but locks. Some four hundred locks are alive at a time, and others take their place.
//!
//! The two take turns. `cargo bench --bench audit` prints how many lines each goes through in a second of one processor,
//! which a busy machine does not change, and the most memory that an audit needs for half of the lines and for all of
//! them; and how many lines of the same trace it goes through in a second of the clock, plain and compressed, because
//! decompressing has a thread of its own, and judging has some. With a path behind `--`, it only writes the first trace there, and
//! with a second path the other one.

mod fleet;
#[path = "../measure/peak.rs"]
mod peak;
mod traffic;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use lockshift::driver::host;
use peak::memory_kib;
use ruzstd::encoding::{CompressionLevel, compress};
use traffic::Traffic;

const LINES: u32 = 3_000_000;
const TURNS: u32 = 3;
/// One line in so many is about a lock.
const LOCK_EVERY: [u32; 2] = [12, 1];

fn main() {
    let typed: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    for (path, lock_every) in typed.iter().zip(LOCK_EVERY) {
        write(path.as_ref(), LINES, lock_every).expect("the path can be written");
    }
    if !typed.is_empty() {
        return;
    }
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    for lock_every in LOCK_EVERY {
        measure(directory.path(), lock_every).expect("it has room for the trace");
    }
}

fn measure(directory: &Path, lock_every: u32) -> io::Result<()> {
    let (half, whole) = (directory.join("half"), directory.join("whole"));
    write(&half, LINES / 2, lock_every)?;
    write(&whole, LINES, lock_every)?;
    let (mut counting_s, mut auditing_s) = (0.0, 0.0);
    for _ in 0..TURNS {
        counting_s += seconds(counting(&whole));
        auditing_s += seconds(auditing(&whole));
    }
    let lines = f64::from(LINES * TURNS);
    println!("{LINES} lines, one in {lock_every} about a lock");
    println!("wc -l              {:9.0} lines/s", lines / counting_s);
    println!("lockshift audit    {:9.0} lines/s", lines / auditing_s);
    println!("time               {:9.1}    times that of wc -l ({TURNS} turns)", auditing_s / counting_s);
    compressed(&whole, directory)?;
    let (less, more) = (memory_kib(auditing(&half)), memory_kib(auditing(&whole)));
    println!("memory             {less:9} KiB at the most for half of the lines, {more} KiB for all\n");
    Ok(())
}

/// The plain trace and the compressed ones take turns.
fn compressed(plain: &Path, directory: &Path) -> io::Result<()> {
    let (gzip, zstd) = (directory.join("gzip"), directory.join("zstd"));
    let mut encoder = GzEncoder::new(BufWriter::new(File::create(&gzip)?), Compression::default());
    io::copy(&mut File::open(plain)?, &mut encoder)?;
    encoder.finish()?.flush()?;
    compress(File::open(plain)?, BufWriter::new(File::create(&zstd)?), CompressionLevel::Fastest);
    let traces = [("plain", plain), ("gzip", &gzip), ("zstd", &zstd)];
    let mut taken = [[0.0; 2]; 3];
    for _ in 0..TURNS {
        for ((_, trace), [clock_s, processor_s]) in traces.iter().zip(&mut taken) {
            let began = host::mono();
            *processor_s += seconds(auditing(trace));
            *clock_s += host::mono().saturating_since(began).as_secs_f64();
        }
    }
    let [plain_s, _] = taken[0];
    for ((name, _), [clock_s, processor_s]) in traces.iter().zip(taken) {
        let (rate, ratio) = (f64::from(LINES * TURNS) / clock_s, plain_s / clock_s);
        println!("{name:18} {rate:9.0} lines/s by the clock, {ratio:.2} of plain; {processor_s:.2} s of processors");
    }
    Ok(())
}

/// Writes a trace of so many lines.
fn write(path: &Path, lines: u32, lock_every: u32) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut traffic = Traffic::new(lock_every);
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
