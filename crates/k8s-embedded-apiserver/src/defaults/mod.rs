//! What the server fills in: the defaults of fields, and what a new object starts with.

pub(crate) mod admissionregistration;
pub(crate) mod apiextensions;
pub(crate) mod apps;
pub(crate) mod autoscaling;
pub(crate) mod batch;
mod containers;
pub(crate) mod coordination;
pub(crate) mod core;
pub(crate) mod discovery;
pub(crate) mod events;
pub(crate) mod networking;
mod pod_resources;
mod pod_template;
pub(crate) mod pods;
pub(crate) mod policy;
mod quality_of_service;
pub(crate) mod rbac;
pub(crate) mod scheduling;
pub(crate) mod storage;
mod volumes;

use k8s_api_schema::Quantity;
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

/// Sets `key` where it is missing or empty.
fn fill_empty(map: &mut Map<String, Value>, key: &str, value: &Value) {
    let empty = match map.get(key) {
        None | Some(Value::Null) => true,
        Some(Value::Object(found)) => found.is_empty(),
        Some(_) => false,
    };
    if empty {
        map.insert(key.into(), value.clone());
    }
}

/// Does something with each object of a list, where there is one.
fn each(map: &mut Map<String, Value>, key: &str, mut change: impl FnMut(&mut Map<String, Value>)) {
    if let Some(Value::Array(list)) = map.get_mut(key) {
        for item in list {
            if let Value::Object(item) = item {
                change(item);
            }
        }
    }
}

/// Writes the amounts of a list of resources as the server does, in no finer steps than thousandths.
fn quantities(map: &mut Map<String, Value>, key: &str) {
    if let Some(Value::Object(list)) = map.get_mut(key) {
        for amount in list.values_mut() {
            if let Some(parsed) = parse(amount) {
                *amount = parsed.in_thousandths().to_string().into();
            }
        }
    }
}

/// Writes one amount as the server does.
fn quantity(map: &mut Map<String, Value>, key: &str) {
    if let Some(amount) = map.get_mut(key)
        && let Some(parsed) = parse(amount)
    {
        *amount = parsed.to_string().into();
    }
}

/// An amount is a text or a number.
fn parse(amount: &Value) -> Option<Quantity> {
    match amount {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}
