//! The watch of the main kind.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, ready};

use futures::{Stream, StreamExt, future, stream};
use k8s_controller_events::{EventRecorder, Scope};
use kube::runtime::reflector::{Store, reflector, store::Writer};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::tracker::{Tracker, key_of};
use crate::waiting::{self, Waiting};

/// What is remembered of objects, to be forgotten when they are gone.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) tracker: Tracker,
    /// Known only when the controller starts, after the watch was made.
    pub(crate) recorder: OnceLock<Arc<EventRecorder>>,
    /// Likewise; only if there are observers.
    pub(crate) waiting: OnceLock<Waiting>,
    /// The watch of the main kind failed.
    failed: AtomicBool,
}

impl Memory {
    /// Whether the watch of the main kind failed since the last call.
    pub(crate) fn take_failed(&self) -> bool {
        self.failed.swap(false, Ordering::Relaxed)
    }
}

/// The stream of changed objects, and the store that it feeds.
///
/// `kube::runtime::Controller::new` would make the same, but hides that objects are deleted,
/// panics on an object without a name, and asks for the objects of a list before the list is
/// complete: one that is new in a later list would be looked for in vain, and left alone.
pub(crate) fn watch<K>(
    api: Api<K>,
    config: watcher::Config,
    memory: Arc<Memory>,
) -> (
    impl Stream<Item = Result<K, watcher::Error>> + Send + 'static,
    Store<K>,
)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Default + Eq + Hash + Clone,
{
    let dyntype = K::DynamicType::default();
    let writer = Writer::new(dyntype.clone());
    let store = writer.as_reader();
    let reader = store.clone();
    let kind = K::kind(&dyntype).into_owned();
    let named = watcher(api, config).filter(move |event| future::ready(has_name(event, &kind)));
    let gone = Arc::clone(&memory);
    let known = store.clone();
    let events = reflector(writer, named).inspect(move |event| match event {
        Ok(Event::Delete(object)) => forget(&gone, object, &dyntype),
        Ok(Event::InitDone) => forget_all_but(&gone, &known),
        _ => {}
    });
    let stream =
        changed(events, reader).inspect(move |object| match (object, memory.waiting.get()) {
            (Ok(object), Some(waiting)) => waiting.enter(waiting::key_of(object)),
            (Ok(_), None) => {}
            (Err(_), _) => memory.failed.store(true, Ordering::Relaxed),
        });
    (stream, store)
}

/// The objects that changed; all of them after a list.
fn changed<K>(
    events: impl Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
    store: Store<K>,
) -> impl Stream<Item = Result<K, watcher::Error>> + Send + 'static
where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let mut events = Box::pin(events);
    let mut listed = Vec::<Arc<K>>::new().into_iter();
    stream::poll_fn(move |cx| {
        loop {
            // Cloned one by one, since each is dropped again at once.
            if let Some(object) = listed.next() {
                return Poll::Ready(Some(Ok(K::clone(&object))));
            }
            match ready!(events.poll_next_unpin(cx)) {
                Some(Ok(Event::Apply(object))) => return Poll::Ready(Some(Ok(object))),
                Some(Ok(Event::InitDone)) => listed = in_order(&store).into_iter(),
                Some(Ok(Event::Init | Event::InitApply(_) | Event::Delete(_))) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    })
}

/// The objects of the store in an order that is the same each time.
fn in_order<K>(store: &Store<K>) -> Vec<Arc<K>>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let mut objects = store.state();
    let path = |object: &Arc<K>| {
        let meta = object.meta();
        (meta.namespace.clone(), meta.name.clone())
    };
    objects.sort_by_cached_key(path);
    objects
}

fn has_name<K: Resource>(event: &Result<Event<K>, watcher::Error>, kind: &str) -> bool {
    let Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) = event else {
        return true;
    };
    let meta = object.meta();
    if meta.name.is_none() {
        tracing::error!(
            kind,
            namespace = meta.namespace,
            uid = meta.uid,
            field = "metadata.name",
            "the API server sent an object without a name, which is ignored"
        );
    }
    meta.name.is_some()
}

fn forget<K: Resource>(memory: &Memory, object: &K, dyntype: &K::DynamicType) {
    memory.tracker.release(&key_of(object));
    if let Some(waiting) = memory.waiting.get() {
        waiting.leave(waiting::key_of(object));
    }
    if let Some(recorder) = memory.recorder.get() {
        let object = object.object_ref(dyntype);
        recorder.forget_scope(&object, Scope::Ordinary);
        recorder.forget_scope(&object, Scope::Failure);
    }
}

/// After a new list: deletes that happened while the watch was down were never told.
fn forget_all_but<K>(memory: &Memory, store: &Store<K>)
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let waiting = memory.waiting.get().filter(|waiting| !waiting.is_empty());
    if memory.tracker.is_empty() && waiting.is_none() {
        return;
    }
    let objects = store.state();
    let keys: HashSet<_> = objects.iter().map(|object| key_of(&**object)).collect();
    memory.tracker.retain(|key| keys.contains(key));
    if let Some(waiting) = waiting {
        let keys: HashSet<_> = objects
            .iter()
            .map(|object| waiting::key_of(&**object))
            .collect();
        waiting.retain(|key| keys.contains(&key));
    }
}
