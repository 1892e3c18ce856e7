//! Garbage collection: dependents go when their owners do.

use serde_json::Value;

use super::{FOREGROUND, ORPHAN, Propagation, State, Task};
use crate::metadata::{self, Meta as _, metadata_mut};
use crate::object::Object;
use crate::store::{self, Place};

/// Whether an owner is there.
#[derive(PartialEq)]
enum Ownership {
    /// There, or of a kind that nobody knows.
    Solid,
    Absent,
    /// Deleted in the foreground: waits for this dependent to go.
    Waiting,
}

impl State {
    /// Owners that are deleted in the foreground wait for changes of their dependents.
    pub(super) fn recheck_owners(&mut self, dependent: &Object) {
        for owner in dependent.owners() {
            let Some(place) = self.owner_place(dependent, &owner) else {
                continue;
            };
            if self
                .store
                .at(&place)
                .is_some_and(|found| found.finalizers().contains(&FOREGROUND))
            {
                self.agenda
                    .after(self.controllers.delay, Task::Foreground(place));
            }
        }
    }

    pub(super) fn note_finalizers(&mut self, place: &Place, object: &Object) {
        if !object.is_deleting() {
            return;
        }
        if object.finalizers().contains(&FOREGROUND) {
            self.agenda
                .after(self.controllers.delay, Task::Foreground(place.clone()));
        }
        if object.finalizers().contains(&ORPHAN) {
            self.agenda
                .after(self.controllers.delay, Task::Orphan(place.clone()));
        }
    }

    /// Where the owner of a dependent is; `None` where its kind is unknown or cannot own the dependent.
    fn owner_place(&self, dependent: &Object, owner: &metadata::Owner) -> Option<Place> {
        let kind = self.registry.by_kind(&owner.api_version, &owner.kind)?;
        let namespace = dependent.namespace();
        if kind.namespaced && namespace.is_empty() {
            return None;
        }
        let key = store::key(kind.namespaced.then_some(namespace), &owner.name);
        Some(Place {
            storage: kind.storage.clone(),
            key,
        })
    }

    fn ownership(&self, dependent: &Object, owner: &metadata::Owner) -> Ownership {
        let Some(place) = self.owner_place(dependent, owner) else {
            return Ownership::Solid;
        };
        match self
            .store
            .at(&place)
            .filter(|found| found.uid() == owner.uid)
        {
            None => Ownership::Absent,
            Some(found) if found.is_deleting() && found.finalizers().contains(&FOREGROUND) => {
                Ownership::Waiting
            }
            Some(_) => Ownership::Solid,
        }
    }

    /// Deletes an object whose owners are all gone; of several owners, those that are gone are taken out.
    ///
    /// Of the owner that is `gone` the kind may be gone, too, so that it cannot be looked up.
    pub(super) fn check_owners(&mut self, place: &Place, gone: Option<&Object>) {
        let Some(object) = self.store.at(place).cloned() else {
            return;
        };
        let owners = object.owners();
        let gone = gone.map(Object::value);
        if owners.is_empty() || object.is_deleting() {
            return;
        }
        let state = |owner: &metadata::Owner| {
            // What is in no namespace has no owner in one.
            let may_own = |gone: &Value| {
                !object.namespace().is_empty() || metadata::namespace(gone).is_empty()
            };
            if gone
                .as_ref()
                .is_some_and(|gone| owner.is(gone) && may_own(gone))
            {
                Ownership::Absent
            } else {
                self.ownership(&object, owner)
            }
        };
        let states: Vec<Ownership> = owners.iter().map(state).collect();
        if states.iter().all(|state| *state == Ownership::Solid) {
            return;
        }
        if states.contains(&Ownership::Solid) {
            let keep: Vec<bool> = states
                .iter()
                .map(|state| *state == Ownership::Solid)
                .collect();
            let mut new = object.value();
            if let Some(Value::Array(list)) = metadata_mut(&mut new).get_mut("ownerReferences") {
                let mut keep = keep.into_iter();
                list.retain(|_| keep.next().unwrap_or(true));
            }
            self.put_as_controller(place, new, "");
            return;
        }
        let finalizers = object.finalizers();
        let says = finalizers.contains(&FOREGROUND) || finalizers.contains(&ORPHAN);
        let has_dependents = !self.store.dependents(object.uid()).is_empty();
        let propagation = if states.contains(&Ownership::Waiting) && has_dependents {
            self.break_circle(place, &object);
            Some(Propagation::Foreground)
        } else {
            // What its finalizers say stays.
            (!says).then_some(Propagation::Background)
        };
        let manner = super::Manner {
            propagation,
            grace: None,
        };
        self.delete(place, manner);
    }

    /// Where a dependent of the object waits for its own dependents, the object might be one of those it waits for:
    /// then the owners of the object do not wait for it.
    fn break_circle(&mut self, place: &Place, object: &Object) {
        let waits = |dependent: &Place| {
            self.store.at(dependent).is_some_and(|found| {
                found.is_deleting() && found.finalizers().contains(&FOREGROUND)
            })
        };
        if !self.store.dependents(object.uid()).iter().any(waits) {
            return;
        }
        let mut new = object.value();
        if let Some(Value::Array(list)) = metadata_mut(&mut new).get_mut("ownerReferences") {
            for owner in list {
                if let Some(blocks) = owner.get_mut("blockOwnerDeletion") {
                    *blocks = Value::Bool(false);
                }
            }
        }
        if new != object.value() {
            self.put_as_controller(place, new, "");
        }
    }

    /// An owner deleted in the foreground goes when no dependent blocks it any more.
    pub(super) fn foreground(&mut self, place: &Place) {
        let Some(owner) = self.store.at(place).cloned() else {
            return;
        };
        if !owner.is_deleting() || !owner.finalizers().contains(&FOREGROUND) {
            return;
        }
        let uid = owner.uid();
        let mut blocked = false;
        for dependent in self.store.dependents(uid) {
            let Some(object) = self.store.at(&dependent) else {
                continue;
            };
            if object
                .owners()
                .iter()
                .any(|owner| owner.uid == uid && owner.blocks)
            {
                blocked = true;
                if !object.is_deleting() {
                    self.agenda.at_once(Task::CheckOwners(dependent, None));
                }
            }
        }
        if !blocked {
            self.remove_finalizer(place, FOREGROUND);
        }
    }

    /// Frees the dependents of an owner, which then may go.
    pub(super) fn orphan(&mut self, place: &Place) {
        let Some(owner) = self.store.at(place).cloned() else {
            return;
        };
        if !owner.is_deleting() || !owner.finalizers().contains(&ORPHAN) {
            return;
        }
        let uid = owner.uid();
        for dependent in self.store.dependents(uid) {
            let Some(object) = self.store.at(&dependent).cloned() else {
                continue;
            };
            let mut new = object.value();
            let metadata = metadata_mut(&mut new);
            let emptied = match metadata.get_mut("ownerReferences") {
                Some(Value::Array(list)) => {
                    list.retain(|owner| metadata::text(owner, "/uid") != uid);
                    list.is_empty()
                }
                _ => false,
            };
            if emptied {
                metadata.remove("ownerReferences");
            }
            self.put_as_controller(&dependent, new, "");
        }
        self.remove_finalizer(place, ORPHAN);
    }
}
