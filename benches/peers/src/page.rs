//! The section of docs/benchmarks.md that these figures make.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::measure::{Contention, Drained, Measured, Series, Table};

const BEGIN: &str = "<!-- peers -->";
const END: &str = "<!-- /peers -->";

/// Puts the section between its marks.
pub(crate) fn write(section: &str, page: &Path) {
    let text = std::fs::read_to_string(page).expect("the page is there");
    let (head, rest) = text.split_once(BEGIN).expect("the page has the mark");
    let (_, tail) = rest.split_once(END).expect("the page has the end mark");
    std::fs::write(page, format!("{head}{BEGIN}\n\n{section}\n{END}{tail}")).expect("the page can be written");
}

/// Puts each table of `section` in place of that of the same title, with the load under which it was measured alone.
pub(crate) fn renew(section: &str, (began, ended): &(String, String), page: &Path) {
    let mut text = std::fs::read_to_string(page).expect("the page is there");
    for table in section.split("\n### ").skip(1) {
        let (title, rows) = table.split_once('\n').expect("a title has a line of its own");
        let heading = format!("\n### {title}\n");
        let (head, old) = text.split_once(&heading).unwrap_or_else(|| panic!("the page has no table `{title}`"));
        let end = ["\n### ", &format!("\n{END}")].iter().filter_map(|next| old.find(next)).min();
        let tail = &old[end.expect("the section ends")..];
        let load = format!("Renewed alone, load average {began} at the start and {ended} at the end.");
        text = format!("{head}{heading}\n{load}\n\n{}\n{tail}", rows.trim());
    }
    std::fs::write(page, text).expect("the page can be written");
}

/// The whole section.
pub(crate) fn section(measured: &Measured, is_short: bool, project: &Path) -> String {
    let mut text = String::new();
    let out = &mut text;
    line(
        out,
        &format!(
            "{} rounds on {}, Redis {}, the server and all libraries on the same cores; load average {} at the \
         start and {} at the end. What is beyond one or two is that of other programs. Each library is a \
         process of its own; the rounds of all take turns, and a ratio is the median of the ratios within a round. After `±` stands half of the distance between the \
         quartiles of the rounds.",
            if is_short { "Short" } else { "Long" },
            machine(),
            measured.server,
            measured.load.0,
            measured.load.1,
        ),
    );
    line(out, "");
    line(out, &format!("Versions: {}.", versions(project)));
    for (name, reason) in &measured.absent {
        line(out, &format!("\nAbsent: {name}, because {reason}."));
    }
    measured.tables.iter().for_each(|table| self::table(out, table));
    measured.contention.iter().for_each(|contention| self::contention(out, contention));
    drained(out, &measured.drained);
    text
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("memory is written to");
}

fn table(out: &mut String, table: &Table) {
    let named = table.series.iter().find(|series| series.name == table.reference);
    // Where it was not selected, the first stands for it.
    let Some(reference) = named.or(table.series.first()) else { return };
    let is_rate = table.unit == "per second";
    line(
        out,
        &format!("\n### {}\n\n| library | {} | speed, of {} |\n|---|---|---|", table.title, table.unit, reference.name),
    );
    let mut series: Vec<&Series> = table.series.iter().filter(|series| !series.rounds.is_empty()).collect();
    let order = |series: &&Series| if is_rate { -median(&series.rounds) } else { median(&series.rounds) };
    series.sort_by(|one, other| order(one).total_cmp(&order(other)));
    for series in series {
        let ratios = series.rounds.iter().zip(&reference.rounds);
        let ratios: Vec<f64> = ratios.map(|(own, of)| if is_rate { own / of } else { of / own }).collect();
        line(out, &format!("| {} | {} | {} |", series.name, spread(&series.rounds, 1), spread(&ratios, 2)));
    }
}

fn contention(out: &mut String, contention: &Contention) {
    line(
        out,
        &format!(
            "\n### {} clients contend for one lock, each holds it for 5 ms\n\n\
         Busy is the share of the time for which the lock was held; the ideal wait is one hold of each other \
         client.\n\n\
         | library | busy | p99 of the waits, of the ideal | commands per acquisition |\n|---|---|---|---|",
            contention.clients,
        ),
    );
    let mut rows: Vec<_> = contention.rows.iter().filter(|row| !row.busy.is_empty()).collect();
    rows.sort_by(|one, other| median(&other.busy).total_cmp(&median(&one.busy)));
    for row in rows {
        line(
            out,
            &format!(
                "| {} | {:.0} % | {} x | {} |",
                row.name,
                median(&row.busy) * 100.0,
                spread(&row.p99_of_ideal, 1),
                spread(&row.commands, 1),
            ),
        );
    }
}

fn drained(out: &mut String, drained: &[Drained]) {
    if drained.is_empty() {
        return;
    }
    line(
        out,
        "\n### A fair queue (`lockshift-fair`) is drained\n\n\
         | processes | waiters | hand-offs per second | KiB per waiter |\n|---|---|---|---|",
    );
    for drained in drained {
        let kib: Vec<f64> = drained.bytes_per_waiter.iter().map(|bytes| bytes / 1024.0).collect();
        line(
            out,
            &format!(
                "| {} | {} | {} | {} |",
                drained.processes,
                drained.waiters,
                spread(&drained.per_second, 0),
                spread(&kib, 1),
            ),
        );
    }
}

fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.get(((values.len().max(1) - 1) as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
}

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

fn spread(values: &[f64], digits: usize) -> String {
    let median = median(values);
    if values.len() < 3 {
        return format!("{median:.digits$}");
    }
    let half = (quantile(values, 0.75) - quantile(values, 0.25)) / 2.0;
    format!("{median:.digits$} ± {half:.digits$}")
}

fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models: Vec<&str> =
        info.lines().filter_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).collect();
    format!("{} cores of {}", models.len(), models.first().unwrap_or(&"an unknown processor"))
}

/// What the lock files name.
fn versions(project: &Path) -> String {
    let peers = project.join("benches/peers");
    let read = |name: &str| std::fs::read_to_string(peers.join(name)).unwrap_or_default();
    let lock = read("Cargo.lock");
    let of_crate = |name: &str| {
        let package = lock.split("[[package]]").find(|package| package.contains(&format!("\nname = \"{name}\"\n")));
        let version = package.and_then(|package| package.split("version = \"").nth(1)?.split('"').next());
        format!("{name} {}", version.unwrap_or("?"))
    };
    let mut versions: Vec<String> = ["rslock", "redlock", "distkit", "distributed-lock-redis"].map(of_crate).to_vec();
    let go = read("go/go.mod");
    for (name, path) in [("redislock", "redislock"), ("redsync", "redsync/v4")] {
        let version = go.lines().find_map(|line| line.split_once(&format!("{path} ")));
        versions.extend(version.and_then(|(_, rest)| Some(format!("{name} {}", rest.split_whitespace().next()?))));
    }
    versions.extend(read("python/requirements.txt").lines().map(|line| line.replace("==", " ")));
    let node = read("node/package.json");
    let pairs =
        node.lines().skip_while(|line| !line.contains("dependencies")).skip(1).take_while(|line| !line.contains('}'));
    versions.extend(pairs.map(|pair| format!("{} (Node)", pair.trim().trim_end_matches(',').replace(['"', ':'], ""))));
    let pom =
        std::fs::read_to_string(project.join("tests/interop/clients/java/redisson-4/pom.xml")).unwrap_or_default();
    let redisson =
        pom.split("<artifactId>redisson</artifactId>").nth(2).and_then(|rest| rest.split("<version>").nth(1));
    versions.extend(redisson.and_then(|rest| Some(format!("Redisson {}", rest.split('<').next()?))));
    let rustc = Command::new("rustc").arg("--version").output();
    versions.extend(rustc.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()));
    versions.join(", ")
}
