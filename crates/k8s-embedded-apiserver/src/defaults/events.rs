//! Defaults: the group `events.k8s.io`.

use serde_json::{Value, json};

use super::fill;
use crate::metadata::{entry_mut, object_mut};

/// Fields that an Event shows even when they hold nothing.
pub(crate) fn event(object: &mut Value) {
    let map = object_mut(object);
    for key in ["involvedObject", "source"] {
        entry_mut(map, key);
    }
    for key in ["eventTime", "firstTimestamp", "lastTimestamp"] {
        fill(map, key, Value::Null);
    }
    for key in ["reportingComponent", "reportingInstance"] {
        fill(map, key, json!(""));
    }
    if map.get("count") == Some(&json!(0)) {
        map.remove("count");
    }
}
