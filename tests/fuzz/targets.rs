//! What is run on arbitrary bytes. Each target takes any input, and panics if something is wrong with what comes of it.

pub(crate) mod locks;
pub(crate) mod proxy;
pub(crate) mod replies;

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use lockshift::audit::Auditor;
use lockshift::connect::Server as Address;
use lockshift::dry_run::{Demand, Terms, play};
use lockshift::explore::Trace;
use lockshift::inspect::{Shapes, TokenForm};
use lockshift::legacy::catalogue::catalogue;
use lockshift::lock::Lease;
use lockshift::monitor::{Lines, Parser, Text};
use lockshift::protocols::Choice;
use lockshift::report::{AuditReport, Report, explanation, folded};
use lockshift::sim::{Flavour, Server, Session};
use lockshift::wire::{Command, Key, UnixTime};

/// One place where bytes come in from outside.
pub(crate) struct Target {
    /// Its name, which is that of its target of `cargo fuzz`.
    pub(crate) name: &'static str,
    /// What may be put into an input.
    pub(crate) words: &'static [&'static str],
    /// Runs it.
    pub(crate) run: fn(&[u8]),
}

/// Every target.
pub(crate) const TARGETS: &[Target] = &[
    Target { name: "monitor", words: MONITORED, run: monitor },
    Target { name: "values", words: &["170", "e9", ".0", "-", ":", "0x", "inf", "nan", "\"", " "], run: values },
    Target { name: "locks", words: &["1700000000", "99999999999", "0", "token", "\x01", "\x02"], run: locks::locks },
    Target {
        name: "replies",
        words: &["$-1\r\n", "*-1\r\n", ":1\r\n", "+OK\r\n", "_\r\n", "-ERR x\r\n"],
        run: replies::replies,
    },
    Target { name: "proxy", words: PROXIED, run: proxy::proxy },
    Target {
        name: "words",
        words: &["+", ":", ",", "=", "bridge:", "guard:", "token", "://", "@", "[::1]", "/", "?"],
        run: words,
    },
    Target { name: "traces", words: &["null", "[]", "{}", "\"\"", "-1", "255"], run: traces },
    Target { name: "commands", words: COMMANDS, run: commands },
];

const MONITORED: &[&str] = &[
    " \"SETNX\" ",
    "\"GET\"",
    "\"GETSET\"",
    "\"DEL\"",
    "\"EVAL\"",
    "\"MULTI\"",
    "\"EXEC\"",
    " lua] ",
    "1700000000.000001 [0 ",
    "\\x00",
];

const PROXIED: &[&str] = &[
    "<server>",
    "*2\r\n",
    "$5\r\nSETNX\r\n",
    "$1\r\nl\r\n",
    "$3\r\nGET\r\n",
    ":1\r\n",
    "$-1\r\n",
    "+QUEUED\r\n",
    ">2\r\n",
    "%1\r\n",
    "|1\r\n",
    "MULTI\r\n",
    "EXEC\r\n",
    "DEL l\r\n",
    "HELLO 3\r\n",
    "99999999999",
];

const COMMANDS: &[&str] = &[
    "SET",
    "GET",
    "EVAL",
    "ZADD",
    "HSET",
    "EX",
    "PX",
    "NX",
    "XX",
    "GET",
    "KEEPTTL",
    "0",
    "-1",
    "k",
    "\n",
    " ",
    "MULTI",
    "EXEC",
    "WATCH",
    "EXPIRE",
    "PEXPIREAT",
    "INCR",
    "DECRBY",
    "SCAN",
    "RENAME",
    "COPY",
    "FLUSHALL",
    "CLIENT",
    "ID",
    "CONFIG",
];

/// Noon of a day in 2023.
const NOW: UnixTime = UnixTime::from_nanos(1_700_000_000_000_000_000);

fn lease() -> Lease {
    Lease::new(Duration::from_secs(10)).expect("ten seconds are a lease")
}

/// The text of MONITOR: read, audited, played again under another lock, and shown.
pub(crate) fn monitor(input: &[u8]) {
    let (mut auditor, mut parser, mut lines) = (Auditor::new(), Parser::new(), Lines::new(input));
    while let Some(text) = lines.next_line().expect("memory can be read") {
        let Text::Line(number, line) = text else { continue };
        if let Ok(line) = parser.parse(line) {
            auditor.read(number, &line);
        }
    }
    let audit = auditor.finish();
    let choice = Choice::from_str("token").expect("it is in the catalogue");
    let terms = Terms::new(choice, lease(), Duration::from_secs(5));
    for demand in Demand::all(&audit, false) {
        play(&demand, &terms).expect("the simulated server refuses nothing that a token lock sends");
    }
    let shown = AuditReport::of(vec![(None, audit)], Duration::ZERO, true).text(Some(80));
    assert!(shown.chars().all(|letter| letter == '\n' || letter == '\x1b' || !letter.is_control()), "{shown:?}");
}

/// A value in a key: what each dialect reads in it, and whether what it would write in its place reads the same.
pub(crate) fn values(input: &[u8]) {
    let value = input.get(2..).unwrap_or_default();
    let key = Key::from("lock");
    let _ = Shapes::known().sign(&key, value, NOW);
    let _ = TokenForm::of(value);
    for dialect in catalogue() {
        let _ = dialect.expires_at(value);
        let Some(number) = dialect.form.read(value) else { continue };
        assert!(dialect.form.matches(value), "{} reads a value of another form", dialect.name);
        let again = dialect.form.restamp(value, number).expect("the form is the same");
        assert_eq!(dialect.form.read(&again), Some(number), "{} reads back what it writes", dialect.name);
    }
}

/// What a person types: protocols with options, fleets, addresses.
pub(crate) fn words(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(choice) = Choice::from_str(text) {
        let again = Choice::from_str(&choice.to_string()).expect("what is written of a choice can be read");
        assert_eq!(again.to_string(), choice.to_string());
        choice.locker(Key::from("lock"), lease());
    }
    if let Ok(address) = Address::at([text]) {
        let network = if text.starts_with("unix") { "" } else { text };
        let secret =
            network.split_once('@').and_then(|(user, _)| user.rsplit_once(':')).map_or("", |(_, secret)| secret);
        let shown = format!("{address} {address:?}");
        assert!(secret.len() < 8 || !shown.contains(secret), "{shown} shows a password");
    }
    let narrow = folded(text, 10);
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(bare(&narrow), bare(text), "folding loses or adds something");
}

/// A trace in a file: what is read is written the same, replayed, and explained.
pub(crate) fn traces(input: &[u8]) {
    let Ok(trace) = serde_json::from_slice::<Trace>(input) else { return };
    let json = serde_json::to_vec(&trace).expect("a trace can be written");
    assert_eq!(serde_json::from_slice::<Trace>(&json).expect("what is written can be read"), trace);
    let _ = trace.replay(&mut Server::new(Flavour::Redis70));
    let _ = explanation(&trace);
}

/// Commands to the simulated server: any words, on three connections, of every flavour. It answers two servers that are
/// equal alike.
pub(crate) fn commands(input: &[u8]) {
    for flavour in Flavour::ALL {
        let mut server = Server::new(flavour);
        let mut seen = BTreeSet::new();
        for (number, line) in (0_u32..).zip(input.split(|byte| *byte == b'\n')).take(200) {
            // 0xff stands for a space inside a word.
            let words = line.split(|byte| *byte == b' ');
            let plain = |byte: &u8| if *byte == 0xff { b' ' } else { *byte };
            let words = words.map(|word| word.iter().map(plain).collect::<Vec<u8>>());
            let Some(command) = Command::from_words(words) else { continue };
            let now = NOW.saturating_add(Duration::from_millis(u64::from(number)));
            let session = Session(number % 3);
            let mut twin = server.clone();
            let reply = server.call(session, &command, now);
            assert_eq!(twin.call(session, &command, now), reply, "{command}");
            assert_eq!(twin, server, "{command}");
            seen.insert(command.name().to_vec());
        }
        (0..3).for_each(|session| server.disconnect(Session(session)));
    }
}
