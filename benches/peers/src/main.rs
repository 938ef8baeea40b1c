//! Lock libraries beside each other: each in a process of its own, in short rounds that take turns on one server, so
//! that what else the machine does meets all alike. `benches/peers/run` prepares the foreign ones and runs this, which
//! writes the section of docs/benchmarks.md. With `--workload` it renews only their tables; with `--library` it measures
//! only these and prints. Both may be given several times.

mod libraries;
mod library;
mod measure;
mod page;
mod peer;
mod server;
mod worker;

use std::path::PathBuf;

use measure::Selection;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["worker", name, port] => worker::serve(name, port.parse().expect("it is a port")),
        ["drain", port, key, waiters] => {
            worker::drain(port.parse().expect("it is a port"), key, waiters.parse().expect("it is a number"));
        }
        options => match Selection::of(options) {
            Some(selection) => run(&selection),
            None => {
                eprintln!(
                    "usage: benches/peers/run [--short] [--workload {}]... [--library NAME]..., not {options:?}",
                    measure::WORKLOADS.join("|"),
                );
                std::process::exit(2);
            }
        },
    }
}

fn run(selection: &Selection) {
    let project = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let measured = measure::all(selection, &project.join("target/peers/bin"));
    let section = page::section(&measured, selection.is_short, &project);
    println!("{section}");
    let page = project.join("docs/benchmarks.md");
    if selection.is_short || selection.has_some_libraries() {
        println!("Not a whole table: docs/benchmarks.md stays as it is.");
    } else if selection.has_some_workloads() {
        page::renew(&section, &measured.load, &page);
    } else {
        page::write(&section, &page);
    }
}
