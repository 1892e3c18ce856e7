//! What the server fills in: the defaults of fields, and what a new object starts with.

pub(crate) mod admissionregistration;
pub(crate) mod apiextensions;
pub(crate) mod apps;
pub(crate) mod autoscaling;
pub(crate) mod batch;
pub(crate) mod coordination;
pub(crate) mod core;
pub(crate) mod discovery;
pub(crate) mod events;
pub(crate) mod networking;
pub(crate) mod pods;
pub(crate) mod policy;
pub(crate) mod rbac;
pub(crate) mod scheduling;
pub(crate) mod storage;

use serde_json::{Map, Value, json};

/// Sets `key` where it is missing.
fn fill(map: &mut Map<String, Value>, key: &str, value: Value) {
    map.entry(key).or_insert(value);
}

/// Numbers whose zero the real server does not show.
fn drop_zeros(map: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        if map.get(*key) == Some(&json!(0)) {
            map.remove(*key);
        }
    }
}
