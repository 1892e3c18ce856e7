//! What a value was before an update, where that can be told.

use serde_json::Value;

use crate::structural::Structural;

/// The value before, and the schema of it, which says how items are told apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Old<'a> {
    pub(crate) value: &'a Value,
    pub(crate) schema: Option<&'a Structural>,
}

/// What a field was.
pub(crate) fn field<'a>(old: Old<'a>, name: &str) -> Option<Old<'a>> {
    let schema = old.schema?;
    let value = old.value.as_object()?.get(name)?;
    Some(Old {
        value,
        schema: schema.field(name),
    })
}

/// What an item of a list of type `map` was; others have no past.
pub(crate) fn item<'a>(old: Old<'a>, item: &Value) -> Option<Old<'a>> {
    let schema = old.schema?;
    let value = keyed(schema, old.value.as_array()?, item)?;
    Some(Old {
        value,
        schema: schema.items.as_deref(),
    })
}

/// The item with the same keys.
pub(crate) fn keyed<'a>(schema: &Structural, list: &'a [Value], item: &Value) -> Option<&'a Value> {
    if schema.list_type.as_deref() != Some("map") || !item.is_object() {
        return None;
    }
    let keys = |item: &Value| -> Vec<Option<Value>> {
        let keys = schema.list_keys.iter();
        keys.map(|key| item.get(key).cloned()).collect()
    };
    let wanted = keys(item);
    list.iter()
        .find(|other| other.is_object() && keys(other) == wanted)
}

/// Whether a value is what it was, so that it may stay as wrong as it was.
///
/// Every field of an object and every item of a list of type `map` must be known from before; what no schema tells
/// of is not.
pub(crate) fn is_same(schema: Option<&Structural>, old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(was), Value::Object(is)) => {
            was.len() == is.len()
                && is.iter().all(|(name, value)| {
                    let field = schema.and_then(|schema| schema.field(name));
                    let before = was.get(name).filter(|_| field.is_some());
                    before.is_some_and(|before| is_same(field, before, value))
                })
        }
        (Value::Array(was), Value::Array(is)) => {
            let Some(schema) = schema.filter(|one| one.list_type.as_deref() == Some("map")) else {
                return was == is;
            };
            was.len() == is.len()
                && is.iter().all(|item| {
                    keyed(schema, was, item)
                        .is_some_and(|before| is_same(schema.items.as_deref(), before, item))
                })
        }
        _ => old == new,
    }
}
