//! Defaults: the group `rbac.authorization.k8s.io`.

use serde_json::Value;

use super::{each_in, fill, fill_text, text};
use crate::metadata::{entry_mut, object_mut};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) fn role(object: &mut Value) {
    fill(object_mut(object), "rules", Value::Null);
}

pub(crate) fn role_binding(object: &mut Value) {
    let map = object_mut(object);
    fill_text(entry_mut(map, "roleRef"), "apiGroup", GROUP);
    for subject in each_in(map, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            fill_text(subject, "apiGroup", GROUP);
        }
    }
}
