//! The keys that commands write are those that the servers themselves name, and stay where a trace is redacted.

use lockshift::monitor::{Line, Parser, Word};
use lockshift::redaction::Redaction;
use redis::{FromRedisValue, Value, cmd, from_redis_value};

use crate::server::{Options, Server, fetched};

/// A command, as COMMAND describes it.
struct Described {
    name: String,
    is_write: bool,
    specs: Vec<Value>,
}

#[test]
fn on_the_server_in_path() {
    compare(&Server::start());
}

#[test]
fn on_redis_8_4() {
    compare(&Server::with(&Options::new().old_program(fetched("redis-8.4"))));
}

#[test]
fn on_valkey_9_0() {
    compare(&Server::with(&Options::new().old_program(fetched("valkey-9.0"))));
}

/// Compares each command of a server with what the audit takes it to write.
fn compare(server: &Server) {
    let all: Vec<Value> = cmd("COMMAND").query(&mut server.connect()).unwrap();
    let mut commands = Vec::new();
    all.into_iter().for_each(|command| described(command, &mut commands));
    let written = commands.iter().filter(|command| command.is_write).count();
    assert!(written > 100, "{written} commands write");
    // What modules do is not known in detail, and of a container only the subcommands that write count.
    let is_compared =
        |it: &&Described| !it.name.contains('.') && (it.is_write || !["xgroup", "xgroup|help"].contains(&&*it.name));
    for command in commands.iter().filter(is_compared) {
        let numbers = vec!["2"; 12];
        let names = vec!["a", "b", "c", "d", "e", "STORE", "f", "STOREDIST", "g", "KEYS", "h", "i"];
        for arguments in [numbers, names] {
            let words: Vec<&str> = command.name.split('|').take(1).chain(arguments).collect();
            let text = format!("1700000000.000001 [0 a:1] \"{}\"", words.join("\" \""));
            let mut parser = Parser::new();
            let line = parser.parse(text.as_bytes()).unwrap();
            let mut found = line.written_keys();
            found.sort_unstable();
            match expected(command, &words) {
                Some(expected) => assert_eq!(found, expected, "{text}"),
                None => assert!(command.name == "migrate" || command.name == "sort", "{text}"),
            }
            is_redacted_with_its_keys(&line, &found);
        }
    }
}

fn is_redacted_with_its_keys(line: &Line<'_>, keys: &[usize]) {
    let redacted = Redaction::new([7; 16]).line(line);
    let mut parser = Parser::new();
    let redacted = parser.parse(redacted.as_bytes()).unwrap();
    let key = |line: &Line<'_>, at: usize| line.word(at).map(Word::bytes).map(|key| key.into_owned());
    for at in keys {
        assert_eq!(key(&redacted, *at), key(line, *at), "{line}");
    }
    let mut found = redacted.written_keys();
    found.sort_unstable();
    assert_eq!(found, keys, "{redacted}");
}

/// A command and its subcommands.
fn described(command: Value, all: &mut Vec<Described>) {
    let mut fields: Vec<Value> = from_redis_value(command).unwrap();
    let (subcommands, specs) = (list(fields.remove(9)), list(fields.remove(8)));
    let is_write = list::<String>(fields.remove(2)).iter().any(|flag| flag == "write");
    let name: String = from_redis_value(fields.remove(0)).unwrap();
    all.push(Described { name: name.to_lowercase(), is_write, specs });
    subcommands.into_iter().for_each(|it| described(it, all));
}

fn list<T: FromRedisValue>(value: Value) -> Vec<T> {
    from_redis_value(value).unwrap()
}

/// The field of this name, in a map that is a list.
fn field(map: &Value, name: &str) -> Value {
    let fields: Vec<Value> = list(map.clone());
    let is = |value: &Value| from_redis_value::<String>(value.clone()).is_ok_and(|text| text == name);
    fields.chunks_exact(2).find(|pair| is(&pair[0])).unwrap_or_else(|| panic!("{name} in {map:?}"))[1].clone()
}

fn number(map: &Value, name: &str) -> i64 {
    from_redis_value(field(map, name)).unwrap()
}

fn text(map: &Value, name: &str) -> String {
    from_redis_value(field(map, name)).unwrap()
}

/// Where the server finds the keys that a command writes among these words; `None` if it says that it does not know all.
fn expected(command: &Described, words: &[&str]) -> Option<Vec<usize>> {
    let mut places = Vec::new();
    for spec in command.specs.iter().filter(|_| command.is_write) {
        let flags: Vec<String> = list(field(spec, "flags"));
        if flags.iter().any(|flag| ["RW", "OW", "RM"].contains(&flag.as_str())) {
            places.extend(places_of(spec, words).filter(|_| !flags.iter().any(|flag| flag == "incomplete"))?);
        }
    }
    places.sort_unstable();
    Some(places)
}

fn places_of(spec: &Value, words: &[&str]) -> Option<Vec<usize>> {
    let (search, find) = (field(spec, "begin_search"), field(spec, "find_keys"));
    let (begins, finds) = (field(&search, "spec"), field(&find, "spec"));
    let begin = match text(&search, "type").as_str() {
        "index" => number(&begins, "index") as usize,
        "keyword" => {
            let (keyword, from) = (text(&begins, "keyword"), number(&begins, "startfrom") as usize);
            match (from..words.len()).find(|at| words[*at] == keyword) {
                Some(at) => at + 1,
                None => return Some(Vec::new()),
            }
        }
        _ => return None,
    };
    let (end, first, step) = match text(&find, "type").as_str() {
        "range" => {
            let last = number(&finds, "lastkey");
            let last = if last < 0 { words.len() as i64 + last } else { begin as i64 + last };
            (last as usize + 1, begin, number(&finds, "keystep"))
        }
        "keynum" => {
            let count: usize = words[begin + number(&finds, "keynumidx") as usize].parse().unwrap_or(0);
            let (first, step) = (begin + number(&finds, "firstkey") as usize, number(&finds, "keystep"));
            (first + count * step as usize, first, step)
        }
        _ => return None,
    };
    Some((first..end).step_by(step as usize).collect())
}
