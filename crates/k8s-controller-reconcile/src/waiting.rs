//! What waits for its pass, as far as it can be seen.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_controller_observe::{DequeueRecord, Observers, QueueRecord};
use kube::Resource;
use tokio::time::Instant;

/// The objects that the watch of the main kind told of and over which no pass has begun since.
///
/// `kube::runtime` has the real queue and shows nothing of it, nor of the requests that come
/// from elsewhere. An object is in here from a change until a pass over it begins or it is gone,
/// so that there are never more than the store has.
///
/// Used by the task of the loop alone, so that observers hear of things in their order.
pub(crate) struct Waiting {
    controller: Arc<str>,
    kind: Arc<str>,
    observers: Observers,
    /// Since when.
    objects: Mutex<HashMap<Key, Instant>>,
}

/// A hash of namespace and name; the runtime's requests know no uid either. Text would cost each
/// pass two allocations. Two objects of the same hash would count as one that waits, for a while.
pub(crate) type Key = u64;

/// What an object is known by here.
pub(crate) fn key_of<K: Resource>(object: &K) -> Key {
    let meta = object.meta();
    let mut hasher = DefaultHasher::new();
    (&meta.namespace, &meta.name).hash(&mut hasher);
    hasher.finish()
}

impl Waiting {
    pub(crate) fn new(controller: Arc<str>, kind: Arc<str>, observers: Observers) -> Self {
        Self {
            controller,
            kind,
            observers,
            objects: Mutex::default(),
        }
    }

    /// There is something to do for an object.
    pub(crate) fn enter(&self, key: Key) {
        let mut objects = self.objects();
        let before = objects.len();
        objects.entry(key).or_insert_with(Instant::now);
        let depth = objects.len();
        drop(objects);
        if depth > before {
            let record = QueueRecord::new(&self.controller, &self.kind, depth);
            self.observers.enqueued(&record);
        }
    }

    /// A pass begins, or the object is gone.
    pub(crate) fn leave(&self, key: Key) {
        let mut objects = self.objects();
        let Some(since) = objects.remove(&key) else {
            return;
        };
        let depth = objects.len();
        drop(objects);
        self.tell_left(depth, since);
    }

    /// All but those that `alive` knows are gone.
    pub(crate) fn retain(&self, alive: impl Fn(Key) -> bool) {
        let mut objects = self.objects();
        let mut depth = objects.len();
        let left: Vec<_> = objects.extract_if(|key, _| !alive(*key)).collect();
        objects.shrink_to_fit();
        drop(objects);
        for (_, since) in left {
            depth -= 1;
            self.tell_left(depth, since);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects().is_empty()
    }

    fn tell_left(&self, depth: usize, since: Instant) {
        let waited = since.elapsed();
        let record = DequeueRecord::new(&self.controller, &self.kind, depth, waited);
        self.observers.dequeued(&record);
    }

    fn objects(&self) -> MutexGuard<'_, HashMap<Key, Instant>> {
        // Each change of the map is complete before anything could panic.
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
