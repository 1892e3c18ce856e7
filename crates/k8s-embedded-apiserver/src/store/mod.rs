//! Objects of all kinds, by collection and key, with one counter of versions.

#![allow(
    clippy::ptr_arg,
    reason = "names of collections are kept, and are static for built-in kinds"
)]

mod compaction;
mod history;
mod lag;
mod sorted;
mod view;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::metadata::{self, Meta as _};
use crate::object::Object;
use compaction::Compaction;
use history::History;
pub(crate) use history::{Change, Expired};
use lag::Lag;
use sorted::Sorted;
pub(crate) use view::View;

/// The counter starts here, so that version 1 is long gone as on a server that has run for a while.
const FIRST_VERSION: u64 = 100_000;

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Name of the collection.
    pub(crate) storage: Cow<'static, str>,
    /// `namespace/name`, or the name alone.
    pub(crate) key: Arc<str>,
}

/// The key of an object: lists are in the order of these texts.
pub(crate) fn key(namespace: Option<&str>, name: &str) -> Arc<str> {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}").into(),
        None => name.into(),
    }
}

/// The objects of one collection.
#[derive(Debug)]
struct Collection {
    objects: Sorted<Arc<Object>>,
    history: History,
    changed: watch::Sender<()>,
    /// Goes up each time the collection is closed; watches of an earlier epoch end.
    epoch: u64,
    closed: bool,
}

impl Collection {
    fn new(limit: usize, floor: u64) -> Self {
        Self {
            objects: Sorted::new(),
            history: History::new(limit, floor),
            changed: watch::Sender::new(()),
            epoch: 0,
            closed: false,
        }
    }
}

/// Every object of the server.
#[derive(Debug)]
pub(crate) struct Store {
    version: u64,
    limits: Limits,
    lag: Lag,
    compaction: Compaction,
    /// Told of every write, for those who wait for a version.
    written: watch::Sender<()>,
    collections: BTreeMap<Cow<'static, str>, Collection>,
    /// Dependents by the uid of an owner; an entry goes with its last dependent.
    dependents: BTreeMap<String, BTreeSet<Place>>,
}

/// What is kept of the past, and how soon it is seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Changes of each collection that are kept for watches.
    pub(crate) history: usize,
    /// Versions are forgotten for lists after one to two of these; never, if it is zero.
    pub(crate) compaction: Duration,
    /// How far watches and reads from the watch cache are behind the writes.
    pub(crate) lag: Duration,
}

/// What a watch needs to follow a collection.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) changed: watch::Receiver<()>,
    pub(crate) epoch: u64,
}

impl Store {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            version: FIRST_VERSION,
            limits,
            lag: Lag::new(limits.lag, FIRST_VERSION),
            compaction: Compaction::new(limits.compaction, FIRST_VERSION),
            written: watch::Sender::new(()),
            collections: BTreeMap::new(),
            dependents: BTreeMap::new(),
        }
    }

    /// Version of the last write of any kind.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Opens a collection; one that is open stays as it is.
    pub(crate) fn open(&mut self, storage: &Cow<'static, str>) {
        self.collection(storage).closed = false;
    }

    /// A collection, made where there is none. What it held before it was made is not known, if it held anything.
    fn collection(&mut self, storage: &Cow<'static, str>) -> &mut Collection {
        let (limit, floor) = (self.limits.history, self.version);
        self.collections
            .entry(storage.clone())
            .or_insert_with(|| Collection::new(limit, floor))
    }

    /// Closes a collection, whose objects are gone already. Watches of it end; it is dropped now, or with a later close
    /// once the last of them has ended.
    pub(crate) fn close(&mut self, storage: &str) {
        if let Some(collection) = self.collections.get_mut(storage) {
            collection.epoch += 1;
            collection.closed = true;
            collection.changed.send_replace(());
        }
        self.collections
            .retain(|_, collection| !collection.closed || collection.changed.receiver_count() > 0);
    }

    pub(crate) fn get(&self, storage: &str, key: &str) -> Option<&Arc<Object>> {
        self.collections.get(storage)?.objects.get(key)
    }

    pub(crate) fn at(&self, place: &Place) -> Option<&Arc<Object>> {
        self.get(&place.storage, &place.key)
    }

    /// The objects of a namespace, or of all, after `start` and in key order.
    pub(crate) fn range<'a>(
        &'a self,
        storage: &str,
        namespace: Option<&str>,
        start: Option<&str>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + use<'a> {
        let (low, high) = bounds(namespace, start);
        let collection = self.collections.get(storage).into_iter();
        collection.flat_map(move |collection| {
            let (low, high) = (low.clone(), high.clone());
            collection.objects.range(low.as_deref(), high.as_deref())
        })
    }

    /// The objects as they were at `version`.
    pub(crate) fn view(&self, storage: &str, version: u64) -> Result<View<'_>, Expired> {
        match self.collections.get(storage) {
            Some(collection) => View::new(&collection.objects, &collection.history, version),
            None => Ok(View::empty()),
        }
    }

    /// The version up to which the watch cache has seen the writes.
    pub(crate) fn cached_version(&self) -> u64 {
        self.lag.seen()
    }

    /// When the watch cache will have seen `version`; `None` if it has, or if nothing was written at it.
    pub(crate) fn seen_at(&self, version: u64) -> Option<Instant> {
        self.lag.due(version)
    }

    /// Versions before this one are gone for lists of the past.
    pub(crate) fn compacted_version(&mut self) -> u64 {
        self.compaction.advance(self.version);
        self.compaction.floor()
    }

    /// The next version.
    fn advance(&mut self) {
        self.compaction.advance(self.version);
        self.version += 1;
        self.lag.push(self.version);
        if self.written.receiver_count() > 0 {
            self.written.send_replace(());
        }
    }

    /// Is told of every write of any kind from now on.
    pub(crate) fn written(&self) -> watch::Receiver<()> {
        self.written.subscribe()
    }

    /// Stores `object`, whose `resourceVersion` becomes the next version.
    pub(crate) fn put(
        &mut self,
        storage: &Cow<'static, str>,
        key: &Arc<str>,
        mut object: Value,
    ) -> Arc<Object> {
        self.advance();
        let version = self.version.to_string();
        metadata::set_text(
            metadata::metadata_mut(&mut object),
            "resourceVersion",
            &version,
        );
        let object = Arc::new(Object::new(&object));
        self.record(storage, key, Some(&object));
        object
    }

    /// Removes an object and gives back what it was.
    pub(crate) fn remove(
        &mut self,
        storage: &Cow<'static, str>,
        key: &Arc<str>,
    ) -> Option<Arc<Object>> {
        self.get(storage, key)?;
        self.advance();
        self.record(storage, key, None)
    }

    fn record(
        &mut self,
        storage: &Cow<'static, str>,
        key: &Arc<str>,
        after: Option<&Arc<Object>>,
    ) -> Option<Arc<Object>> {
        self.open(storage);
        let collection = self.collections.get_mut(storage)?;
        let before = match after {
            Some(object) => collection.objects.insert(key.clone(), object.clone()),
            None => collection.objects.remove(key),
        };
        collection.history.push(Change {
            version: self.version,
            key: key.clone(),
            before: before.clone(),
            after: after.cloned(),
        });
        collection.changed.send_replace(());
        self.index(storage, key, before.as_deref(), after.map(AsRef::as_ref));
        before
    }

    fn index(
        &mut self,
        storage: &Cow<'static, str>,
        key: &Arc<str>,
        before: Option<&Object>,
        after: Option<&Object>,
    ) {
        let place = || Place {
            storage: storage.clone(),
            key: key.clone(),
        };
        for owner in before.map(Object::owners).unwrap_or_default() {
            if let Some(places) = self.dependents.get_mut(&owner.uid) {
                places.remove(&place());
                if places.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
        for owner in after.map(Object::owners).unwrap_or_default() {
            self.dependents
                .entry(owner.uid)
                .or_default()
                .insert(place());
        }
    }

    /// The objects that name `uid` as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Place> {
        self.dependents
            .get(uid)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// Follows the changes of a collection from now on.
    pub(crate) fn subscribe(&mut self, storage: &Cow<'static, str>) -> Subscription {
        let collection = self.collection(storage);
        Subscription {
            changed: collection.changed.subscribe(),
            epoch: collection.epoch,
        }
    }

    /// The changes of a collection after `version`, and whether the collection was closed since `epoch`.
    pub(crate) fn changes(
        &self,
        storage: &str,
        version: u64,
        epoch: u64,
    ) -> Result<(Vec<Change>, bool), Expired> {
        match self.collections.get(storage) {
            Some(collection) => {
                let changes = collection.history.since(version)?.cloned().collect();
                Ok((changes, collection.epoch != epoch))
            }
            None => Ok((Vec::new(), true)),
        }
    }

    /// What a watch that has sent everything up to `version` has to send now. An epoch other than that of the collection
    /// means that it was closed since.
    pub(crate) fn news(
        &self,
        storage: &str,
        version: u64,
        epoch: u64,
    ) -> Result<News<'_>, Expired> {
        let Some(collection) = self.collections.get(storage) else {
            return Ok(News::end());
        };
        let cached = self.cached_version();
        let (changes, next) = collection.history.between(version, cached)?;
        let closed = collection.epoch != epoch;
        Ok(News {
            changes,
            up_to: cached,
            closed: closed && next.is_none(),
            next: next.and_then(|next| self.seen_at(next)),
        })
    }

    /// The places of all objects of a namespace, in the order of collections and keys.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Place> {
        self.collections
            .keys()
            .flat_map(|storage| {
                self.range(storage, Some(namespace), None)
                    .map(|(key, _)| Place {
                        storage: storage.clone(),
                        key: key.clone(),
                    })
            })
            .collect()
    }

    /// The places of all objects of a collection.
    pub(crate) fn all(&self, storage: &Cow<'static, str>) -> Vec<Place> {
        self.range(storage, None, None)
            .map(|(key, _)| Place {
                storage: storage.clone(),
                key: key.clone(),
            })
            .collect()
    }
}

/// What is new for a watch.
#[derive(Debug)]
pub(crate) struct News<'a> {
    /// Oldest first.
    pub(crate) changes: std::collections::vec_deque::Iter<'a, Change>,
    /// There are no others up to this version.
    pub(crate) up_to: u64,
    /// There will be no more.
    pub(crate) closed: bool,
    /// When the watch cache sees the next change that was made already.
    pub(crate) next: Option<Instant>,
}

impl News<'_> {
    fn end() -> Self {
        Self {
            changes: std::collections::vec_deque::Iter::default(),
            up_to: 0,
            closed: true,
            next: None,
        }
    }
}

/// The keys of a namespace lie between `namespace/` and the text that follows all of them.
fn bounds(namespace: Option<&str>, start: Option<&str>) -> (Option<String>, Option<String>) {
    let low = namespace.map(|namespace| format!("{namespace}/"));
    // '0' is the character after '/'.
    let high = namespace.map(|namespace| format!("{namespace}0"));
    let low = match (low, start) {
        (Some(low), Some(start)) if start > low.as_str() => Some(start.to_owned()),
        (None, Some(start)) => Some(start.to_owned()),
        (low, _) => low,
    };
    (low, high)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STORAGE: Cow<'static, str> = Cow::Borrowed("things");

    fn store(keys: &[&str]) -> Store {
        let mut store = Store::new(Limits {
            history: 100,
            compaction: Duration::ZERO,
            lag: Duration::ZERO,
        });
        for key in keys {
            store.put(
                &STORAGE,
                &Arc::from(*key),
                json!({"metadata": {"name": key}}),
            );
        }
        store
    }

    fn keys(store: &Store, namespace: Option<&str>, start: Option<&str>) -> Vec<String> {
        store
            .range(&STORAGE, namespace, start)
            .map(|(key, _)| key.to_string())
            .collect()
    }

    #[test]
    fn lists_are_in_raw_key_order() {
        let store = store(&["x0/a", "x/b", "x-b/c", "x/a"]);
        assert_eq!(keys(&store, None, None), ["x-b/c", "x/a", "x/b", "x0/a"]);
        assert_eq!(keys(&store, Some("x"), None), ["x/a", "x/b"]);
        assert_eq!(keys(&store, Some("x"), Some("x/a")), ["x/b"]);
    }

    #[test]
    fn a_snapshot_shows_the_past() {
        let mut store = store(&["a", "b"]);
        let then = store.version();
        store.remove(&STORAGE, &Arc::from("a"));
        store.put(&STORAGE, &Arc::from("c"), json!({}));
        let past = store.view(&STORAGE, then).expect("kept");
        let found: Vec<_> = past.range(None, None).map(|(key, _)| &**key).collect();
        assert_eq!(found, ["a", "b"]);
        assert_eq!(past.count(None, None), 2);
        assert_eq!(past.count(None, Some("a")), 1);
        assert!(past.get("a").is_some() && past.get("c").is_none());
        let now = store.view(&STORAGE, store.version()).expect("kept");
        let found: Vec<_> = now.range(None, Some("a")).map(|(key, _)| &**key).collect();
        assert_eq!(found, ["b", "c"]);
    }

    #[test]
    fn dependents_are_forgotten_with_their_last_owner_reference() {
        let mut store = store(&[]);
        let child = json!({"metadata": {"ownerReferences": [{"uid": "u"}]}});
        store.put(&STORAGE, &Arc::from("child"), child);
        assert_eq!(store.dependents("u").len(), 1);
        store.put(&STORAGE, &Arc::from("child"), json!({"metadata": {}}));
        assert!(store.dependents.is_empty());
    }
}
