//! A client in a process of its own, which can be killed, stopped and have its clocks set: the same program, started
//! again. It reports every event to its parent, one line each.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use lockshift::driver::{Loss, Wait};
use lockshift::lock::Released;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::NamedTempFile;

use crate::client::{Client, Stay};
use crate::drivers::{Destination, Driver};
use crate::tested_locks::tested_locks;
use crate::witness::{Ending, Event, Outcome, Witness, stamp};

/// The orders of a child: driver, lock, key, address, how long it waits and holds, in milliseconds.
const ORDERS: &str = "LOCKSHIFT_FAULTS_CLIENT";

/// What a child is to do.
pub(crate) struct Task<'a> {
    pub(crate) driver: Driver,
    pub(crate) lock: &'a str,
    pub(crate) key: &'a str,
    pub(crate) url: &'a str,
    pub(crate) waits: Duration,
    pub(crate) stays: Duration,
}

/// A handle on the child that is running, if any.
#[derive(Clone, Default)]
pub(crate) struct Handle(Arc<Mutex<Option<Running>>>);

struct Running {
    pid: Pid,
    clocks: NamedTempFile,
}

impl Handle {
    /// Ends it at once.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Stops it from running until [`resume`](Self::resume).
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it run again.
    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Sets its monotonic clock back by this length, as if the machine had been suspended.
    pub(crate) fn has_slept(&self, length: Duration) {
        self.set_clock(8, -nanos(length));
    }

    /// Sets its wall clock ahead by this much, or behind if negative.
    pub(crate) fn step_clock(&self, ahead_ns: i64) {
        self.set_clock(0, ahead_ns);
    }

    fn signal(&self, signal: Signal) {
        if let Some(running) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // It may have ended but was not waited for, so its id is not reused.
            let _ = kill_process(running.pid, signal);
        }
    }

    fn set_clock(&self, offset: u64, nanos: i64) {
        if let Some(running) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            running.clocks.as_file().write_all_at(&nanos.to_ne_bytes(), offset).expect("the file is ours");
        }
    }
}

fn nanos(length: Duration) -> i64 {
    i64::try_from(length.as_nanos()).expect("less than three hundred years")
}

/// Runs a child and records what it reports; `on_event` receives it as well.
pub(crate) fn visit(task: &Task<'_>, handle: &Handle, witness: &Witness, on_event: &mut dyn FnMut(Event)) -> Outcome {
    let Task { driver, lock, key, url, waits, stays } = task;
    let orders = format!("{driver}\n{lock}\n{key}\n{url}\n{}\n{}", waits.as_millis(), stays.as_millis());
    let mut clocks = NamedTempFile::new().expect("a temporary file");
    clocks.write_all(&[0; 16]).expect("the file is ours");
    let program = std::env::current_exe().expect("this program is a file");
    let mut command = Command::new(program);
    command.env(ORDERS, orders).env("LD_PRELOAD", shim()).env("LOCKSHIFT_FAULTS_CLOCKS", clocks.path());
    let mut process = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("it was started before");
    let lines = BufReader::new(process.stdout.take().expect("it is piped"));
    *handle.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Running { pid: Pid::from_child(&process), clocks });

    let locker = tested_locks().iter().find(|tested| tested.name == *lock).expect("it is of the catalogue").locker(key);
    let visit = witness.begin(1, locker.mode(), locker.lease().length());
    let mut outcome = Outcome::Unknown;
    for line in lines.lines().map_while(Result::ok) {
        // A killed process may leave an incomplete line.
        let Some(event) = read(&line) else { continue };
        if let Event::Answered(_, answered) = event {
            outcome = answered;
        }
        witness.note(visit, event);
        on_event(event);
    }
    *handle.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    process.wait().expect("the child is ours");
    outcome
}

/// Carries out the orders of a parent, if this process has one.
pub(crate) fn serve() -> Option<ExitCode> {
    let orders = std::env::var(ORDERS).ok()?;
    let words: Vec<&str> = orders.split('\n').collect();
    let [driver, lock, key, url, waits, stays] = words[..] else { panic!("not the orders of a parent: {orders}") };
    let driver = Driver::BOTH.into_iter().find(|it| it.to_string() == driver).expect("a driver");
    let length = |millis: &str| Duration::from_millis(millis.parse().expect("a number of milliseconds"));
    let (waits, stays) = (length(waits), length(stays));
    let locker = tested_locks().iter().find(|tested| tested.name == lock).expect("a lock of the catalogue").locker(key);
    let destination = Destination::to(&[url.to_owned()]);
    let witness = Witness::default();
    let client = Client {
        number: 1,
        driver,
        destination,
        locker,
        witness: &witness,
        on_event: |event| println!("{}", written(event)),
    };
    let mut leaves_at = None;
    client.visit(&Wait::backoff().for_at_most(waits), Stay::Fixed, false, || {
        stamp() >= *leaves_at.get_or_insert_with(|| stamp() + stays)
    });
    Some(ExitCode::SUCCESS)
}

const OUTCOMES: [Outcome; 4] = [Outcome::Won, Outcome::Refused, Outcome::Failed, Outcome::Unknown];
const LOSSES: [Loss; 3] = [Loss::Taken, Loss::Overrun, Loss::Intruded];
const ENDINGS: [Ending; 8] = [
    Ending::Known(Released::Freed),
    Ending::Known(Released::Lost),
    Ending::Known(Released::LeftAlone),
    Ending::Known(Released::StillHeld),
    Ending::Known(Released::Intruded),
    Ending::Failed,
    Ending::Unknown,
    Ending::Unasked,
];

fn place<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().position(|it| it == one).expect("all are listed")
}

/// One line: the event, its time in nanoseconds, and its detail as a number.
fn written(event: Event) -> String {
    let (word, at, how) = match event {
        Event::Attempts(at) => ("asks", at, 0),
        Event::Answered(at, outcome) => ("answered", at, place(&OUTCOMES, &outcome) as u128),
        Event::Inside(at, left) => ("inside", at, left.as_nanos().min(u64::MAX.into())),
        Event::Lost(at, loss) => ("lost", at, place(&LOSSES, &loss) as u128),
        Event::Releases(at) => ("releases", at, 0),
        Event::Released(at, ending) => ("released", at, place(&ENDINGS, &ending) as u128),
    };
    format!("{word} {} {how}.", at.as_nanos())
}

fn read(line: &str) -> Option<Event> {
    let mut words = line.strip_suffix('.')?.split(' ');
    let (word, at, how) = (words.next()?, words.next()?.parse().ok()?, words.next()?.parse::<u64>().ok()?);
    let (at, place) = (Duration::from_nanos(at), usize::try_from(how).ok()?);
    Some(match word {
        "asks" => Event::Attempts(at),
        "answered" => Event::Answered(at, *OUTCOMES.get(place)?),
        "inside" => Event::Inside(at, Duration::from_nanos(how)),
        "lost" => Event::Lost(at, *LOSSES.get(place)?),
        "releases" => Event::Releases(at),
        "released" => Event::Released(at, *ENDINGS.get(place)?),
        _ => return None,
    })
}

/// The library that shifts a child's clocks, compiled at first use.
fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/child/clocks.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("clocks-{}.so", std::process::id()));
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
        assert!(compiled.is_ok_and(|status| status.success()), "a C compiler (cc) is needed to set a client's clocks");
        library
    })
}
