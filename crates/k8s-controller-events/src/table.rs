//! The series that are being counted, within a bound, and whose turn it is to send.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use tokio::time::Instant;

use crate::SERIES_WINDOW;
use crate::causes::Causes;
use crate::key::{BuildDigestHasher, Fingerprint, GroupKey, SeriesKey};
use crate::turn::Turn;

/// The last event published in a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published {
    /// What made the name of the event unique: the rest of it is the name of the object.
    pub(crate) unique: u64,
    pub(crate) fingerprint: Fingerprint,
    /// How often it was published, as far as the server was told.
    pub(crate) count: i32,
    pub(crate) at: Instant,
}

impl Published {
    pub(crate) fn expires(&self) -> Instant {
        self.at + SERIES_WINDOW
    }
}

/// All series, behind a lock that is never held across an await.
#[derive(Debug)]
pub(crate) struct Table(Mutex<Series>);

impl Table {
    pub(crate) fn new(max: usize) -> Self {
        Self(Mutex::new(Series {
            published: LruCache::unbounded_with_hasher(BuildDigestHasher::default()),
            groups: HashMap::default(),
            turns: HashMap::default(),
            max,
            evicted: 0,
            swept: false,
        }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Series> {
        // What a panic left behind is usable: no function of `Series` leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other publish of the series is under way.
    pub(crate) async fn turn(&self, key: SeriesKey) -> Turn<'_> {
        Turn::take(self, key).await
    }
}

/// The contents of a [`Table`]. Work per call does not depend on how many series there are.
#[derive(Debug)]
pub(crate) struct Series {
    /// In the order of their last publish, and so of their expiry.
    published: LruCache<SeriesKey, Published, BuildDigestHasher>,
    /// The groups that have a series or a turn.
    groups: HashMap<GroupKey, Group, BuildDigestHasher>,
    /// The series that are being published now; as many as the callers have futures.
    turns: HashMap<SeriesKey, Waiting, BuildDigestHasher>,
    max: usize,
    evicted: u64,
    /// Whether a task looks after expiry.
    pub(crate) swept: bool,
}

#[derive(Debug, Default)]
struct Group {
    causes: Causes,
    turns: usize,
    /// Goes up when the group is forgotten while a publish is under way, whose result then counts
    /// for nothing.
    generation: u64,
}

#[derive(Debug, Default)]
struct Waiting {
    lock: Arc<tokio::sync::Mutex<()>>,
    users: usize,
}

impl Series {
    pub(crate) fn len(&self) -> usize {
        self.published.len()
    }

    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(crate) fn set_max(&mut self, max: usize) {
        self.max = max;
        self.evict();
    }

    /// Joins those who publish in the series, until [`leave`](Self::leave).
    pub(crate) fn join(&mut self, key: SeriesKey) -> Arc<tokio::sync::Mutex<()>> {
        self.groups.entry(key.group).or_default().turns += 1;
        let waiting = self.turns.entry(key).or_default();
        waiting.users += 1;
        waiting.lock.clone()
    }

    pub(crate) fn leave(&mut self, key: SeriesKey) {
        if let Some(waiting) = self.turns.get_mut(&key) {
            waiting.users -= 1;
            if waiting.users == 0 {
                self.turns.remove(&key);
            }
        }
        if let Some(group) = self.groups.get_mut(&key.group) {
            group.turns -= 1;
            self.release(key.group);
        }
    }

    pub(crate) fn generation(&self, group: GroupKey) -> u64 {
        self.groups.get(&group).map_or(0, |group| group.generation)
    }

    /// The last publish of the series, unless the window is over.
    pub(crate) fn live(&mut self, key: SeriesKey) -> Option<&mut Published> {
        let expired = self.published.peek(&key)?.expires() <= Instant::now();
        if expired {
            self.remove(key);
            return None;
        }
        self.published.peek_mut(&key)
    }

    /// Notes a publish, as the most recent one of all.
    pub(crate) fn insert(&mut self, key: SeriesKey, published: Published) {
        if let Some(last) = self.published.get_mut(&key) {
            *last = published;
            return;
        }
        let group = self.groups.entry(key.group).or_default();
        group.causes.insert(key.cause);
        self.published.put(key, published);
        self.evict();
    }

    pub(crate) fn remove(&mut self, key: SeriesKey) {
        if self.published.pop(&key).is_some() {
            self.unlink(key);
        }
    }

    /// Ends all series of a group: the next publish of each is a new event.
    pub(crate) fn forget(&mut self, key: GroupKey) {
        let Some(group) = self.groups.get_mut(&key) else {
            return;
        };
        group.generation += 1;
        for cause in std::mem::take(&mut group.causes).into_vec() {
            self.published.pop(&SeriesKey { group: key, cause });
        }
        self.release(key);
    }

    /// Removes what has expired, and says when the next series will.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Instant> {
        while let Some((_, published)) = self.published.peek_lru() {
            if published.expires() > now {
                return Some(published.expires());
            }
            self.pop_oldest();
        }
        // An idle recorder gives back what a burst of events has taken.
        self.published = LruCache::unbounded_with_hasher(BuildDigestHasher::default());
        self.groups.shrink_to_fit();
        self.turns.shrink_to_fit();
        None
    }

    fn evict(&mut self) {
        while self.published.len() > self.max {
            self.pop_oldest();
            self.evicted += 1;
        }
    }

    fn pop_oldest(&mut self) {
        if let Some((key, _)) = self.published.pop_lru() {
            self.unlink(key);
        }
    }

    fn unlink(&mut self, key: SeriesKey) {
        if let Some(group) = self.groups.get_mut(&key.group) {
            group.causes.remove(key.cause);
            self.release(key.group);
        }
    }

    fn release(&mut self, key: GroupKey) {
        if self
            .groups
            .get(&key)
            .is_some_and(|group| group.causes.is_empty() && group.turns == 0)
        {
            self.groups.remove(&key);
        }
    }

    /// How many entries of any kind there are.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> usize {
        self.published.len() + self.groups.len() + self.turns.len()
    }
}
