//! What is in a value that holds nothing.

use serde_json::{Map, Value};

use crate::model::{Empty, Scalar, Schema, Struct, Type, TypeId};

/// How the server writes the zero value of a Go type.
///
/// ```
/// use k8s_api_schema::{builtin, json::zero};
///
/// let lease = builtin().find("coordination.k8s.io", "v1", "Lease").expect("a built-in kind");
/// assert_eq!(zero(builtin(), lease), serde_json::json!({"metadata": {}, "spec": {}}));
/// ```
#[must_use]
pub fn zero(schema: &Schema, id: TypeId) -> Value {
    match schema.get(id) {
        Type::Struct(struct_) => {
            let mut map = Map::new();
            for (name, field) in &struct_.fields {
                match field.empty {
                    Empty::Written => map.insert(name.clone(), zero(schema, field.type_)),
                    Empty::Null => map.insert(name.clone(), Value::Null),
                    Empty::Omitted | Empty::Pointer => None,
                };
            }
            Value::Object(map)
        }
        Type::Scalar(scalar) => match scalar {
            Scalar::Boolean => false.into(),
            Scalar::Int32 | Scalar::Int64 | Scalar::Number | Scalar::IntOrString => 0.into(),
            Scalar::String | Scalar::Duration => "".into(),
            Scalar::Quantity => "0".into(),
            Scalar::Bytes | Scalar::Time | Scalar::MicroTime | Scalar::Any => Value::Null,
        },
        Type::Map(_) | Type::List(_) | Type::Any => Value::Null,
    }
}

/// Leaves out what is empty and adds what is always written, in a struct whose fields are as they came.
pub fn settle(schema: &Schema, struct_: &Struct, map: &mut Map<String, Value>) {
    for (name, field) in &struct_.fields {
        let empty = match map.get(name) {
            None => true,
            Some(value) => match field.empty {
                Empty::Omitted => is_empty(value, schema, field.type_),
                _ => value.is_null(),
            },
        };
        if !empty {
            continue;
        }
        match field.empty {
            Empty::Omitted | Empty::Pointer => {
                map.remove(name);
            }
            Empty::Written => {
                map.insert(name.clone(), zero(schema, field.type_));
            }
            Empty::Null => {
                map.insert(name.clone(), Value::Null);
            }
        }
    }
}

/// Whether a field that holds this and may be left out is left out.
#[must_use]
pub fn is_empty(value: &Value, schema: &Schema, id: TypeId) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => {
            map.is_empty()
                || matches!(schema.get(id), Type::Struct(_)) && *value == zero(schema, id)
        }
    }
}
