//! The passes that are running.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The passes that are running, to wait for their end and to keep two passes over the same
/// object apart.
///
/// `kube::runtime` keeps passes apart by namespace and name of the request. A child that lives
/// in a namespace asks for its cluster-scoped owner "in" that namespace, so that the owner would
/// be worked on once per namespace at the same time. A pass that finds its object taken does not
/// wait, which would take up one of the few slots; it leaves word, and the pass that has the
/// object asks to be run again. When to run again for other reasons is in the
/// [`Agenda`](crate::agenda::Agenda).
#[derive(Debug)]
pub(crate) struct Running<K> {
    passes: Mutex<Passes<K>>,
    idle: Notify,
}

#[derive(Debug)]
struct Passes<K> {
    next: u64,
    objects: HashMap<u64, Arc<K>>,
    /// By name, for cluster-scoped kinds: whether somebody left word.
    taken: HashMap<String, bool>,
}

impl<K> Running<K> {
    pub(crate) fn new() -> Arc<Self> {
        let passes = Passes {
            next: 0,
            objects: HashMap::new(),
            taken: HashMap::new(),
        };
        Arc::new(Self {
            passes: Mutex::new(passes),
            idle: Notify::new(),
        })
    }

    /// Registers a pass. `exclusive` is the name of the object, where more than one pass at a
    /// time could be asked for; none is returned if one is running.
    pub(crate) fn begin(
        self: &Arc<Self>,
        object: &Arc<K>,
        exclusive: Option<&str>,
    ) -> Option<Turn<K>> {
        let mut passes = self.passes();
        if let Some(name) = exclusive {
            if let Some(again) = passes.taken.get_mut(name) {
                *again = true;
                return None;
            }
            passes.taken.insert(name.to_owned(), false);
        }
        let id = passes.next;
        passes.next += 1;
        passes.objects.insert(id, Arc::clone(object));
        let name = exclusive.map(str::to_owned);
        Some(Turn {
            running: Arc::clone(self),
            id,
            name,
            over: false,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.passes().objects.len()
    }

    /// The objects that passes are running over, in the order in which those began.
    pub(crate) fn objects(&self) -> Vec<Arc<K>> {
        let passes = self.passes();
        let mut objects: Vec<_> = passes.objects.iter().collect();
        objects.sort_unstable_by_key(|(id, _)| **id);
        objects
            .into_iter()
            .map(|(_, object)| Arc::clone(object))
            .collect()
    }

    /// Returns once no pass is running.
    pub(crate) async fn idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.len() == 0 {
                return;
            }
            idle.await;
        }
    }

    fn passes(&self) -> MutexGuard<'_, Passes<K>> {
        // Each change of the maps is complete before anything could panic.
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to work on an object, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<K> {
    running: Arc<Running<K>>,
    id: u64,
    name: Option<String>,
    over: bool,
}

impl<K> Turn<K> {
    /// Ends the turn; whether somebody else wanted it meanwhile.
    pub(crate) fn end(mut self) -> bool {
        self.leave()
    }

    fn leave(&mut self) -> bool {
        if std::mem::replace(&mut self.over, true) {
            return false;
        }
        let mut passes = self.running.passes();
        let object = passes.objects.remove(&self.id);
        let again = self.name.take().and_then(|name| passes.taken.remove(&name));
        let idle = passes.objects.is_empty();
        drop(passes);
        // Outside of the lock: it may be the last reference to a big object.
        drop(object);
        if idle {
            self.running.idle.notify_waiters();
        }
        again.unwrap_or(false)
    }
}

impl<K> Drop for Turn<K> {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_taken_is_not_given_twice() {
        let running = Running::new();
        let object = Arc::new(());
        let turn = running.begin(&object, Some("a")).unwrap();
        assert!(running.begin(&object, Some("a")).is_none());
        let other = running.begin(&object, Some("b")).unwrap();
        assert_eq!(running.len(), 2);
        assert!(turn.end(), "somebody left word");
        assert!(!other.end());
        assert!(!running.begin(&object, Some("a")).unwrap().end());
    }

    #[test]
    fn a_turn_that_is_dropped_is_over() {
        let running = Running::new();
        drop(running.begin(&Arc::new(()), Some("a")));
        assert_eq!(running.len(), 0);
        assert!(running.begin(&Arc::new(()), Some("a")).is_some());
    }

    #[tokio::test]
    async fn idle_waits_for_the_last() {
        let running = Running::new();
        let turn = running.begin(&Arc::new(()), None);
        let waiting = tokio::spawn({
            let running = Arc::clone(&running);
            async move { running.idle().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(turn);
        waiting.await.unwrap();
    }
}
