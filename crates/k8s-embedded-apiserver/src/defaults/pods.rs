//! Defaults: Pods, and the templates of them.

use serde_json::{Map, Value, json};

use super::fill;
use crate::metadata::{entry_mut, object_mut};

pub(super) fn template(spec: &mut Map<String, Value>) {
    let template = entry_mut(spec, "template");
    entry_mut(template, "metadata");
    pod_spec(entry_mut(template, "spec"));
}

fn pod_spec(spec: &mut Map<String, Value>) {
    fill(spec, "restartPolicy", json!("Always"));
    fill(spec, "terminationGracePeriodSeconds", json!(30));
    fill(spec, "dnsPolicy", json!("ClusterFirst"));
    fill(spec, "securityContext", json!({}));
    fill(spec, "schedulerName", json!("default-scheduler"));
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        fill(spec, "serviceAccount", account);
    }
    for list in ["containers", "initContainers"] {
        for item in spec
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            container(object_mut(item));
        }
    }
}

fn container(container: &mut Map<String, Value>) {
    let image = container
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let policy = if always_pulled(image) {
        "Always"
    } else {
        "IfNotPresent"
    };
    fill(container, "imagePullPolicy", json!(policy));
    fill(container, "resources", json!({}));
    fill(
        container,
        "terminationMessagePath",
        json!("/dev/termination-log"),
    );
    fill(container, "terminationMessagePolicy", json!("File"));
    for port in container
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        fill(object_mut(port), "protocol", json!("TCP"));
    }
}

/// Whether an image has the tag `latest`, in words or by having none.
fn always_pulled(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains('@') {
        return false;
    }
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

pub(crate) fn pod(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    pod_spec(spec);
    fill(spec, "enableServiceLinks", json!(true));
    fill(spec, "preemptionPolicy", json!("PreemptLowerPriority"));
    fill(spec, "priority", json!(0));
    fill(
        spec,
        "tolerations",
        json!([
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        ]),
    );
    let status = entry_mut(map, "status");
    for condition in status
        .get_mut("conditions")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let condition = object_mut(condition);
        fill(condition, "lastProbeTime", Value::Null);
        fill(condition, "lastTransitionTime", Value::Null);
    }
}

pub(crate) fn new_pod(object: &mut Value) {
    let class = quality_of_service(object);
    object_mut(object).insert(
        "status".into(),
        json!({"phase": "Pending", "qosClass": class}),
    );
}

/// Guaranteed where every container limits CPU and memory to what it requests, BestEffort where none asks for any.
fn quality_of_service(pod: &Value) -> &'static str {
    let containers: Vec<&Value> = ["/spec/containers", "/spec/initContainers"]
        .iter()
        .filter_map(|list| pod.pointer(list).and_then(Value::as_array))
        .flatten()
        .collect();
    let asks = |container: &Value, list: &str, what: &str| {
        container
            .pointer(&format!("/resources/{list}/{what}"))
            .cloned()
    };
    let resources = ["cpu", "memory"];
    let none = containers.iter().all(|container| {
        resources.iter().all(|what| {
            asks(container, "limits", what).is_none() && asks(container, "requests", what).is_none()
        })
    });
    if none {
        return "BestEffort";
    }
    let guaranteed = containers.iter().all(|container| {
        resources.iter().all(|what| {
            let limit = asks(container, "limits", what);
            limit.is_some()
                && asks(container, "requests", what).is_none_or(|request| Some(request) == limit)
        })
    });
    if guaranteed {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
