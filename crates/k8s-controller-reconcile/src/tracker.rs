//! What the loop remembers of an object from one pass to the next.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How far the deletion of an object has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cleanup {
    /// The cleanup has not completed.
    #[default]
    Open,
    /// It has, but the finalizer may still be there.
    Completed,
    /// The finalizer is gone too. Nobody can put it back on an object that is being deleted.
    Released,
}

/// What is remembered of one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    failures: u32,
    conflicts: u32,
    /// The last pass met a conflict, so that the copy of the watch may be too old.
    pub(crate) stale: bool,
    pub(crate) cleanup: Cleanup,
}

/// Entries by uid, so that an object which is deleted and made anew begins anew.
///
/// An object has an entry only from a failure to the next success, and from the end of its
/// cleanup on. Entries go when the watch tells that the object is gone ([`Tracker::release`],
/// [`Tracker::retain`]); whoever adds an entry at the end of a pass then looks whether the object
/// is still there, so that there are never more entries than objects.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    entries: Mutex<HashMap<String, Entry>>,
}

impl Tracker {
    pub(crate) fn entry(&self, uid: &str) -> Entry {
        self.entries().get(uid).copied().unwrap_or_default()
    }

    /// Forgets failures and conflicts.
    pub(crate) fn succeeded(&self, uid: &str) {
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(uid) {
            *entry = Entry { cleanup: entry.cleanup, ..Entry::default() };
            if *entry == Entry::default() {
                entries.remove(uid);
            }
        }
    }

    /// Counts a failure; returns the number of those before it.
    pub(crate) fn failed(&self, uid: &str) -> u32 {
        self.update(uid, |entry| {
            let before = entry.failures;
            entry.failures = before.saturating_add(1);
            entry.conflicts = 0;
            entry.stale = false;
            before
        })
    }

    /// Counts a conflict; returns the number of those in a row before it.
    pub(crate) fn conflicted(&self, uid: &str) -> u32 {
        self.update(uid, |entry| {
            let before = entry.conflicts;
            entry.conflicts = before.saturating_add(1);
            entry.stale = true;
            before
        })
    }

    pub(crate) fn set_cleanup(&self, uid: &str, cleanup: Cleanup) {
        self.update(uid, |entry| entry.cleanup = cleanup);
    }

    pub(crate) fn is_known(&self, uid: &str) -> bool {
        self.entries().contains_key(uid)
    }

    /// Forgets an object that is gone.
    pub(crate) fn release(&self, uid: &str) {
        self.entries().remove(uid);
    }

    /// Forgets all objects but those that `alive` knows.
    pub(crate) fn retain(&self, alive: impl Fn(&str) -> bool) {
        let mut entries = self.entries();
        entries.retain(|uid, _| alive(uid));
        entries.shrink_to_fit();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    fn update<T>(&self, uid: &str, change: impl FnOnce(&mut Entry) -> T) -> T {
        let mut entries = self.entries();
        match entries.get_mut(uid) {
            Some(entry) => change(entry),
            None => change(entries.entry(uid.to_owned()).or_default()),
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        // Each change of the map is complete before anything could panic.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_count_until_a_success() {
        let tracker = Tracker::default();
        assert_eq!([tracker.failed("a"), tracker.failed("a"), tracker.failed("b")], [0, 1, 0]);
        tracker.succeeded("a");
        assert_eq!([tracker.failed("a"), tracker.failed("b")], [0, 1]);
    }

    #[test]
    fn conflicts_are_no_failures() {
        let tracker = Tracker::default();
        assert_eq!([tracker.failed("a"), tracker.conflicted("a"), tracker.conflicted("a")], [0, 0, 1]);
        assert!(tracker.entry("a").stale);
        assert_eq!([tracker.failed("a"), tracker.conflicted("a")], [1, 0]);
    }

    #[test]
    fn a_success_leaves_nothing_but_the_progress_of_the_cleanup() {
        let tracker = Tracker::default();
        tracker.failed("a");
        tracker.succeeded("a");
        assert!(tracker.is_empty());

        tracker.set_cleanup("a", Cleanup::Completed);
        tracker.failed("a");
        tracker.succeeded("a");
        assert_eq!(tracker.entry("a").cleanup, Cleanup::Completed);
        tracker.release("a");
        assert!(tracker.is_empty());
    }
}
