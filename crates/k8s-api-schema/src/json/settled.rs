//! Values that are already as the server writes them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::{MAX_KEPT_DEPTH, is_empty, numbers, time};
use crate::model::{Empty, Scalar, Schema, Struct, Type, TypeId};
use crate::quantity::Quantity;

/// Whether [`decode`](super::decode) makes of the text of a value just that value, and has nothing to tell of it.
///
/// It may say no nevertheless where that is hard to tell, as of schemas in a CustomResourceDefinition.
///
/// ```
/// use k8s_api_schema::{builtin, json::is_settled};
/// use serde_json::json;
///
/// let id = builtin().find("", "v1", "ConfigMap").expect("a built-in kind");
/// assert!(is_settled(&json!({"metadata": {"name": "a"}, "data": {"k": "v"}}), builtin(), id));
/// // An empty field is left out, and a number is no text.
/// assert!(!is_settled(&json!({"metadata": {"name": ""}}), builtin(), id));
/// assert!(!is_settled(&json!({"metadata": {}, "data": {"k": 1}}), builtin(), id));
/// ```
#[must_use]
pub fn is_settled(value: &Value, schema: &Schema, id: TypeId) -> bool {
    Settled(schema).value(value, id, 0)
}

struct Settled<'s>(&'s Schema);

impl Settled<'_> {
    /// Null is a matter of what the value is in.
    fn value(&self, value: &Value, id: TypeId, depth: usize) -> bool {
        if depth > MAX_KEPT_DEPTH {
            return false;
        }
        match (self.0.get(id), value) {
            (Type::Any | Type::Scalar(Scalar::Any), _) => {
                self.0.either(id).is_none() && is_plain(value, depth)
            }
            (Type::Scalar(scalar), _) => is_settled_scalar(*scalar, value),
            (Type::Struct(struct_), Value::Object(map)) => self.object(struct_, map, depth),
            (Type::Map(of), Value::Object(map)) => map
                .values()
                .all(|value| self.member(value, of.values, depth)),
            (Type::List(of), Value::Array(items)) => {
                items.iter().all(|item| self.member(item, of.items, depth))
            }
            _ => false,
        }
    }

    fn object(&self, struct_: &Struct, map: &Map<String, Value>, depth: usize) -> bool {
        let mut written = 0;
        for (key, value) in map {
            let Some(field) = struct_.fields.get(key) else {
                if struct_
                    .rest
                    .is_some_and(|rest| self.member(value, rest, depth))
                {
                    continue;
                }
                return false;
            };
            let is_kept = match (field.empty, value) {
                (Empty::Null, Value::Null) => true,
                (Empty::Written, Value::Null) => self.is_null(field.type_),
                (_, Value::Null) => false,
                (Empty::Omitted, value) => {
                    !is_empty(value, self.0, field.type_)
                        && self.value(value, field.type_, depth + 1)
                }
                // What is stored of an empty list or map may be none.
                (Empty::Null | Empty::Written, value) if is_bare(value) => {
                    matches!(self.0.get(field.type_), Type::Struct(_))
                        && self.value(value, field.type_, depth + 1)
                }
                (_, value) => self.value(value, field.type_, depth + 1),
            };
            if !is_kept {
                return false;
            }
            written += usize::from(is_always_there(field.empty));
        }
        let fields = struct_.fields.values();
        written == fields.filter(|field| is_always_there(field.empty)).count()
    }

    /// A value of a map or a list; of null it depends on more than the type what becomes of it.
    fn member(&self, value: &Value, id: TypeId, depth: usize) -> bool {
        !value.is_null() && self.value(value, id, depth + 1)
    }

    /// Whether what is empty is null.
    fn is_null(&self, id: TypeId) -> bool {
        match self.0.get(id) {
            Type::Map(_) | Type::List(_) | Type::Any => true,
            Type::Struct(_) => false,
            Type::Scalar(scalar) => matches!(
                scalar,
                Scalar::Bytes | Scalar::Time | Scalar::MicroTime | Scalar::Any
            ),
        }
    }
}

fn is_bare(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn is_always_there(empty: Empty) -> bool {
    matches!(empty, Empty::Written | Empty::Null)
}

fn is_settled_scalar(scalar: Scalar, value: &Value) -> bool {
    match (scalar, value) {
        (Scalar::Boolean, Value::Bool(_))
        | (Scalar::String | Scalar::Duration | Scalar::IntOrString, Value::String(_)) => true,
        (Scalar::Int64, Value::Number(number)) => number.is_i64(),
        (Scalar::Int32 | Scalar::IntOrString, Value::Number(number)) => number
            .as_i64()
            .is_some_and(|number| i32::try_from(number).is_ok()),
        (Scalar::Number, Value::Number(number)) => number
            .as_f64()
            .is_some_and(|float| numbers::float(float) == *value),
        // It takes no other form than the one that is written.
        (Scalar::Bytes, Value::String(text)) => STANDARD.decode(text).is_ok(),
        (Scalar::Time, Value::String(text)) => {
            time::time(text).is_ok_and(|read| read.as_ref() == Some(text))
        }
        (Scalar::MicroTime, Value::String(text)) => {
            time::micro_time(text).is_ok_and(|read| read.as_ref() == Some(text))
        }
        (Scalar::Quantity, Value::String(text)) => text
            .parse::<Quantity>()
            .is_ok_and(|quantity| quantity.to_string() == *text),
        _ => false,
    }
}

/// Whether a value of no known type is read as it is: whole numbers are, others may become whole.
fn is_plain(value: &Value, depth: usize) -> bool {
    if depth > MAX_KEPT_DEPTH {
        return false;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => number.is_i64(),
        Value::Array(items) => items.iter().all(|item| is_plain(item, depth + 1)),
        Value::Object(map) => map.values().all(|value| is_plain(value, depth + 1)),
    }
}
