//! Defaults: the group `coordination.k8s.io`.

use serde_json::Value;

use crate::metadata::{entry_mut, object_mut};

pub(crate) fn lease(object: &mut Value) {
    let spec = entry_mut(object_mut(object), "spec");
    // Belong to a feature that is off in a real server unless asked for.
    spec.remove("strategy");
    spec.remove("preferredHolder");
}
