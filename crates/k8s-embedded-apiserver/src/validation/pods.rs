//! Pods, PodTemplates and ReplicationControllers.

use k8s_api_schema::FieldError;
use serde_json::{Map, Value, json};

use super::containers::image_without_spaces;
use super::path::{Errors, Path, entries, has, int, list, text};
use super::pod_spec::{self, Checked};
use super::{placement, pod_status, selectors};
use crate::metadata::name;

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// What may change in a Pod, as the error says it.
const MAY_CHANGE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// A Pod; `old` is the one that it replaces.
pub(crate) fn pod(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let spec = &object["spec"];
    match old {
        Some(old) if old.get("status") != object.get("status") => {
            pod_status::pod(object, old, &mut errors);
        }
        Some(old) => {
            whole(object, &mut errors);
            annotations_kept(object, old, &mut errors);
            update(spec, &old["spec"], &mut errors);
        }
        None => {
            whole(object, &mut errors);
            let path = Path::new("spec");
            if !list(spec, "ephemeralContainers").is_empty() {
                errors.forbidden(path.child("ephemeralContainers"), "cannot be set on create");
            }
            if !text(spec, "nodeName").is_empty() && !list(spec, "schedulingGates").is_empty() {
                errors.forbidden(
                    path.child("nodeName"),
                    "cannot be set until all schedulingGates have been cleared",
                );
            }
        }
    }
    errors.0
}

fn whole(object: &Value, errors: &mut Errors) {
    let (spec, path) = (&object["spec"], Path::new("spec"));
    annotations(
        Path::new("metadata.annotations"),
        &object["metadata"],
        spec,
        errors,
    );
    pod_spec::pod_spec(path, spec, Checked::Pod(name(object)), errors);
    if text(spec, "serviceAccountName").is_empty() {
        tokens_of_nobody(path.child("volumes"), spec, errors);
    }
    errors.not_negative(
        path.child("terminationGracePeriodSeconds"),
        int(spec, "terminationGracePeriodSeconds"),
    );
    for field in ["containers", "initContainers"] {
        let path = path.child(field);
        for (index, container) in list(spec, field).iter().enumerate() {
            image_without_spaces(path.index(index), container, errors);
        }
    }
}

/// Annotations that mean something.
fn annotations(path: Path<'_>, metadata: &Value, spec: &Value, errors: &mut Errors) {
    for (key, value) in entries(metadata, "annotations") {
        let value = value.as_str().unwrap_or_default();
        if key == MIRROR && text(spec, "nodeName").is_empty() {
            errors.invalid(
                path.key(key),
                value,
                "must set spec.nodeName if mirror pod annotation is set",
            );
        }
        let number = value.parse::<i32>().is_ok() && !value.starts_with('+');
        if key == DELETION_COST && !number {
            errors.invalid(path.key(key), value, "must be a 32bit integer");
        }
    }
}

/// A token is that of an account.
fn tokens_of_nobody(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let volume_path = path.index(index);
        let projected = volume_path.child("projected");
        let sources = projected.child("sources");
        for (index, source) in list(&volume["projected"], "sources").iter().enumerate() {
            if has(source, "serviceAccountToken") {
                errors.forbidden(
                    sources.index(index).child("serviceAccountToken"),
                    "must not be specified when serviceAccountName is not set",
                );
            }
        }
    }
}

fn annotations_kept(object: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("metadata.annotations");
    let of = |object: &Value| {
        object
            .pointer("/metadata/annotations")
            .cloned()
            .unwrap_or_default()
    };
    let (new, old) = (of(object), of(old));
    match (old.get(MIRROR), new.get(MIRROR)) {
        (Some(before), after) if after != Some(before) => errors.forbidden(
            path.key(MIRROR),
            "may not remove or update mirror pod annotation",
        ),
        (None, Some(_)) => errors.forbidden(path.key(MIRROR), "may not add mirror pod annotation"),
        _ => {}
    }
}

/// Of the spec of a Pod only a few fields may change.
fn update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    for field in ["containers", "initContainers"] {
        if list(new, field).len() != list(old, field).len() {
            errors.forbidden(
                path.child(field),
                "pod updates may not add or remove containers",
            );
            return;
        }
    }
    let field = "activeDeadlineSeconds";
    match (int(new, field), int(old, field)) {
        (Some(seconds), _) if !(0..=i64::from(i32::MAX)).contains(&seconds) => {
            errors.in_range(path.child(field), Some(seconds), 0, i64::from(i32::MAX));
            return;
        }
        (Some(seconds), Some(before)) if before < seconds => {
            errors.invalid(
                path.child(field),
                seconds,
                "must be less than or equal to previous value",
            );
            return;
        }
        (None, Some(_)) => errors.invalid(
            path.child(field),
            Value::Null,
            "must not update from a positive integer to nil value",
        ),
        _ => {}
    }
    tolerations_added(path.child("tolerations"), new, old, errors);
    gates_removed(path.child("schedulingGates"), new, old, errors);
    let mut masked = mask(new, old);
    if !list(old, "schedulingGates").is_empty() {
        gated(path, &mut masked, old, errors);
    }
    if Value::Object(masked.clone()) != *old {
        errors.forbidden(path, format!("{MAY_CHANGE}\n"));
    }
}

/// The new spec, with the old values of what may change.
fn mask(new: &Value, old: &Value) -> Map<String, Value> {
    let mut spec = new.as_object().cloned().unwrap_or_default();
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        crate::metadata::copy_key(old, &mut spec, field);
    }
    for field in ["containers", "initContainers"] {
        let Some(Value::Array(containers)) = spec.get_mut(field) else {
            continue;
        };
        for (container, old) in containers.iter_mut().zip(list(old, field)) {
            if let Value::Object(container) = container {
                crate::metadata::copy_key(old, container, "image");
            }
        }
    }
    let grace = "terminationGracePeriodSeconds";
    if int(old, grace).is_some_and(|seconds| seconds < 0) && spec.get(grace) == Some(&json!(1)) {
        crate::metadata::copy_key(old, &mut spec, grace);
    }
    spec
}

/// A Pod that waits at a gate may be narrowed to fewer nodes.
fn gated(path: Path<'_>, spec: &mut Map<String, Value>, old: &Value, errors: &mut Errors) {
    let selector = path.child("nodeSelector");
    let new = spec.get("nodeSelector").cloned().unwrap_or_default();
    if new != old["nodeSelector"] {
        let kept = entries(old, "nodeSelector").all(|(key, value)| new.get(key) == Some(value));
        if !kept {
            errors.invalid(
                selector,
                new.clone(),
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
            );
        }
        crate::metadata::copy_key(old, spec, "nodeSelector");
    }
}

fn tolerations_added(path: Path<'_>, new: &Value, old: &Value, errors: &mut Errors) {
    let without_time = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Value::Object(map) = &mut toleration {
            map.remove("tolerationSeconds");
        }
        toleration
    };
    let kept = list(old, "tolerations").iter().all(|old| {
        list(new, "tolerations")
            .iter()
            .any(|new| without_time(new) == without_time(old))
    });
    if kept {
        placement::tolerations(path, new, errors);
    } else {
        errors.forbidden(
            path,
            "existing toleration can not be modified except its tolerationSeconds",
        );
    }
}

fn gates_removed(path: Path<'_>, new: &Value, old: &Value, errors: &mut Errors) {
    for (index, gate) in list(new, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        if !list(old, "schedulingGates")
            .iter()
            .any(|old| text(old, "name") == name)
        {
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(path.index(index).child("name"), why);
        }
    }
}

/// A PodTemplate.
pub(crate) fn pod_template(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    pod_spec::template(Path::new("template"), &object["template"], &mut errors);
    errors.0
}

/// A ReplicationController.
pub(crate) fn replication_controller(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if old.is_some_and(|old| old.get("status") != object.get("status")) {
        pod_status::replicas(
            &object["status"],
            pod_status::REPLICATION_CONTROLLER,
            &mut errors,
        );
        return errors.0;
    }
    let (spec, path) = (&object["spec"], Path::new("spec"));
    errors.not_negative(path.child("minReadySeconds"), int(spec, "minReadySeconds"));
    let selector = json!({"matchLabels": spec["selector"]});
    let empty = selectors::is_empty(&selector);
    if empty {
        errors.required(path.child("selector"), "");
    }
    errors.not_negative(path.child("replicas"), int(spec, "replicas"));
    let at = path.child("template");
    if has(spec, "template") {
        let template = &spec["template"];
        if !empty {
            selectors::matches(at, &selector, template, &mut errors);
        }
        pod_spec::template(at, template, &mut errors);
        pod_spec::always_running(at, template, "ReplicationController", &mut errors);
    } else {
        errors.required(at, "");
    }
    errors.0
}
