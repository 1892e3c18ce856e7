//! Objects of all kinds, by collection and key, with one counter of versions.

#![allow(
    clippy::ptr_arg,
    reason = "names of collections are kept, and are static for built-in kinds"
)]

mod history;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use crate::metadata::{self, Meta as _};
use crate::object::Object;
use history::History;
pub(crate) use history::{Change, Expired};

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
    objects: BTreeMap<Arc<str>, Arc<Object>>,
    history: History,
    changed: watch::Sender<()>,
    /// Goes up each time the collection is closed; watches of an earlier epoch end.
    epoch: u64,
    closed: bool,
}

impl Collection {
    fn new(limit: usize, floor: u64) -> Self {
        Self {
            objects: BTreeMap::new(),
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
    history_limit: usize,
    collections: BTreeMap<Cow<'static, str>, Collection>,
    /// Dependents by the uid of an owner; an entry goes with its last dependent.
    dependents: BTreeMap<String, BTreeSet<Place>>,
}

/// What a watch needs to follow a collection.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) changed: watch::Receiver<()>,
    pub(crate) epoch: u64,
}

impl Store {
    /// A store that keeps `history_limit` changes of each collection.
    pub(crate) fn new(history_limit: usize) -> Self {
        Self {
            version: FIRST_VERSION,
            history_limit,
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
        let (limit, floor) = (self.history_limit, self.version);
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
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> {
        let (low, high) = bounds(namespace, start);
        self.collections
            .get(storage)
            .into_iter()
            .flat_map(move |collection| {
                let high = high.clone();
                collection
                    .objects
                    .range::<str, _>((
                        low.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
                        Bound::Unbounded,
                    ))
                    .take_while(move |(key, _)| high.as_deref().is_none_or(|high| &***key < high))
                    .collect::<Vec<_>>()
            })
    }

    /// The objects as they were at `version`.
    pub(crate) fn snapshot(
        &self,
        storage: &str,
        version: u64,
    ) -> Result<BTreeMap<Arc<str>, Arc<Object>>, Expired> {
        let Some(collection) = self.collections.get(storage) else {
            return Ok(BTreeMap::new());
        };
        let mut objects = collection.objects.clone();
        for change in collection.history.since(version)?.rev() {
            match &change.before {
                Some(before) => objects.insert(change.key.clone(), before.clone()),
                None => objects.remove(&change.key),
            };
        }
        Ok(objects)
    }

    /// Stores `object`, whose `resourceVersion` becomes the next version.
    pub(crate) fn put(
        &mut self,
        storage: &Cow<'static, str>,
        key: &Arc<str>,
        mut object: Value,
    ) -> Arc<Object> {
        self.version += 1;
        metadata::metadata_mut(&mut object)
            .insert("resourceVersion".into(), self.version.to_string().into());
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
        self.version += 1;
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
        let mut store = Store::new(100);
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
        let past = store.snapshot(&STORAGE, then).expect("kept");
        assert_eq!(
            past.keys().map(|key| &**key).collect::<Vec<_>>(),
            ["a", "b"]
        );
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
