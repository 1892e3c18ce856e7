//! What the loop remembers of an object from one pass to the next.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::Resource;

/// What an object is known by: its uid, so that one which is deleted and made anew begins anew.
/// An object without a uid, over which every pass fails, is known by its path.
pub(crate) fn key_of<K: Resource>(object: &K) -> Cow<'_, str> {
    let meta = object.meta();
    if let Some(uid) = meta.uid.as_deref().filter(|uid| !uid.is_empty()) {
        return Cow::Borrowed(uid);
    }
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    Cow::Owned(format!("{}/{}", part(&meta.namespace), part(&meta.name)))
}

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

/// Entries by what [`key_of`] gives.
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
    pub(crate) fn entry(&self, key: &str) -> Entry {
        self.entries().get(key).copied().unwrap_or_default()
    }

    /// Forgets failures and conflicts.
    pub(crate) fn succeeded(&self, key: &str) {
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(key) {
            *entry = Entry {
                cleanup: entry.cleanup,
                ..Entry::default()
            };
            if *entry == Entry::default() {
                entries.remove(key);
            }
        }
    }

    /// Counts a failure; returns the number of those before it.
    pub(crate) fn failed(&self, key: &str) -> u32 {
        self.update(key, |entry| {
            let before = entry.failures;
            entry.failures = before.saturating_add(1);
            entry.conflicts = 0;
            entry.stale = false;
            before
        })
    }

    /// Counts a conflict; returns the number of those in a row before it.
    pub(crate) fn conflicted(&self, key: &str) -> u32 {
        self.update(key, |entry| {
            let before = entry.conflicts;
            entry.conflicts = before.saturating_add(1);
            entry.stale = true;
            before
        })
    }

    pub(crate) fn set_cleanup(&self, key: &str, cleanup: Cleanup) {
        self.update(key, |entry| entry.cleanup = cleanup);
    }

    pub(crate) fn is_known(&self, key: &str) -> bool {
        self.entries().contains_key(key)
    }

    /// Forgets an object that is gone.
    pub(crate) fn release(&self, key: &str) {
        self.entries().remove(key);
    }

    /// Forgets all objects but those that `alive` knows.
    pub(crate) fn retain(&self, alive: impl Fn(&str) -> bool) {
        let mut entries = self.entries();
        entries.retain(|key, _| alive(key));
        entries.shrink_to_fit();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.entries().len()
    }

    fn update<T>(&self, key: &str, change: impl FnOnce(&mut Entry) -> T) -> T {
        let mut entries = self.entries();
        match entries.get_mut(key) {
            Some(entry) => change(entry),
            None => change(entries.entry(key.to_owned()).or_default()),
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
    fn keys_are_uids_where_there_are_any() {
        let object = |value| serde_json::from_value::<k8s_openapi::api::core::v1::ConfigMap>(value);
        let key = |value| key_of(&object(value).unwrap()).into_owned();
        let named = serde_json::json!({"metadata": {"name": "a", "namespace": "ns", "uid": ""}});
        assert_eq!(key(named), "ns/a");
        assert_eq!(
            key(serde_json::json!({"metadata": {"name": "a", "uid": "u"}})),
            "u"
        );
    }

    #[test]
    fn failures_count_until_a_success() {
        let tracker = Tracker::default();
        assert_eq!(
            [
                tracker.failed("a"),
                tracker.failed("a"),
                tracker.failed("b")
            ],
            [0, 1, 0]
        );
        tracker.succeeded("a");
        assert_eq!([tracker.failed("a"), tracker.failed("b")], [0, 1]);
    }

    #[test]
    fn conflicts_are_no_failures() {
        let tracker = Tracker::default();
        assert_eq!(
            [
                tracker.failed("a"),
                tracker.conflicted("a"),
                tracker.conflicted("a")
            ],
            [0, 0, 1]
        );
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
