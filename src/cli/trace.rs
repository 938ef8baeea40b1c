//! Traces as they are named on the command line: files in a row, or standard input.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::decompress::decompressed;
use super::exit::{Exit, Failure, warn};
use super::guard::event_line::{EventKind, EventLine};
use super::os_error;
use super::progress::ReadProgress;
use crate::capture::{self, CapturedExchange};
use crate::monitor::{IllFormed, Line, Lines, Parser, Source, Text};
use crate::wire::{Printable, Reply, UnixTime};

/// One part of a trace.
#[derive(Clone, Debug)]
pub(super) enum TraceInput {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

impl TraceInput {
    /// What was typed; `-` is standard input.
    pub(super) fn all(typed: &[PathBuf]) -> Vec<Self> {
        let one = |path: &PathBuf| if path == Path::new("-") { Self::Stdin } else { Self::File(path.clone()) };
        typed.iter().map(one).collect()
    }

    /// Whether both are the same file.
    fn is_same_file(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => {
                one == other || fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|it| it == one))
            }
            (Self::File(_) | Self::Stdin, _) => false,
        }
    }

    fn open(&self) -> io::Result<(Box<dyn Read + Send>, u64)> {
        Ok(match self {
            Self::File(path) => {
                let file = File::open(path)?;
                let length = file.metadata()?.len();
                (Box::new(file), length)
            }
            Self::Stdin => (Box::new(io::stdin()), 0),
        })
    }
}

impl fmt::Display for TraceInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}

/// Maximum number of lines that are named one by one because they were not understood.
const MOST_NAMED: u64 = 10;
/// Number of bytes of a part in which the rest of the line before is searched.
const PEEKED: u64 = 1 << 16;
/// What `record` writes as the last line of a trace if the connection was lost; the reason follows.
pub(super) const ENDED_EARLY: &str = "# recording ended early: ";

/// A clock that goes back by more than this where one part ends and the next begins was not corrected: the parts are out of order.
const MOST_BACK: Duration = Duration::from_secs(1);

/// How much of a trace was understood.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage {
    /// The lines of MONITOR, and those that are not.
    understood: u64,
    passed_over: u64,
    /// Why the writer of the trace says that it ended early.
    ended_early: Option<String>,
    /// Whether a part is a packet capture.
    has_capture: bool,
    /// Number of events of a guard that decides by itself: they have no commands.
    decisions: u64,
    /// Number of gaps in captures. How many commands are missing in them is not known.
    gaps: u64,
    /// Whether the input ends in the middle of a line, and its writer was a pipe.
    cut_pipe: bool,
    /// Which parts are out of order.
    out_of_order: Option<String>,
}

impl Coverage {
    /// Whether any line was read.
    fn has_lines(&self) -> bool {
        self.understood + self.passed_over > 0
    }

    /// Ends a command with this status if enough was understood for a verdict: there is a line of MONITOR, no more than one
    /// line and one in a hundred were passed over, a capture has at most one gap in a thousand commands, the parts are in order,
    /// and the writer did not fail.
    ///
    /// # Errors
    /// The verdict would rest on too little.
    pub(super) fn verdict(&self, exit: Exit) -> Result<Exit, Failure> {
        let Self { understood, passed_over, gaps, .. } = *self;
        let total = understood + passed_over;
        let why = match self.ended_early.as_ref().or(self.out_of_order.as_ref()) {
            _ if total == 0 && self.has_capture => {
                "the capture shows no command: was it taken where the server is, with its port, unencrypted?".to_owned()
            }
            _ if total == 0 && self.decisions > 0 => {
                "these are decisions of a guard and no commands: `guard --mode observe` writes what can be audited"
                    .to_owned()
            }
            _ if total == 0 => "the trace is empty, so it shows nothing: is its writer still running?".to_owned(),
            _ if understood == 0 => {
                format!(
                    "none of {total} lines was understood: pass what `redis-cli monitor` or `lockshift record` writes"
                )
            }
            _ if passed_over > 1 && passed_over.saturating_mul(100) > total => {
                format!("only {understood} of {total} lines were understood, so races may be missing")
            }
            _ if gaps > understood / 1000 => {
                format!("{gaps} gaps in a capture of {understood} commands, so races may be missing")
            }
            Some(reason) if self.ended_early.is_some() => {
                format!("the recording ended early ({reason}), so races may be missing")
            }
            Some(parts) => {
                format!("the files are out of order ({parts}): pass the oldest first, and each of them once")
            }
            None if self.cut_pipe => "the input ends in the middle of a line: its writer may have failed".to_owned(),
            None => return Ok(exit),
        };
        Err(Failure::new(Exit::Unusable, why))
    }
}

/// A command of a trace.
#[derive(Debug)]
pub(super) enum TraceCommand<'a> {
    /// A line of MONITOR, with its number.
    Line { number: u64, line: Line<'a> },
    /// A command of a guard's events, with its number there and its reply, unless that was too long to keep. They come in the
    /// order of the server.
    Observed { number: u64, line: Line<'a>, reply: Option<Reply> },
    /// A command of a capture, with its number there, its server if that is named, and the reply and when that came, unless it
    /// is missing.
    Exchange { number: u64, server: Option<SocketAddr>, line: Line<'a>, reply: Option<(Reply, UnixTime)> },
}

impl TraceCommand<'_> {
    /// The server, if the source names it.
    pub(super) fn server(&self) -> Option<SocketAddr> {
        match self {
            Self::Line { .. } | Self::Observed { .. } => None,
            Self::Exchange { server, .. } => *server,
        }
    }
}

/// Reads all parts as one trace, decompressed: lines are numbered through. A line that is cut in two where one part ends and
/// the next begins, as in rotated logs, is a line of the next.
pub(super) fn read(inputs: &[TraceInput], each: &mut dyn FnMut(TraceCommand<'_>)) -> Result<Coverage, Failure> {
    let (coverage, order) = (Coverage::default(), PartOrder::default());
    let mut reading = TraceReading { parser: Parser::new(), before: 0, coverage, order, each };
    let mut pending: Option<CutLine<'_>> = None;
    'inputs: for (at, input) in inputs.iter().enumerate() {
        let unusable = |error| Failure::new(Exit::Unusable, format_args!("{input}: {}", os_error::sentence(&error)));
        let (source, length) = input.open().map_err(unusable)?;
        let progress = ReadProgress::of(length, input.to_string());
        let source = decompressed(Box::new(progress.watching(source))).map_err(unusable)?;
        reading.order.begin(at, inputs);
        let (head, source) = peek(source, 4);
        let is_capture = capture::is_capture(&head);
        let mut source: Box<dyn Read> = Box::new(Cursor::new(head).chain(source));
        if is_capture {
            reading.capture(source, input)?;
            continue;
        }
        let mut begun = Vec::new();
        if let Some(cut) = pending.take() {
            let (head, rest) = peek(source, PEEKED);
            begun = reading.join(cut, &head).unwrap_or_default();
            begun.extend(head);
            source = rest;
        }
        let mut lines = Lines::new(Cursor::new(begun).chain(source));
        let mut last = 0;
        loop {
            let text = match lines.next_line() {
                Ok(Some(text)) => text,
                Ok(None) => break,
                // What was read is judged all the same, as it is where a capture ends early.
                Err(error) if reading.coverage.has_lines() => {
                    reading.coverage.ended_early = Some(format!("{input}: {}", os_error::sentence(&error)));
                    break 'inputs;
                }
                Err(error) => return Err(unusable(error)),
            };
            match text {
                Text::Cut(number, text) if at + 1 < inputs.len() => {
                    pending = Some(CutLine { input, number, text: text.to_vec() });
                    break;
                }
                Text::Line(number, text) => {
                    reading.line(input, number, text);
                    last = number;
                }
                Text::Cut(number, text) => {
                    let is_understood = reading.line(input, number, text);
                    reading.coverage.cut_pipe |= !is_understood && matches!(input, TraceInput::Stdin);
                    last = number;
                }
                Text::TooLong(number) => {
                    reading.pass_over(input, number, &IllFormed::TooLong);
                    last = number;
                }
            }
        }
        if pending.is_none() {
            reading.before += last;
        }
    }
    let coverage = Coverage { out_of_order: reading.order.problem(inputs), ..reading.coverage };
    if coverage.passed_over > MOST_NAMED {
        warn(format_args!("{} more lines were passed over", coverage.passed_over - MOST_NAMED));
    }
    Ok(coverage)
}

/// So many of the first bytes of a source, or all of them, and what follows them. An error follows what was read before it.
fn peek(mut source: Box<dyn Read>, most: u64) -> (Vec<u8>, Box<dyn Read>) {
    let mut head = Vec::new();
    match source.by_ref().take(most).read_to_end(&mut head) {
        Ok(_) => (head, source),
        Err(error) => (head, Box::new(Broken(Some(error)))),
    }
}

/// A source that cannot be read, for this reason.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// The order of the parts of a trace, by the clock of each server.
#[derive(Debug, Default)]
struct PartOrder {
    /// The part that is read.
    part: usize,
    /// The part and the moment of the last command of each server.
    last: BTreeMap<Option<SocketAddr>, (usize, UnixTime)>,
    /// Two parts of which the later one begins before the end of the other, or is the same file.
    out_of_order: Option<(usize, usize)>,
}

impl PartOrder {
    /// This part is read next.
    fn begin(&mut self, part: usize, inputs: &[TraceInput]) {
        self.part = part;
        if let Some(same) = (0..part).find(|earlier| inputs[*earlier].is_same_file(&inputs[part])) {
            self.out_of_order.get_or_insert((same, part));
        }
    }

    /// Notes when a command of the part was sent.
    fn note(&mut self, server: Option<SocketAddr>, at: UnixTime) {
        let Some((part, last)) = self.last.insert(server, (self.part, at)) else { return };
        if part != self.part && last.saturating_since(at) > MOST_BACK {
            self.out_of_order.get_or_insert((part, self.part));
        }
    }

    /// Which parts are out of order, if any are.
    fn problem(&self, inputs: &[TraceInput]) -> Option<String> {
        let (earlier, later) = self.out_of_order?;
        Some(match inputs[earlier].is_same_file(&inputs[later]) {
            true => format!("{} is named twice", inputs[later]),
            false => format!("{} begins before {} ends", inputs[later], inputs[earlier]),
        })
    }
}

/// The end of a part that has no line feed.
struct CutLine<'a> {
    input: &'a TraceInput,
    number: u64,
    text: Vec<u8>,
}

/// A trace that is being read.
struct TraceReading<'a> {
    parser: Parser,
    /// The lines of all parts before this one.
    before: u64,
    coverage: Coverage,
    order: PartOrder,
    each: &'a mut dyn FnMut(TraceCommand<'_>),
}

impl TraceReading<'_> {
    /// Reads a line of a part, by its number in it; returns whether it was understood.
    fn line(&mut self, input: &TraceInput, number: u64, text: &[u8]) -> bool {
        match self.parser.parse(text) {
            Ok(line) => {
                self.order.note(None, line.at);
                (self.each)(TraceCommand::Line { number: self.before + number, line });
                self.coverage.understood += 1;
                true
            }
            Err(_) if is_greeting(text) || text.is_empty() => true,
            Err(why) => {
                if let Some(event) = guard_event(text) {
                    self.event(self.before + number, event);
                } else if let Some(reason) = text.strip_prefix(ENDED_EARLY.as_bytes()) {
                    self.coverage.ended_early = Some(Printable(reason).to_string());
                } else {
                    self.pass_over(input, number, &why);
                    return false;
                }
                true
            }
        }
    }

    /// Reads an event of a guard. A command on an observed key has been answered before the next one on this key was sent, so the
    /// events are in the order of the server, and one moment stands for both.
    fn event(&mut self, number: u64, event: EventLine) {
        let EventLine { at_us, client, database, what } = event;
        let (command, reply) = match what {
            EventKind::Command { command, reply } => (command, reply),
            EventKind::Lock { .. } => {
                self.coverage.decisions += 1;
                return;
            }
            // The audit finds it again.
            EventKind::Finding { .. } => return,
        };
        let at = UnixTime::from_nanos(at_us.saturating_mul(1_000));
        let line = Line::new(at, database, Source::Client(client.as_bytes()), &command);
        self.order.note(None, at);
        (self.each)(TraceCommand::Observed { number, line, reply });
        self.coverage.understood += 1;
    }

    /// Reads a part that is a packet capture. Its commands are numbered.
    fn capture(&mut self, source: Box<dyn Read>, input: &TraceInput) -> Result<(), Failure> {
        let mut number = 0;
        let (statistics, outcome) = capture::read(source, &mut |exchange| {
            number += 1;
            let CapturedExchange { server, client, database, at, answered_at, command, reply } = exchange;
            let client = client.to_string();
            let line = Line::new(at, database, Source::Client(client.as_bytes()), &command);
            let (number, reply) = (self.before + number, reply.zip(answered_at));
            self.order.note(Some(server), at);
            (self.each)(TraceCommand::Exchange { number, server: Some(server), line, reply });
        });
        self.before += number;
        self.coverage.understood += statistics.commands;
        self.coverage.gaps += statistics.gaps;
        if statistics.gaps > 0 {
            warn(format_args!("{input}: {} gaps: packets are missing, or bytes are not RESP", statistics.gaps));
        }
        if statistics.foreign_packets > 0 {
            warn(format_args!("{input}: {} packets are not TCP over IP", statistics.foreign_packets));
        }
        if let Err(error) = outcome {
            self.coverage.ended_early = Some(format!("{input}: {error}"));
        }
        self.coverage.has_capture = true;
        Ok(())
    }

    /// What to read before a part that begins with this head: the end of the part before, if its line goes on there. If not,
    /// that was a line by itself.
    fn join(&mut self, cut: CutLine<'_>, head: &[u8]) -> Option<Vec<u8>> {
        let end = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let joined = [&cut.text, end.strip_suffix(b"\r").unwrap_or(end)].concat();
        if is_greeting(&joined) || self.parser.parse(&joined).is_ok() {
            self.before += cut.number - 1;
            return Some(cut.text);
        }
        self.line(cut.input, cut.number, &cut.text);
        self.before += cut.number;
        None
    }

    fn pass_over(&mut self, input: &TraceInput, number: u64, why: &IllFormed) {
        self.coverage.passed_over += 1;
        if self.coverage.passed_over <= MOST_NAMED {
            warn(format_args!("{input}:{number}: passed over: {why}"));
        }
    }
}

/// The event in a line of `guard --events`.
fn guard_event(text: &[u8]) -> Option<EventLine> {
    text.starts_with(b"{").then(|| serde_json::from_slice(text).ok()).flatten()
}

/// The reply to MONITOR itself.
fn is_greeting(text: &[u8]) -> bool {
    text == b"OK" || text == b"+OK"
}
