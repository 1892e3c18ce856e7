//! Counts of what became of events.

use std::sync::atomic::{AtomicU64, Ordering};

/// What became of the events that were published, since the recorder was made.
///
/// Every finished or dropped call of a publishing function is in exactly one of `created`,
/// `patched`, `namespace_terminating`, `refused`, `timed_out`, `cancelled` and `failed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// New events that the API server accepted.
    pub created: u64,
    /// Repeats that the API server counted into the series of an event.
    pub patched: u64,
    /// Dropped because the namespace of the event was being deleted.
    pub namespace_terminating: u64,
    /// Dropped because an API server would refuse a field; never sent.
    pub refused: u64,
    /// Given up after the recorder's timeout.
    pub timed_out: u64,
    /// Given up by the caller, who dropped the future.
    pub cancelled: u64,
    /// Refused by the API server, or without an answer that could be read.
    pub failed: u64,
    /// Series that made room for others at the cap. Their events are sent all the same, but a
    /// repeat is a new event.
    pub evicted_series: u64,
}

impl Stats {
    /// Events that the API server has.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.created + self.patched
    }

    /// Events that it has not, or may not have.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.namespace_terminating + self.refused + self.timed_out + self.cancelled + self.failed
    }
}

/// The counters behind [`Stats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) created: Counter,
    pub(crate) patched: Counter,
    pub(crate) namespace_terminating: Counter,
    pub(crate) refused: Counter,
    pub(crate) timed_out: Counter,
    pub(crate) cancelled: Counter,
    pub(crate) failed: Counter,
}

impl Counters {
    pub(crate) fn read(&self, evicted_series: u64) -> Stats {
        Stats {
            created: self.created.get(),
            patched: self.patched.get(),
            namespace_terminating: self.namespace_terminating.get(),
            refused: self.refused.get(),
            timed_out: self.timed_out.get(),
            cancelled: self.cancelled.get(),
            failed: self.failed.get(),
            evicted_series,
        }
    }
}

/// A number that only goes up.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
