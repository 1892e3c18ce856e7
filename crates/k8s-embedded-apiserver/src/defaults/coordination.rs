//! Defaults: the group `coordination.k8s.io`.

use serde_json::Value;

use crate::metadata::{entry_mut, object_mut};

pub(crate) fn lease(object: &mut Value) {
    entry_mut(object_mut(object), "spec");
}

/// Drops what belongs to a feature that is off in a real server unless asked for.
pub(crate) fn drop_disabled(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    spec.remove("strategy");
    spec.remove("preferredHolder");
}
