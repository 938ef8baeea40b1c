//! Lock libraries beside each other: each in a process of its own, in short rounds that take turns on one server, so
//! that what else the machine does meets all alike. `benches/peers/run [--short]` prepares the foreign ones and runs
//! this, which writes the section of docs/benchmarks.md.

mod libraries;
mod library;
mod measure;
mod page;
mod peer;
mod server;
mod worker;

use std::path::PathBuf;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["worker", name, port] => worker::serve(name, port.parse().expect("it is a port")),
        ["drain", port, key, waiters] => {
            worker::drain(port.parse().expect("it is a port"), key, waiters.parse().expect("it is a number"));
        }
        [] => run(false),
        ["--short"] => run(true),
        other => {
            eprintln!("usage: benches/peers/run [--short], not {other:?}");
            std::process::exit(2);
        }
    }
}

fn run(is_short: bool) {
    let project = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let measured = measure::all(is_short, &project.join("target/peers/bin"));
    let section = page::section(&measured, is_short, &project);
    println!("{section}");
    if is_short {
        println!("A short run: docs/benchmarks.md stays as it is.");
    } else {
        page::write(&section, &project.join("docs/benchmarks.md"));
    }
}
