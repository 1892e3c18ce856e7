//! From messages to JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::MAX_DEPTH;
use super::wire::{Payload, fields, varint};
use crate::json::{self, settle};
use crate::model::{Either, EitherKind, Field, Scalar, Schema, Struct, Type, TypeId};
use crate::quantity::Quantity;

/// A message of a type.
pub(super) fn message(
    bytes: &[u8],
    schema: &Schema,
    id: TypeId,
    depth: usize,
) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err("proto: nested too deep".into());
    }
    match schema.get(id) {
        Type::Struct(struct_) => {
            let mut map = Map::new();
            members(&mut map, bytes, schema, struct_, &mut Vec::new(), depth)?;
            settle(schema, struct_, &mut map);
            Ok(Value::Object(map))
        }
        // A list or a map that stands alone is the first field of a message.
        Type::List(_) | Type::Map(_) => {
            let mut slot = Value::Null;
            for field in fields(bytes) {
                if let (1, payload) = field? {
                    put(&mut slot, payload, schema, id, depth)?;
                }
            }
            Ok(slot)
        }
        Type::Any => match schema.either(id) {
            Some(either) => alternative(bytes, schema, either, depth),
            None => free(bytes),
        },
        Type::Scalar(scalar) => scalar_message(bytes, *scalar),
    }
}

/// The fields of a struct, also those that are in messages of their own there and not in JSON.
fn members(
    map: &mut Map<String, Value>,
    bytes: &[u8],
    schema: &Schema,
    struct_: &Struct,
    path: &mut Vec<u32>,
    depth: usize,
) -> Result<(), String> {
    for field in fields(bytes) {
        let (number, payload) = field?;
        path.push(number);
        if let Some((name, field)) = at(struct_, path) {
            let slot = map.entry(name.as_str()).or_insert(Value::Null);
            put(slot, payload, schema, field.type_, depth)?;
        } else if let Payload::Bytes(inner) = payload
            && is_inlined(struct_, path)
        {
            members(map, inner, schema, struct_, path, depth)?;
        }
        path.pop();
    }
    Ok(())
}

fn at<'a>(struct_: &'a Struct, path: &[u32]) -> Option<(&'a String, &'a Field)> {
    struct_
        .fields
        .iter()
        .find(|(_, field)| field.protobuf == path)
}

fn is_inlined(struct_: &Struct, path: &[u32]) -> bool {
    let mut fields = struct_.fields.values();
    fields.any(|field| field.protobuf.starts_with(path))
}

/// Puts what a field holds where the earlier ones of a list or a map are.
fn put(
    slot: &mut Value,
    payload: Payload<'_>,
    schema: &Schema,
    id: TypeId,
    depth: usize,
) -> Result<(), String> {
    match (schema.get(id), payload) {
        (Type::List(list), payload) => {
            if !slot.is_array() {
                *slot = Value::Array(Vec::new());
            }
            let Value::Array(items) = slot else {
                return Ok(());
            };
            match (schema.get(list.items), payload) {
                // Numbers may be packed.
                (
                    Type::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Boolean),
                    Payload::Bytes(mut packed),
                ) => {
                    while !packed.is_empty() {
                        let number = Payload::Number(varint(&mut packed)?.cast_signed());
                        items.push(value(number, schema, list.items, depth + 1)?);
                    }
                }
                (_, payload) => items.push(value(payload, schema, list.items, depth + 1)?),
            }
        }
        (Type::Map(map_type), Payload::Bytes(entry)) => {
            let (mut key, mut found) = (String::new(), None);
            for field in fields(entry) {
                match field? {
                    (1, Payload::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
                    (2, payload) => {
                        found = Some(value(payload, schema, map_type.values, depth + 1)?);
                    }
                    _ => {}
                }
            }
            if !slot.is_object() {
                *slot = Value::Object(Map::new());
            }
            if let Value::Object(map) = slot {
                let found = found.unwrap_or_else(|| json::zero(schema, map_type.values));
                map.insert(key, found);
            }
        }
        // A message that comes in parts.
        (Type::Struct(struct_), Payload::Bytes(bytes)) if slot.is_object() => {
            if depth > MAX_DEPTH {
                return Err("proto: nested too deep".into());
            }
            if let Value::Object(map) = slot {
                members(map, bytes, schema, struct_, &mut Vec::new(), depth + 1)?;
                settle(schema, struct_, map);
            }
        }
        (_, payload) => *slot = value(payload, schema, id, depth + 1)?,
    }
    Ok(())
}

/// A single value.
fn value(payload: Payload<'_>, schema: &Schema, id: TypeId, depth: usize) -> Result<Value, String> {
    let Type::Scalar(scalar) = schema.get(id) else {
        return match payload {
            Payload::Bytes(bytes) => message(bytes, schema, id, depth),
            _ => Err(wrong_type(schema, id)),
        };
    };
    Ok(match (scalar, payload) {
        (Scalar::Boolean, Payload::Number(number)) => (number != 0).into(),
        #[allow(clippy::cast_possible_truncation, reason = "as generated code does")]
        (Scalar::Int32, Payload::Number(number)) => (number as i32).into(),
        (Scalar::Int64, Payload::Number(number)) => number.into(),
        (Scalar::Number, Payload::Eight(bits)) => json::float(f64::from_bits(bits)),
        (Scalar::String | Scalar::Duration, Payload::Bytes(text)) => {
            String::from_utf8_lossy(text).into_owned().into()
        }
        (Scalar::Bytes, Payload::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (scalar, Payload::Bytes(bytes)) => scalar_message(bytes, *scalar)?,
        _ => return Err(wrong_type(schema, id)),
    })
}

fn wrong_type(schema: &Schema, id: TypeId) -> String {
    format!("proto: wrong wireType for a {}", schema.go_name(id))
}

/// A single value that is a message.
fn scalar_message(bytes: &[u8], scalar: Scalar) -> Result<Value, String> {
    let (mut numbers, mut texts) = ([0_i64; 4], [None; 4]);
    for field in fields(bytes) {
        match field? {
            (number @ 1..=3, Payload::Number(value)) => numbers[number as usize] = value,
            (number @ 1..=3, Payload::Bytes(text)) => texts[number as usize] = Some(text),
            _ => {}
        }
    }
    let text = |number: usize| String::from_utf8_lossy(texts[number].unwrap_or_default());
    Ok(match scalar {
        Scalar::Time | Scalar::MicroTime if bytes.is_empty() => Value::Null,
        Scalar::Time => json::time_of(numbers[1], None).map_or(Value::Null, Into::into),
        Scalar::MicroTime => {
            json::time_of(numbers[1], Some(numbers[2] / 1000)).map_or(Value::Null, Into::into)
        }
        Scalar::Quantity => {
            let quantity: Result<Quantity, _> = text(1).parse();
            quantity
                .map_err(|error| error.to_string())?
                .to_string()
                .into()
        }
        Scalar::IntOrString if numbers[1] == 1 => text(3).into_owned().into(),
        #[allow(clippy::cast_possible_truncation, reason = "as generated code does")]
        Scalar::IntOrString => (numbers[2] as i32).into(),
        Scalar::Any => free(bytes)?,
        _ => return Err("proto: wrong wireType".into()),
    })
}

/// A value that is JSON inside of a message.
fn free(bytes: &[u8]) -> Result<Value, String> {
    for field in fields(bytes) {
        if let (1, Payload::Bytes(text)) = field? {
            if text.is_empty() {
                return Ok(Value::Null);
            }
            return json::Checked::new(text)?.decode_any();
        }
    }
    Ok(Value::Null)
}

/// A schema, or something else.
fn alternative(
    bytes: &[u8],
    schema: &Schema,
    either: Either,
    depth: usize,
) -> Result<Value, String> {
    let schema_field = if either.kind == EitherKind::Boolean {
        2
    } else {
        1
    };
    let (mut found, mut allows, mut list) = (None, false, Vec::new());
    for field in fields(bytes) {
        match (field?, either.kind) {
            ((number, Payload::Bytes(inner)), _) if number == schema_field => {
                found = Some(message(inner, schema, either.schema, depth + 1)?);
            }
            ((1, Payload::Number(number)), EitherKind::Boolean) => allows = number != 0,
            ((2, Payload::Bytes(inner)), EitherKind::List) => {
                list.push(message(inner, schema, either.schema, depth + 1)?);
            }
            ((2, Payload::Bytes(text)), EitherKind::Strings) => {
                list.push(String::from_utf8_lossy(text).into_owned().into());
            }
            _ => {}
        }
    }
    Ok(match (found, either.kind) {
        (Some(found), _) => found,
        (None, EitherKind::Boolean) => allows.into(),
        (None, _) if list.is_empty() => Value::Null,
        (None, _) => Value::Array(list),
    })
}
