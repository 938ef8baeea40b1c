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
        let ProxyCounts {
            connections,
            acquired,
            taken_over,
            refused,
            released,
            lost,
            deletions_prevented,
            attempts_while_holding,
            renewed,
            lost_while_holding,
            holders_disconnected,
        } = self.0;
        [
            (connections, "client connections"),
            (acquired, "free locks acquired"),
            (taken_over, "expired locks taken over"),
            (refused, "attempts refused"),
            (released, "locks released"),
            (lost, "releases of locks that had been lost"),
            (deletions_prevented, "deletions of a lock that the client did not hold, prevented"),
            (attempts_while_holding, "attempts on a connection that held the lock"),
            (renewed, "extensions of held locks"),
            (lost_while_holding, "held locks that could not be extended"),
            (holders_disconnected, "holders that disconnected"),
        ]
        .iter()
        .map(|(count, what)| format!("{count:>9}  {what}\n"))
        .collect()
    }
}
