//! Defaults: the group `apiextensions.k8s.io`.

use serde_json::{Value, json};

use super::fill;
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn custom_resource_definition(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "conversion", json!({"strategy": "None"}));
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
    let service = spec
        .get_mut("conversion")
        .and_then(|conversion| conversion.pointer_mut("/webhook/clientConfig/service"))
        .and_then(Value::as_object_mut);
    if let Some(service) = service {
        fill(service, "port", json!(443));
    }
    let names = entry_mut(spec, "names");
    let kind = names
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if !kind.is_empty() {
        fill(names, "singular", kind.to_lowercase().into());
        fill(names, "listKind", format!("{kind}List").into());
    }
    let status = entry_mut(map, "status");
    fill(status, "conditions", Value::Null);
    fill(status, "storedVersions", Value::Null);
    let accepted = entry_mut(status, "acceptedNames");
    for key in ["kind", "plural"] {
        fill(accepted, key, json!(""));
    }
}

pub(crate) fn new_custom_resource_definition(object: &mut Value) {
    let status = json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": null, "storedVersions": null});
    object_mut(object).insert("status".into(), status);
    stored_versions(object);
}

/// The version that objects are stored in is one that they may be found in from now on.
pub(crate) fn stored_versions(definition: &mut Value) {
    let versions = definition
        .pointer("/spec/versions")
        .and_then(Value::as_array);
    let storage = versions
        .into_iter()
        .flatten()
        .find(|version| version.get("storage") == Some(&Value::Bool(true)))
        .and_then(|version| version.get("name").cloned());
    let Some(storage) = storage else { return };
    let stored = entry_mut(object_mut(definition), "status")
        .entry("storedVersions")
        .or_insert(Value::Null);
    match stored {
        Value::Array(list) if list.contains(&storage) => {}
        Value::Array(list) => list.push(storage),
        other => *other = json!([storage]),
    }
}
