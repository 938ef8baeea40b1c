//! Several protocols under one workload.

use std::time::Duration;

use comfy_table::{Attribute, Cell, Color};
use serde::Serialize;

use super::{Report, table};
use crate::compare::Statistics;

/// Several protocols under one workload.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ComparisonReport(Vec<Compared>);

/// One of them.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Compared {
    protocol: String,
    acquisitions: u64,
    seconds: f64,
    per_second: f64,
    wait_p50_ms: Option<f64>,
    wait_p99_ms: Option<f64>,
    wait_p99_of_ideal: Option<f64>,
    commands_per_acquisition: Option<f64>,
    double_holds: u64,
    wrong_releases: u64,
    busy_ratio: f64,
}

impl ComparisonReport {
    /// Adds what came out under `protocol`.
    pub fn add(&mut self, protocol: String, statistics: &Statistics) {
        self.0.push(Compared {
            protocol,
            acquisitions: statistics.acquisitions,
            seconds: thousandths(statistics.elapsed.as_secs_f64()),
            per_second: thousandths(statistics.per_second()),
            wait_p50_ms: statistics.wait_p50.map(millis),
            wait_p99_ms: statistics.wait_p99.map(millis),
            wait_p99_of_ideal: statistics.wait_p99_of_ideal.map(thousandths),
            commands_per_acquisition: statistics.commands_per_acquisition.map(thousandths),
            double_holds: statistics.double_holds,
            wrong_releases: statistics.wrong_releases,
            busy_ratio: thousandths(statistics.busy_ratio),
        });
    }
}

impl Report for ComparisonReport {
    fn text(&self, width: Option<u16>) -> String {
        let head = [
            "PROTOCOL",
            "ACQUIRED",
            "PER SEC",
            "WAIT P50",
            "WAIT P99",
            "OF IDEAL",
            "COMMANDS",
            "DOUBLE HOLDS",
            "WRONG RELEASES",
            "BUSY",
        ];
        let mut table = table::table(&head, width);
        table::flush_right(&mut table, 1..head.len());
        for compared in &self.0 {
            table.add_row([
                Cell::new(&compared.protocol).add_attribute(Attribute::Bold),
                Cell::new(compared.acquisitions),
                Cell::new(format!("{:.1}", compared.per_second)),
                Cell::new(wait(compared.wait_p50_ms)),
                Cell::new(wait(compared.wait_p99_ms)),
                Cell::new(compared.wait_p99_of_ideal.map_or("-".to_owned(), |ratio| format!("{ratio:.1} x"))),
                Cell::new(compared.commands_per_acquisition.map_or("-".to_owned(), |each| format!("{each:.1}"))),
                alarm(compared.double_holds),
                alarm(compared.wrong_releases),
                Cell::new(format!("{:.0} %", compared.busy_ratio * 100.0)),
            ]);
        }
        table::text(table)
    }
}

/// A number that should be zero.
pub(super) fn alarm(count: u64) -> Cell {
    let cell = Cell::new(count);
    if count == 0 { cell } else { cell.fg(Color::Red).add_attribute(Attribute::Bold) }
}

fn wait(millis: Option<f64>) -> String {
    millis.map_or("-".to_owned(), |millis| format!("{millis:.1} ms"))
}

fn millis(length: Duration) -> f64 {
    thousandths(length.as_secs_f64() * 1000.0)
}

/// No measurement here is finer.
fn thousandths(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> ComparisonReport {
        let calm = Statistics {
            acquisitions: 120,
            elapsed: Duration::from_secs(5),
            wait_p50: Some(Duration::from_micros(1_250)),
            wait_p99: Some(Duration::from_millis(700)),
            wait_p99_of_ideal: Some(3.5),
            commands_per_acquisition: Some(7.0 / 3.0),
            double_holds: 0,
            wrong_releases: 0,
            busy_ratio: 0.5,
        };
        let starved = Statistics {
            acquisitions: 0,
            wait_p50: None,
            wait_p99: None,
            wait_p99_of_ideal: None,
            commands_per_acquisition: None,
            double_holds: 3,
            ..calm.clone()
        };
        let mut comparison = ComparisonReport::default();
        comparison.add("token".to_owned(), &calm);
        comparison.add("php-getset".to_owned(), &starved);
        comparison
    }

    #[test]
    fn the_fields_of_its_json() {
        let json = serde_json::to_string(&two()).unwrap();
        assert_eq!(
            json,
            concat!(
                r#"[{"protocol":"token","acquisitions":120,"seconds":5.0,"per_second":24.0,"wait_p50_ms":1.25,"#,
                r#""wait_p99_ms":700.0,"wait_p99_of_ideal":3.5,"commands_per_acquisition":2.333,"double_holds":0,"wrong_releases":0,"#,
                r#""busy_ratio":0.5},"#,
                r#"{"protocol":"php-getset","acquisitions":0,"seconds":5.0,"per_second":0.0,"wait_p50_ms":null,"#,
                r#""wait_p99_ms":null,"wait_p99_of_ideal":null,"commands_per_acquisition":null,"double_holds":3,"wrong_releases":0,"#,
                r#""busy_ratio":0.5}]"#
            )
        );
    }

    #[test]
    fn a_line_each_and_races_in_red() {
        let text = two().text(None);
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().nth(2).unwrap().contains("\x1b[38;5;9m"), "{text:?}");
        assert!(!text.lines().nth(1).unwrap().contains("\x1b[38;5;9m"), "{text:?}");
    }
}
