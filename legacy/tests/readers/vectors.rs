//! Every reader against what its interpreter made of some hundred values.

use std::collections::BTreeSet;

use lockshift_legacy::{Comparison, Number, Reader};

use crate::{bytes, lines};

/// The columns of `table` are readers. Each cell has the number and the comparison that the interpreter came to.
fn agree(table: &str, values: usize) {
    let mut lines = lines(table);
    let header = lines.next().expect("a header");
    let readers: Vec<Reader> = header[2..].iter().map(|column| reader(column)).collect();
    let mut judged = 0;
    for line in lines {
        let (value, now) = (bytes(line[0]), number(line[1]).expect("now is a number"));
        assert_eq!(line.len(), 2 + readers.len(), "a cell for every reader: {line:?}");
        for (reader, cell) in readers.iter().zip(&line[2..]) {
            let ours = format!("{} {}", spell(reader.number(&value)), symbol(reader.compare(&value, now)));
            assert_eq!(&ours, cell, "{reader} of {:?} at {now:?}", value.escape_ascii().to_string());
        }
        judged += 1;
    }
    assert_eq!(judged, values, "the table has lost or won lines");
}

#[test]
fn php_7_agrees_on_every_value() {
    agree(include_str!("../data/php7.tsv"), 557);
}

#[test]
fn php_8_agrees_on_every_value() {
    agree(include_str!("../data/php8.tsv"), 557);
}

#[test]
fn ruby_agrees_on_every_value() {
    agree(include_str!("../data/ruby.tsv"), 484);
}

#[test]
fn python_2_agrees_on_every_value() {
    agree(include_str!("../data/python2.tsv"), 406);
}

/// As measured by CPython 2.7.18.
#[test]
fn python_2_takes_an_l_that_follows_a_digit() {
    let twelve = Some(Number::Int(12));
    for (value, number) in [("12L", twelve), (" 12l ", twelve), ("12 L", None), ("-L", None), ("L", None)] {
        assert_eq!(Reader::Python2Long.number(value.as_bytes()), number, "{value:?}");
    }
}

#[test]
fn python_3_agrees_on_every_value() {
    agree(include_str!("../data/python3.tsv"), 406);
}

#[test]
fn java_agrees_on_every_value() {
    agree(include_str!("../data/java.tsv"), 425);
}

#[test]
fn csharp_agrees_on_every_value() {
    agree(include_str!("../data/csharp.tsv"), 418);
}

#[test]
fn javascript_agrees_on_every_value() {
    agree(include_str!("../data/javascript.tsv"), 406);
}

#[test]
fn go_agrees_on_every_value() {
    agree(include_str!("../data/go.tsv"), 406);
}

#[test]
fn servicestack_reads_a_number_in_quotes_as_it_reads_it_without() {
    let table = include_str!("../data/csharp.tsv");
    let (plain, json) = (Reader::CSharpTryParse, Reader::CSharpJsonTryParse);
    for line in lines(table).skip(1) {
        let value = bytes(line[0]);
        let quoted = [b"\"", value.as_slice(), b"\""].concat();
        assert_eq!(json.number(&quoted), plain.number(&value), "{:?} in quotes", value.escape_ascii().to_string());
        if !value.starts_with(b"\"") {
            assert_eq!(json.number(&value), plain.number(&value), "{:?}", value.escape_ascii().to_string());
        }
    }
}

#[test]
fn every_reader_of_a_language_was_measured() {
    let tables = [
        include_str!("../data/php7.tsv"),
        include_str!("../data/php8.tsv"),
        include_str!("../data/ruby.tsv"),
        include_str!("../data/python2.tsv"),
        include_str!("../data/python3.tsv"),
        include_str!("../data/java.tsv"),
        include_str!("../data/csharp.tsv"),
        include_str!("../data/javascript.tsv"),
        include_str!("../data/go.tsv"),
    ];
    let columns = |table| lines(table).next().expect("a header").split_off(2);
    let measured: BTreeSet<&str> = tables.into_iter().flat_map(columns).collect();
    let all: BTreeSet<String> = Reader::ALL.iter().map(|reader| format!("{reader:?}")).collect();
    let missing: Vec<_> = all.iter().filter(|reader| !measured.contains(reader.as_str())).collect();
    assert_eq!(
        missing,
        ["CSharpJsonTryParse", "Decimal"],
        "the one has a test of its own, the other belongs to no language"
    );
}

#[test]
fn every_name_is_different() {
    let names: BTreeSet<&str> = Reader::ALL.iter().map(|reader| reader.name()).collect();
    assert_eq!(names.len(), Reader::ALL.len());
}

fn reader(column: &str) -> Reader {
    let named = Reader::ALL.iter().find(|reader| format!("{reader:?}") == column);
    *named.unwrap_or_else(|| panic!("no reader is called {column}"))
}

fn number(cell: &str) -> Option<Number> {
    match cell.split_at(1) {
        ("i", int) => int.parse().ok().map(Number::Int),
        ("f", bits) => u64::from_str_radix(bits, 16).ok().map(f64::from_bits).map(Number::Float),
        _ => None,
    }
}

fn spell(number: Option<Number>) -> String {
    match number {
        None => "-".to_owned(),
        Some(Number::Int(int)) => format!("i{int}"),
        Some(Number::Float(float)) if float.is_nan() => "fnan".to_owned(),
        Some(Number::Float(float)) => format!("f{:016x}", float.to_bits()),
    }
}

fn symbol(comparison: Comparison) -> char {
    match comparison {
        Comparison::Less => '<',
        Comparison::Equal => '=',
        Comparison::Greater => '>',
        Comparison::Unordered => '?',
        Comparison::Unreadable => '!',
    }
}
