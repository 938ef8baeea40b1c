//! What the documents show beside commands: what is printed, programs that run, and how PHP judges a value.

use super::{documents, fences, read, root, shell};
use crate::golden::golden;
use crate::server::Server;

/// The commands whose output does not depend on the machine. A fence that ends with `...` shows the beginning.
const REPEATABLE: [&str; 7] = [
    "$ lockshift races ",
    "$ lockshift matrix ",
    "$ lockshift plan ",
    "$ lockshift audit tests/traces/",
    "$ lockshift dry-run tests/traces/",
    "$ lockshift explore ",
    "$ lockshift odds tests/traces/",
];

#[test]
fn every_output_is_what_the_command_prints() {
    let server = Server::start();
    let mut compared = 0;
    for document in documents() {
        let text = read(&document);
        let mut renewed = text.clone();
        for fence in fences(&text, "console") {
            let (command, shown) = fence.split_once('\n').expect("a fence has a line with a command");
            if !REPEATABLE.iter().any(|begins| command.starts_with(begins)) {
                continue;
            }
            let printed = shell(command.trim_start_matches("$ "), &server, &root());
            let printed = String::from_utf8(printed.stdout).expect("names are text");
            renewed = renewed.replace(fence, &format!("{command}\n{}", as_far_as(shown, &printed)));
            compared += 1;
        }
        golden(&document, &renewed);
    }
    assert!(compared >= 10, "only {compared} outputs were found");
}

/// The lines of `printed`, or as many of them as `shown` has before its `...`.
fn as_far_as(shown: &str, printed: &str) -> String {
    let printed = printed.trim_end().lines().map(str::trim_end);
    let lines: Vec<_> = match shown.strip_suffix("...\n") {
        Some(beginning) => printed.take(beginning.lines().count()).chain(["..."]).collect(),
        None => printed.collect(),
    };
    lines.join("\n") + "\n"
}

/// The PHP and the Java that the guide shows are part of what the fleet of `tests/it/migration.rs` runs, or of the README of
/// a package, whose own tests run it.
#[test]
fn the_programs_in_php_and_java_are_some_that_run() {
    let (guide, program) = (read("migration-guide.md"), read("examples/migration/locks.php"));
    for language in ["php", "java"] {
        let package = read(&format!("clients/{language}/README.md"));
        let shown = fences(&guide, language);
        assert!(shown.len() >= 2, "the guide shows {language} in the phases that deploy something");
        let strange: Vec<_> =
            shown.iter().filter(|part| !program.contains(**part) && !package.contains(**part)).collect();
        assert!(strange.is_empty(), "{language}: {strange:#?}");
    }
}

/// Both interpreters were asked about every row of the guide's table, at the time that it names.
#[test]
fn how_php_judges_a_value_was_measured() {
    let (guide, measured) = (read("migration-guide.md"), read("legacy/tests/data/php-compare.tsv"));
    let table = guide.split("| in the key | PHP 7 | PHP 8 |\n").nth(1).expect("the guide has the table");
    let rows: Vec<_> = table.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 8, "{rows:?}");
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let value: String = cells[1].trim_matches('`').bytes().map(|byte| format!("{byte:02x}")).collect();
        let takes = |cell: &str| cell.starts_with("takes").to_string();
        let expected = [value.as_str(), "1795245582", &takes(cells[2]), &takes(cells[3])].join("\t");
        assert!(measured.lines().any(|line| line == expected), "not measured: {row}");
    }
}
