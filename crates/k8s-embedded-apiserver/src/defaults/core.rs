//! Defaults: The core group, but for pods.

use serde_json::{Value, json};

use super::fill;
use crate::metadata::{entry_mut, metadata_mut, name, object_mut};

pub(crate) fn secret(object: &mut Value) {
    let map = object_mut(object);
    if let Some(Value::Object(texts)) = map.remove("stringData") {
        let data = entry_mut(map, "data");
        for (key, value) in texts {
            if let Value::String(text) = value {
                data.insert(
                    key,
                    base64::Engine::encode(&base64::prelude::BASE64_STANDARD, text).into(),
                );
            }
        }
    }
    fill(map, "type", json!("Opaque"));
}

/// A namespace is found by its name in a label of its own.
pub(crate) fn namespace(object: &mut Value) {
    let own = name(object).to_owned();
    if !own.is_empty() {
        let labels = entry_mut(metadata_mut(object), "labels");
        labels.insert("kubernetes.io/metadata.name".into(), own.into());
    }
    let map = object_mut(object);
    entry_mut(map, "spec");
    entry_mut(map, "status");
}

pub(crate) fn new_namespace(object: &mut Value) {
    let map = object_mut(object);
    map.insert("spec".into(), json!({"finalizers": ["kubernetes"]}));
    map.insert("status".into(), json!({"phase": "Active"}));
}

pub(crate) fn node(object: &mut Value) {
    let map = object_mut(object);
    entry_mut(map, "spec");
    entry_mut(map, "status");
}

pub(crate) fn service(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "type", json!("ClusterIP"));
    fill(spec, "sessionAffinity", json!("None"));
    fill(spec, "internalTrafficPolicy", json!("Cluster"));
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let port = object_mut(port);
        fill(port, "protocol", json!("TCP"));
        let target = port.get("port").cloned().unwrap_or_default();
        fill(port, "targetPort", target);
    }
    let status = entry_mut(map, "status");
    fill(status, "loadBalancer", json!({}));
}
