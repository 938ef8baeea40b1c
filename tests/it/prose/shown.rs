//! What the documents show beside commands: tables that are printed, programs that run, and what PHP does.

use std::path::Path;

use super::{DOCUMENTS, fences, read, shell};
use crate::server::Server;

/// Matrices: the table. Plans, audits and dry runs of the example traces: as far as they are shown. Races are shown by the readme alone, and compared there; what
/// depends on the machine is not compared.
#[test]
fn what_is_shown_is_what_is_printed() {
    let server = Server::start();
    let mut compared = 0;
    for document in DOCUMENTS {
        let text = read(document);
        for (command, shown) in fences(&text, "console").into_iter().filter_map(|fence| fence.split_once('\n')) {
            let end = match command {
                _ if command.starts_with("$ lockshift matrix ") => "\n\n",
                _ if command.starts_with("$ lockshift plan ") => "\n...",
                // How fast it was stands in the last line.
                _ if command.starts_with("$ lockshift audit tests/traces/") => "\n...",
                _ if command.starts_with("$ lockshift dry-run tests/traces/") => "\n...",
                _ => continue,
            };
            let shown: Vec<_> = shown.split(end).next().unwrap_or_default().trim_end().lines().collect();
            let printed = shell(command.trim_start_matches("$ "), &server, Path::new("."));
            let printed = String::from_utf8(printed.stdout).expect("names are text");
            let printed: Vec<_> = printed.lines().map(str::trim_end).take(shown.len()).collect();
            assert_eq!(printed.join("\n"), shown.join("\n"), "{document}: {command}");
            compared += 1;
        }
    }
    assert_eq!(compared, 5, "two matrices, a plan, an audit and a dry run are shown");
}

/// The PHP that the guide shows is part of what the fleet of `tests/it/migration.rs` runs.
#[test]
fn the_program_in_php_is_one_that_runs() {
    let (guide, program) = (read("migration-guide.md"), read("examples/migration/locks.php"));
    let shown = fences(&guide, "php");
    assert!(!shown.is_empty() && shown.iter().all(|part| program.contains(part)), "{shown:#?}");
}

/// Every row of the guide's table is one that both interpreters were asked about, at the time that it names.
#[test]
fn what_php_makes_of_a_value_was_measured() {
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
