//! One line of MONITOR: `1700000000.123456 [0 127.0.0.1:50000] "SET" "k" "\x00v"`.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use lockshift::monitor;
use lockshift::wire::{Command, UnixTime};

/// One command that the server executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// When, by the server's wall clock.
    pub(crate) at: UnixTime,
    /// Who sent it.
    pub(crate) source: Source,
    /// In which database it ran.
    pub(crate) database: u32,
    /// The command's name and its arguments.
    pub(crate) words: Vec<Vec<u8>>,
}

/// Who sent a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A connection from this address.
    Client(SocketAddr),
    /// The script of the line before.
    Script,
}

impl Line {
    /// The line as MONITOR has it.
    pub(crate) fn listed(&self) -> String {
        let command = Command::from_words(self.words.clone()).expect("a line has a command");
        let address = match self.source {
            Source::Client(address) => address.to_string(),
            Source::Script => String::new(),
        };
        let source = match self.source {
            Source::Client(_) => monitor::Source::Client(address.as_bytes()),
            Source::Script => monitor::Source::Script,
        };
        format!("{}\n", monitor::Line::new(self.at, self.database, source, &command))
    }
}

impl fmt::Display for Line {
    /// The command as one would type it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Command::from_words(self.words.clone()).expect("a line has a command").fmt(f)
    }
}

impl FromStr for Line {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (time, rest) = text.split_once(" [").ok_or("no client")?;
        let (client, rest) = rest.split_once("] ").ok_or("the client does not end")?;
        let (database, source) = client.split_once(' ').ok_or("no database")?;
        let source = match source {
            "lua" => Source::Script,
            address => Source::Client(address.parse().map_err(|_| "no address")?),
        };
        let database = database.parse().map_err(|_| "no database")?;
        Ok(Self { at: moment(time).ok_or("no time")?, source, database, words: words(rest)? })
    }
}

/// Seconds and microseconds since 1970.
fn moment(text: &str) -> Option<UnixTime> {
    let (seconds, micros) = text.split_once('.')?;
    let micros = seconds.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(micros.parse().ok()?)?;
    Some(UnixTime::from_nanos(micros.checked_mul(1_000)?))
}

/// The quoted words of a line.
fn words(mut text: &str) -> Result<Vec<Vec<u8>>, &'static str> {
    let mut words = Vec::new();
    while !text.is_empty() {
        let (word, rest) = word(text.strip_prefix('"').ok_or("a word without a quote")?)?;
        words.push(word);
        text = rest.strip_prefix(' ').unwrap_or(rest);
    }
    if words.is_empty() { Err("no command") } else { Ok(words) }
}

/// One word, after its opening quote, and what follows its closing one.
fn word(text: &str) -> Result<(Vec<u8>, &str), &'static str> {
    let mut bytes = Vec::new();
    let mut rest = text.chars();
    loop {
        match rest.next().ok_or("a word without an end")? {
            '"' => return Ok((bytes, rest.as_str())),
            '\\' => bytes.push(escaped(&mut rest)?),
            plain => bytes.push(u8::try_from(plain).map_err(|_| "MONITOR escapes all but ASCII")?),
        }
    }
}

/// The byte that an escape stands for, after its backslash.
fn escaped(rest: &mut std::str::Chars<'_>) -> Result<u8, &'static str> {
    Ok(match rest.next().ok_or("an escape without an end")? {
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'a' => 0x07,
        'b' => 0x08,
        'x' => {
            let digits = rest.as_str().get(..2).ok_or("a byte without its two digits")?;
            rest.nth(1);
            u8::from_str_radix(digits, 16).map_err(|_| "no hex digits")?
        }
        quoted @ ('\\' | '"') => quoted as u8,
        _ => return Err("an escape that Redis does not write"),
    })
}
