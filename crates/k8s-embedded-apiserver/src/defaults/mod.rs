//! What the server fills in: the defaults of fields, and what a new object starts with.

pub(crate) mod admissionregistration;
pub(crate) mod apiextensions;
pub(crate) mod apiregistration;
pub(crate) mod apps;
pub(crate) mod autoscaling;
pub(crate) mod batch;
pub(crate) mod certificates;
mod containers;
pub(crate) mod coordination;
pub(crate) mod core;
pub(crate) mod discovery;
pub(crate) mod events;
pub(crate) mod flowcontrol;
pub(crate) mod networking;
pub(crate) mod persistence;
mod pod_resources;
mod pod_template;
pub(crate) mod pods;
pub(crate) mod policy;
mod quality_of_service;
pub(crate) mod rbac;
pub(crate) mod resource;
pub(crate) mod scheduling;
pub(crate) mod services;
pub(crate) mod storage;
mod volumes;

use k8s_api_schema::Quantity;
use serde_json::{Map, Value, json};

/// Sets `key` where it is missing.
fn fill(map: &mut Map<String, Value>, key: &str, value: Value) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key.into(), value);
    }
}

/// A list that is always shown; an empty one is shown as null, since it is stored as none.
fn shown_list(map: &mut Map<String, Value>, key: &str) {
    let list = map.get(key).and_then(Value::as_array);
    if list.is_none_or(Vec::is_empty) {
        map.insert(key.into(), Value::Null);
    }
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

/// The objects in the list under `key`.
fn each_in<'a>(
    map: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    map.get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

/// The object under `key`, if there is one.
fn inner<'a>(map: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    map.get_mut(key).and_then(Value::as_object_mut)
}

/// The text under `key`, empty where there is none.
fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Sets `key` where there is no text, or an empty one.
fn fill_text(map: &mut Map<String, Value>, key: &str, value: &str) {
    if text(map, key).is_empty() {
        map.insert(key.into(), value.into());
    }
}
