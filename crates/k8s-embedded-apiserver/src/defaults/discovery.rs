//! Defaults: the group `discovery.k8s.io`.

use serde_json::{Value, json};

use super::{each_in, fill};
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn endpoint_slice(object: &mut Value) {
    let map = object_mut(object);
    for key in ["endpoints", "ports"] {
        fill(map, key, Value::Null);
    }
    for endpoint in each_in(map, "endpoints") {
        entry_mut(endpoint, "conditions");
    }
    for port in each_in(map, "ports") {
        fill(port, "name", json!(""));
        fill(port, "protocol", json!("TCP"));
    }
}
