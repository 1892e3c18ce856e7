//! Defaults: the group `networking.k8s.io`.

use serde_json::{Value, json};

use super::{each_in, fill, inner};
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn ingress(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    for rule in each_in(spec, "rules") {
        if let Some(http) = inner(rule, "http") {
            fill(http, "paths", Value::Null);
        }
    }
    entry_mut(entry_mut(map, "status"), "loadBalancer");
}

pub(crate) fn ingress_class(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    if let Some(parameters) = inner(spec, "parameters") {
        fill(parameters, "scope", json!("Cluster"));
    }
}

pub(crate) fn network_policy(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    entry_mut(spec, "podSelector");
    for list in ["ingress", "egress"] {
        for rule in each_in(spec, list) {
            for port in each_in(rule, "ports") {
                fill(port, "protocol", json!("TCP"));
            }
        }
    }
    let is_empty = |key: &str, spec: &serde_json::Map<String, Value>| {
        spec.get(key)
            .and_then(Value::as_array)
            .is_none_or(Vec::is_empty)
    };
    if is_empty("policyTypes", spec) {
        let types = if is_empty("egress", spec) {
            json!(["Ingress"])
        } else {
            json!(["Ingress", "Egress"])
        };
        spec.insert("policyTypes".into(), types);
    }
}

pub(crate) fn service_cidr(object: &mut Value) {
    let map = object_mut(object);
    entry_mut(map, "spec");
    entry_mut(map, "status");
}
