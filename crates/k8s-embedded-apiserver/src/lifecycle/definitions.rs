//! Definitions: the names they get, and their objects, which go with them.

use serde_json::Value;

use super::{Propagation, State, Task};
use crate::definitions as crds;
use crate::metadata::{self, Meta as _, finalizers, is_deleting, set_finalizers};
use crate::store::Place;

impl State {
    /// Marks a definition as going away; it is held until its objects are gone.
    pub(super) fn mark_definition(&self, object: &mut Value) {
        if is_deleting(object) {
            return;
        }
        self.mark(object, false);
        let mut all: Vec<String> = finalizers(object).into_iter().map(Into::into).collect();
        if !all.iter().any(|finalizer| finalizer == crds::FINALIZER) {
            all.push(crds::FINALIZER.into());
        }
        set_finalizers(object, all);
        let why =
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        let now = self.source.stamp();
        crds::set_condition(
            object,
            "Terminating",
            "True",
            "InstanceDeletionPending",
            why,
            &now,
        );
    }

    /// Whether a definition is of a resource that is built in, which it does not get.
    fn is_builtin(&self, definition: &Value) -> bool {
        let group = metadata::text(definition, "/spec/group");
        let plural = metadata::text(definition, "/spec/names/plural");
        self.registry.is_builtin_resource(group, plural)
    }

    /// The definitions of the same group, but for this one.
    fn siblings(&self, name: &str, group: &str) -> Vec<Value> {
        self.store
            .range(crds::STORAGE, None, None)
            .filter(|(key, _)| &***key != name)
            .map(|(_, other)| other.value())
            .filter(|other| metadata::text(other, "/spec/group") == group)
            .collect()
    }

    /// Gives a definition its names and serves what it defines.
    pub(super) fn accept_names(&mut self, name: &str) {
        let place = Place {
            storage: crds::STORAGE.into(),
            key: name.into(),
        };
        let Some(definition) = self.store.at(&place).map(|found| found.value()) else {
            return;
        };
        let siblings = self.siblings(name, metadata::text(&definition, "/spec/group"));
        let now = self.source.stamp();
        let is_builtin = self.is_builtin(&definition);
        let mut accepted = crds::accept_names(&definition, &siblings, is_builtin, &now);
        let definition = if accepted == definition {
            definition
        } else {
            let manager = crate::managed::SERVER;
            self.track(&place, manager, "status", &mut accepted);
            self.store.put(&place.storage, &place.key, accepted).value()
        };
        if crds::is_established(&definition) {
            self.store.open(&crds::storage_of(&definition));
        }
        let kinds = crds::kinds_of(&definition, self.registry.served(name));
        self.registry.serve(&definition, kinds);
    }

    /// Deletes the objects of a definition that is going away, and the definition once there are none.
    pub(super) fn definition_content(&mut self, name: &str) {
        let place = Place {
            storage: crds::STORAGE.into(),
            key: name.into(),
        };
        let found = self.store.at(&place).filter(|found| found.is_deleting());
        let Some(definition) = found.map(|found| found.value()) else {
            return;
        };
        let now = self.source.stamp();
        let storage = crds::storage_of(&definition);
        if self.is_builtin(&definition) {
            self.remove_finalizer(&place, crds::FINALIZER);
            return;
        }
        for object in self.store.all(&storage) {
            if self
                .store
                .at(&object)
                .is_some_and(|found| !found.is_deleting())
            {
                self.delete(&object, Propagation::Background.into());
            }
        }
        if self.store.all(&storage).is_empty() {
            self.remove_finalizer(&place, crds::FINALIZER);
            return;
        }
        let mut object = definition.clone();
        let why = "CustomResource deletion is in progress";
        crds::set_condition(
            &mut object,
            "Terminating",
            "True",
            "InstanceDeletionInProgress",
            why,
            &now,
        );
        if object != definition {
            let manager = crate::managed::SERVER;
            self.track(&place, manager, "status", &mut object);
            self.put(&place, object);
        }
    }

    pub(super) fn withdraw(&mut self, definition: &Value) {
        self.registry.withdraw(metadata::name(definition));
        let storage = crds::storage_of(definition);
        if !self.is_builtin(definition) {
            self.store.close(&storage);
        }
        let name = metadata::name(definition);
        for other in self.siblings(name, metadata::text(definition, "/spec/group")) {
            self.agenda
                .at_once(Task::AcceptNames(metadata::name(&other).to_owned()));
        }
    }
}
