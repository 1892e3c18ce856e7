//! Defaults: the group `apiregistration.k8s.io`.

use serde_json::{Value, json};

use super::{fill, inner};
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn api_service(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    if let Some(service) = inner(spec, "service") {
        fill(service, "port", json!(443));
    }
    entry_mut(map, "status");
}
