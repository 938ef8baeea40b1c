//! What a guard has counted.

use serde::Serialize;

use super::Report;
use crate::proxy::ProxyCounts;

/// What a guard has counted.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct GuardStatistics(pub ProxyCounts);

impl Report for GuardStatistics {
    fn text(&self, _: Option<u16>) -> String {
        let rows = self.0.rows();
        rows.iter().map(|(_, what, count)| format!("{count:>9}  {what}\n")).collect()
    }
}
