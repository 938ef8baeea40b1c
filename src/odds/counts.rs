//! What happened in one period.

/// What happened in one period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeriodCounts {
    /// Number of acquisitions.
    pub acquisitions: u64,
    /// Number of acquisitions while another client worked under the lock, or its lease ran if it had died.
    pub double_holds: u64,
    /// Number of releases that deleted what another client had acquired meanwhile.
    pub wrong_releases: u64,
    /// Number of waits that were longer than a stated time.
    pub starved_waits: u64,
}
