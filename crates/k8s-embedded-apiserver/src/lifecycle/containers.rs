//! What contains objects: namespaces and definitions. They take their content with them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Deletion, NAMESPACES, Propagation, State, Task};
use crate::definitions;
use crate::metadata::{self, Meta as _, entry_mut, finalizers, object_mut, set_finalizers};
use crate::object::Object;
use crate::store::Place;

impl State {
    pub(super) fn delete_namespace(&mut self, place: &Place, existing: &Arc<Object>) -> Deletion {
        if existing.is_deleting() {
            return Deletion::Held(existing.clone());
        }
        let mut object = existing.value();
        self.mark(&mut object, false);
        entry_mut(object_mut(&mut object), "status").insert("phase".into(), json!("Terminating"));
        let stored = self.put(place, object);
        self.tasks
            .push_back(Task::NamespaceContent(place.key.to_string()));
        Deletion::Held(stored)
    }

    pub(super) fn delete_definition(&mut self, place: &Place, existing: &Arc<Object>) -> Deletion {
        if existing.is_deleting() {
            return Deletion::Held(existing.clone());
        }
        let mut object = existing.value();
        self.mark(&mut object, false);
        let mut all: Vec<String> = existing.finalizers().into_iter().map(Into::into).collect();
        if !all
            .iter()
            .any(|finalizer| finalizer == definitions::FINALIZER)
        {
            all.push(definitions::FINALIZER.into());
        }
        set_finalizers(&mut object, all);
        let stored = self.put(place, object);
        self.tasks
            .push_back(Task::DefinitionContent(place.key.to_string()));
        Deletion::Held(stored)
    }

    /// The namespace or definition of this name, if it is being deleted.
    fn going_away(&self, storage: &'static str, name: &str) -> Option<(Place, Arc<Object>)> {
        let place = Place {
            storage: storage.into(),
            key: name.into(),
        };
        let found = self.store.at(&place).filter(|found| found.is_deleting())?;
        let found = Arc::clone(found);
        Some((place, found))
    }

    /// Deletes what is in a namespace that is going away, and the namespace once it is empty.
    pub(super) fn namespace_content(&mut self, name: &str) {
        let Some((place, namespace)) = self.going_away(NAMESPACES, name) else {
            return;
        };
        for inner in self.store.in_namespace(name) {
            let held = self
                .store
                .at(&inner)
                .is_none_or(|object| object.is_deleting());
            if !held {
                self.delete(&inner, Some(Propagation::Background));
            }
        }
        if !self.store.in_namespace(name).is_empty() {
            return;
        }
        let mut object = namespace.value();
        let spec = entry_mut(object_mut(&mut object), "spec");
        if spec.remove("finalizers").is_some() || finalizers(&object).is_empty() {
            self.store_update(&place, object);
        }
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
            .range(definitions::STORAGE, None, None)
            .filter(|(key, _)| &***key != name)
            .map(|(_, other)| other.value())
            .filter(|other| metadata::text(other, "/spec/group") == group)
            .collect()
    }

    /// Gives a definition its names and serves what it defines.
    pub(super) fn accept_names(&mut self, name: &str) {
        let place = Place {
            storage: definitions::STORAGE.into(),
            key: name.into(),
        };
        let Some(definition) = self.store.at(&place).map(|found| found.value()) else {
            return;
        };
        let siblings = self.siblings(name, metadata::text(&definition, "/spec/group"));
        let now = self.source.stamp();
        let is_builtin = self.is_builtin(&definition);
        let accepted = definitions::accept_names(&definition, &siblings, is_builtin, &now);
        let definition = if accepted == definition {
            definition
        } else {
            self.store.put(&place.storage, &place.key, accepted).value()
        };
        if definitions::is_established(&definition) {
            self.store.open(&definitions::storage_of(&definition));
        }
        let kinds = definitions::kinds_of(&definition, self.registry.served(name));
        self.registry.serve(&definition, kinds);
    }

    /// Deletes the objects of a definition that is going away, and the definition once there are none.
    pub(super) fn definition_content(&mut self, name: &str) {
        let Some((place, definition)) = self.going_away(definitions::STORAGE, name) else {
            return;
        };
        let definition = definition.value();
        let now = self.source.stamp();
        let storage = definitions::storage_of(&definition);
        if self.is_builtin(&definition) {
            self.remove_finalizer(&place, definitions::FINALIZER);
            return;
        }
        for object in self.store.all(&storage) {
            if self
                .store
                .at(&object)
                .is_some_and(|found| !found.is_deleting())
            {
                self.delete(&object, Some(Propagation::Background));
            }
        }
        if self.store.all(&storage).is_empty() {
            self.remove_finalizer(&place, definitions::FINALIZER);
            return;
        }
        let mut object = definition.clone();
        let why = "CustomResource deletion is in progress";
        definitions::set_condition(
            &mut object,
            "Terminating",
            "True",
            "InstanceDeletionInProgress",
            why,
            &now,
        );
        if object != definition {
            self.put(&place, object);
        }
    }

    pub(super) fn withdraw(&mut self, definition: &Value) {
        self.registry.withdraw(metadata::name(definition));
        let storage = definitions::storage_of(definition);
        if !self.is_builtin(definition) {
            self.store.close(&storage);
        }
        let name = metadata::name(definition);
        for other in self.siblings(name, metadata::text(definition, "/spec/group")) {
            self.tasks
                .push_back(Task::AcceptNames(metadata::name(&other).to_owned()));
        }
    }
}
