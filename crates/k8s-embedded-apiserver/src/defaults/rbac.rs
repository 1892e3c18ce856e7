//! Defaults: the group `rbac.authorization.k8s.io`.

use serde_json::{Value, json};

use super::fill;
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn role(object: &mut Value) {
    fill(object_mut(object), "rules", Value::Null);
}

pub(crate) fn role_binding(object: &mut Value) {
    let map = object_mut(object);
    let group = || json!("rbac.authorization.k8s.io");
    fill(entry_mut(map, "roleRef"), "apiGroup", group());
    let subjects = map.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        let subject = object_mut(subject);
        let kind = subject.get("kind").and_then(Value::as_str);
        if matches!(kind, Some("User" | "Group")) {
            fill(subject, "apiGroup", group());
        }
    }
}
