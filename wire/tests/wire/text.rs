//! Bytes and commands as one reads and types them.

use lockshift_wire::{Command, Fault, Key, NoReply, NodeReply, Printable, Reply};
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn bytes_are_shown_as_redis_cli_shows_them() {
    let table: [(&[u8], &str); 6] = [
        (b"lock:7", "lock:7"),
        (b"two words, \"quoted\" \\ ~", r#"two words, \"quoted\" \\ ~"#),
        (b"\n\r\t\x07\x08", r"\n\r\t\a\b"),
        (b"\x00\x1f\x7f\x80\xff", r"\x00\x1f\x7f\x80\xff"),
        ("schön".as_bytes(), r"sch\xc3\xb6n"),
        (b"", ""),
    ];
    for (bytes, shown) in table {
        assert_eq!(Printable(bytes).to_string(), shown);
    }
}

#[test]
fn a_command_is_shown_as_one_would_type_it() {
    let table = [
        (Command::new("GET").arg("lock:7"), "GET lock:7"),
        (Command::new("SET").arg("k").arg("two words").arg("NX"), r#"SET k "two words" NX"#),
        (Command::new("SET").arg("").arg("a\"b\\"), r#"SET "" "a\"b\\""#),
        (
            Command::new("SETNX").arg("k").arg(1_700_000_000_000_i64.to_be_bytes()),
            r#"SETNX k "\x00\x00\x01\x8b\xcf\xe5h\x00""#,
        ),
        (Command::new("EXPIRE").arg("k").arg_int(-2), "EXPIRE k -2"),
    ];
    for (command, shown) in table {
        assert_eq!(command.to_string(), shown);
        assert_eq!(format!("{command:?}"), format!("`{shown}`"));
    }
}

#[test]
fn a_command_knows_its_parts() {
    let command = Command::from_words(["set", "k", "v"]).unwrap();
    assert_eq!(command.name(), b"set");
    assert_eq!(command.args(), [b"k", b"v"]);
    assert!(command.is("SET") && !command.is("SETNX"));
    assert_eq!(Command::from_words([""; 0]), None);
}

#[test]
fn replies_and_faults_are_shown_on_one_line() {
    let nested = Reply::Array(vec![Reply::Int(-2), Reply::Array(vec![]), Reply::Nil, Reply::ok(), Reply::bulk("a\nb")]);
    assert_eq!(nested.to_string(), r#"[-2, [], (nil), OK, "a\nb"]"#);

    let get = || Command::new("GET").arg("k");
    let refused = Fault::new(get(), Reply::Error("WRONGTYPE Operation against".into()));
    assert_eq!(refused.to_string(), "GET k: WRONGTYPE Operation against");
    assert_eq!((refused.code(), refused.command()), (Some("WRONGTYPE"), &get()));
    let unexpected = Fault::new(get(), Reply::Int(1));
    assert_eq!(unexpected.to_string(), "GET k: unexpected reply 1");
    assert_eq!((unexpected.code(), unexpected.command()), (None, &get()));
}

#[test]
fn a_fault_of_several_servers_lists_what_came_from_each() {
    let replies = vec![
        NodeReply::Reply(Reply::Int(1)),
        NodeReply::NoReply(NoReply::Unreachable),
        NodeReply::NoReply(NoReply::TooSlow),
    ];
    let fault = Fault::TooFewAnswers { command: Command::new("DEL").arg("k"), replies, needed: 2 };
    assert_eq!(fault.to_string(), "DEL k: 2 of 3 servers must answer: #1: 1, #2: unreachable, #3: too slow");
    assert_eq!((fault.code(), fault.command()), (None, &Command::new("DEL").arg("k")));
}

#[test]
fn a_key_is_bytes() {
    let key = Key::new(*b"\xff k");
    assert_eq!((key.to_string(), format!("{key:?}")), (r"$'\xff k'".to_owned(), r#"Key("$'\xff k'")"#.to_owned()));
    assert_eq!(key.with_suffix(":serving").as_bytes(), b"\xff k:serving");
}

proptest! {
    #[test]
    fn no_byte_is_lost_in_print(bytes in vec(any::<u8>(), 0..40)) {
        let shown = Printable(&bytes).to_string();
        prop_assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{shown}");
        prop_assert_eq!(typed(&format!("\"{shown}\"")), [bytes]);
    }

    #[test]
    fn a_command_typed_again_is_the_same(words in vec(vec(any::<u8>(), 0..8), 1..6)) {
        let command = Command::from_words(words.clone()).unwrap();
        prop_assert_eq!(typed(&command.to_string()), words);
    }
}

/// The words of a line as `redis-cli` takes it: between spaces, or in double quotes with escapes.
fn typed(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = line.bytes().peekable();
    while let Some(first) = rest.next() {
        let mut word = Vec::new();
        if first == b'"' {
            while let Some(byte) = rest.next().filter(|byte| *byte != b'"') {
                word.push(if byte == b'\\' { unescaped(&mut rest) } else { byte });
            }
        } else {
            word.push(first);
            word.extend(core::iter::from_fn(|| rest.next_if(|byte| *byte != b' ')));
        }
        words.push(word);
        assert!(matches!(rest.next(), None | Some(b' ')), "words are a space apart: {line}");
    }
    words
}

fn unescaped(rest: &mut impl Iterator<Item = u8>) -> u8 {
    match rest.next().expect("an escape goes on") {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'a' => 0x07,
        b'b' => 0x08,
        b'x' => {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            u8::from_str_radix(str::from_utf8(&digits).unwrap(), 16).expect("two hex digits")
        }
        itself => itself,
    }
}

proptest! {
    #[test]
    fn a_command_is_packed_as_it_is_sent(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..250), 1..12)) {
        let command = Command::from_words(words.clone()).unwrap();
        let bulk = |word: &Vec<u8>| [format!("${}\r\n", word.len()).as_bytes(), word, b"\r\n"].concat();
        let expected = [format!("*{}\r\n", words.len()).into_bytes(), words.iter().flat_map(bulk).collect()].concat();
        prop_assert_eq!(command.packed(), expected);
        prop_assert!(command.words().iter().eq(words.iter()));
    }
}
