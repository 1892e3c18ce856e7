//! Defaults: the group `apps`.

use serde_json::{Value, json};

use super::pods::template;
use super::{drop_zeros, fill};
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn deployment(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    // Read as an empty selector where there is none.
    if spec.get("selector") == Some(&json!({})) {
        spec.remove("selector");
    }
    fill(spec, "replicas", json!(1));
    fill(spec, "progressDeadlineSeconds", json!(600));
    fill(spec, "revisionHistoryLimit", json!(10));
    let strategy = entry_mut(spec, "strategy");
    fill(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        let rolling = entry_mut(strategy, "rollingUpdate");
        fill(rolling, "maxSurge", json!("25%"));
        fill(rolling, "maxUnavailable", json!("25%"));
    }
    template(spec);
    drop_zeros(spec, &["minReadySeconds"]);
    let status = entry_mut(map, "status");
    drop_zeros(
        status,
        &[
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "observedGeneration",
        ],
    );
}

pub(crate) fn replica_set(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "replicas", json!(1));
    template(spec);
    drop_zeros(spec, &["minReadySeconds"]);
    fill(entry_mut(map, "status"), "replicas", json!(0));
}
