//! What a server holds from the start: the objects that a real one makes for itself.

use serde_json::{Value, json};

use crate::lifecycle::{NAMESPACES, State};
use crate::metadata::{self, metadata_mut};
use crate::store::{self, Place};

/// The namespaces that every cluster starts with.
const NAMESPACE_NAMES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

/// The other objects, as a real server has them; times are set when they are stored.
const OBJECTS: &str = include_str!("start.json");

/// Stores everything.
pub(crate) fn fill(state: &mut State) {
    for name in NAMESPACE_NAMES {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name},
        });
        put(state, NAMESPACES, object);
    }
    // The text is a part of this crate; a test reads it.
    let objects: Vec<Value> = serde_json::from_str(OBJECTS).unwrap_or_default();
    for object in objects {
        let kind = state.registry.by_kind(
            metadata::text(&object, "/apiVersion"),
            metadata::text(&object, "/kind"),
        );
        if let Some(kind) = kind {
            put(state, &kind.plural, object);
        }
    }
    state.settle();
}

fn put(state: &mut State, plural: &str, mut object: Value) {
    let version = metadata::text(&object, "/apiVersion").to_owned();
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let Some(kind) = state.registry.find(group, version, plural) else {
        return;
    };
    let (uid, now) = (state.source.uid(), state.source.stamp());
    let metadata = metadata_mut(&mut object);
    metadata.insert("uid".into(), uid.into());
    metadata.insert("creationTimestamp".into(), now.as_str().into());
    (kind.default)(&mut object);
    if plural == NAMESPACES {
        (kind.on_create)(&mut object);
    }
    let conditions = object
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        condition["lastTransitionTime"] = now.as_str().into();
    }
    let namespace = metadata::namespace(&object).to_owned();
    let namespace = Some(namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let place = Place {
        storage: kind.storage.clone(),
        key: store::key(namespace, metadata::name(&object)),
    };
    state.track(&place, crate::managed::SERVER, "", &mut object);
    state.put(&place, object);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_of_a_kind_that_is_served() {
        let objects: Vec<Value> = serde_json::from_str(OBJECTS).unwrap();
        let registry = crate::registry::Registry::new();
        assert_eq!(objects.len(), 43);
        for object in objects {
            let (version, kind) = (
                metadata::text(&object, "/apiVersion"),
                metadata::text(&object, "/kind"),
            );
            assert!(
                registry.by_kind(version, kind).is_some(),
                "{version} {kind}"
            );
        }
    }
}
