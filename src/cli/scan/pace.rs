//! How fast a scan goes, and whether it was asked to stop.

use std::num::NonZeroU32;
use std::process;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::cli::exit::Failure;
use crate::cli::signals::{self, Caught, StopRequest};
use crate::driver::host;
use crate::wire::MonoTime;

/// How fast a scan goes, until it is asked to stop.
pub(super) struct ScanPace {
    rate: Option<NonZeroU32>,
    asked: Arc<OnceLock<StopRequest>>,
}

/// For how long, at the most, it does not listen.
const SLICE: Duration = Duration::from_millis(50);

impl ScanPace {
    /// So many keys a second at the most. A second request to stop ends the process at once.
    pub(super) fn of(rate: Option<NonZeroU32>) -> Result<Self, Failure> {
        let asked: Arc<OnceLock<StopRequest>> = Arc::default();
        let requested = Arc::clone(&asked);
        signals::listen(move |caught| {
            if let Caught::Stop(request) = caught
                && requested.set(request).is_err()
            {
                process::exit(128 + request.signal);
            }
        })?;
        Ok(Self { rate, asked })
    }

    /// How many keys to ask for at once: of a slow scan, as many as it may see in a tenth of a second.
    pub(super) fn page(&self) -> u32 {
        self.rate.map_or(u32::MAX, |rate| rate.get() / 10)
    }

    /// The request to stop, if there was one.
    pub(super) fn stopped(&self) -> Option<StopRequest> {
        self.asked.get().copied()
    }

    /// Pauses until so many keys, that were begun then, may have been seen.
    pub(super) fn hold_back(&self, visited: u64, began: MonoTime) {
        let Some(rate) = self.rate else { return };
        let due = began.saturating_add(Duration::from_secs_f64(visited as f64 / f64::from(rate.get())));
        while self.stopped().is_none() {
            match due.saturating_since(host::mono()) {
                Duration::ZERO => return,
                left => host::sleep(left.min(SLICE)),
            }
        }
    }
}
