//! Defaults: persistent volumes and claims.

use serde_json::{Map, Value, json};

use super::volumes::claim_spec;
use super::{fill, fill_text, inner, quantities};
use crate::metadata::{entry_mut, object_mut};
use crate::source::Source;

/// When the phase of a volume changed.
const PHASE_TIME: &str = "lastPhaseTransitionTime";

pub(crate) fn persistent_volume(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    quantities(spec, "capacity");
    fill_text(spec, "persistentVolumeReclaimPolicy", "Retain");
    fill(spec, "volumeMode", json!("Filesystem"));
    if let Some(path) = inner(spec, "hostPath") {
        fill(path, "type", json!(""));
    }
    if let Some(disk) = inner(spec, "iscsi") {
        fill_text(disk, "iscsiInterface", "default");
    }
    if let Some(image) = inner(spec, "rbd") {
        fill_text(image, "pool", "rbd");
        fill_text(image, "user", "admin");
        fill_text(image, "keyring", "/etc/ceph/keyring");
    }
    if let Some(disk) = inner(spec, "azureDisk") {
        fill(disk, "cachingMode", json!("ReadWrite"));
        fill(disk, "kind", json!("Shared"));
        fill(disk, "fsType", json!("ext4"));
        fill(disk, "readOnly", json!(false));
    }
    if let Some(volume) = inner(spec, "scaleIO") {
        fill_text(volume, "storageMode", "ThinProvisioned");
        fill_text(volume, "fsType", "xfs");
    }
    fill_text(entry_mut(map, "status"), "phase", "Pending");
}

pub(crate) fn claim(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    claim_spec(spec);
    same_source(spec);
    let status = entry_mut(map, "status");
    quantities(status, "capacity");
    fill_text(status, "phase", "Pending");
}

/// The two sources of a claim name one, unless the newer one is in another namespace.
fn same_source(spec: &mut Map<String, Value>) {
    let local = |source: &Value| {
        source
            .get("namespace")
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
    };
    match (
        spec.get("dataSource").cloned(),
        spec.get("dataSourceRef").cloned(),
    ) {
        (Some(source), None) => {
            spec.insert("dataSourceRef".into(), source);
        }
        (None, Some(source)) if local(&source) => {
            spec.insert("dataSource".into(), source);
        }
        _ => {}
    }
}

/// What protects volumes and claims in use from being deleted.
fn protect(object: &mut Value, finalizer: &str) {
    let mut finalizers: Vec<String> = crate::metadata::finalizers(object)
        .into_iter()
        .map(Into::into)
        .collect();
    if !finalizers.iter().any(|found| found == finalizer) {
        finalizers.push(finalizer.into());
        crate::metadata::set_finalizers(object, finalizers);
    }
}

pub(crate) fn new_persistent_volume(object: &mut Value) {
    protect(object, "kubernetes.io/pv-protection");
    let now = crate::metadata::text(object, "/metadata/creationTimestamp").to_owned();
    entry_mut(object_mut(object), "status").insert(PHASE_TIME.into(), now.into());
}

/// The time of a phase is the server's where the writer does not tell another.
pub(crate) fn updated_persistent_volume(object: &mut Value, old: &Value, source: &Source) {
    let of = |object: &Value, field| {
        object
            .get("status")
            .and_then(|status| status.get(field))
            .cloned()
    };
    let (time, before) = (of(object, PHASE_TIME), of(old, PHASE_TIME));
    let is_same_phase = of(object, "phase") == of(old, "phase");
    let new = match (is_same_phase, time) {
        (true, None) => before,
        (false, time) if time.is_none() || time == before => Some(source.stamp().into()),
        (_, time) => time,
    };
    if let Some(new) = new {
        entry_mut(object_mut(object), "status").insert(PHASE_TIME.into(), new);
    }
}

pub(crate) fn new_claim(object: &mut Value) {
    protect(object, "kubernetes.io/pvc-protection");
}
