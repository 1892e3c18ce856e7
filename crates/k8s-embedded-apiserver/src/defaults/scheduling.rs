//! Defaults: the group `scheduling.k8s.io`.

use serde_json::{Value, json};

use super::fill;
use crate::metadata::{metadata_mut, object_mut};

pub(crate) fn priority_class(object: &mut Value) {
    let map = object_mut(object);
    fill(map, "value", json!(0));
    fill(map, "preemptionPolicy", json!("PreemptLowerPriority"));
    if map.get("globalDefault") == Some(&json!(false)) {
        map.remove("globalDefault");
    }
}

/// A class has a generation, which nothing raises.
pub(crate) fn new_priority_class(object: &mut Value) {
    metadata_mut(object).insert("generation".into(), json!(1));
}
