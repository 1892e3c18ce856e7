//! The last changes of one collection, for watches and for lists of the past.

use std::collections::VecDeque;
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

/// The version asked for is older than what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired;

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

    /// The changes after `version`, oldest first.
    pub(crate) fn since(
        &self,
        version: u64,
    ) -> Result<impl DoubleEndedIterator<Item = &Change>, Expired> {
        if version < self.floor {
            return Err(Expired);
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
        assert_eq!(since(&history, 9), Err(Expired));
    }

    #[test]
    fn the_oldest_go_first() {
        let history = history(2, &[11, 14, 20]);
        assert_eq!(since(&history, 10), Err(Expired));
        assert_eq!(since(&history, 11), Ok(vec![14, 20]));
    }
}
