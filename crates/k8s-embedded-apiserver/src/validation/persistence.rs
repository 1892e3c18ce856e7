//! Validation: persistent volumes and claims.

use k8s_api_schema::{FieldError, Quantity};
use serde_json::{Value, json};

use super::fields::{faults, list, map, maybe_one_of, one_of, selector, some, text};
use super::path::{Errors, Path};
use super::{names, placement, volumes};

const MODES: &[&str] = &[
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
/// The kinds of volumes that a persistent volume can be.
const SOURCES: &[&str] = &[
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

fn access_modes(path: &str, spec: &Value, missing: &str, errors: &mut Vec<FieldError>) {
    let path = format!("{path}.accessModes");
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(path.as_str(), missing));
    }
    for mode in modes {
        maybe_one_of(&path, Some(mode), MODES, errors);
    }
    if modes.len() > 1 && modes.contains(&json!("ReadWriteOncePod")) {
        errors.push(FieldError::forbidden(
            path,
            "may not use ReadWriteOncePod with other access modes",
        ));
    }
}

fn amount(value: Option<&Value>) -> Option<Quantity> {
    value.and_then(Value::as_str)?.parse().ok()
}

fn positive(path: &str, value: &Value, errors: &mut Vec<FieldError>) {
    let zero = amount(Some(&json!("0")));
    if amount(Some(value)).partial_cmp(&zero) != Some(std::cmp::Ordering::Greater) {
        errors.push(FieldError::invalid(
            path,
            value.clone(),
            "must be greater than zero",
        ));
    }
}

/// The names of classes, and the mode.
fn class(path: &str, spec: &Value, errors: &mut Vec<FieldError>) {
    for field in ["storageClassName", "volumeAttributesClassName"] {
        let class = text(spec, field);
        if !class.is_empty() {
            let wrong = names::subdomain(class, "characters");
            faults(&format!("{path}.{field}"), class, wrong, errors);
        }
    }
    maybe_one_of(
        &format!("{path}.volumeMode"),
        spec.get("volumeMode"),
        &["Block", "Filesystem"],
        errors,
    );
}

/// A `PersistentVolume`; `old` is the one that it replaces.
pub(crate) fn persistent_volume(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    access_modes("spec", spec, "", &mut errors);
    let capacity = map(spec.get("capacity"));
    if capacity.is_empty() {
        errors.push(FieldError::required("spec.capacity", ""));
    }
    if capacity.len() != 1 || !capacity.contains_key("storage") {
        let value = spec.get("capacity").cloned().unwrap_or_default();
        errors.push(FieldError::not_supported(
            "spec.capacity",
            value,
            &["storage"],
        ));
    }
    if let Some(storage) = capacity.get("storage") {
        positive("spec.capacity[storage]", storage, &mut errors);
    }
    one_of(
        "spec.persistentVolumeReclaimPolicy",
        text(spec, "persistentVolumeReclaimPolicy"),
        &["Delete", "Recycle", "Retain"],
        &mut errors,
    );
    node_affinity(spec, &mut errors);
    let sources: Vec<&str> = SOURCES
        .iter()
        .copied()
        .filter(|source| some(spec, source).is_some())
        .collect();
    for (index, source) in sources.iter().enumerate() {
        let path = format!("spec.{source}");
        if index > 0 {
            errors.push(FieldError::forbidden(
                path,
                "may not specify more than 1 volume type",
            ));
        } else {
            volume_source(&path, source, &spec[*source], spec, &mut errors);
        }
    }
    if sources.is_empty() {
        errors.push(FieldError::required("spec", "must specify a volume type"));
    }
    if text(spec, "persistentVolumeReclaimPolicy") == "Recycle"
        && spec.pointer("/hostPath/path") == Some(&json!("/"))
    {
        errors.push(FieldError::forbidden(
            "spec.persistentVolumeReclaimPolicy",
            "may not be 'recycle' for a hostPath mount of '/'",
        ));
    }
    class("spec", spec, &mut errors);
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        if sources
            .iter()
            .any(|source| old.get(*source) != spec.get(*source))
            || SOURCES
                .iter()
                .any(|source| some(old, source).is_some() && some(spec, source).is_none())
        {
            errors.push(FieldError::forbidden(
                "spec.persistentvolumesource",
                "spec.persistentvolumesource is immutable after creation",
            ));
        }
        if old.get("volumeMode") != spec.get("volumeMode") {
            let value = spec.get("volumeMode").cloned().unwrap_or_default();
            errors.push(FieldError::invalid(
                "volumeMode",
                value,
                "field is immutable",
            ));
        }
    }
    errors
}

fn node_affinity(spec: &Value, errors: &mut Vec<FieldError>) {
    let Some(affinity) = some(spec, "nodeAffinity") else {
        return;
    };
    let mut found = Errors::default();
    let root = Path::new("spec");
    let path = root.child("nodeAffinity");
    let required = path.child("required");
    match some(affinity, "required") {
        Some(selector) => placement::node_selector(required, selector, &mut found),
        None => found.required(required, "must specify required node constraints"),
    }
    errors.extend(found.0);
}

fn volume_source(
    path: &str,
    kind: &str,
    source: &Value,
    spec: &Value,
    errors: &mut Vec<FieldError>,
) {
    let mut required = |keys: &[&str]| {
        for key in keys {
            if text(source, key).is_empty() {
                errors.push(FieldError::required(format!("{path}.{key}"), ""));
            }
        }
    };
    match kind {
        "hostPath" => {
            required(&["path"]);
            let mut found = Errors::default();
            let root = Path::new("spec");
            volumes::host_path(root.child("hostPath"), source, &mut found);
            errors.extend(found.0);
        }
        "nfs" => {
            required(&["server", "path"]);
            let value = text(source, "path");
            if !value.is_empty() && !value.starts_with('/') {
                errors.push(FieldError::invalid(
                    format!("{path}.path"),
                    value,
                    "must be an absolute path",
                ));
            }
        }
        "csi" => required(&["driver", "volumeHandle"]),
        "local" => {
            required(&["path"]);
            if some(spec, "nodeAffinity").is_none() {
                errors.push(FieldError::required(
                    "spec.nodeAffinity",
                    "Local volume requires node affinity",
                ));
            }
        }
        _ => {}
    }
}

/// The warnings about a `PersistentVolume`.
pub(crate) fn persistent_volume_warnings(object: &Value, _: Option<&Value>) -> Vec<String> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    match text(spec, "persistentVolumeReclaimPolicy") {
        "Recycle" => vec!["spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.".into()],
        _ => Vec::new(),
    }
}

/// A `PersistentVolumeClaim`; `old` is the one that it replaces.
pub(crate) fn claim(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    errors.extend(claim_spec("spec", spec));
    if let Some(old) = old {
        kept(object, old, &mut errors);
    }
    errors
}

/// The spec of a claim, or of the template of one.
pub(super) fn claim_spec(path: &str, spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(found) = some(spec, "selector") {
        selector(&format!("{path}.selector"), found, &mut errors);
    }
    let missing = "at least 1 access mode is required";
    access_modes(path, spec, missing, &mut errors);
    let storage = format!("{path}.resources[storage]");
    match spec.pointer("/resources/requests/storage") {
        None => errors.push(FieldError::required(storage, "")),
        Some(amount) => positive(&storage, amount, &mut errors),
    }
    class(path, spec, &mut errors);
    errors
}

fn kept(new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let bound = crate::metadata::text(old, "/status/phase") == "Bound";
    let comparable = |claim: &Value| {
        let mut spec = map(claim.get("spec"));
        if bound {
            spec.remove("volumeAttributesClassName");
            if let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) {
                resources.remove("requests");
            }
        }
        spec
    };
    let (mut before, after) = (comparable(old), comparable(new));
    // What was left open may be settled once: the volume, and the class that a default filled.
    for key in ["volumeName", "storageClassName"] {
        if before.get(key).is_none()
            && old.get("spec").is_some()
            && let Some(value) = after.get(key)
        {
            before.insert(key.into(), value.clone());
        }
    }
    if before != after {
        errors.push(FieldError::forbidden(
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ));
    }
    let storage = |claim: &Value| amount(claim.pointer("/spec/resources/requests/storage"));
    let reached = amount(old.pointer("/status/capacity/storage"));
    if bound && storage(new) < storage(old) && storage(new) <= reached {
        errors.push(FieldError::forbidden(
            "spec.resources.requests.storage",
            "field can not be less than status.capacity",
        ));
    }
}
