//! `lockshift record`: a MONITOR trace, written down.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use redis::{RedisError, Value};

use super::exit::{Exit, Failure, unless_closed};
use super::global_options::GlobalOptions;
use super::signals::{self, Caught, StopRequest};
use super::trace::ENDED_EARLY;
use super::values;
use crate::driver::host;

/// Write down every command that a server runs: a MONITOR trace for `audit` and `dry-run`
///
/// It ends after the time given by --for, or when it is asked to (Ctrl-C), and never in the middle of a line. A file is
/// there, in place of one of that name, when it is complete; before that it has another name. If the server is lost, the
/// last line says so, and `audit` then gives no verdict; what came before is kept, also if the disk is full. MONITOR costs the server some of its speed for as long as it lasts, and lists the values of
/// every client: record for as long as needed, and mind that the file is readable only to those allowed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// For how long: 60s, 5m
    #[arg(long = "for", value_name = "TIME", value_parser = values::length)]
    length: Option<Duration>,
    /// The file to write instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How long the server may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the connection tells.
enum News {
    Line(String),
    Broken(RedisError),
    Asked,
}

/// Records.
pub(super) fn run(args: &Args, global: &GlobalOptions) -> Result<Exit, Failure> {
    let server = global.server()?;
    if server.is_cluster() {
        return Err(Failure::new(Exit::Usage, "each server has a MONITOR of its own: name one"));
    }
    let unusable = |error: RedisError| Failure::new(Exit::Unusable, format_args!("{server}: {error}"));
    let (tell, news) = sync_channel(1024);
    let asked: Arc<OnceLock<StopRequest>> = Arc::default();
    listen_for_the_end(tell.clone(), Arc::clone(&asked))?;
    let client = server.client().map_err(unusable)?;
    let mut connection = client.get_connection_with_timeout(PATIENCE).map_err(unusable)?;
    connection.set_read_timeout(None).map_err(unusable)?;
    redis::cmd("MONITOR").exec(&mut connection).map_err(unusable)?;
    thread::spawn(move || {
        loop {
            let sent = match connection.recv_response() {
                Ok(Value::SimpleString(line)) => tell.send(News::Line(line)),
                Ok(_) => Ok(()),
                Err(error) => {
                    // A receiver that has stopped needs no report.
                    let _ = tell.send(News::Broken(error));
                    return;
                }
            };
            if sent.is_err() {
                return;
            }
        }
    });
    let ended = match &args.output {
        Some(path) => to_file(path, &news, args.length)?,
        None => to_page(&news, args.length)?,
    };
    match ended {
        Some(error) => Err(unusable(error)),
        None => Ok(Exit::Yes),
    }
}

fn listen_for_the_end(tell: SyncSender<News>, asked: Arc<OnceLock<StopRequest>>) -> Result<(), Failure> {
    signals::listen(move |caught| {
        if let Caught::Stop(request) = caught {
            asked.get_or_init(|| request);
            let tell = tell.clone();
            // The channel may be full, and a second signal must still be received.
            thread::spawn(move || tell.send(News::Asked));
        }
    })
}

fn to_file(path: &Path, news: &Receiver<News>, length: Option<Duration>) -> Result<Option<RedisError>, Failure> {
    super::file::write_lines(path, &mut |file| copy(file, news, length))
}

fn to_page(news: &Receiver<News>, length: Option<Duration>) -> Result<Option<RedisError>, Failure> {
    match copy(&mut io::stdout().lock(), news, length) {
        Ok(ended) => Ok(ended),
        Err(error) => unless_closed(Err(error)).map(|()| None),
    }
}

/// Copies lines until the time has passed or the reader has closed; the error of the connection, if that was the end.
fn copy(to: &mut dyn Write, news: &Receiver<News>, length: Option<Duration>) -> io::Result<Option<RedisError>> {
    let begin = host::mono();
    let mut to = BufWriter::new(to);
    loop {
        let left = length.map(|length| length.saturating_sub(host::mono().saturating_since(begin)));
        let next = match (news.try_recv(), left) {
            (_, Some(Duration::ZERO)) => break,
            (Ok(line), _) => Ok(line),
            (Err(_), left) => {
                // Nothing is under way: a program that reads along shall see what there is.
                to.flush()?;
                news.recv_timeout(left.unwrap_or(Duration::from_secs(3600)))
            }
        };
        match next {
            Ok(News::Line(line)) => writeln!(to, "{line}")?,
            Ok(News::Broken(error)) => {
                writeln!(to, "{ENDED_EARLY}{error}")?;
                to.flush()?;
                return Ok(Some(error));
            }
            Ok(News::Asked) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    to.flush()?;
    Ok(None)
}

const EXAMPLES: &str = "\x1b[1;4mExamples:\x1b[0m
  lockshift record --redis redis://127.0.0.1 --for 60s -o trace.log
  lockshift record --for 5m | lockshift audit -";
