//! Namespaces that go away take their content with them, as the namespace controller of a real cluster does it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::graceful::{self, PODS};
use super::{NAMESPACES, Propagation, State, Task};
use crate::definitions::set_condition;
use crate::metadata::{self, Meta as _, entry_mut, finalizers, is_deleting, object_mut};
use crate::object::Object;
use crate::store::Place;

/// What the controller expects that finalizers take, in seconds.
const FINALIZER_ESTIMATE: i64 = 15;

/// When a namespace is looked at next. Of several times the earliest counts.
#[derive(Debug, Default)]
pub(super) struct Pending(BTreeMap<String, Instant>);

/// What is left of the content of a namespace.
#[derive(Debug, Default)]
struct Remains {
    /// Objects by `resource.group`.
    resources: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
    /// Only Pods were looked at, since other content stays until they are gone.
    only_pods: bool,
    /// Seconds after which to look again.
    estimate: i64,
}

impl State {
    /// Marks a namespace as going away.
    pub(super) fn mark_namespace(&self, object: &mut Value) {
        if !is_deleting(object) {
            self.mark(object, false);
            let status = entry_mut(object_mut(object), "status");
            status.insert("phase".into(), json!("Terminating"));
        }
    }

    /// Notes what a namespace that was written needs.
    pub(super) fn note_namespace(&mut self, namespace: &Object) {
        if namespace.is_deleting() {
            self.look_at(namespace.name(), self.controllers.namespace_delay);
        } else if self.controllers.service_accounts {
            let delay = self.controllers.delay;
            let task = Task::DefaultAccount(namespace.name().to_owned());
            self.agenda.after(delay, task);
        }
    }

    fn look_at(&mut self, name: &str, delay: Duration) {
        if !self.controllers.namespace_deletion {
            return;
        }
        let due = Instant::now() + delay;
        if self
            .namespaces
            .0
            .get(name)
            .is_some_and(|noted| *noted <= due)
        {
            return;
        }
        self.namespaces.0.insert(name.to_owned(), due);
        self.agenda
            .after(delay, Task::NamespaceContent(name.to_owned()));
    }

    /// Deletes what is in a namespace that is going away, says what is left, and lets the namespace go once it is
    /// empty.
    pub(super) fn namespace_content(&mut self, name: &str) {
        // A task that was noted before an earlier one is void.
        match self.namespaces.0.get(name) {
            Some(due) if *due <= Instant::now() => self.namespaces.0.remove(name),
            _ => return,
        };
        let place = Place {
            storage: NAMESPACES.into(),
            key: name.into(),
        };
        let deleting = |state: &Self| {
            let found = state.store.at(&place).filter(|found| found.is_deleting());
            found.map(|found| found.value())
        };
        let Some(mut namespace) = deleting(self) else {
            return;
        };
        if !held_by_kubernetes(&namespace) {
            return;
        }
        let remains = self.clear(name);
        let now = self.source.stamp();
        let before = namespace.clone();
        remains.tell(&mut namespace, &now);
        if namespace != before {
            self.put_as_controller(&place, namespace, "status");
        }
        if remains.estimate > 0 {
            let seconds = u64::try_from(remains.estimate / 2 + 1).unwrap_or(1);
            self.look_at(name, Duration::from_secs(seconds));
            return;
        }
        if let Some(mut namespace) = deleting(self) {
            let spec = entry_mut(object_mut(&mut namespace), "spec");
            let mut left = metadata::texts(spec.get("finalizers"));
            left.retain(|finalizer| *finalizer != KUBERNETES);
            let left: Vec<Value> = left.into_iter().map(Into::into).collect();
            if left.is_empty() {
                spec.remove("finalizers");
            } else {
                spec.insert("finalizers".into(), Value::Array(left));
            }
            let manager = crate::managed::CONTROLLERS;
            self.track(&place, manager, "finalize", &mut namespace);
            self.store_update(&place, namespace);
        }
    }

    /// Deletes the content of a namespace: Pods first, the rest once they are gone.
    fn clear(&mut self, namespace: &str) -> Remains {
        let all = self.store.in_namespace(namespace);
        let (pods, others): (Vec<Place>, Vec<Place>) =
            all.into_iter().partition(|place| place.storage == PODS);
        let mut remains = Remains::default();
        let grace = pods.iter().filter_map(|place| self.store.at(place));
        let grace = grace.filter_map(|pod| graceful::grace(&pod.value())).max();
        self.clear_places(&pods, &mut remains);
        if !remains.resources.is_empty() {
            remains.only_pods = true;
            remains.estimate = remains.estimate.max(grace.unwrap_or(0)).max(1);
            return remains;
        }
        self.clear_places(&others, &mut remains);
        remains
    }

    fn clear_places(&mut self, places: &[Place], remains: &mut Remains) {
        for place in places {
            let deleting = |object: &Arc<Object>| object.is_deleting();
            if !self.store.at(place).is_none_or(deleting) {
                self.delete(place, Propagation::Background.into());
            }
        }
        for place in places {
            let Some(left) = self.store.at(place) else {
                continue;
            };
            // A collection is named as its resource, with the group behind a dot.
            let mut resource = place.storage.to_string();
            if !resource.contains('.') {
                resource.push('.');
            }
            *remains.resources.entry(resource).or_default() += 1;
            for finalizer in left.finalizers() {
                *remains.finalizers.entry(finalizer.into()).or_default() += 1;
            }
            if left.finalizers().is_empty() {
                remains.estimate = remains.estimate.max(1);
            } else {
                remains.estimate = FINALIZER_ESTIMATE;
            }
        }
    }
}

/// The finalizer of a namespace's spec that stands for its content.
const KUBERNETES: &str = "kubernetes";

fn held_by_kubernetes(namespace: &Value) -> bool {
    metadata::texts(namespace.pointer("/spec/finalizers")).contains(&KUBERNETES)
        || finalizers(namespace).is_empty()
}

impl Remains {
    /// Writes the conditions of a namespace that is going away.
    fn tell(&self, namespace: &mut Value, now: &str) {
        let text = |left: &BTreeMap<String, usize>, word: &str| {
            let parts: Vec<String> = left
                .iter()
                .map(|(what, count)| format!("{what} {word} {count} resource instances"))
                .collect();
            parts.join(", ")
        };
        let told = !self.only_pods;
        let resources = (told && !self.resources.is_empty()).then(|| {
            let left = text(&self.resources, "has");
            format!("Some resources are remaining: {left}")
        });
        let finalizers = (told && !self.finalizers.is_empty()).then(|| {
            let left = text(&self.finalizers, "in");
            format!("Some content in the namespace has finalizers remaining: {left}")
        });
        for (type_, reason, message) in [
            (
                "NamespaceDeletionDiscoveryFailure",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            (
                "NamespaceDeletionContentFailure",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
        ] {
            set_condition(namespace, type_, "False", reason, message, now);
        }
        let type_ = "NamespaceContentRemaining";
        if let Some(text) = resources {
            set_condition(namespace, type_, "True", "SomeResourcesRemain", &text, now);
        } else {
            let text = "All content successfully removed";
            set_condition(namespace, type_, "False", "ContentRemoved", text, now);
        }
        let type_ = "NamespaceFinalizersRemaining";
        if let Some(text) = finalizers {
            set_condition(namespace, type_, "True", "SomeFinalizersRemain", &text, now);
        } else {
            let (reason, text) = (
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            );
            set_condition(namespace, type_, "False", reason, text, now);
        }
    }
}
