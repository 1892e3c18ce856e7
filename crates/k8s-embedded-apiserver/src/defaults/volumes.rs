//! Defaults: volumes.

use serde_json::{Map, Value, json};

use super::containers::{pull_policy, value_source};
use super::{each, fill, quantities, quantity};
use crate::metadata::entry_mut;

/// Who may read and write the files of a volume: 0644.
const FILE_MODE: i32 = 0o644;

/// Fields that get a value: the kind of volume, the field, and the value.
const TEXTS: &[(&str, &str, &str)] = &[
    ("hostPath", "type", ""),
    ("iscsi", "iscsiInterface", "default"),
    ("rbd", "pool", "rbd"),
    ("rbd", "user", "admin"),
    ("rbd", "keyring", "/etc/ceph/keyring"),
    ("azureDisk", "cachingMode", "ReadWrite"),
    ("azureDisk", "fsType", "ext4"),
    ("azureDisk", "kind", "Shared"),
    ("scaleIO", "storageMode", "ThinProvisioned"),
    ("scaleIO", "fsType", "xfs"),
];

pub(super) fn volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|key| key == "name") {
        volume.insert("emptyDir".into(), json!({}));
    }
    for (source, field, text) in TEXTS {
        if let Some(Value::Object(source)) = volume.get_mut(*source) {
            fill(source, field, json!(text));
        }
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(Value::Object(source)) = volume.get_mut(source) {
            fill(source, "defaultMode", json!(FILE_MODE));
        }
    }
    for (source, value) in volume.iter_mut() {
        let Value::Object(value) = value else {
            continue;
        };
        match source.as_str() {
            "emptyDir" => quantity(value, "sizeLimit"),
            "downwardAPI" => each(value, "items", value_source),
            "azureDisk" => fill(value, "readOnly", json!(false)),
            "projected" => each(value, "sources", projection),
            "image" => {
                let image = value
                    .get("reference")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let policy = pull_policy(image);
                fill(value, "pullPolicy", json!(policy));
            }
            "ephemeral" => {
                if let Some(Value::Object(template)) = value.get_mut("volumeClaimTemplate") {
                    entry_mut(template, "metadata");
                    claim_spec(entry_mut(template, "spec"));
                }
            }
            _ => {}
        }
    }
}

fn projection(source: &mut Map<String, Value>) {
    if let Some(Value::Object(token)) = source.get_mut("serviceAccountToken") {
        fill(token, "expirationSeconds", json!(3600));
    }
    if let Some(Value::Object(files)) = source.get_mut("downwardAPI") {
        each(files, "items", value_source);
    }
}

/// The spec of a PersistentVolumeClaim in a template.
pub(super) fn claim_spec(spec: &mut Map<String, Value>) {
    fill(spec, "volumeMode", json!("Filesystem"));
    let resources = entry_mut(spec, "resources");
    quantities(resources, "limits");
    quantities(resources, "requests");
}
