//! What the server refuses in an object: metadata rules for every kind, and rules of single kinds.
//!
//! Pure functions over JSON. An Event is validated in its core/v1 form (`involvedObject`, `message`,
//! `reportingComponent`), whichever group it was sent to, as the real server does.
//! Objects are not checked against a schema here, neither that of a built-in kind nor that of a definition.

mod crd;
mod crd_schema;
mod crd_versions;
mod data;
mod event;
mod lease;
mod metadata;
mod names;
mod workload;

use serde_json::Value;

use k8s_api_schema::FieldError;
use crate::kinds::Kind;

pub(crate) use crd::custom_resource_definition;
pub(crate) use data::{config_map, secret};
pub(crate) use event::{core_event, event};
pub(crate) use lease::lease;
pub(crate) use names::{label_key, label_value};
pub(crate) use workload::{deployment, pod};

/// Every error of a new object in its stored form, which has its name (generated or not) and namespace already.
pub(crate) fn create(kind: &Kind, object: &Value) -> Vec<FieldError> {
    let mut errors = metadata::create(kind, object);
    errors.extend((kind.validate)(object, None));
    without_repeats(errors)
}

/// Every error of a replacement: what may not change, then what a new object must obey.
pub(crate) fn update(kind: &Kind, old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = metadata::update(kind, old, new);
    if kind.is_custom() {
        // The real server reports these twice.
        errors.extend(errors.clone());
        return errors;
    }
    errors.extend((kind.validate)(new, Some(old)));
    without_repeats(errors)
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
