//! The section of `docs/benchmarks.md` that these figures make.

use std::fs::{read_to_string, write as write_file};
use std::process::Command;

use super::sides::Side;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/benchmarks.md");
const BEGIN: &str = "<!-- guard -->";
const END: &str = "<!-- /guard -->";

/// How busy the machine has been, by its one-minute load average.
pub(crate) fn load_average() -> String {
    let text = read_to_string("/proc/loadavg").expect("it is Linux");
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// What was measured on, and how busy it was.
pub(crate) fn machine(load_before: &str) -> String {
    let processors = std::thread::available_parallelism().expect("the system counts them");
    let cpu = read_to_string("/proc/cpuinfo").expect("it is Linux");
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("", |(_, name)| name);
    format!(
        "{processors} processors of {model}, {}, {}, {}, all on the same processors; load average {load_before} before \
         and {} at the end.",
        version("redis-server", "--version"),
        version("haproxy", "-v"),
        version("nutcracker", "-V"),
        load_average()
    )
}

/// The first words of what a program says of its version.
fn version(program: &str, option: &str) -> String {
    let Ok(output) = Command::new(program).arg(option).output() else { return format!("{program} is not installed") };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let words = text.split(|letter: char| letter.is_whitespace() || letter == '-' || letter == '=');
    let number = words.into_iter().find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    format!("{program} {}", number.unwrap_or_default())
}

pub(crate) fn head(sides: &[Side]) -> String {
    let names: Vec<_> = sides.iter().map(|side| side.name).collect();
    format!("\n| | {} |\n|---|{}", names.join(" | "), "---|".repeat(sides.len()))
}

/// A row of the table: the cells of the sides that were measured, in their places.
pub(crate) fn row(what: &str, sides: &[Side], measured: &[&Side], cells: &[String]) -> String {
    let cell = |side: &Side| {
        let place = measured.iter().position(|other| other.port == side.port);
        place.map_or("", |place| cells[place].as_str())
    };
    format!("| {what} | {} |", sides.iter().map(cell).collect::<Vec<_>>().join(" | "))
}

/// Replaces the section in the page.
pub(crate) fn write(section: &str) {
    let page = read_to_string(PAGE).expect("the page exists");
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for it");
    let (_, after) = rest.split_once(END).expect("the place ends");
    write_file(PAGE, format!("{before}{BEGIN}\n\n{section}\n\n{END}{after}")).expect("the page is ours");
}
