//! Defaults: the group `certificates.k8s.io`.

use serde_json::{Value, json};

use super::fill;
use crate::metadata::{copy_key, entry_mut, object_mut};

pub(crate) fn request(object: &mut Value) {
    let map = object_mut(object);
    entry_mut(map, "spec");
    entry_mut(map, "status");
}

/// A request that was made stays as it is.
pub(crate) fn keep_spec(new: &mut Value, old: &Value) {
    copy_key(old, object_mut(new), "spec");
}

pub(crate) fn pod_request(object: &mut Value) {
    let map = object_mut(object);
    fill(
        entry_mut(map, "spec"),
        "maxExpirationSeconds",
        json!(86_400),
    );
    entry_mut(map, "status");
}
