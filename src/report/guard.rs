//! What a guard has counted.

use std::fmt::Write;

use serde::Serialize;

use super::Report;
use crate::proxy::ProxyCounts;

/// What a guard has counted.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct GuardStatistics(pub ProxyCounts);

impl Report for GuardStatistics {
    fn text(&self, _: Option<u16>) -> String {
        let rows = self.0.rows();
        let mut text: String = rows.iter().map(|(_, what, count)| format!("{count:>9}  {what}\n")).collect();
        for (what, by_name) in [
            ("Prevented", &self.0.prevented),
            ("Found", &self.0.found),
            ("Clients without a server", &self.0.server_refusals),
        ] {
            for (name, count) in by_name {
                let _ = writeln!(text, "{count:>9}  {what}: {name}");
            }
        }
        text
    }
}
