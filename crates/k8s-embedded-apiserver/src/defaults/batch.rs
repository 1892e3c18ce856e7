//! Defaults: the group `batch`.

use serde_json::{Map, Value, json};

use super::pod_template::template;
use super::{each, fill, fill_empty};
use crate::metadata::{entry_mut, name, object_mut, uid};

/// Labels by which a Job finds its Pods, the newer and the older ones.
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

pub(crate) fn job(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions".into(), json!(1));
    }
    fill(spec, "parallelism", json!(1));
    let limit = if spec.contains_key("backoffLimitPerIndex") {
        i32::MAX
    } else {
        6
    };
    fill(spec, "backoffLimit", json!(limit));
    fill(spec, "completionMode", json!("NonIndexed"));
    fill(spec, "suspend", json!(false));
    let replaced = if spec.contains_key("podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    fill(spec, "podReplacementPolicy", json!(replaced));
    fill(spec, "manualSelector", json!(false));
    job_spec(spec);
    labels_of_template(map);
    entry_mut(map, "status");
}

/// What a Job and the template of one have in common.
fn job_spec(spec: &mut Map<String, Value>) {
    if let Some(Value::Object(policy)) = spec.get_mut("podFailurePolicy") {
        each(policy, "rules", |rule| {
            each(rule, "onPodConditions", |pattern| {
                if pattern.get("status") == Some(&json!("")) {
                    pattern.remove("status");
                }
                fill(pattern, "status", json!("True"));
            });
        });
    }
    template(spec);
}

/// A Job without labels of its own has those of its template.
fn labels_of_template(job: &mut Map<String, Value>) {
    let labels = job
        .get("spec")
        .and_then(|spec| spec.pointer("/template/metadata/labels"))
        .cloned();
    if let Some(labels) = labels {
        fill_empty(entry_mut(job, "metadata"), "labels", &labels);
    }
}

/// Unless the user makes the selector, it is the uid of the Job, which the template gets as a label.
pub(crate) fn new_job(object: &mut Value) {
    let (name, uid) = (name(object).to_owned(), uid(object).to_owned());
    let own = object.pointer("/metadata/labels").cloned();
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    if spec.get("manualSelector") == Some(&json!(true)) {
        return;
    }
    let template = entry_mut(spec, "template");
    let labels = entry_mut(entry_mut(template, "metadata"), "labels");
    let before = Value::Object(labels.clone());
    for (keys, value) in [(NAME_LABELS, &name), (UID_LABELS, &uid)] {
        for key in keys {
            fill(labels, key, json!(value));
        }
    }
    let selector = entry_mut(entry_mut(spec, "selector"), "matchLabels");
    fill(selector, UID_LABELS[1], json!(uid));
    // Labels that were taken from the template are still those of the template.
    if own.is_none_or(|own| own == before || own == json!({})) {
        entry_mut(map, "metadata").remove("labels");
        labels_of_template(map);
    }
}

pub(crate) fn cron_job(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "concurrencyPolicy", json!("Allow"));
    fill(spec, "suspend", json!(false));
    fill(spec, "successfulJobsHistoryLimit", json!(3));
    fill(spec, "failedJobsHistoryLimit", json!(1));
    fill(spec, "schedule", json!(""));
    let job = entry_mut(spec, "jobTemplate");
    entry_mut(job, "metadata");
    job_spec(entry_mut(job, "spec"));
    entry_mut(map, "status");
}
