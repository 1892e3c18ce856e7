//! How far the watch cache is behind the writes.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Longer than anybody waits; what is asked for may be more than a clock can hold.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// The versions that the watch cache has not seen yet.
#[derive(Debug)]
pub(super) struct Lag {
    by: Duration,
    /// When each version will be seen, oldest first. Holds the writes of the last `by`.
    unseen: VecDeque<(Instant, u64)>,
    /// The last version that was dropped from `unseen`.
    seen: u64,
}

impl Lag {
    pub(super) fn new(by: Duration, seen: u64) -> Self {
        Self {
            by,
            unseen: VecDeque::new(),
            seen,
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.by.is_zero()
    }

    /// Notes a write.
    pub(super) fn push(&mut self, version: u64) {
        if self.is_none() {
            self.seen = version;
            return;
        }
        let now = Instant::now();
        while let Some((due, version)) = self.unseen.front().copied() {
            if due > now {
                break;
            }
            self.seen = version;
            self.unseen.pop_front();
        }
        let due = now.checked_add(self.by).unwrap_or(now + FOREVER);
        self.unseen.push_back((due, version));
    }

    /// The last version that the watch cache has seen.
    pub(super) fn seen(&self) -> u64 {
        if self.unseen.is_empty() {
            return self.seen;
        }
        let now = Instant::now();
        let count = self.unseen.partition_point(|(due, _)| *due <= now);
        count
            .checked_sub(1)
            .and_then(|last| self.unseen.get(last))
            .map_or(self.seen, |(_, version)| *version)
    }

    /// When the watch cache will have seen a version that was written; `None` if it has.
    pub(super) fn due(&self, version: u64) -> Option<Instant> {
        let first = self.unseen.partition_point(|(_, unseen)| *unseen < version);
        let (due, _) = self.unseen.get(first)?;
        (*due > Instant::now()).then_some(*due)
    }
}
