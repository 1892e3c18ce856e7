//! How objects go: deletion, what follows from it in namespaces and definitions, and garbage collection.
//!
//! What the controllers of a cluster do is noted on an [`Agenda`] and done a moment later, as on a real cluster, by
//! [`State::run_due`]. What the server itself does with definitions is done before the request is answered.

mod accounts;
mod agenda;
mod definitions;
mod graceful;
mod namespaces;
mod owners;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::admission::Admission;
use crate::auth::{Access, ISSUER, Signer};
use crate::background::Attendance;
use crate::definitions as crds;
use crate::managed;
use crate::metadata::{self, Meta as _, finalizers, is_deleting, metadata_mut, set_finalizers};
use crate::object::Object;
use crate::registry::Registry;
use crate::services;
use crate::source::Source;
use crate::store::{Limits, Place, Store};
use agenda::Agenda;

/// Collection of the namespaces.
pub(crate) const NAMESPACES: &str = "namespaces";

/// Collection of the jobs.
pub(crate) const JOBS: &str = "jobs.batch";

/// Collections of the kinds whose dependents stay unless a delete asks for something else.
const LEAVING: &[&str] = &[JOBS, "replicationcontrollers"];

/// Collection of the events.
const EVENTS: &str = "events";

/// How long an event is kept after its last write, as on a real server.
const EVENT_LIFETIME: Duration = Duration::from_secs(3600);

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Which controllers of a cluster run beside the server, and when they act.
#[derive(Clone, Debug)]
pub(crate) struct Controllers {
    pub(crate) garbage_collection: bool,
    pub(crate) namespace_deletion: bool,
    pub(crate) service_accounts: bool,
    /// How long after a change they act.
    pub(crate) delay: Duration,
    /// How long after a change of a namespace that goes away its content is looked at.
    pub(crate) namespace_delay: Duration,
}

/// What a server holds.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) source: Source,
    pub(crate) access: Access,
    pub(crate) admission: Admission,
    /// The ports of nodes that services have.
    pub(crate) node_ports: services::Ports,
    pub(crate) controllers: Controllers,
    agenda: Agenda<Task>,
    namespaces: namespaces::Pending,
    /// Who works through the agenda.
    pub(crate) attendance: Attendance,
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

/// How a delete is to be done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    pub(crate) propagation: Option<Propagation>,
    /// Seconds until a Pod that runs may be ended.
    pub(crate) grace: Option<i64>,
}

impl From<Propagation> for Manner {
    fn from(propagation: Propagation) -> Self {
        Self {
            propagation: Some(propagation),
            grace: None,
        }
    }
}

#[derive(Debug)]
enum Task {
    OwnerGone(Arc<Object>),
    /// The object is an owner that is known to be gone.
    CheckOwners(Place, Option<Arc<Object>>),
    Foreground(Place),
    Orphan(Place),
    NamespaceContent(String),
    DefaultAccount(String),
    AcceptNames(String),
    DefinitionContent(String),
    /// An event that was not written since this version.
    Expire(Place, String),
}

impl State {
    pub(crate) fn new(source: Source, limits: Limits, controllers: Controllers) -> Self {
        let registry = Registry::new();
        let mut store = Store::new(limits);
        for kind in registry.kinds() {
            store.open(&kind.storage);
        }
        let access = Access::new(Signer::new(source.secret(), ISSUER.into()));
        Self {
            access,
            admission: Admission::default(),
            store,
            registry,
            source,
            node_ports: services::Ports::default(),
            controllers,
            agenda: Agenda::new(),
            namespaces: namespaces::Pending::default(),
            attendance: Attendance::default(),
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
        self.note_dependents(place, before.as_deref(), &stored);
        if place.storage == crds::STORAGE {
            self.agenda
                .at_once(Task::AcceptNames(place.key.to_string()));
        } else if place.storage == NAMESPACES {
            self.note_namespace(&stored);
        } else if place.storage == EVENTS {
            let expire = Task::Expire(place.clone(), stored.version().to_owned());
            self.agenda.after(EVENT_LIFETIME, expire);
        }
        stored
    }

    /// Notes what the garbage collector has to look at because an object was written.
    fn note_dependents(&mut self, place: &Place, before: Option<&Object>, stored: &Object) {
        if !self.controllers.garbage_collection {
            return;
        }
        let delay = self.controllers.delay;
        let owners = stored.owners();
        if !owners.is_empty() && before.is_none_or(|before| before.owners() != owners) {
            self.agenda
                .after(delay, Task::CheckOwners(place.clone(), None));
        }
        if let Some(before) = before {
            self.recheck_owners(before);
        }
        self.note_finalizers(place, stored);
    }

    /// Removes an object and notes what follows.
    fn remove(&mut self, place: &Place) -> Option<Arc<Object>> {
        let removed = self.store.remove(&place.storage, &place.key)?;
        if place.storage == services::STORAGE {
            services::follow(self, Some(&removed.value()), None);
        }
        if self.controllers.garbage_collection {
            let delay = self.controllers.delay;
            self.agenda.after(delay, Task::OwnerGone(removed.clone()));
            self.recheck_owners(&removed);
        }
        self.note_missing_account(place, &removed);
        if place.storage == crds::STORAGE {
            self.withdraw(&removed.value());
        } else if self
            .store
            .get(crds::STORAGE, &place.storage)
            .is_some_and(|found| found.is_deleting())
        {
            self.agenda
                .at_once(Task::DefinitionContent(place.storage.to_string()));
        }
        Some(removed)
    }

    /// Deletes an object, or marks it as going away while something holds it.
    pub(crate) fn delete(&mut self, place: &Place, manner: Manner) -> Option<Deletion> {
        let existing = self.store.at(place)?.clone();
        let Some(marked) = self.marked(place, &existing, manner) else {
            // It is answered in the version of the delete.
            let removed = self.remove(place)?.at_version(self.store.version());
            return Some(Deletion::Gone(Arc::new(removed)));
        };
        if marked == existing.value() {
            return Some(Deletion::Held(existing));
        }
        let ends = graceful::ends(place, &marked);
        let stored = self.put(place, marked);
        if place.storage == crds::STORAGE {
            self.agenda
                .at_once(Task::DefinitionContent(place.key.to_string()));
        }
        if ends {
            return self.remove(place).map(|_| {
                let version = self.store.version();
                Deletion::Gone(Arc::new(stored.at_version(version)))
            });
        }
        Some(Deletion::Held(stored))
    }

    /// What a delete would do, without doing it.
    pub(crate) fn would_delete(&self, place: &Place, manner: Manner) -> Option<Deletion> {
        let existing = self.store.at(place)?;
        Some(match self.marked(place, existing, manner) {
            None => Deletion::Gone(existing.clone()),
            Some(marked) if graceful::ends(place, &marked) => {
                Deletion::Gone(Arc::new(Object::new(&marked)))
            }
            Some(marked) => Deletion::Held(Arc::new(Object::new(&marked))),
        })
    }

    /// The object as a delete stores it before it goes; `None` where it goes at once.
    fn marked(&self, place: &Place, existing: &Object, manner: Manner) -> Option<Value> {
        if place.storage == NAMESPACES {
            let mut object = existing.value();
            if !is_deleting(&object) {
                let wanted = finalizers_for(existing, manner.propagation, true);
                set_finalizers(&mut object, wanted);
            }
            self.mark_namespace(&mut object);
            return Some(object);
        }
        if place.storage == crds::STORAGE {
            let mut object = existing.value();
            self.mark_definition(&mut object);
            return Some(object);
        }
        let finalizers = existing.finalizers();
        let says = finalizers.contains(&FOREGROUND) || finalizers.contains(&ORPHAN);
        let leaves = !says && LEAVING.contains(&&*place.storage);
        let propagation = manner.propagation.or(leaves.then_some(Propagation::Orphan));
        let wanted = finalizers_for(existing, propagation, place.storage != EVENTS);
        if wanted.is_empty() && !graceful::applies(place) {
            return None;
        }
        let mut object = existing.value();
        set_finalizers(&mut object, wanted);
        if graceful::applies(place) {
            self.mark_gracefully(&mut object, manner.grace);
        } else {
            self.mark(&mut object, true);
        }
        Some(object)
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
            raise_generation(metadata);
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

    /// Stores what a controller of the cluster changed on an object or, where it is not empty, on its subresource.
    fn put_as_controller(&mut self, place: &Place, mut object: Value, subresource: &str) {
        self.track(place, managed::CONTROLLERS, subresource, &mut object);
        self.put(place, object);
    }

    /// Notes that a part of the cluster itself owns what it changed.
    pub(crate) fn track(
        &self,
        place: &Place,
        manager: &str,
        subresource: &str,
        object: &mut Value,
    ) {
        let live = self.store.at(place).map(|found| found.value());
        let Some(kind) = self.registry.stored_in(&place.storage) else {
            return;
        };
        let write = managed::Write {
            kind,
            subresource,
            manager,
        };
        managed::track(&self.registry, &self.source, write, live.as_ref(), object);
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
        self.track(place, managed::CONTROLLERS, "", &mut object);
        self.store_update(place, object);
    }

    /// Does what has to be done before a request is answered.
    pub(crate) fn settle(&mut self) {
        while let Some(task) = self.agenda.take_urgent() {
            self.run(task);
        }
    }

    /// Does all that is due by this moment.
    pub(crate) fn catch_up(&mut self) {
        // Mostly there is nothing, and then the time does not matter.
        while !self.agenda.is_empty() && !self.run_due(Instant::now(), usize::MAX) {}
    }

    /// Does what is due, at most `limit` tasks. Whether that was all.
    pub(crate) fn run_due(&mut self, now: Instant, limit: usize) -> bool {
        for _ in 0..limit {
            let Some(task) = self.agenda.take(now) else {
                return true;
            };
            self.run(task);
        }
        false
    }

    /// When there is something to do next.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.agenda.next()
    }

    fn run(&mut self, task: Task) {
        match task {
            Task::OwnerGone(owner) => {
                for place in self.store.dependents(owner.uid()) {
                    self.agenda
                        .at_once(Task::CheckOwners(place, Some(owner.clone())));
                }
            }
            Task::CheckOwners(place, gone) => self.check_owners(&place, gone.as_deref()),
            Task::Foreground(place) => self.foreground(&place),
            Task::Orphan(place) => self.orphan(&place),
            Task::NamespaceContent(name) => self.namespace_content(&name),
            Task::DefaultAccount(namespace) => self.default_account(&namespace),
            Task::AcceptNames(name) => self.accept_names(&name),
            Task::DefinitionContent(name) => self.definition_content(&name),
            Task::Expire(place, version) => {
                let unchanged = |event: &Arc<Object>| event.version() == version;
                if self.store.at(&place).is_some_and(unchanged) {
                    self.remove(&place);
                }
            }
        }
    }
}

/// A delete counts as a change where changes are counted.
fn raise_generation(metadata: &mut serde_json::Map<String, Value>) {
    let generation = metadata.get("generation").and_then(Value::as_i64);
    if let Some(generation) = generation.filter(|number| *number > 0) {
        metadata.insert("generation".into(), json!(generation + 1));
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
