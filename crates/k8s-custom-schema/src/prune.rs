//! Drops the fields that a schema does not name.

use serde_json::Value;

use crate::path::Steps;
use crate::structural::{Additional, Structural};

/// What every object has, whatever its schema says.
const TYPE_AND_METADATA: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops what the schema does not name, and gives back the paths of it in order.
///
/// `is_resource` is set for the root of an object: its type and metadata stay.
pub(crate) fn prune(object: &mut Value, schema: &Structural, is_resource: bool) -> Vec<String> {
    let mut pruning = Pruning {
        unknown: Vec::new(),
        steps: Steps::default(),
    };
    pruning.node(object, Some(schema), is_resource || schema.embedded);
    pruning.unknown.sort();
    pruning.unknown
}

struct Pruning {
    unknown: Vec<String>,
    steps: Steps,
}

impl Pruning {
    fn node(&mut self, value: &mut Value, schema: Option<&Structural>, is_resource: bool) {
        let Some(schema) = schema else {
            return self.without_schema(value);
        };
        if schema.preserve {
            return self.preserved(value, schema, is_resource);
        }
        match value {
            Value::Object(map) => {
                let keys: Vec<String> = map.keys().cloned().collect();
                for key in keys {
                    let is_meta = TYPE_AND_METADATA.contains(&key.as_str());
                    if is_resource && is_meta {
                        continue;
                    }
                    if let Some(child) = child(schema, &key) {
                        let Some(value) = map.get_mut(&key) else {
                            continue;
                        };
                        self.steps.push_key(&key);
                        self.node(value, child, child.is_some_and(|child| child.embedded));
                        self.steps.pop();
                    } else {
                        if !is_meta || !self.steps.is_empty() {
                            self.unknown.push(self.steps.with_key(&key));
                        }
                        map.remove(&key);
                    }
                }
            }
            Value::Array(list) => self.items(list, schema.items.as_deref()),
            _ => {}
        }
    }

    fn items(&mut self, list: &mut [Value], schema: Option<&Structural>) {
        for (index, item) in list.iter_mut().enumerate() {
            self.steps.push_index(index);
            self.node(item, schema, schema.is_some_and(|schema| schema.embedded));
            self.steps.pop();
        }
    }

    fn without_schema(&mut self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for key in map.keys() {
                    self.unknown.push(self.steps.with_key(key));
                }
                map.clear();
            }
            Value::Array(list) => self.items(list, None),
            _ => {}
        }
    }

    /// What is not named stays, but what is named is pruned within.
    fn preserved(&mut self, value: &mut Value, schema: &Structural, is_resource: bool) {
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter_mut() {
                    if is_resource && TYPE_AND_METADATA.contains(&key.as_str()) {
                        continue;
                    }
                    if let Some(child) = child(schema, key) {
                        self.steps.push_key(key);
                        self.node(value, child, child.is_some_and(|child| child.embedded));
                        self.steps.pop();
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref() else {
                    return;
                };
                for (index, item) in list.iter_mut().enumerate() {
                    self.steps.push_index(index);
                    self.preserved(item, items, items.embedded);
                    self.steps.pop();
                }
            }
            _ => {}
        }
    }
}

/// Whether the schema knows a field, and what it says of it.
#[allow(
    clippy::option_option,
    reason = "known without a schema is a case of its own"
)]
fn child<'a>(schema: &'a Structural, key: &str) -> Option<Option<&'a Structural>> {
    if let Some(child) = schema.properties.get(key) {
        return Some(Some(child));
    }
    match &schema.additional {
        Some(Additional::Schema(schema)) => Some(Some(schema)),
        Some(Additional::Allowed(_)) => Some(None),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_stays() {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "known": {"type": "object", "properties": {"a": {"type": "string"}}},
        }});
        for (schema, object, expected, unknown) in [
            (
                json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}),
                json!({"apiVersion": "v1", "metadata": {"x": 1}, "spec": {"a": "1", "b": {"c": 1}}, "other": [1]}),
                json!({"apiVersion": "v1", "metadata": {"x": 1}, "spec": {"a": "1"}}),
                vec!["other", "spec.b"],
            ),
            (
                json!({"type": "object", "properties": {"spec": open}}),
                json!({"spec": {"free": {"x": 1}, "known": {"a": "1", "b": 2}}}),
                json!({"spec": {"free": {"x": 1}, "known": {"a": "1"}}}),
                vec!["spec.known.b"],
            ),
            (
                json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object", "properties": {"a": {}}}}}}),
                json!({"l": [{"a": 1}, {"b": 1}]}),
                json!({"l": [{"a": 1}, {}]}),
                vec!["l[1].b"],
            ),
            (
                json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": true}}}),
                json!({"m": {"a": 1, "b": {"c": 1}}}),
                json!({"m": {"a": 1, "b": {}}}),
                vec!["m.b.c"],
            ),
            (
                json!({"type": "object", "properties": {"e": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"d": {"type": "object"}}}}}),
                json!({"e": {"kind": "A", "apiVersion": "v1", "metadata": {"name": "x"}, "data": {}}}),
                json!({"e": {"kind": "A", "apiVersion": "v1", "metadata": {"name": "x"}}}),
                vec!["e.data"],
            ),
        ] {
            let mut pruned = object;
            let got = prune(&mut pruned, &Structural::read(&schema), true);
            assert_eq!(pruned, expected);
            assert_eq!(got, unknown);
        }
    }
}
