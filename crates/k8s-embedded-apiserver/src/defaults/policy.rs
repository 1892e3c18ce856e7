//! Defaults: the group `policy`.

use serde_json::{Value, json};

use super::fill;
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn pod_disruption_budget(object: &mut Value) {
    let map = object_mut(object);
    entry_mut(map, "spec");
    let status = entry_mut(map, "status");
    for count in [
        "currentHealthy",
        "desiredHealthy",
        "disruptionsAllowed",
        "expectedPods",
    ] {
        fill(status, count, json!(0));
    }
}
