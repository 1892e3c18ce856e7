//! How objects go: deletion, what follows from it in namespaces and definitions, and garbage collection.
//!
//! A real server does what follows in controllers of its own, a moment later. Here it is done before the request that
//! caused it is answered, one task after the other, so that no background task is needed and the order is fixed.

mod containers;
mod owners;

use std::collections::VecDeque;
use std::sync::Arc;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::definitions;
use crate::metadata::{self, Meta as _, finalizers, is_deleting, metadata_mut, set_finalizers};
use crate::object::Object;
use crate::registry::Registry;
use crate::services;
use crate::source::Source;
use crate::store::{Place, Store};

/// Collection of the namespaces.
pub(crate) const NAMESPACES: &str = "namespaces";

/// Collection of the events.
const EVENTS: &str = "events";

/// How long an event is kept after its last write, as on a real server.
const EVENT_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// What a server holds.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) source: Source,
    pub(crate) garbage_collection: bool,
    /// The ports of nodes that services have.
    pub(crate) node_ports: services::Ports,
    tasks: VecDeque<Task>,
    /// When events expire, by the write that set the time; a later write of the event voids the entry.
    expiries: VecDeque<Expiry>,
}

#[derive(Debug)]
struct Expiry {
    at: Timestamp,
    place: Place,
    version: String,
}

/// What to do with the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a delete did.
#[derive(Clone, Debug)]
pub(crate) enum Deletion {
    /// The object is gone; this is what it was.
    Gone(Arc<Object>),
    /// The object stays until its finalizers are gone; this is what it is now.
    Held(Arc<Object>),
}

#[derive(Debug)]
enum Task {
    OwnerGone(Arc<Object>),
    /// The object is an owner that is known to be gone.
    CheckOwners(Place, Option<Arc<Object>>),
    Foreground(Place),
    Orphan(Place),
    NamespaceContent(String),
    AcceptNames(String),
    DefinitionContent(String),
}

impl State {
    pub(crate) fn new(source: Source, history_limit: usize, garbage_collection: bool) -> Self {
        let registry = Registry::new();
        let mut store = Store::new(history_limit);
        for kind in registry.kinds() {
            store.open(&kind.storage);
        }
        Self {
            store,
            registry,
            source,
            garbage_collection,
            node_ports: services::Ports::default(),
            tasks: VecDeque::new(),
            expiries: VecDeque::new(),
        }
    }

    pub(crate) fn namespace(&self, name: &str) -> Option<&Arc<Object>> {
        self.store.get(NAMESPACES, name)
    }

    /// Stores an object and notes what has to be looked at because of it.
    pub(crate) fn put(&mut self, place: &Place, object: Value) -> Arc<Object> {
        let before = self.store.at(place).cloned();
        let stored = self.store.put(&place.storage, &place.key, object);
        if place.storage == services::STORAGE {
            let before = before.as_ref().map(|before| before.value());
            services::follow(self, before.as_ref(), Some(&stored.value()));
        }
        if self.garbage_collection {
            let owners = metadata::owners(&*stored);
            if !owners.is_empty()
                && before
                    .as_deref()
                    .is_none_or(|before| before.owners() != owners)
            {
                self.tasks.push_back(Task::CheckOwners(place.clone(), None));
            }
            if let Some(before) = before {
                self.recheck_owners(&*before);
            }
            self.queue_finalizers(place, &stored);
        }
        if place.storage == definitions::STORAGE {
            self.tasks
                .push_back(Task::AcceptNames(place.key.to_string()));
        }
        if place.storage == EVENTS {
            let at = self
                .source
                .now()
                .saturating_add(EVENT_LIFETIME)
                .unwrap_or(Timestamp::MAX);
            self.expiries.push_back(Expiry {
                at,
                place: place.clone(),
                version: stored.version().to_owned(),
            });
        }
        stored
    }

    /// Removes the events whose time has come. Nothing runs by itself, so this is done before each request.
    pub(crate) fn expire(&mut self) {
        let now = self.source.now();
        while self.expiries.front().is_some_and(|expiry| expiry.at <= now) {
            let Some(expiry) = self.expiries.pop_front() else {
                return;
            };
            if self
                .store
                .at(&expiry.place)
                .is_some_and(|event| event.version() == expiry.version)
            {
                self.remove(&expiry.place);
            }
        }
        self.settle();
    }

    /// Removes an object and notes what follows.
    fn remove(&mut self, place: &Place) -> Option<Arc<Object>> {
        let removed = self.store.remove(&place.storage, &place.key)?;
        if place.storage == services::STORAGE {
            services::follow(self, Some(&removed.value()), None);
        }
        if self.garbage_collection {
            self.tasks.push_back(Task::OwnerGone(removed.clone()));
            self.recheck_owners(&*removed);
        }
        let namespace = removed.namespace();
        if self
            .namespace(namespace)
            .is_some_and(|namespace| namespace.is_deleting())
        {
            self.tasks
                .push_back(Task::NamespaceContent(namespace.to_owned()));
        }
        if place.storage == definitions::STORAGE {
            self.withdraw(&removed.value());
        } else if self
            .store
            .get(definitions::STORAGE, &place.storage)
            .is_some_and(|found| found.is_deleting())
        {
            self.tasks
                .push_back(Task::DefinitionContent(place.storage.to_string()));
        }
        Some(removed)
    }

    /// Deletes an object, or marks it as going away while finalizers hold it.
    pub(crate) fn delete(
        &mut self,
        place: &Place,
        propagation: Option<Propagation>,
    ) -> Option<Deletion> {
        let existing = self.store.at(place)?.clone();
        if place.storage == NAMESPACES {
            return Some(self.delete_namespace(place, &existing));
        }
        if place.storage == definitions::STORAGE {
            return Some(self.delete_definition(place, &existing));
        }
        let wanted = finalizers_for(&existing, propagation, place.storage != EVENTS);
        if wanted.is_empty() {
            return self.remove(place).map(Deletion::Gone);
        }
        let unchanged = wanted == existing.finalizers();
        if existing.is_deleting() && unchanged {
            return Some(Deletion::Held(existing));
        }
        let mut object = existing.value();
        set_finalizers(&mut object, wanted);
        self.mark(&mut object, true);
        Some(Deletion::Held(self.put(place, object)))
    }

    /// What a delete would do, without doing it.
    pub(crate) fn would_hold(
        existing: &Object,
        place: &Place,
        propagation: Option<Propagation>,
    ) -> bool {
        place.storage == NAMESPACES
            || place.storage == definitions::STORAGE
            || !finalizers_for(existing, propagation, place.storage != EVENTS).is_empty()
    }

    /// Sets what tells that an object is going away.
    fn mark(&self, object: &mut Value, raises_generation: bool) {
        if is_deleting(object) {
            return;
        }
        let now = self.source.stamp();
        let metadata = metadata_mut(object);
        metadata.insert("deletionTimestamp".into(), now.into());
        if raises_generation {
            metadata.insert("deletionGracePeriodSeconds".into(), json!(0));
            if let Some(generation) = metadata
                .get("generation")
                .and_then(Value::as_i64)
                .filter(|number| *number > 0)
            {
                metadata.insert("generation".into(), json!(generation + 1));
            }
        }
    }

    /// Stores the outcome of an update; an object that is going away and has lost its last finalizer is removed, and
    /// then keeps the version it had.
    pub(crate) fn store_update(&mut self, place: &Place, object: Value) -> Arc<Object> {
        if is_deleting(&object) && finalizers(&object).is_empty() && !held_by_spec(place, &object) {
            self.remove(place);
            return Arc::new(Object::new(&object));
        }
        self.put(place, object)
    }

    fn remove_finalizer(&mut self, place: &Place, finalizer: &str) {
        let Some(existing) = self.store.at(place).cloned() else {
            return;
        };
        let left: Vec<String> = existing
            .finalizers()
            .into_iter()
            .filter(|found| *found != finalizer)
            .map(Into::into)
            .collect();
        let mut object = existing.value();
        set_finalizers(&mut object, left);
        self.store_update(place, object);
    }

    /// Does everything that follows from the writes so far.
    pub(crate) fn settle(&mut self) {
        while let Some(task) = self.tasks.pop_front() {
            match task {
                Task::OwnerGone(owner) => {
                    for place in self.store.dependents(owner.uid()) {
                        self.tasks
                            .push_back(Task::CheckOwners(place, Some(owner.clone())));
                    }
                }
                Task::CheckOwners(place, gone) => self.check_owners(&place, gone.as_deref()),
                Task::Foreground(place) => self.foreground(&place),
                Task::Orphan(place) => self.orphan(&place),
                Task::NamespaceContent(name) => self.namespace_content(&name),
                Task::AcceptNames(name) => self.accept_names(&name),
                Task::DefinitionContent(name) => self.definition_content(&name),
            }
        }
    }
}

/// A namespace is also held by the finalizers of its spec.
fn held_by_spec(place: &Place, object: &Value) -> bool {
    place.storage == NAMESPACES && !metadata::texts(object.pointer("/spec/finalizers")).is_empty()
}

/// The finalizers that an object has once it is deleted in the given way.
fn finalizers_for(
    existing: &Object,
    propagation: Option<Propagation>,
    collected: bool,
) -> Vec<String> {
    let all = existing.finalizers();
    let Some(propagation) = propagation.filter(|_| collected) else {
        return all.into_iter().map(Into::into).collect();
    };
    let mut wanted: Vec<String> = all
        .into_iter()
        .filter(|found| *found != FOREGROUND && *found != ORPHAN)
        .map(Into::into)
        .collect();
    match propagation {
        Propagation::Background => {}
        Propagation::Foreground => wanted.push(FOREGROUND.into()),
        Propagation::Orphan => wanted.push(ORPHAN.into()),
    }
    wanted
}
