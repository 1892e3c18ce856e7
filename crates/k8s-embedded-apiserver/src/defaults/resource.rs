//! Defaults: the group `resource.k8s.io`.

use serde_json::{Map, Value, json};

use super::{each_in, fill_text, inner, text};
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn with_status(object: &mut Value) {
    let map = object_mut(object);
    entry_mut(map, "spec");
    entry_mut(map, "status");
}

pub(crate) fn claim(object: &mut Value) {
    with_status(object);
    devices(entry_mut(object_mut(object), "spec"));
}

pub(crate) fn claim_template(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    entry_mut(spec, "metadata");
    devices(entry_mut(spec, "spec"));
}

fn devices(spec: &mut Map<String, Value>) {
    for request in each_in(entry_mut(spec, "devices"), "requests") {
        if let Some(exact) = inner(request, "exactly") {
            count(exact);
        }
        for alternative in each_in(request, "firstAvailable") {
            count(alternative);
        }
    }
}

fn count(request: &mut Map<String, Value>) {
    fill_text(request, "allocationMode", "ExactCount");
    let counted = text(request, "allocationMode") == "ExactCount";
    if counted && request.get("count").is_none_or(|count| *count == json!(0)) {
        request.insert("count".into(), json!(1));
    }
}
