//! One publish at a time per series.

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::key::{Fingerprint, SeriesKey};
use crate::table::{Published, Table};

/// The right to publish in a series, until it is dropped.
pub(crate) struct Turn<'a> {
    place: Place<'a>,
    _guard: OwnedMutexGuard<()>,
    generation: u64,
}

/// A repeat to be sent.
#[derive(Debug)]
pub(crate) struct Repeat {
    /// See [`event_name`](crate::name::event_name).
    pub(crate) unique: u64,
    pub(crate) count: i32,
}

impl<'a> Turn<'a> {
    pub(crate) async fn take(table: &'a Table, key: SeriesKey) -> Self {
        let lock = table.lock().join(key);
        let place = Place { table, key };
        let guard = lock.lock_owned().await;
        let generation = table.lock().generation(key.group);
        Self {
            place,
            _guard: guard,
            generation,
        }
    }

    /// The repeat to send, if the event is equal to the last one published in the series.
    ///
    /// It is counted at once. If its answer never comes, the server may have it all the same, and
    /// the count must not be used twice.
    pub(crate) fn repeat(&self, fingerprint: Fingerprint) -> Option<Repeat> {
        let mut series = self.place.table.lock();
        let last = series.live(self.place.key)?;
        if last.fingerprint != fingerprint {
            return None;
        }
        last.count = last.count.saturating_add(1);
        Some(Repeat {
            unique: last.unique,
            count: last.count,
        })
    }

    /// Notes a publish that the server has accepted.
    pub(crate) fn published(&self, unique: u64, fingerprint: Fingerprint, count: i32) {
        let mut series = self.place.table.lock();
        // Forgotten while the request was under way: the series is over.
        if series.generation(self.place.key.group) == self.generation {
            let at = Instant::now();
            series.insert(
                self.place.key,
                Published {
                    unique,
                    fingerprint,
                    count,
                    at,
                },
            );
        }
    }

    /// Takes back a repeat that the server has refused.
    pub(crate) fn refused(&self, repeat: &Repeat) {
        let mut series = self.place.table.lock();
        if let Some(last) = series
            .live(self.place.key)
            .filter(|last| last.unique == repeat.unique)
        {
            last.count = repeat.count - 1;
        }
    }

    /// Ends the series, whose event the server no longer has.
    pub(crate) fn gone(&self) {
        self.place.table.lock().remove(self.place.key);
    }
}

/// A place among those who publish in a series; given up also when its owner stops waiting.
struct Place<'a> {
    table: &'a Table,
    key: SeriesKey,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.table.lock().leave(self.key);
    }
}
