//! Lines that a thread of its own prints: where nobody reads them, only that thread waits.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::exit::{Exit, Failure, warning};
use super::os_error;

/// How long the last lines may take. No reader is that slow, unless it has stopped reading.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many bytes wait to be printed. A line that does not fit is left out.
const MOST_WAITING: usize = 1 << 20;

/// The lines that are to be printed.
#[derive(Clone)]
pub(super) struct LinePrinter(Arc<SharedLines>);

#[derive(Default)]
struct SharedLines {
    lines: Mutex<WaitingLines>,
    changed: Condvar,
}

#[derive(Default)]
struct WaitingLines {
    /// Each is printed by one write. It may begin with a line feed of its own.
    lines: Vec<Vec<u8>>,
    /// How many bytes they have.
    length: usize,
    /// How many lines did not fit behind them.
    left_out: u64,
    /// Whether the thread prints what has waited before.
    is_printing: bool,
}

impl LinePrinter {
    /// Starts the thread, which prints to this output.
    pub(super) fn start(output: impl Write + Send + 'static) -> Result<Self, Failure> {
        let shared = Arc::<SharedLines>::default();
        let failed =
            |error| Failure::new(Exit::Unusable, format_args!("cannot start a thread: {}", os_error::sentence(&error)));
        let lines = Arc::clone(&shared);
        Builder::new().name("lockshift-messages".into()).spawn(move || lines.print_to(output)).map_err(failed)?;
        Ok(Self(shared))
    }

    /// Prints a line. Does not wait for that.
    pub(super) fn line(&self, line: &str) {
        self.0.add(format!("{line}\n").into_bytes());
    }

    /// Waits until everything is printed, but not for ever.
    pub(super) fn finish(&self) {
        drop(
            self.0.changed.wait_timeout_while(self.0.lock(), PATIENCE, |lines| lines.is_printing || !lines.is_empty()),
        );
    }
}

/// A logger writes each of its lines at once.
impl Write for LinePrinter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.add(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SharedLines {
    fn lock(&self) -> MutexGuard<'_, WaitingLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: Vec<u8>) {
        self.lock().add(line);
        self.changed.notify_all();
    }

    fn print_to(&self, mut output: impl Write) {
        loop {
            let waiting = self.changed.wait_while(self.lock(), |lines| lines.is_empty());
            let lines = waiting.unwrap_or_else(PoisonError::into_inner).take();
            // One write for each line: another program may write there, too, and its words would stand in the middle.
            for line in lines {
                // Nothing can be reported if this fails.
                let _ = output.write_all(&line);
            }
            self.lock().is_printing = false;
            self.changed.notify_all();
        }
    }
}

impl WaitingLines {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.left_out == 0
    }

    fn add(&mut self, line: Vec<u8>) {
        // A line behind one that was left out would stand before the sentence that says so.
        if self.left_out > 0 || self.length + line.len() > MOST_WAITING {
            self.left_out += 1;
        } else {
            self.length += line.len();
            self.lines.push(line);
        }
    }

    /// What is printed next.
    fn take(&mut self) -> Vec<Vec<u8>> {
        self.is_printing = true;
        self.length = 0;
        let mut lines = std::mem::take(&mut self.lines);
        let left_out = match std::mem::take(&mut self.left_out) {
            0 => return lines,
            1 => warning("a message was left out: nobody has read those before it"),
            many => warning(format_args!("{many} messages were left out: nobody has read those before them")),
        };
        lines.push(format!("{left_out}\n").into_bytes());
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Where each write waits until it is read.
    struct SlowOutput {
        written: Sender<Vec<u8>>,
        may_write: Receiver<()>,
    }

    impl Write for SlowOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.may_write.recv().map_err(io::Error::other)?;
            self.written.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_nobody_reads_are_left_out_and_counted() {
        let ((written, lines), (reads, may_write)) = (channel(), channel());
        let mut printer = LinePrinter::start(SlowOutput { written, may_write }).unwrap();
        let half = "x".repeat(MOST_WAITING / 2);
        // How many of the first ones wait depends on when the thread takes them.
        for line in ["first", &half, &half, &half, &half, &half, &half] {
            printer.line(line);
        }
        printer.write_all(b"last\n").unwrap();
        (0..8).for_each(|_| reads.send(()).unwrap());
        printer.finish();
        let lines: Vec<_> = lines.try_iter().map(|line| String::from_utf8(line).unwrap()).collect();
        assert_eq!(lines[0], "first\n");
        let sentence =
            lines.iter().find_map(|line| line.strip_prefix("lockshift: ")).expect("it says what it left out");
        let left_out: usize = sentence.split_once(" messages were left out").unwrap().0.parse().unwrap();
        assert_eq!(lines.len() + left_out, 9, "{left_out}");
        printer.line("read again");
        reads.send(()).unwrap();
        printer.finish();
    }
}
