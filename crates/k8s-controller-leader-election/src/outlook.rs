//! When a lease that somebody else holds may be taken.

use std::time::Duration;

use tokio::time::Instant;

use crate::record::Record;

/// What was seen of a lease last, and from when on it may be taken.
///
/// Times in the lease are never compared with a clock: they come from clocks of others. What
/// counts is how long the lease was seen unchanged, and the duration that it says itself.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    record: Option<Record>,
    free_at: Instant,
    /// How long the holder lets others wait.
    duration: Duration,
}

impl Outlook {
    /// Takes note of the lease, or that there is none, as answered by now.
    ///
    /// Returns from when on it may be taken. `own` is the duration where the lease has none.
    pub(crate) fn observe(
        &mut self,
        record: Option<Record>,
        now: Instant,
        own: Duration,
    ) -> Instant {
        let seen = match self.seen.take() {
            None => Seen::first(record, now, own),
            Some(seen) if seen.record == record => seen,
            Some(seen) => seen.then(record, now),
        };
        let free_at = seen.free_at;
        self.seen = Some(seen);
        free_at
    }
}

impl Seen {
    fn first(record: Option<Record>, now: Instant, own: Duration) -> Self {
        let duration = record.as_ref().and_then(|record| record.duration);
        let duration = duration.unwrap_or(own);
        // Without a lease, or with one that nobody wrote into yet, there is nobody to wait for.
        let free = (record.as_ref()).is_none_or(|record| record.is_blank() || record.is_released());
        Self {
            free_at: if free { now } else { now + duration },
            record,
            duration: if free { own } else { duration },
        }
    }

    fn then(self, record: Option<Record>, now: Instant) -> Self {
        // Deleted or emptied by hand: the holder may not know yet, and renew what it cannot find.
        let Some(new) = record.clone().filter(|record| !record.is_blank()) else {
            return Self {
                free_at: now + self.duration,
                record,
                duration: self.duration,
            };
        };
        let old = self.record.as_ref();
        let same_uid = old.is_some_and(|old| old.uid == new.uid);
        // Whoever holds the lease, or takes or releases it, sets this time; a hand mostly does not.
        // A release sets both times.
        let by_hand = same_uid && old.is_some_and(|old| old.renewed == new.renewed);
        if new.is_released() && !by_hand && new.acquired == new.renewed {
            return Self {
                free_at: now,
                record,
                duration: self.duration,
            };
        }
        // A shorter duration than before is believed once a renewal repeats it. One that a hand
        // wrote does not last that long: the holder writes its own again.
        let stated = new.duration.unwrap_or(self.duration);
        let is_repeated = !by_hand && old.is_some_and(|old| old.duration == new.duration);
        let duration = if is_repeated {
            stated
        } else {
            stated.max(self.duration)
        };
        Self {
            free_at: now + duration,
            record,
            duration,
        }
    }
}
