//! Validation: persistent volumes and claims.

use k8s_api_schema::{FieldError, Quantity};
use serde_json::{Value, json};

use super::fields::{faults, list, map, maybe_one_of, one_of, selector, some, text};
use super::names;

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

fn access_modes(spec: &Value, missing: &str, errors: &mut Vec<FieldError>) {
    let modes = list(spec, "accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required("spec.accessModes", missing));
    }
    for mode in modes {
        maybe_one_of("spec.accessModes", Some(mode), MODES, errors);
    }
    if modes.len() > 1 && modes.contains(&json!("ReadWriteOncePod")) {
        errors.push(FieldError::forbidden(
            "spec.accessModes",
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

fn class(spec: &Value, errors: &mut Vec<FieldError>) {
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        let wrong = names::subdomain(class, "characters");
        faults("spec.storageClassName", class, wrong, errors);
    }
    maybe_one_of(
        "spec.volumeMode",
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
    access_modes(spec, "", &mut errors);
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
    class(spec, &mut errors);
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

fn volume_source(
    path: &str,
    source: &str,
    found: &Value,
    spec: &Value,
    errors: &mut Vec<FieldError>,
) {
    let mut required = |keys: &[&str]| {
        for key in keys {
            if text(found, key).is_empty() {
                errors.push(FieldError::required(format!("{path}.{key}"), ""));
            }
        }
    };
    match source {
        "hostPath" => required(&["path"]),
        "nfs" => {
            required(&["server", "path"]);
            let value = text(found, "path");
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
    if let Some(found) = some(spec, "selector") {
        selector("spec.selector", found, &mut errors);
    }
    access_modes(spec, "at least 1 access mode is required", &mut errors);
    match spec.pointer("/resources/requests/storage") {
        None => errors.push(FieldError::required("spec.resources[storage]", "")),
        Some(storage) => positive("spec.resources[storage]", storage, &mut errors),
    }
    class(spec, &mut errors);
    if let Some(old) = old {
        kept(object, old, &mut errors);
    }
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
