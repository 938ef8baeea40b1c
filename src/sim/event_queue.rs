//! Which client goes on when: what several clients do is played in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// When each client goes on, since the beginning; clients of one moment in the order in which they were put.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    entries: BinaryHeap<Reverse<(Duration, u64, usize)>>,
    /// The number of each client's last entry: the earlier ones are void.
    last: Vec<u64>,
    count: u64,
}

impl EventQueue {
    /// The client goes on at this moment, and at no other.
    pub(crate) fn put(&mut self, client: usize, at: Duration) {
        self.count += 1;
        if self.last.len() <= client {
            self.last.resize(client + 1, 0);
        }
        self.last[client] = self.count;
        self.entries.push(Reverse((at, self.count, client)));
    }

    /// The client that goes on next, and when; `None` if every client has ended.
    pub(crate) fn take_next(&mut self) -> Option<(Duration, usize)> {
        loop {
            let Reverse((at, entry, client)) = self.entries.pop()?;
            if self.last[client] == entry {
                return Some((at, client));
            }
        }
    }
}

#[test]
fn a_client_goes_on_at_the_moment_that_was_put_last() {
    let at = Duration::from_secs;
    let mut event_queue = EventQueue::default();
    [(0, 5), (1, 3), (2, 3), (0, 1), (1, 4)].into_iter().for_each(|(client, secs)| event_queue.put(client, at(secs)));
    let all: Vec<_> = std::iter::from_fn(|| event_queue.take_next()).collect();
    assert_eq!(all, [(at(1), 0), (at(3), 2), (at(4), 1)]);
}
