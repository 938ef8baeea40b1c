//! Fuzzing: arbitrary bytes where input comes from outside. Nothing panics, hangs, or takes time out of proportion.
//!
//! ```text
//! cargo test --all-features --test fuzz                               two seconds of a processor for each target, as `./test` runs it
//! LOCKSHIFT_FUZZ_SECONDS=600 cargo test --all-features --test fuzz    ten minutes
//! cargo +nightly fuzz run monitor                                     guided by coverage: fuzz/README.md
//! ```
//!
//! An input is a [seed](seeds) or what mutations made of one. The random numbers are the same in every run unless
//! `LOCKSHIFT_FUZZ_SEED` gives another number. An input that makes a target fail is made as short as it still fails and
//! printed; kept as a file in `tests/fuzz/found/TARGET`, it is a seed, and is tried first ever after.

mod mutation;
mod seeds;
mod targets;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, io};

use libtest_mimic::{Arguments, Failed, Trial};
use rustix::time::{ClockId, clock_gettime};

use crate::targets::{TARGETS, Target};

/// Inputs are at most this long, in bytes, unless a seed is longer.
const LONGEST: usize = 1 << 12;
/// A seed is repeated up to these lengths, in bytes, to see how time grows with length.
const LENGTHS: [usize; 2] = [1 << 14, 1 << 16];
/// How much longer the input of four times the length may take: four times in proportion, sixteen if time is quadratic.
const TIMES_LONGER: u32 = 9;
/// Shorter times are not compared.
const MEASURABLE: Duration = Duration::from_millis(10);
/// How often each is measured at most: an interruption makes a time longer once, and the shortest time is compared.
const MEASURED_TIMES: usize = 5;

fn main() -> ExitCode {
    // Each panic is caught and reported with its input.
    std::panic::set_hook(Box::new(|_| {}));
    let arguments = Arguments::from_args();
    let trials = TARGETS.iter().flat_map(|target| {
        [
            Trial::test(format!("{}::any_bytes", target.name), || any_bytes(target)),
            Trial::test(format!("{}::time_grows_with_length", target.name), || time_grows_with_length(target)),
        ]
    });
    let same = Trial::test("cargo_fuzz_runs_the_same_targets", cargo_fuzz_runs_the_same_targets);
    libtest_mimic::run(&arguments, trials.chain([same]).collect()).exit_code()
}

fn cargo_fuzz_runs_the_same_targets() -> Result<(), Failed> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/fuzz_targets");
    let files = fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<io::Result<Vec<_>>>()?;
    let names: BTreeSet<_> = files.iter().filter_map(|file| file.file_stem()?.to_str()).collect();
    assert_eq!(names, TARGETS.iter().map(|target| target.name).collect());
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        assert!(fs::read_to_string(file)?.contains(&format!("::{name}(input)")), "{}", file.display());
    }
    Ok(())
}

fn number_from(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

fn any_bytes(target: &'static Target) -> Result<(), Failed> {
    let seeds = seeds::of(target.name);
    for seed in &seeds {
        check(target, seed)?;
    }
    let mut random = fastrand::Rng::with_seed(number_from("LOCKSHIFT_FUZZ_SEED", 1));
    let until = processor_time() + Duration::from_secs(number_from("LOCKSHIFT_FUZZ_SECONDS", 2));
    while processor_time() < until {
        let mut input = mutation::mutated(&seeds, target.words, &mut random);
        input.truncate(LONGEST);
        check(target, &input)?;
    }
    Ok(())
}

/// Runs the target; what it fails on is shortened first.
fn check(target: &'static Target, input: &[u8]) -> Result<(), Failed> {
    let Err(_) = run(target, input) else { return Ok(()) };
    let shortest = mutation::shortened(input, |shorter| run(target, shorter).is_err());
    let why = run(target, &shortest).err().unwrap_or_default();
    Err(format!("{why}\nthe input: b\"{}\"", shortest.escape_ascii()).into())
}

fn run(target: &'static Target, input: &[u8]) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    })
}

fn time_grows_with_length(target: &'static Target) -> Result<(), Failed> {
    for seed in seeds::of(target.name).iter().filter(|seed| !seed.is_empty()) {
        let inputs = LENGTHS.map(|length| seed.iter().copied().cycle().take(length).collect::<Vec<u8>>());
        let mut shortest = [Duration::MAX; 2];
        let mut is_proportional = false;
        for time_before in 0..MEASURED_TIMES {
            for (time, input) in shortest.iter_mut().zip(&inputs) {
                *time = (*time).min(time_of(target, input)?);
            }
            let [short, long] = shortest;
            // The first time is that of a cold start, too, and would hide a long one.
            is_proportional = long <= MEASURABLE || time_before > 0 && long <= short * TIMES_LONGER;
            if is_proportional {
                break;
            }
        }
        if !is_proportional {
            let [short, long] = shortest;
            let begin = &seed[..seed.len().min(200)];
            return Err(
                format!("{long:?} after {short:?}, for four times as much of b\"{}\"", begin.escape_ascii()).into()
            );
        }
    }
    Ok(())
}

fn time_of(target: &'static Target, input: &[u8]) -> Result<Duration, Failed> {
    let begin = processor_time();
    run(target, input)?;
    Ok(processor_time() - begin)
}

/// The processor time of this thread: what else runs on the machine does not count, save what a hypervisor takes away.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("it is not negative")
}
