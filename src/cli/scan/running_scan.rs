//! A scan under way: one server after the other, page by page.

use super::pace::ScanPace;
use crate::cli::exit::Failure;
use crate::cli::key_progress::KeyProgress;
use crate::cli::signals::StopRequest;
use crate::cli::{failure, output};
use crate::connect::{Server, blocking::Connection};
use crate::driver::{Interrupted, blocking, host};
use crate::inspect::{Finding, Member};
use crate::report::Inspection;
use crate::scan::{Glance, ScanSummary, Walk};
use crate::wire::Transcript;

/// A scan under way.
pub(super) struct RunningScan<'a> {
    walk: Walk,
    pace: ScanPace,
    fleet: &'a [Member],
    summary: ScanSummary,
    stream: Option<output::JsonListStream>,
    progress: KeyProgress,
}

/// How a scan ended.
pub(super) enum ScanEnd {
    /// All keys were seen.
    Whole,
    /// It was asked to stop.
    Stopped(StopRequest),
    /// The reader of its output has closed it.
    OutputClosed,
    /// The server, or standard output, cannot be used any more.
    Lost(Failure),
}

impl<'a> RunningScan<'a> {
    /// A scan that goes at this pace, and adds what it finds to the summary and, where there is one, the stream.
    pub(super) fn new(
        walk: Walk,
        pace: ScanPace,
        fleet: &'a [Member],
        summary: ScanSummary,
        stream: Option<output::JsonListStream>,
    ) -> Self {
        Self { walk, pace, fleet, summary, stream, progress: KeyProgress::new() }
    }

    /// Visits all keys of these.
    pub(super) fn walk(&mut self, masters: &[Server]) -> ScanEnd {
        for master in masters {
            match self.server(master) {
                Ok(ScanEnd::Whole) => {}
                Ok(ended) => return ended,
                Err(failure) => return self.pace.stopped().map_or(ScanEnd::Lost(failure), ScanEnd::Stopped),
            }
        }
        ScanEnd::Whole
    }

    /// Removes the progress line; what was found.
    pub(super) fn close(self) -> (ScanSummary, Option<output::JsonListStream>) {
        (self.summary, self.stream)
    }

    fn server(&mut self, server: &Server) -> Result<ScanEnd, Failure> {
        let of_server = |error| failure::of_server(server, error);
        let mut connection = server.connect().map_err(of_server)?;
        let size: u64 = redis::cmd("DBSIZE").query(&mut connection).map_err(of_server)?;
        self.progress.expect(size);
        let mut left = size;
        let mut next = Some(0);
        while let Some(cursor) = next {
            if let Some(request) = self.pace.stopped() {
                return Ok(ScanEnd::Stopped(request));
            }
            if self.stream.as_ref().is_some_and(output::JsonListStream::is_closed) {
                return Ok(ScanEnd::OutputClosed);
            }
            let began = host::mono();
            let looked;
            (looked, next) = self.page(server, cursor, &mut connection)?;
            // What a pattern leaves out was visited as well.
            let visited = looked.max(u64::from(self.walk.visited_per_page())).min(left.max(looked));
            left = left.saturating_sub(visited);
            self.progress.advance(if next.is_none() { visited + left } else { visited }, self.summary.locks);
            self.pace.hold_back(visited, began);
        }
        Ok(ScanEnd::Whole)
    }

    /// The keys at this cursor: how many, and where the next ones are.
    fn page(
        &mut self,
        server: &Server,
        cursor: u64,
        connection: &mut Connection,
    ) -> Result<(u64, Option<u64>), Failure> {
        let refused = |broken: Interrupted| failure::of_procedure(server, broken);
        let found =
            blocking::run(connection, &|redis: &mut Transcript| self.walk.page(cursor, redis)).map_err(refused)?;
        let glances: Vec<_> =
            found.keys.iter().map(|key| |redis: &mut Transcript| self.walk.glance(key, redis)).collect();
        let glances = blocking::run_together(connection, &glances).map_err(refused)?;
        let looked = found.keys.len() as u64;
        self.summary.keys += looked;
        for glance in glances {
            match glance {
                Glance::Lock(sight) => self.found(Finding::among(sight, self.fleet.iter().cloned()))?,
                Glance::Moving => self.summary.moving += 1,
                Glance::Forbidden => self.summary.forbidden += 1,
                Glance::TooLarge => self.summary.too_large += 1,
                Glance::Other => {}
            }
        }
        Ok((looked, found.next))
    }

    fn found(&mut self, finding: Finding) -> Result<(), Failure> {
        // A hash may have the field of a lock without being a lock.
        if !finding.is_lock() {
            return Ok(());
        }
        if let Some(stream) = &mut self.stream {
            stream.add(&Inspection::of(finding.clone(), false))?;
        }
        self.summary.add(finding);
        Ok(())
    }
}
