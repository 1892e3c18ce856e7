//! `metadata` of any kind.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::names;
use crate::kinds::{Kind, NameRule};
use crate::ordered::text_of_type;
use k8s_api_schema::{FieldError, quote};

/// Most bytes that all annotations of an object may have together, keys included.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
/// Finalizers without a domain that core kinds may have.
const STANDARD_FINALIZERS: &[&str] = &["kubernetes", ORPHAN, FOREGROUND];

const IMMUTABLE: &str = "field is immutable";

/// Errors in the metadata of a new object that has its name and namespace already.
pub(crate) fn create(kind: &Kind, object: &Value) -> Vec<FieldError> {
    let Some(metadata) = object.get("metadata").and_then(Value::as_object) else {
        return vec![FieldError::required(
            "metadata.name",
            "name or generateName is required",
        )];
    };
    let mut errors = Vec::new();
    if kind.names == NameRule::Any {
        // The real server falls back on the rule for all kinds.
        name(NameRule::PathSegment, metadata, &mut errors);
    } else {
        name(kind.names, metadata, &mut errors);
    }
    namespace(kind.namespaced, metadata, &mut errors);
    content(needs_qualified_finalizers(kind), metadata, &mut errors);
    errors
}

/// Errors in the metadata of a replacement.
pub(crate) fn update(kind: &Kind, old: &Value, new: &Value) -> Vec<FieldError> {
    let empty = Map::new();
    let [old, new] = [old, new].map(|object| {
        let metadata = object.get("metadata").and_then(Value::as_object);
        metadata.unwrap_or(&empty)
    });
    let mut errors = Vec::new();
    no_new_finalizers(old, new, &mut errors);
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        if present(old, field) != present(new, field) {
            let value = new.get(field).cloned().unwrap_or_default();
            errors.push(FieldError::invalid(
                format!("metadata.{field}"),
                value,
                IMMUTABLE,
            ));
        }
    }
    content(needs_qualified_finalizers(kind), new, &mut errors);
    errors
}

/// The member, where an empty or null one is as good as none.
fn present<'a>(metadata: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    metadata
        .get(field)
        .filter(|value| !value.is_null() && *value != "")
}

fn text<'a>(map: &'a Map<String, Value>, field: &str) -> &'a str {
    map.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn name(rule: NameRule, metadata: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    let prefix = text(metadata, "generateName");
    if !prefix.is_empty() {
        let faults = names::object_name(rule, prefix, true);
        errors.extend(
            faults
                .into_iter()
                .map(|fault| FieldError::invalid("metadata.generateName", prefix, fault)),
        );
    }
    let name = text(metadata, "name");
    if name.is_empty() {
        errors.push(FieldError::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else {
        let faults = names::object_name(rule, name, false);
        errors.extend(
            faults
                .into_iter()
                .map(|fault| FieldError::invalid("metadata.name", name, fault)),
        );
    }
}

fn namespace(namespaced: bool, metadata: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    let namespace = text(metadata, "namespace");
    if !namespaced {
        if !namespace.is_empty() {
            errors.push(FieldError::forbidden(
                "metadata.namespace",
                "not allowed on this type",
            ));
        }
    } else if namespace.is_empty() {
        errors.push(FieldError::required("metadata.namespace", ""));
    } else {
        let faults = names::label_1123(namespace);
        errors.extend(
            faults
                .into_iter()
                .map(|fault| FieldError::invalid("metadata.namespace", namespace, fault)),
        );
    }
}

/// Errors in the metadata of an object within an object; `path` is where the metadata is.
pub(crate) fn embedded(metadata: &Value, path: &str) -> Vec<FieldError> {
    let empty = Map::new();
    let metadata = metadata.as_object().unwrap_or(&empty);
    let mut errors = Vec::new();
    if present(metadata, "name").is_some() || present(metadata, "generateName").is_some() {
        let mut named = metadata.clone();
        if present(metadata, "name").is_none() {
            named.insert("name".into(), "fakename".into());
        }
        name(NameRule::PathSegment, &named, &mut errors);
    }
    if present(metadata, "namespace").is_some() {
        namespace(true, metadata, &mut errors);
    }
    content(false, metadata, &mut errors);
    for error in &mut errors {
        if let Some(rest) = error.field.strip_prefix("metadata") {
            error.field = format!("{path}{rest}");
        }
    }
    errors
}

/// `qualified` if finalizers need a domain.
fn content(qualified: bool, metadata: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    if let Some(generation) = metadata
        .get("generation")
        .and_then(Value::as_i64)
        .filter(|generation| *generation < 0)
    {
        errors.push(FieldError::invalid(
            "metadata.generation",
            generation,
            "must be greater than or equal to 0",
        ));
    }
    labels("metadata.labels", metadata.get("labels"), errors);
    annotations(metadata, errors);
    owner_references(metadata, errors);
    finalizers(qualified, metadata, errors);
}

/// Labels of an object or of a pod template.
pub(super) fn labels(path: &str, labels: Option<&Value>, errors: &mut Vec<FieldError>) {
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        errors.extend(
            names::label_key(key)
                .into_iter()
                .map(|fault| FieldError::invalid(path, key.as_str(), fault)),
        );
        let value = value.as_str().unwrap_or_default();
        errors.extend(
            names::label_value(value)
                .into_iter()
                .map(|fault| FieldError::invalid(path, value, fault)),
        );
    }
}

fn annotations(metadata: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in metadata
        .get("annotations")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let faults = names::label_key(&key.to_lowercase());
        errors.extend(
            faults
                .into_iter()
                .map(|fault| FieldError::invalid("metadata.annotations", key.as_str(), fault)),
        );
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATION_BYTES {
        errors.push(FieldError::too_long(
            "metadata.annotations",
            MAX_ANNOTATION_BYTES,
        ));
    }
}

const OWNER_REFERENCE: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";

fn owner_references(metadata: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    let Some(owners) = metadata.get("ownerReferences").and_then(Value::as_array) else {
        return;
    };
    let printed: Vec<String> = owners
        .iter()
        .map(|owner| text_of_type(owner, OWNER_REFERENCE))
        .collect();
    let mut controller: Option<String> = None;
    for (index, owner) in owners.iter().enumerate() {
        let path = format!("metadata.ownerReferences[{index}]");
        let field = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        let api_version = field("apiVersion");
        if api_version.is_empty() {
            errors.push(FieldError::required(
                format!("{path}.apiVersion"),
                "must not be empty",
            ));
        } else if api_version.split('/').count() > 2 || api_version.ends_with('/') {
            errors.push(FieldError::invalid(
                format!("{path}.apiVersion"),
                api_version,
                "must be <group>/<version> or <version>",
            ));
        }
        for name in ["kind", "name", "uid"] {
            if field(name).is_empty() {
                errors.push(FieldError::required(
                    format!("{path}.{name}"),
                    "must not be empty",
                ));
            }
        }
        if (api_version, field("kind")) == ("v1", "Event") {
            errors.push(FieldError::invalid_printed(
                path,
                text_of_type(owner, OWNER_REFERENCE),
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let this = format!("{}/{}", field("kind"), field("name"));
            match &controller {
                Some(first) => errors.push(FieldError::invalid_printed(
                    "metadata.ownerReferences",
                    format!("[{}]", printed.join(",")),
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    ),
                )),
                None => controller = Some(this),
            }
        }
    }
}

fn texts(metadata: &Map<String, Value>, field: &str) -> Vec<String> {
    let items = metadata
        .get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn finalizers(qualified: bool, metadata: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    let path = "metadata.finalizers";
    let finalizers = texts(metadata, "finalizers");
    for finalizer in &finalizers {
        let faults = names::label_key(finalizer);
        errors.extend(
            faults
                .into_iter()
                .map(|fault| FieldError::invalid(path, finalizer.as_str(), fault)),
        );
    }
    let has = |wanted: &str| finalizers.iter().any(|finalizer| finalizer == wanted);
    if has(ORPHAN) && has(FOREGROUND) {
        errors.push(FieldError::invalid(
            path,
            finalizers.clone(),
            format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set"),
        ));
    }
    if !qualified {
        return;
    }
    for (index, finalizer) in finalizers.iter().enumerate() {
        if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer.as_str()) {
            errors.push(FieldError::invalid(
                format!("{path}[{index}]"),
                finalizer.as_str(),
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
}

/// Custom resources, definitions and leases take a finalizer without a domain.
fn needs_qualified_finalizers(kind: &Kind) -> bool {
    !kind.is_custom()
        && !matches!(
            kind.group.as_ref(),
            "apiextensions.k8s.io" | "coordination.k8s.io"
        )
}

fn no_new_finalizers(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    errors: &mut Vec<FieldError>,
) {
    if present(old, "deletionTimestamp").is_none() {
        return;
    }
    let before: BTreeSet<String> = texts(old, "finalizers").into_iter().collect();
    let after: BTreeSet<String> = texts(new, "finalizers").into_iter().collect();
    let added: Vec<String> = after
        .difference(&before)
        .map(|finalizer| quote(finalizer))
        .collect();
    if !added.is_empty() {
        errors.push(FieldError::forbidden(
            "metadata.finalizers",
            format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            ),
        ));
    }
}
