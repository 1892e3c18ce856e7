//! Lists of type `set` and `map` hold no item twice.

use std::collections::HashMap;

use k8s_api_schema::FieldError;
use serde_json::{Map, Value};

use crate::path::Path;
use crate::structural::Structural;

/// Every item that is there twice.
pub(crate) fn check(schema: &Structural, value: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    match value {
        Value::Array(list) => {
            match schema.list_type.as_deref() {
                Some("set") => {
                    for index in repeated(list) {
                        let path = path.index(index).text();
                        errors.push(FieldError::duplicate(path, list[index].clone()));
                    }
                }
                Some("map") => keyed(schema, list, path, errors),
                _ => {}
            }
            if let Some(items) = &schema.items {
                for (index, item) in list.iter().enumerate() {
                    check(items, item, &path.index(index), errors);
                }
            }
        }
        Value::Object(map) => {
            for (name, value) in map {
                if let Some(values) = schema.additional_schema() {
                    check(values, value, &path.key(name), errors);
                }
                if let Some(property) = schema.properties.get(name) {
                    check(property, value, &path.child(name), errors);
                }
            }
        }
        _ => {}
    }
}

/// The second place of each item that has one.
fn repeated(list: &[Value]) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut second = Vec::new();
    for (index, item) in list.iter().enumerate() {
        let times = seen.entry(item.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            second.push(index);
        }
    }
    second
}

fn keyed(schema: &Structural, list: &[Value], path: &Path, errors: &mut Vec<FieldError>) {
    let is_wrong = |item: &Value| !item.is_object() && !item.is_null();
    if let Some(index) = list.iter().position(is_wrong) {
        errors.push(FieldError::invalid(
            path.index(index).text(),
            list[index].clone(),
            "must be an object for an array of list-type map",
        ));
        return;
    }
    let keys: Vec<Value> = list
        .iter()
        .map(|item| {
            let keys = schema.list_keys.iter();
            let found = keys.filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
            Value::Object(found.collect::<Map<_, _>>())
        })
        .collect();
    for index in repeated(&keys) {
        let path = path.index(index).text();
        errors.push(FieldError::duplicate(path, keys[index].clone()));
    }
}
