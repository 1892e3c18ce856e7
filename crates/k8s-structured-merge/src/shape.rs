//! How a value of a type is walked: as an object, a list or a single value.

use std::collections::BTreeMap;

use k8s_api_schema::{Empty, Field, ListKind, Scalar, Schema, Type, TypeId};
use serde_json::{Map, Value};

use crate::element::PathElement;

/// How one value is walked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'s> {
    Map(MapShape<'s>),
    List(ListShape<'s>),
    Scalar(Scalar),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct MapShape<'s> {
    /// Known fields.
    fields: Option<&'s BTreeMap<String, Field>>,
    /// Type of all other keys.
    rest: Option<TypeId>,
    pub(crate) atomic: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ListShape<'s> {
    pub(crate) items: TypeId,
    pub(crate) kind: ItemKind<'s>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ItemKind<'s> {
    Atomic,
    Set,
    Map(&'s [String]),
}

impl ListShape<'_> {
    pub(crate) fn is_atomic(&self) -> bool {
        matches!(self.kind, ItemKind::Atomic)
    }
}

impl MapShape<'_> {
    pub(crate) fn type_of(&self, key: &str) -> Option<TypeId> {
        match self.fields.and_then(|fields| fields.get(key)) {
            Some(field) => Some(field.type_),
            None => self.rest,
        }
    }

    pub(crate) fn is_named(&self, key: &str) -> bool {
        self.fields.is_some_and(|fields| fields.contains_key(key))
    }

    /// What the server shows of a field that it always shows, where there is nothing in it.
    pub(crate) fn shown_empty(&self, schema: &Schema, key: &str) -> Option<Value> {
        let field = self.fields.and_then(|fields| fields.get(key))?;
        (field.empty == Empty::Written).then(|| zero(schema, field.type_, &[Empty::Written], 0))
    }

    /// Nothing is known of its fields.
    pub(crate) fn is_deduced(&self, schema: &Schema) -> bool {
        self.fields.is_none_or(BTreeMap::is_empty)
            && self
                .rest
                .is_some_and(|rest| matches!(schema.get(rest), Type::Any))
    }
}

impl Shape<'_> {
    pub(crate) fn is_same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// How a value of a type is walked. Only a type that allows anything looks at the value; there, null is an object.
pub(crate) fn shape<'s>(schema: &'s Schema, type_: TypeId, value: Option<&Value>) -> Shape<'s> {
    let any = |atomic: bool| match value {
        None | Some(Value::Null | Value::Object(_)) => Shape::Map(MapShape {
            fields: None,
            rest: Some(type_),
            atomic,
        }),
        Some(Value::Array(_)) => Shape::List(ListShape {
            items: type_,
            kind: ItemKind::Atomic,
        }),
        Some(_) => Shape::Scalar(Scalar::Any),
    };
    match schema.get(type_) {
        Type::Any => any(false),
        Type::Scalar(Scalar::Any) => any(true),
        Type::Scalar(scalar) => Shape::Scalar(*scalar),
        Type::Struct(struct_) => Shape::Map(MapShape {
            fields: Some(&struct_.fields),
            rest: struct_.rest,
            atomic: struct_.atomic,
        }),
        Type::Map(map) => Shape::Map(MapShape {
            fields: None,
            rest: Some(map.values),
            atomic: map.atomic,
        }),
        Type::List(list) => Shape::List(ListShape {
            items: list.items,
            kind: match &list.kind {
                ListKind::Atomic => ItemKind::Atomic,
                ListKind::Set => ItemKind::Set,
                ListKind::Map(keys) => ItemKind::Map(keys),
            },
        }),
    }
}

/// Whether an element is a known field of a type, and the type below it.
pub(crate) fn below(
    schema: &Schema,
    type_: TypeId,
    element: &PathElement,
) -> (bool, Option<TypeId>) {
    match (element, shape(schema, type_, None)) {
        (PathElement::Field(name), Shape::Map(map)) => (map.is_named(name), map.type_of(name)),
        (PathElement::Key(_), Shape::List(list)) => (false, Some(list.items)),
        _ => (false, None),
    }
}

/// What tells an item of a list from the others.
pub(crate) fn item_element(
    schema: &Schema,
    list: &ListShape<'_>,
    item: &Value,
) -> Result<PathElement, String> {
    match list.kind {
        ItemKind::Atomic => Err("invalid indexing of non-associative list".into()),
        ItemKind::Set => set_element(item),
        ItemKind::Map(keys) => keyed_element(schema, list.items, keys, item),
    }
}

fn set_element(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => {
            Err("associative list without keys has an element that's a map type".into())
        }
        Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
        Value::Null => {
            Err("associative list without keys has an element that's an explicit null".into())
        }
        single => Ok(PathElement::Value(single.clone())),
    }
}

fn keyed_element(
    schema: &Schema,
    items: TypeId,
    keys: &[String],
    item: &Value,
) -> Result<PathElement, String> {
    let map = match item {
        Value::Null => return Err("associative list with keys may not have a null element".into()),
        Value::Object(map) => map,
        _ => return Err("associative list with keys may not have non-map elements".into()),
    };
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        if let Some(value) = map.get(key) {
            found.push((key.clone(), value.clone()));
        } else if let Some(default) = key_default(schema, items, key)? {
            found.push((key.clone(), default));
        }
    }
    if found.is_empty() {
        let quoted: Vec<_> = keys.iter().map(|key| k8s_api_schema::quote(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] \
             (and doesn't have default values for any key fields)",
            quoted.join(" ")
        ));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(PathElement::Key(found))
}

fn key_default(schema: &Schema, items: TypeId, key: &str) -> Result<Option<Value>, String> {
    match shape(schema, items, None) {
        Shape::Map(map) => Ok(map
            .fields
            .and_then(|fields| fields.get(key))
            .and_then(|field| field.default.clone())),
        _ => Err(format!(
            "couldn't find default value for {key}: associative list may not have non-map types"
        )),
    }
}

/// Deeper than any type of the API holds others by value.
const MAX_DEPTH: usize = 32;

/// The object with nothing in it, as the server writes a Go value without content: what a create is compared with.
#[must_use]
pub fn empty_object(schema: &Schema, type_: TypeId) -> Value {
    of_zero(schema, type_, &[Empty::Written])
}

/// The object with nothing in it, as the server shows it: with the pointers that are always shown.
#[must_use]
pub fn shown_object(schema: &Schema, type_: TypeId) -> Value {
    of_zero(schema, type_, &[Empty::Written, Empty::Null])
}

fn of_zero(schema: &Schema, type_: TypeId, written: &[Empty]) -> Value {
    let mut object = zero(schema, type_, written, 0);
    if !object.is_object() {
        object = Value::Object(Map::new());
    }
    object
}

fn zero(schema: &Schema, type_: TypeId, written: &[Empty], depth: usize) -> Value {
    match schema.get(type_) {
        Type::Struct(struct_) if depth < MAX_DEPTH => {
            let fields = struct_.fields.iter();
            let shown = fields.filter(|(_, field)| written.contains(&field.empty));
            let value = |field: &Field| match field.empty {
                Empty::Null => Value::Null,
                _ => zero(schema, field.type_, written, depth + 1),
            };
            Value::Object(
                shown
                    .map(|(name, field)| (name.clone(), value(field)))
                    .collect(),
            )
        }
        Type::Scalar(scalar) => match scalar {
            Scalar::Boolean => false.into(),
            Scalar::Int32 | Scalar::Int64 | Scalar::Number | Scalar::IntOrString => 0.into(),
            Scalar::String => "".into(),
            Scalar::Quantity => "0".into(),
            Scalar::Duration => "0s".into(),
            Scalar::Bytes | Scalar::Time | Scalar::MicroTime | Scalar::Any => Value::Null,
        },
        _ => Value::Null,
    }
}
