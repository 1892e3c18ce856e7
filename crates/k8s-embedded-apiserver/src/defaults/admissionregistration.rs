//! Defaults: the group `admissionregistration.k8s.io`.

use serde_json::{Map, Value, json};

use super::{each_in, fill, inner};
use crate::metadata::{entry_mut, object_mut};

/// How long a webhook may take, in seconds.
const TIMEOUT: u32 = 10;

pub(crate) fn validating(object: &mut Value) {
    for webhook in each_in(object_mut(object), "webhooks") {
        common(webhook);
    }
}

pub(crate) fn mutating(object: &mut Value) {
    for webhook in each_in(object_mut(object), "webhooks") {
        common(webhook);
        fill(webhook, "reinvocationPolicy", json!("Never"));
    }
}

fn common(webhook: &mut Map<String, Value>) {
    fill(webhook, "failurePolicy", json!("Fail"));
    matching(webhook);
    fill(webhook, "timeoutSeconds", json!(TIMEOUT));
    fill(webhook, "sideEffects", Value::Null);
    fill(webhook, "admissionReviewVersions", Value::Null);
    let config = entry_mut(webhook, "clientConfig");
    if let Some(service) = inner(config, "service") {
        fill(service, "port", json!(443));
    }
    rules(webhook, "rules");
}

fn rules(map: &mut Map<String, Value>, key: &str) {
    for rule in each_in(map, key) {
        fill(rule, "scope", json!("*"));
    }
}

fn matching(map: &mut Map<String, Value>) {
    fill(map, "matchPolicy", json!("Equivalent"));
    entry_mut(map, "namespaceSelector");
    entry_mut(map, "objectSelector");
}

/// What a policy or its binding matches.
fn resources(map: &mut Map<String, Value>, key: &str) {
    if let Some(resources) = inner(map, key) {
        matching(resources);
        rules(resources, "resourceRules");
        rules(resources, "excludeResourceRules");
    }
}

pub(crate) fn policy(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    fill(spec, "failurePolicy", json!("Fail"));
    resources(spec, "matchConstraints");
}

pub(crate) fn validating_policy(object: &mut Value) {
    policy(object);
    entry_mut(object_mut(object), "status");
}

pub(crate) fn binding(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    resources(spec, "matchResources");
}
