//! Defaults: Pods and PodTemplates.

use serde_json::{Map, Value, json};

use super::pod_template::{self, pod_spec};
use super::quality_of_service::quality_of_service;
use super::{each, fill, pod_resources};
use crate::metadata::{entry_mut, object_mut};

/// Containers that have ports, probes and resources of their own.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

pub(crate) fn pod(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    // A Pod is given what the template of one is not.
    if spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        spec.insert("terminationGracePeriodSeconds".into(), json!(1));
    }
    pod_spec(spec);
    fill(spec, "enableServiceLinks", json!(true));
    let host_network = spec.get("hostNetwork") == Some(&json!(true));
    for list in CONTAINERS {
        each(spec, list, |container| {
            pod_resources::limits_are_requests(container);
            if host_network {
                each(container, "ports", |port| {
                    let number = port.get("containerPort").cloned().unwrap_or_default();
                    if !number.is_null() {
                        fill(port, "hostPort", number);
                    }
                });
            }
        });
    }
    status(entry_mut(map, "status"));
}

fn status(status: &mut Map<String, Value>) {
    each(status, "conditions", |condition| {
        fill(condition, "lastProbeTime", Value::Null);
        fill(condition, "lastTransitionTime", Value::Null);
    });
    one_and_many(status, "podIP", "podIPs");
}

/// An address that is there alone, and as the first of a list: the one says what the other is.
fn one_and_many(status: &mut Map<String, Value>, one: &str, many: &str) {
    let alone = status.get(one).cloned();
    let first = status
        .get(many)
        .and_then(|list| list.pointer("/0/ip"))
        .cloned();
    match (alone, first) {
        (Some(alone), first) if first.as_ref() != Some(&alone) => {
            status.insert(many.into(), json!([{"ip": alone}]));
        }
        (None, Some(first)) => {
            status.insert(one.into(), first);
        }
        _ => {}
    }
}

/// What a Pod starts with.
pub(crate) fn new_pod(object: &mut Value) {
    let now = object.pointer("/metadata/creationTimestamp").cloned();
    let labels = object.pointer("/metadata/labels").cloned();
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    let gated = spec
        .get("schedulingGates")
        .and_then(Value::as_array)
        .is_some_and(|gates| !gates.is_empty());
    pod_resources::pod_level(spec);
    own_labels(spec, labels.as_ref());
    let mut status = json!({"phase": "Pending"});
    if gated {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null, "lastTransitionTime": now,
        }]);
    }
    status["qosClass"] = quality_of_service(object).into();
    object_mut(object).insert("status".into(), status);
}

/// A Pod that leaves its resources out keeps those that it had.
pub(crate) fn updated_pod(object: &mut Value, old: &Value) {
    if let Some(class) = old.pointer("/status/qosClass") {
        fill(
            entry_mut(object_mut(object), "status"),
            "qosClass",
            class.clone(),
        );
    }
    let Some(resources) = old.pointer("/spec/resources") else {
        return;
    };
    fill(
        entry_mut(object_mut(object), "spec"),
        "resources",
        resources.clone(),
    );
}

/// Selectors that name labels of the Pod itself (`matchLabelKeys`) get their values.
fn own_labels(spec: &mut Map<String, Value>, labels: Option<&Value>) {
    each(spec, "topologySpreadConstraints", |constraint| {
        merge_labels(constraint, labels);
    });
    for side in ["podAffinity", "podAntiAffinity"] {
        let Some(Value::Object(affinity)) = spec
            .get_mut("affinity")
            .and_then(|affinity| affinity.get_mut(side))
        else {
            continue;
        };
        each(
            affinity,
            "requiredDuringSchedulingIgnoredDuringExecution",
            |term| merge_labels(term, labels),
        );
        each(
            affinity,
            "preferredDuringSchedulingIgnoredDuringExecution",
            |term| merge_labels(entry_mut(term, "podAffinityTerm"), labels),
        );
    }
}

fn merge_labels(term: &mut Map<String, Value>, labels: Option<&Value>) {
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys = term.get(field).and_then(Value::as_array).cloned();
        for key in keys.iter().flatten().filter_map(Value::as_str) {
            let Some(value) = labels.and_then(|labels| labels.get(key)) else {
                continue;
            };
            let Some(Value::Object(selector)) = term.get_mut("labelSelector") else {
                continue;
            };
            let expression = json!({"key": key, "operator": operator, "values": [value]});
            match selector.get_mut("matchExpressions") {
                Some(Value::Array(list)) => list.push(expression),
                _ => {
                    selector.insert("matchExpressions".into(), json!([expression]));
                }
            }
        }
    }
}

pub(crate) fn pod_template(object: &mut Value) {
    pod_template::template(object_mut(object));
}

pub(crate) fn replication_controller(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "replicas", json!(1));
    if spec.contains_key("template") {
        pod_template::template(spec);
    }
    let labels = spec
        .get("template")
        .and_then(|template| template.pointer("/metadata/labels"))
        .cloned();
    if let Some(labels) = labels {
        super::fill_empty(spec, "selector", &labels);
        super::fill_empty(entry_mut(map, "metadata"), "labels", &labels);
    }
    fill(entry_mut(map, "status"), "replicas", json!(0));
}
