//! Defaults: the group `storage.k8s.io`.

use serde_json::{Value, json};

use super::{fill, shown_list};
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn storage_class(object: &mut Value) {
    let map = object_mut(object);
    fill(map, "reclaimPolicy", json!("Delete"));
    fill(map, "volumeBindingMode", json!("Immediate"));
}

pub(crate) fn csi_driver(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    fill(spec, "attachRequired", json!(true));
    for key in [
        "podInfoOnMount",
        "storageCapacity",
        "requiresRepublish",
        "seLinuxMount",
        "preventPodSchedulingIfMissing",
    ] {
        fill(spec, key, json!(false));
    }
    fill(spec, "fsGroupPolicy", json!("ReadWriteOnceWithFSType"));
    let modes = spec.get("volumeLifecycleModes").and_then(Value::as_array);
    if modes.is_none_or(Vec::is_empty) {
        spec.insert("volumeLifecycleModes".into(), json!(["Persistent"]));
    }
}

pub(crate) fn csi_node(object: &mut Value) {
    let map = object_mut(object);
    shown_list(entry_mut(map, "spec"), "drivers");
    entry_mut(map, "status");
}

pub(crate) fn volume_attachment(object: &mut Value) {
    let map = object_mut(object);
    entry_mut(entry_mut(map, "spec"), "source");
    fill(entry_mut(map, "status"), "attached", json!(false));
}
