//! What the server refuses in an object: metadata rules for every kind, and rules of single kinds.
//!
//! Pure functions over JSON. An Event is validated in its core/v1 form (`involvedObject`, `message`,
//! `reportingComponent`), whichever group it was sent to, as the real server does.
//! Objects are not checked against a schema here, neither that of a built-in kind nor that of a definition.

pub(crate) mod admissionregistration;
pub(crate) mod apps;
pub(crate) mod autoscaling;
pub(crate) mod batch;
mod containers;
pub(crate) mod coordination;
pub(crate) mod core;
mod crd;
mod crd_versions;
mod cron;
pub(crate) mod discovery;
mod environment;
pub(crate) mod events;
mod fields;
mod job_policies;
mod job_status;
mod metadata;
mod names;
pub(crate) mod networking;
pub(crate) mod nodes;
mod path;
pub(crate) mod persistence;
mod placement;
mod pod_printed;
mod pod_spec;
mod pod_status;
pub(crate) mod pods;
pub(crate) mod policy;
mod probes;
pub(crate) mod quota;
pub(crate) mod rbac;
mod resources;
pub(crate) mod scheduling;
mod security;
mod selectors;
pub(crate) mod services;
pub(crate) mod storage;
mod volumes;

use serde_json::{Map, Value};

use crate::custom;
use crate::kinds::Kind;
use k8s_api_schema::FieldError;
use k8s_custom_schema::{Findings, Part};

/// What the group `apiextensions.k8s.io` validates.
pub(crate) mod apiextensions {
    pub(crate) use super::crd::{custom_resource_definition, definition_warnings};
}
pub(crate) use metadata::embedded as embedded_metadata;
pub(crate) use names::{label_key, label_value};
pub(crate) use path::{list, text};

/// What a name has that no part of a path can have.
pub(crate) fn path_segment(name: &str) -> Vec<String> {
    names::path_segment(name, false)
}

/// Every error of a new object in its stored form, which has its name (generated or not) and namespace already.
pub(crate) fn create(kind: &Kind, object: &Value) -> Findings {
    let mut errors = metadata::create(kind, object);
    if kind.is_custom() {
        return custom::check(kind, object, errors);
    }
    let own = (kind.validate)(object, None);
    // The metadata of these is only looked at where the rest is right.
    if !own.is_empty() && kind.storage == "events" && kind.group.is_empty() {
        errors.clear();
    }
    errors.extend(own);
    found(kind, errors)
}

/// Every error of a replacement: what may not change, then what a new object must obey.
pub(crate) fn update(kind: &Kind, old: &Value, new: &Value, part: Part) -> Findings {
    let mut errors = metadata::update(kind, old, new);
    if kind.is_custom() {
        // The real server looks twice for what may not change, and then at the metadata as if it were new. Only then it
        // looks at the names of finalizers.
        errors.retain(|error| {
            error.field != "metadata.finalizers" || error.reason() == "FieldValueForbidden"
        });
        errors.extend(errors.clone());
        errors.extend(metadata::create(kind, new));
        return custom::check_update(kind, new, old, part, errors);
    }
    errors.extend((kind.validate)(new, Some(old)));
    found(kind, errors)
}

fn found(kind: &Kind, errors: Vec<FieldError>) -> Findings {
    // The real server repeats itself about definitions.
    let repeats = kind.storage == crate::definitions::STORAGE;
    Findings {
        errors: if repeats {
            errors
        } else {
            without_repeats(errors)
        },
        warnings: Vec::new(),
    }
}

fn without_repeats(errors: Vec<FieldError>) -> Vec<FieldError> {
    let mut kept: Vec<FieldError> = Vec::with_capacity(errors.len());
    for error in errors {
        if !kept.contains(&error) {
            kept.push(error);
        }
    }
    kept
}

/// What is wrong with a name that should be a DNS label.
pub(crate) fn key_faults(requirement: &Value) -> (&str, Vec<String>) {
    let key = path::text(requirement, "key");
    (key, names::label_key(key))
}

/// What is wrong with a DNS label.
pub(crate) fn dns_label_faults(name: &str) -> Vec<String> {
    names::label_1123(name)
}

/// Whether a `LabelSelector` selects the labels.
pub(crate) fn selects(selector: &Value, labels: &Map<String, Value>) -> bool {
    selectors::selects(selector, labels)
}
