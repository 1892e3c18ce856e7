//! What the server fills in: the defaults of fields, and what a new object starts with.

use serde_json::{Map, Value, json};

use crate::metadata::{entry_mut, metadata_mut, name, object_mut};

/// Sets `key` where it is missing.
fn fill(map: &mut Map<String, Value>, key: &str, value: Value) {
    map.entry(key).or_insert(value);
}

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

pub(crate) fn lease(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    // Belong to a feature that is off in a real server unless asked for.
    spec.remove("strategy");
    spec.remove("preferredHolder");
}

/// Fields that an Event shows even when they hold nothing.
pub(crate) fn event(object: &mut Value) {
    let map = object_mut(object);
    for key in ["involvedObject", "source"] {
        entry_mut(map, key);
    }
    for key in ["eventTime", "firstTimestamp", "lastTimestamp"] {
        fill(map, key, Value::Null);
    }
    for key in ["reportingComponent", "reportingInstance"] {
        fill(map, key, json!(""));
    }
    if map.get("count") == Some(&json!(0)) {
        map.remove("count");
    }
}

pub(crate) fn role(object: &mut Value) {
    fill(object_mut(object), "rules", Value::Null);
}

pub(crate) fn role_binding(object: &mut Value) {
    let map = object_mut(object);
    let group = || json!("rbac.authorization.k8s.io");
    fill(entry_mut(map, "roleRef"), "apiGroup", group());
    let subjects = map.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        let subject = object_mut(subject);
        let kind = subject.get("kind").and_then(Value::as_str);
        if matches!(kind, Some("User" | "Group")) {
            fill(subject, "apiGroup", group());
        }
    }
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

pub(crate) fn deployment(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    // Read as an empty selector where there is none.
    if spec.get("selector") == Some(&json!({})) {
        spec.remove("selector");
    }
    fill(spec, "replicas", json!(1));
    fill(spec, "progressDeadlineSeconds", json!(600));
    fill(spec, "revisionHistoryLimit", json!(10));
    let strategy = entry_mut(spec, "strategy");
    fill(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        let rolling = entry_mut(strategy, "rollingUpdate");
        fill(rolling, "maxSurge", json!("25%"));
        fill(rolling, "maxUnavailable", json!("25%"));
    }
    template(spec);
    drop_zeros(spec, &["minReadySeconds"]);
    let status = entry_mut(map, "status");
    drop_zeros(
        status,
        &[
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "observedGeneration",
        ],
    );
}

pub(crate) fn replica_set(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "replicas", json!(1));
    template(spec);
    drop_zeros(spec, &["minReadySeconds"]);
    fill(entry_mut(map, "status"), "replicas", json!(0));
}

/// Numbers whose zero the real server does not show.
fn drop_zeros(map: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        if map.get(*key) == Some(&json!(0)) {
            map.remove(*key);
        }
    }
}

fn template(spec: &mut Map<String, Value>) {
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

pub(crate) fn custom_resource_definition(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "conversion", json!({"strategy": "None"}));
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
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
