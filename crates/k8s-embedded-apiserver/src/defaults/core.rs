//! Defaults: The core group, but for pods.

use serde_json::{Value, json};

use super::{each_in, fill, fill_text, quantities, shown_list, text};
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
    let finalizers = entry_mut(map, "spec")
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    if let Value::Array(list) = finalizers
        && !list.contains(&json!("kubernetes"))
    {
        list.push("kubernetes".into());
    }
    map.insert("status".into(), json!({"phase": "Active"}));
}

pub(crate) fn node(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    let range = spec.get("podCIDR").cloned();
    let first = spec.get("podCIDRs").and_then(|ranges| ranges.get(0));
    if range.is_some() && range.as_ref() != first {
        spec.insert("podCIDRs".into(), json!([range]));
    } else if let Some(first) = first.cloned() {
        spec.insert("podCIDR".into(), first);
    }
    let status = entry_mut(map, "status");
    quantities(status, "capacity");
    quantities(status, "allocatable");
    if let Some(capacity) = status.get("capacity").cloned() {
        fill(status, "allocatable", capacity);
    }
    let endpoint = entry_mut(entry_mut(status, "daemonEndpoints"), "kubeletEndpoint");
    fill(endpoint, "Port", json!(0));
    let info = entry_mut(status, "nodeInfo");
    for key in [
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ] {
        fill(info, key, json!(""));
    }
}

/// A new node takes no pods until a kubelet says that it is ready.
pub(crate) fn new_node(object: &mut Value) {
    const NOT_READY: &str = "node.kubernetes.io/not-ready";
    let taints = entry_mut(object_mut(object), "spec")
        .entry("taints")
        .or_insert_with(|| json!([]));
    if let Value::Array(taints) = taints
        && !taints.iter().any(|taint| taint["key"] == NOT_READY)
    {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}

pub(crate) fn endpoints(object: &mut Value) {
    for subset in each_in(object_mut(object), "subsets") {
        for port in each_in(subset, "ports") {
            fill_text(port, "protocol", "TCP");
        }
    }
}

/// What a container may use is what is left open: limits follow from the maximum, requests from the limits.
pub(crate) fn limit_range(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    shown_list(spec, "limits");
    for item in each_in(spec, "limits") {
        if text(item, "type") != "Container" {
            continue;
        }
        for (to, from) in [
            ("default", "max"),
            ("defaultRequest", "default"),
            ("defaultRequest", "min"),
        ] {
            let Some(Value::Object(values)) = item.get(from).cloned() else {
                continue;
            };
            let target = entry_mut(item, to);
            for (resource, amount) in values {
                target.entry(resource).or_insert(amount);
            }
        }
    }
}

pub(crate) fn resource_quota(object: &mut Value) {
    let map = object_mut(object);
    quantities(entry_mut(map, "spec"), "hard");
    let status = entry_mut(map, "status");
    quantities(status, "hard");
    quantities(status, "used");
}

/// Of the secrets of a service account only the names count.
pub(crate) fn service_account(object: &mut Value) {
    for secret in each_in(object_mut(object), "secrets") {
        let name = secret.remove("name");
        secret.clear();
        if let Some(name) = name {
            secret.insert("name".into(), name);
        }
    }
}
