//! Fills the defaults of a schema, and drops the nulls that it does not allow.

use serde_json::Value;

use crate::structural::{Additional, Structural};

fn is_forbidden_null(value: &Value, schema: &Structural) -> bool {
    value.is_null() && !schema.nullable
}

/// Fills defaults where a field is missing, or null without being nullable.
pub(crate) fn default(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(map) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else {
                    continue;
                };
                if map.get(name).is_none_or(|v| is_forbidden_null(v, property)) {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in map.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    self::default(value, property);
                } else if let Some(Additional::Schema(schema)) = &schema.additional {
                    replace_null(value, schema);
                    self::default(value, schema);
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = &schema.items {
                for item in list {
                    replace_null(item, items);
                    default(item, items);
                }
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: &Structural) {
    if is_forbidden_null(value, schema) {
        *value = schema.default.clone().unwrap_or(Value::Null);
    }
}

/// Drops fields that are null without being nullable, unless a default replaces them.
pub(crate) fn drop_nulls(value: &mut Value, schema: Option<&Structural>) {
    match value {
        Value::Object(map) => {
            map.retain(|name, value| {
                let schema = schema.and_then(|schema| schema.field(name));
                let is_dropped =
                    schema.is_some_and(|s| is_forbidden_null(value, s) && s.default.is_none());
                if !is_dropped {
                    drop_nulls(value, schema);
                }
                !is_dropped
            });
        }
        Value::Array(list) => {
            let items = schema.and_then(|schema| schema.items.as_deref());
            for item in list {
                drop_nulls(item, items);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_filled() {
        let schema = Structural::read(&json!({"type": "object", "properties": {
            "a": {"type": "integer", "default": 1},
            "n": {"type": "string", "nullable": true, "default": "x"},
            "o": {"type": "object", "default": {}, "properties": {"b": {"type": "string", "default": "deep"}}},
            "p": {"type": "object", "properties": {"b": {"type": "string", "default": "deep"}}},
            "l": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "boolean", "default": true}}}},
            "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"d": {"type": "integer", "default": 2}}}},
            "z": {"type": "string"},
        }}));
        for (object, expected) in [
            (json!({}), json!({"a": 1, "n": "x", "o": {"b": "deep"}})),
            (
                json!({"a": null, "n": null, "z": null}),
                json!({"a": 1, "n": null, "o": {"b": "deep"}}),
            ),
            (
                json!({"a": 5, "n": "y", "o": {"b": "own"}, "p": {}, "l": [{}, {"c": false}], "m": {"x": {}}}),
                json!({"a": 5, "n": "y", "o": {"b": "own"}, "p": {"b": "deep"}, "l": [{"c": true}, {"c": false}], "m": {"x": {"d": 2}}}),
            ),
        ] {
            let mut value = object;
            drop_nulls(&mut value, Some(&schema));
            default(&mut value, &schema);
            assert_eq!(value, expected);
        }
    }
}
