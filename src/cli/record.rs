//! `lockshift record`: a MONITOR trace, written down.

mod sink;

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use redis::RedisError;
use serde::Serialize;

use super::exit::{Exit, Failure, warn};
use super::global_options::GlobalOptions;
use super::os_error::without_number;
use super::server_monitor::{MonitorEvent, Monitored, monitored};
use super::server_options::ServerOptions;
use super::trace::ENDED_EARLY;
use super::{failure, values};
use crate::driver::host;
use crate::monitor::{Line, Parser, Source};
use crate::redaction::Redaction;
use crate::sim::glob;
use crate::wire::{MonoTime, Printable, UnixTime};
use sink::Sink;

/// Write down every command that a server runs: a MONITOR trace for `audit` and `dry-run`
///
/// It ends after the time given by --for, or when it is asked to (Ctrl-C), and never in the middle of a line. If it is behind
/// the server when the time has passed, it goes on with what the server had run until then, for ten seconds at most; what is
/// missing after that, or when it is asked to end, is reported on standard error. A file gets its name, in place of one of that
/// name, when it is complete; a recording that is killed leaves none. If the server is lost or the disk is full, what came
/// before is kept, the last line says so, and `audit` then gives no verdict. With --json each line is an object with the fields
/// at, database, client and command; `audit` reads only the other form.
///
/// MONITOR costs the server some of its speed for as long as it lasts, and lists the values of every client: record for as
/// long as needed, or record with --redact. A new file can be read by its owner only; one that replaces another can be read by
/// those who could read that.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// For how long: 60s, 5m
    #[arg(long = "for", value_name = "TIME", value_parser = values::length)]
    length: Option<Duration>,
    /// Only commands one of whose arguments, such as a key, matches this pattern of Redis; also those that may concern keys
    /// without naming them, such as EXEC and FLUSHALL
    #[arg(long = "match", value_name = "GLOB")]
    pattern: Option<String>,
    /// Replace values by hashes, under a key that is forgotten. `audit` and `dry-run` say the same of it. Readable stay: times,
    /// clients, keys, scripts, and in the values of commands that locks send, such as SET, HSET and ZADD: numbers that can be a
    /// time, punctuation, single letters, and all other digits of a value that has at most seven of them, so a PIN, a year
    /// or an amount
    #[arg(long)]
    redact: bool,
    /// The file to write instead of standard output; compressed if its name ends with .gz
    #[arg(long, short, value_name = "FILE", value_parser = output_file())]
    output: Option<PathBuf>,
    /// Begin a new file after this many bytes, counted before compression, at least 1K: FILE.000001, FILE.000002 ...; .gz
    /// stays at the end
    #[arg(long, value_name = "SIZE", value_parser = part_size, requires = "output")]
    rotate: Option<u64>,
    #[command(flatten)]
    server: ServerOptions,
}

/// A file to record to. The ends of names that other compressors give are refused: the file would not be what it says.
fn output_file() -> impl TypedValueParser<Value = PathBuf> {
    const OTHERS: [&str; 7] = ["zst", "zstd", "bz2", "xz", "lz4", "lzma", "zip"];
    PathBufValueParser::new().try_map(|path| match path.extension().and_then(OsStr::to_str) {
        Some(end) if OTHERS.contains(&end) => {
            Err(format!("record compresses only as gzip: end the name with .gz, not .{end}"))
        }
        Some(_) | None => Ok(path),
    })
}

/// The size of a part: a number of bytes, at least 1K.
fn part_size(typed: &str) -> Result<u64, String> {
    values::size(typed).and_then(|size| match size {
        0..1024 => Err("a part has at least 1K".to_owned()),
        _ => Ok(size),
    })
}

/// Records.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let server = args.server.server()?;
    let unusable = |error: RedisError| failure::of_server(&server, error);
    let redaction = args.redact.then(host::random_key).transpose();
    let redaction = redaction
        .map_err(|error| Failure::new(Exit::Unusable, format!("the system supplies no random numbers: {error}")))?;
    let Monitored { events, .. } = monitored(&server)?;
    let mut sink = match &args.output {
        Some(path) => Sink::file(path, args.rotate)?,
        None => Sink::page()?,
    };
    let mut recording = Recording {
        parser: Parser::new(),
        pattern: args.pattern.as_ref().map(|pattern| pattern.as_bytes()),
        form: if global.json { RecordFormat::Json } else { RecordFormat::Monitor },
        redaction: redaction.map(Redaction::new),
        length: args.length,
        began: host::mono(),
        prompt_age: None,
        commands: 0,
    };
    let copied = recording.copy(&mut sink, &events);
    let ended = sink.end(copied, (recording.form == RecordFormat::Monitor).then_some(ENDED_EARLY))?;
    if args.output.is_some() {
        let seconds = host::mono().saturating_since(recording.began).as_secs_f64();
        warn(format_args!("recorded {} commands in {seconds:.1} s", recording.commands));
    }
    match ended {
        Some(error) => Err(unusable(error)),
        None => Ok(Exit::Yes),
    }
}

/// How a command is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordFormat {
    /// As MONITOR lists it.
    Monitor,
    /// One JSON object a line.
    Json,
}

/// A command, as JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Recorded {
    /// Seconds since 1970, by the server's clock.
    at: f64,
    database: u32,
    client: String,
    command: Vec<String>,
}

impl Recorded {
    fn of(line: &Line<'_>) -> Self {
        Self {
            // Nanoseconds of today have more digits than a floating point number.
            at: (line.at.as_nanos() / 1_000) as f64 / 1e6,
            database: line.database,
            client: match line.source {
                Source::Client(address) => Printable(address).to_string(),
                Source::Script => "lua".to_owned(),
            },
            command: line.words().map(|word| Printable(&word.bytes()).to_string()).collect(),
        }
    }
}

fn json(line: &Line<'_>) -> String {
    serde_json::to_string(&Recorded::of(line)).expect("every field of a command has a JSON form")
}

/// What the server has sent has arrived after this time.
const ON_THE_WAY: Duration = Duration::from_millis(20);
/// For how long a recording that is behind at its end goes on.
const CATCHING_UP: Duration = Duration::from_secs(10);

/// A recording under way.
struct Recording<'a> {
    parser: Parser,
    pattern: Option<&'a [u8]>,
    form: RecordFormat,
    redaction: Option<Redaction>,
    length: Option<Duration>,
    began: MonoTime,
    /// The least age that a line had when it arrived, in nanoseconds between the server's clock and this machine's.
    prompt_age: Option<i64>,
    /// Number of commands that were written.
    commands: u64,
}

impl Recording<'_> {
    /// Copies lines until the time has passed or the end is requested; the error of the connection, if that was the end.
    fn copy(&mut self, to: &mut Sink, events: &Receiver<MonitorEvent>) -> io::Result<Option<RedisError>> {
        loop {
            let left = self.length.map(|length| length.saturating_sub(host::mono().saturating_since(self.began)));
            let next = match (events.try_recv(), left) {
                (next, Some(Duration::ZERO)) => return self.catch_up(to, next.ok(), events),
                (Ok(next), _) => Ok(next),
                (Err(_), left) => {
                    // Nothing is under way: a program that reads along shall see what there is.
                    to.flush()?;
                    let next = events.recv_timeout(left.unwrap_or(Duration::from_secs(3600)));
                    if let Ok(MonitorEvent::Line(line)) = &next {
                        self.note_prompt(line);
                    }
                    next
                }
            };
            match next {
                Ok(MonitorEvent::Line(line)) => self.write(to, &line)?,
                Ok(MonitorEvent::Broken(error)) => return self.broken(to, error).map(Some),
                Ok(MonitorEvent::StopRequested) => {
                    if let Ok(MonitorEvent::Line(line)) = events.recv_timeout(ON_THE_WAY) {
                        self.warn_of_backlog(&line, host::wall());
                    }
                    return Ok(None);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Copies what the server had run when the time had passed, as far as it arrives soon; says how much is missing.
    fn catch_up(
        &mut self,
        to: &mut Sink,
        mut next: Option<MonitorEvent>,
        events: &Receiver<MonitorEvent>,
    ) -> io::Result<Option<RedisError>> {
        let late = host::mono().saturating_since(self.began).saturating_sub(self.length.unwrap_or_default());
        let (end, give_up) = (host::wall().saturating_sub(late), host::mono().saturating_add(CATCHING_UP));
        loop {
            match next {
                Some(MonitorEvent::Line(line)) if self.ran_by(&line, end) && host::mono() < give_up => {
                    self.write(to, &line)?;
                }
                Some(MonitorEvent::Line(line)) => {
                    self.warn_of_backlog(&line, end);
                    return Ok(None);
                }
                Some(MonitorEvent::Broken(error)) => return self.broken(to, error).map(Some),
                Some(MonitorEvent::StopRequested) => {
                    if let Ok(MonitorEvent::Line(line)) = events.recv_timeout(ON_THE_WAY) {
                        self.warn_of_backlog(&line, end);
                    }
                    return Ok(None);
                }
                None => return Ok(None),
            }
            next = events.recv_timeout(ON_THE_WAY).ok();
        }
    }

    /// The connection is lost, which the last line says.
    fn broken(&self, to: &mut Sink, error: RedisError) -> io::Result<RedisError> {
        if self.form == RecordFormat::Monitor {
            to.line(&format!("{ENDED_EARLY}{}", without_number(&error.to_string())))?;
        }
        Ok(error)
    }

    /// Notes a line that was waited for: its age is that of a line that has just been listed, and how far the clocks are apart.
    fn note_prompt(&mut self, line: &str) {
        if let Some(age) = self.age(line, host::wall()) {
            self.prompt_age = Some(self.prompt_age.map_or(age, |least| least.min(age)));
        }
    }

    /// The age of a line at this moment of this machine's clock, in nanoseconds, by the clock of the server.
    fn age(&mut self, line: &str, at: UnixTime) -> Option<i64> {
        let line = self.parser.parse(line.as_bytes()).ok()?;
        Some(at.as_nanos().saturating_sub(line.at.as_nanos()))
    }

    /// How long before this moment the server has run this line. Of the first lines that is not known.
    fn backlog(&mut self, line: &str, at: UnixTime) -> Option<i64> {
        Some(self.age(line, at)?.saturating_sub(self.prompt_age?))
    }

    fn ran_by(&mut self, line: &str, end: UnixTime) -> bool {
        self.backlog(line, end).is_some_and(|before| before >= 0)
    }

    /// This line is not recorded, nor is what follows it, although the server had run it by then.
    fn warn_of_backlog(&mut self, line: &str, end: UnixTime) {
        const NOTABLE: f64 = 0.5;
        let seconds = self.backlog(line, end).unwrap_or(0) as f64 / 1e9;
        if seconds >= NOTABLE {
            warn(format_args!(
                "what the server lists came faster than it could be written: the commands of the last {seconds:.1} s are not \
                 recorded"
            ));
        }
    }

    fn write(&mut self, to: &mut Sink, text: &str) -> io::Result<()> {
        if self.pattern.is_none() && self.form == RecordFormat::Monitor && self.redaction.is_none() {
            self.commands += 1;
            return to.line(text);
        }
        let Ok(line) = self.parser.parse(text.as_bytes()) else {
            log::warn!("what the server sent is not a line of MONITOR");
            return Ok(());
        };
        if !self.pattern.is_none_or(|pattern| is_wanted(pattern, &line)) {
            return Ok(());
        }
        self.commands += 1;
        let redacted = self.redaction.as_ref().map(|redaction| redaction.line(&line));
        match (self.form, &redacted) {
            (RecordFormat::Monitor, None) => to.line(text),
            (RecordFormat::Monitor, Some(redacted)) => to.line(redacted),
            (RecordFormat::Json, None) => to.line(&json(&line)),
            (RecordFormat::Json, Some(redacted)) => {
                to.line(&json(&Parser::new().parse(redacted.as_bytes()).expect("a written line can be read")))
            }
        }
    }
}

/// Whether a word of this command matches, or the command may concern keys without naming them: without these an audit
/// would misjudge what is left.
fn is_wanted(pattern: &[u8], line: &Line<'_>) -> bool {
    const WITHOUT_A_KEY: [&[u8]; 8] =
        [b"multi", b"exec", b"discard", b"unwatch", b"time", b"flushall", b"flushdb", b"swapdb"];
    let name = line.words().next().map(|name| name.bytes().to_ascii_lowercase()).unwrap_or_default();
    WITHOUT_A_KEY.contains(&&*name) || line.words().skip(1).any(|word| glob::matches(pattern, &word.bytes()))
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift record --redis redis://127.0.0.1 --for 60s -o trace.log
  lockshift record --for 5m --match 'lock:*' --redact | lockshift audit -
  lockshift record --for 24h --rotate 256M -o trace.log.gz; lockshift audit trace.log.*
  lockshift record --for 10s --json | jq -r '.command[0]' | sort | uniq -c";
