//! When objects of a cluster-scoped kind are to be worked on again.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::mpsc;
use futures::{Stream, StreamExt, future};
use kube::Resource;
use kube::runtime::applier;
use kube::runtime::controller::{Action, Config, Error};
use kube::runtime::reflector::{ObjectRef, Store};

/// Keeps at most one time per object at which it is to be worked on again.
///
/// `kube::runtime` keeps such times by namespace and name of the request. For a cluster-scoped
/// owner, whose children ask for it "in" their namespaces, that would be a time for each of
/// those namespaces, each of which leads to the next: an object that wants to be seen once a
/// minute would be seen as often as it has namespaces, and its failures counted as often.
///
/// A name is in here until its time has come or its object is gone.
#[derive(Debug)]
pub(crate) struct Agenda<K: Resource> {
    times: Arc<Mutex<HashMap<String, Time>>>,
    requests: mpsc::UnboundedSender<ObjectRef<K>>,
    dyntype: K::DynamicType,
}

#[derive(Debug)]
enum Time {
    /// A pass has asked for it.
    Asked(Action),
    /// The clock is running.
    Set,
}

/// The time of an object has come.
#[derive(Debug, thiserror::Error)]
#[error("due")]
struct Due;

impl<K> Agenda<K>
where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin + Send + Sync,
{
    /// The agenda, and the objects whose time has come.
    ///
    /// Only `kube::runtime` can read an `Action`, so it has to be the clock: a queue of its own,
    /// in which an object comes up first to have its clock set, then when it is due.
    pub(crate) fn new(
        store: Store<K>,
        dyntype: K::DynamicType,
    ) -> (Self, impl Stream<Item = ObjectRef<K>> + Send + 'static) {
        let (requests, queue) = mpsc::unbounded();
        let times = Arc::<Mutex<HashMap<String, Time>>>::default();
        let agenda = Self {
            times: Arc::clone(&times),
            requests,
            dyntype: dyntype.clone(),
        };
        let clock = applier(
            |object: Arc<K>, times| future::ready(come_up(&*object, &times)),
            |_, Due, _| Action::await_change(),
            Arc::clone(&times),
            store,
            queue.map(Ok::<_, std::convert::Infallible>),
            Config::default(),
        );
        let due = clock.filter_map(move |result| {
            let due = match result {
                Err(Error::ReconcilerFailed(Due, object)) => {
                    Some(ObjectRef::new_with(&object.name, dyntype.clone()))
                }
                Err(Error::ObjectNotFound(object)) => {
                    lock(&times).remove(&object.name);
                    None
                }
                _ => None,
            };
            future::ready(due)
        });
        (agenda, due)
    }

    /// Notes when the object is to be worked on again, in place of what was noted before.
    pub(crate) fn note(&self, object: &K, action: Action) {
        let Some(name) = object.meta().name.clone() else {
            return;
        };
        let mut times = lock(&self.times);
        if action == Action::await_change() && !times.contains_key(&name) {
            return;
        }
        times.insert(name.clone(), Time::Asked(action));
        drop(times);
        // Nobody listens once the controller has ended.
        let _ = self
            .requests
            .unbounded_send(ObjectRef::new_with(&name, self.dyntype.clone()));
    }
}

fn come_up<K: Resource>(object: &K, times: &Mutex<HashMap<String, Time>>) -> Result<Action, Due> {
    let name = object.meta().name.as_deref().unwrap_or_default();
    let mut times = lock(times);
    match times.remove(name) {
        Some(Time::Asked(action)) => {
            if action != Action::await_change() {
                times.insert(name.to_owned(), Time::Set);
            }
            Ok(action)
        }
        Some(Time::Set) => Err(Due),
        None => Ok(Action::await_change()),
    }
}

fn lock(times: &Mutex<HashMap<String, Time>>) -> MutexGuard<'_, HashMap<String, Time>> {
    // Each change of the map is complete before anything could panic.
    times.lock().unwrap_or_else(PoisonError::into_inner)
}
