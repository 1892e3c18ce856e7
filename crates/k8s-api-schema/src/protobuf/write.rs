//! From JSON to messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::wire::{put_bytes, put_double, put_number};
use crate::json::seconds_of;
use crate::model::{Either, EitherKind, Empty, Field, Scalar, Schema, Type, TypeId};

/// A value of a type that is a message.
pub(super) fn message(out: &mut Vec<u8>, value: &Value, schema: &Schema, id: TypeId) {
    match schema.get(id) {
        Type::Struct(struct_) => {
            let mut fields: Vec<(&[u32], &Field, &Value)> = struct_
                .fields
                .iter()
                .filter(|(_, field)| !field.protobuf.is_empty())
                .filter_map(|(name, field)| {
                    let sent = value.get(name).filter(|value| !value.is_null());
                    let value = match sent {
                        Some(sent) => sent,
                        None if is_always_there(field, schema) => &Value::Null,
                        None => return None,
                    };
                    Some((&*field.protobuf, field, value))
                })
                .collect();
            fields.sort_by_key(|(path, _, _)| *path);
            members(out, &fields, schema);
        }
        Type::List(_) | Type::Map(_) => field(out, 1, value, schema, id),
        Type::Any => match schema.either(id) {
            Some(either) => alternative(out, value, schema, either),
            None => put_bytes(out, 1, value.to_string().as_bytes()),
        },
        Type::Scalar(scalar) => scalar_message(out, value, *scalar),
    }
}

/// Whether the message has the field even when there is nothing in it: all have that are no pointer, list or map.
fn is_always_there(field: &Field, schema: &Schema) -> bool {
    matches!(field.empty, Empty::Written | Empty::Omitted)
        && match schema.get(field.type_) {
            Type::Scalar(scalar) => !matches!(scalar, Scalar::Bytes | Scalar::Any),
            Type::Struct(_) => true,
            Type::List(_) | Type::Map(_) | Type::Any => false,
        }
}

/// Fields sorted by the paths of their numbers; those with a longer path are in messages of their own.
fn members(out: &mut Vec<u8>, mut fields: &[(&[u32], &Field, &Value)], schema: &Schema) {
    while let Some((path, first, value)) = fields.first() {
        let [number, rest @ ..] = path else {
            fields = &fields[1..];
            continue;
        };
        if rest.is_empty() {
            field(out, *number, value, schema, first.type_);
            fields = &fields[1..];
            continue;
        }
        let count = fields
            .iter()
            .take_while(|(path, _, _)| path.first() == Some(number))
            .count();
        let inner: Vec<(&[u32], &Field, &Value)> = fields[..count]
            .iter()
            .map(|(path, field, value)| (path.get(1..).unwrap_or_default(), *field, *value))
            .collect();
        let mut message = Vec::new();
        members(&mut message, &inner, schema);
        put_bytes(out, *number, &message);
        fields = &fields[count..];
    }
}

fn field(out: &mut Vec<u8>, number: u32, value: &Value, schema: &Schema, id: TypeId) {
    match (schema.get(id), value) {
        (Type::List(list), Value::Array(items)) => {
            for item in items {
                single(out, number, item, schema, list.items);
            }
        }
        (Type::Map(map), Value::Object(entries)) => {
            for (key, value) in entries {
                let mut entry = Vec::new();
                put_bytes(&mut entry, 1, key.as_bytes());
                single(&mut entry, 2, value, schema, map.values);
                put_bytes(out, number, &entry);
            }
        }
        _ => single(out, number, value, schema, id),
    }
}

fn single(out: &mut Vec<u8>, number: u32, value: &Value, schema: &Schema, id: TypeId) {
    let text = || value.as_str().unwrap_or_default();
    if let Type::Scalar(scalar) = schema.get(id) {
        match scalar {
            Scalar::Boolean => {
                put_number(out, number, i64::from(value.as_bool().unwrap_or_default()));
                return;
            }
            Scalar::Int32 | Scalar::Int64 => {
                put_number(out, number, value.as_i64().unwrap_or_default());
                return;
            }
            Scalar::Number => {
                put_double(out, number, value.as_f64().unwrap_or_default());
                return;
            }
            Scalar::String | Scalar::Duration => {
                put_bytes(out, number, text().as_bytes());
                return;
            }
            Scalar::Bytes => {
                put_bytes(out, number, &STANDARD.decode(text()).unwrap_or_default());
                return;
            }
            _ => {}
        }
    }
    let mut inner = Vec::new();
    message(&mut inner, value, schema, id);
    put_bytes(out, number, &inner);
}

fn scalar_message(out: &mut Vec<u8>, value: &Value, scalar: Scalar) {
    let text = value.as_str().unwrap_or_default();
    match scalar {
        Scalar::Time | Scalar::MicroTime => {
            if let Some((seconds, micros)) = seconds_of(text) {
                put_number(out, 1, seconds);
                put_number(out, 2, i64::from(micros) * 1000);
            }
        }
        Scalar::IntOrString if value.is_string() => {
            put_number(out, 1, 1);
            put_number(out, 2, 0);
            put_bytes(out, 3, text.as_bytes());
        }
        Scalar::IntOrString => {
            put_number(out, 1, 0);
            put_number(out, 2, value.as_i64().unwrap_or_default());
            put_bytes(out, 3, b"");
        }
        Scalar::Any => put_bytes(out, 1, value.to_string().as_bytes()),
        _ => put_bytes(out, 1, text.as_bytes()),
    }
}

fn alternative(out: &mut Vec<u8>, value: &Value, schema: &Schema, either: Either) {
    let schema_field = if either.kind == EitherKind::Boolean {
        2
    } else {
        1
    };
    match value {
        Value::Object(_) => {
            if either.kind == EitherKind::Boolean {
                put_number(out, 1, 1);
            }
            let mut inner = Vec::new();
            message(&mut inner, value, schema, either.schema);
            put_bytes(out, schema_field, &inner);
        }
        Value::Bool(allows) => put_number(out, 1, i64::from(*allows)),
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::String(text) => put_bytes(out, 2, text.as_bytes()),
                    item => {
                        let mut inner = Vec::new();
                        message(&mut inner, item, schema, either.schema);
                        put_bytes(out, 2, &inner);
                    }
                }
            }
        }
        _ => {}
    }
}
