//! Defaults: the group `apps`.

use serde_json::{Map, Value, json};

use super::pod_template::template;
use super::volumes::claim_spec;
use super::{drop_zeros, each, fill};
use crate::metadata::{entry_mut, metadata_mut, object_mut};

/// How often the template of a DaemonSet was changed, counting its creation.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(crate) fn deployment(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "replicas", json!(1));
    fill(spec, "progressDeadlineSeconds", json!(600));
    fill(spec, "revisionHistoryLimit", json!(10));
    rolling(
        entry_mut(spec, "strategy"),
        &[("maxSurge", json!("25%")), ("maxUnavailable", json!("25%"))],
    );
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

/// An update strategy that rolls unless it says otherwise, with the numbers that it rolls by.
fn rolling(strategy: &mut Map<String, Value>, numbers: &[(&str, Value)]) {
    fill(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        let rolling = entry_mut(strategy, "rollingUpdate");
        for (field, number) in numbers {
            fill(rolling, field, number.clone());
        }
    }
}

pub(crate) fn replica_set(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "replicas", json!(1));
    template(spec);
    drop_zeros(spec, &["minReadySeconds"]);
    fill(entry_mut(map, "status"), "replicas", json!(0));
}

pub(crate) fn stateful_set(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "podManagementPolicy", json!("OrderedReady"));
    fill(spec, "replicas", json!(1));
    fill(spec, "revisionHistoryLimit", json!(10));
    fill(spec, "serviceName", json!(""));
    let strategy = entry_mut(spec, "updateStrategy");
    if !strategy.contains_key("type") {
        strategy.insert("type".into(), json!("RollingUpdate"));
        entry_mut(strategy, "rollingUpdate");
    }
    if strategy.get("type") == Some(&json!("RollingUpdate"))
        && let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate")
    {
        fill(rolling, "partition", json!(0));
        fill(rolling, "maxUnavailable", json!(1));
    }
    let retention = entry_mut(spec, "persistentVolumeClaimRetentionPolicy");
    fill(retention, "whenDeleted", json!("Retain"));
    fill(retention, "whenScaled", json!("Retain"));
    template(spec);
    each(spec, "volumeClaimTemplates", |claim| {
        fill(claim, "apiVersion", json!("v1"));
        fill(claim, "kind", json!("PersistentVolumeClaim"));
        entry_mut(claim, "metadata");
        claim_spec(entry_mut(claim, "spec"));
        fill(entry_mut(claim, "status"), "phase", json!("Pending"));
    });
    drop_zeros(spec, &["minReadySeconds"]);
    let status = entry_mut(map, "status");
    fill(status, "replicas", json!(0));
    fill(status, "availableReplicas", json!(0));
}

pub(crate) fn daemon_set(object: &mut Value) {
    // What a writer does not tell is zero to who owns it, until the server counts.
    let annotations = entry_mut(metadata_mut(object), "annotations");
    fill(annotations, TEMPLATE_GENERATION, json!("0"));
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "revisionHistoryLimit", json!(10));
    rolling(
        entry_mut(spec, "updateStrategy"),
        &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))],
    );
    template(spec);
    drop_zeros(spec, &["minReadySeconds"]);
    let status = entry_mut(map, "status");
    for count in [
        "currentNumberScheduled",
        "desiredNumberScheduled",
        "numberMisscheduled",
        "numberReady",
    ] {
        fill(status, count, json!(0));
    }
}

pub(crate) fn new_daemon_set(object: &mut Value) {
    let generation = template_generation(object).max(1);
    set_template_generation(object, generation);
}

/// The template's generation is the server's; it goes up with each change of the template.
pub(crate) fn updated_daemon_set(object: &mut Value, old: &Value) {
    let changed = object.pointer("/spec/template") != old.pointer("/spec/template");
    let generation = template_generation(old) + i64::from(changed);
    set_template_generation(object, generation);
}

fn template_generation(object: &Value) -> i64 {
    object
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(TEMPLATE_GENERATION))
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

fn set_template_generation(object: &mut Value, generation: i64) {
    let annotations = entry_mut(metadata_mut(object), "annotations");
    annotations.insert(TEMPLATE_GENERATION.into(), generation.to_string().into());
}

pub(crate) fn controller_revision(object: &mut Value) {
    fill(object_mut(object), "revision", json!(0));
}
