//! The last changes of one collection, for watches and for lists of the past.

use std::collections::{VecDeque, vec_deque};
use std::sync::Arc;

use crate::object::Object;

/// One write. `before` is missing for a create, `after` for a removal.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: Arc<str>,
    pub(crate) before: Option<Arc<Object>>,
    pub(crate) after: Option<Arc<Object>>,
}

/// The version asked for is older than what is kept, which is what followed this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired(pub(crate) u64);

/// Keeps at most `limit` changes.
#[derive(Debug)]
pub(crate) struct History {
    changes: VecDeque<Change>,
    limit: usize,
    /// Everything after this version is kept.
    floor: u64,
}

impl History {
    pub(crate) fn new(limit: usize, floor: u64) -> Self {
        Self {
            changes: VecDeque::new(),
            limit,
            floor,
        }
    }

    pub(crate) fn push(&mut self, change: Change) {
        self.changes.push_back(change);
        while self.changes.len() > self.limit {
            if let Some(dropped) = self.changes.pop_front() {
                self.floor = dropped.version;
            }
        }
    }

    /// The changes after `version` and up to `last`, oldest first, and the version of the one that follows.
    pub(crate) fn between(
        &self,
        version: u64,
        last: u64,
    ) -> Result<(vec_deque::Iter<'_, Change>, Option<u64>), Expired> {
        if version < self.floor {
            return Err(Expired(self.floor));
        }
        let after = |version: u64| {
            // A watch mostly wants the last change alone.
            match self.changes.back() {
                Some(change) if change.version > version => self
                    .changes
                    .partition_point(|change| change.version <= version),
                _ => self.changes.len(),
            }
        };
        let (first, end) = (after(version), after(last));
        let next = self
            .changes
            .get(first.max(end))
            .map(|change| change.version);
        Ok((self.changes.range(first..first.max(end)), next))
    }

    /// The changes after `version`, oldest first.
    pub(crate) fn since(
        &self,
        version: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Change>, Expired> {
        if version < self.floor {
            return Err(Expired(self.floor));
        }
        let first = self
            .changes
            .partition_point(|change| change.version <= version);
        Ok(self.changes.range(first..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(limit: usize, versions: &[u64]) -> History {
        let mut history = History::new(limit, 10);
        for version in versions {
            history.push(Change {
                version: *version,
                key: "k".into(),
                before: None,
                after: None,
            });
        }
        history
    }

    fn since(history: &History, version: u64) -> Result<Vec<u64>, Expired> {
        Ok(history
            .since(version)?
            .map(|change| change.version)
            .collect())
    }

    #[test]
    fn what_is_kept_is_found() {
        let history = history(3, &[11, 14, 20]);
        assert_eq!(since(&history, 10), Ok(vec![11, 14, 20]));
        assert_eq!(since(&history, 14), Ok(vec![20]));
        assert_eq!(since(&history, 99), Ok(vec![]));
        assert_eq!(since(&history, 9), Err(Expired(10)));
    }

    #[test]
    fn what_the_watch_cache_has_not_seen_is_left_out() {
        let history = history(3, &[11, 14, 20]);
        let between = |version, last| {
            let (changes, next) = history.between(version, last)?;
            let changes: Vec<u64> = changes.map(|change| change.version).collect();
            Ok((changes, next))
        };
        assert_eq!(between(10, 15), Ok((vec![11, 14], Some(20))));
        assert_eq!(between(14, 20), Ok((vec![20], None)));
        assert_eq!(between(20, 14), Ok((vec![], None)));
        assert_eq!(between(99, 99), Ok((vec![], None)));
        assert_eq!(between(9, 99), Err(Expired(10)));
    }

    #[test]
    fn the_oldest_go_first() {
        let history = history(2, &[11, 14, 20]);
        assert_eq!(since(&history, 10), Err(Expired(11)));
        assert_eq!(since(&history, 11), Ok(vec![14, 20]));
    }
}
