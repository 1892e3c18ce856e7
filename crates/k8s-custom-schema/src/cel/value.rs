//! Values of expressions.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::formats;
use crate::structural::Structural;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Val {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Str(Arc<str>),
    Bytes(Arc<[u8]>),
    Duration(SignedDuration),
    Timestamp(Timestamp),
    Type(&'static str),
    List(Arc<List>),
    Map(Arc<Map>),
    Optional(Option<Arc<Val>>),
    /// What a library made.
    Opaque(kube_cel::cel::Value),
    /// What the schema says nothing of; it can be compared alone.
    Json(Arc<Value>),
    /// What cannot be read; an error once it is used.
    Broken(Arc<str>),
}

#[derive(Debug)]
pub(super) struct List {
    pub(super) items: Vec<Val>,
    pub(super) kind: ListKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ListKind {
    Atomic,
    Set,
    /// The keys, as CEL writes them.
    Map(Arc<[String]>),
}

#[derive(Debug)]
pub(super) struct Map {
    pub(super) entries: BTreeMap<Key, Val>,
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Str(Arc<str>),
}

impl Key {
    pub(super) fn of(value: &Val) -> Option<Self> {
        Some(match value {
            Val::Bool(flag) => Self::Bool(*flag),
            Val::Int(number) => Self::Int(*number),
            // A key that is a whole number is the same key, of whichever type.
            Val::Uint(number) => match i64::try_from(*number) {
                Ok(number) => Self::Int(number),
                Err(_) => Self::Uint(*number),
            },
            #[allow(clippy::cast_possible_truncation, reason = "it is whole")]
            Val::Double(number) if number.fract() == 0.0 && number.abs() < 9.2e18 => {
                Self::Int(*number as i64)
            }
            Val::Str(text) => Self::Str(text.clone()),
            _ => return None,
        })
    }

    pub(super) fn value(&self) -> Val {
        match self {
            Self::Bool(flag) => Val::Bool(*flag),
            Self::Int(number) => Val::Int(*number),
            Self::Uint(number) => Val::Uint(*number),
            Self::Str(text) => Val::Str(text.clone()),
        }
    }
}

impl Val {
    pub(super) fn text(text: &str) -> Self {
        Self::Str(text.into())
    }

    pub(super) fn list(items: Vec<Val>) -> Self {
        let kind = ListKind::Atomic;
        Self::List(Arc::new(List { items, kind }))
    }

    pub(super) fn map(entries: BTreeMap<Key, Val>) -> Self {
        Self::Map(Arc::new(Map { entries }))
    }

    /// JSON whose type nobody knows.
    pub(super) fn untyped(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Self::Int(whole),
                None => Self::Double(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => Self::text(text),
            Value::Array(items) => Self::list(items.iter().map(Self::untyped).collect()),
            Value::Object(map) => Self::map(
                map.iter()
                    .map(|(key, value)| (Key::Str(key.as_str().into()), Self::untyped(value)))
                    .collect(),
            ),
        }
    }

    pub(super) fn some(value: Val) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The name of the type, as `type()` and errors say it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Str(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Opaque(_) | Self::Json(_) | Self::Broken(_) => "dyn",
        }
    }

    /// A value of JSON as its schema sees it.
    pub(super) fn read(value: &Value, schema: &Structural, is_resource: bool) -> Self {
        if value.is_null() {
            return Self::Null;
        }
        if schema.int_or_string {
            return match value {
                Value::String(text) => Self::text(text),
                Value::Number(number) => match number.as_i64() {
                    Some(number) => Self::Int(number),
                    None => Self::Double(number.as_f64().unwrap_or_default()),
                },
                _ => broken(
                    "invalid data, expected XIntOrString value to be either a string or integer",
                ),
            };
        }
        let type_ = if is_resource {
            "object"
        } else {
            schema.type_.as_str()
        };
        match (type_, value) {
            ("object", Value::Object(map)) => {
                let entries = map.iter().filter_map(|(name, value)| {
                    if is_resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                        return Some((name.as_str().into(), implied(name, value)));
                    }
                    if let Some(property) = schema.properties.get(name) {
                        let name = super::escape(name)?;
                        let value = Self::read(value, property, property.embedded);
                        return Some((name.into(), value));
                    }
                    let values = schema
                        .additional_schema()
                        .filter(|_| schema.properties.is_empty())?;
                    let value = Self::read(value, values, values.embedded);
                    Some((name.as_str().into(), value))
                });
                Self::map(
                    entries
                        .map(|(name, value)| (Key::Str(name), value))
                        .collect(),
                )
            }
            ("array", Value::Array(list)) => {
                let Some(items) = schema.items.as_deref() else {
                    return broken("invalid array type, expected Items with a non-empty Schema");
                };
                let items = list
                    .iter()
                    .map(|item| Self::read(item, items, items.embedded))
                    .collect();
                let kind = match schema.list_type.as_deref() {
                    Some("set") => ListKind::Set,
                    Some("map") => ListKind::Map(
                        schema
                            .list_keys
                            .iter()
                            .filter_map(|key| super::escape(key))
                            .collect(),
                    ),
                    _ => ListKind::Atomic,
                };
                Self::List(Arc::new(List { items, kind }))
            }
            ("string", Value::String(text)) => string(text, &schema.checks.format),
            ("boolean", Value::Bool(flag)) => Self::Bool(*flag),
            ("number", Value::Number(number)) => Self::Double(number.as_f64().unwrap_or_default()),
            ("integer", Value::Number(number)) => match number.as_i64() {
                Some(number) => Self::Int(number),
                None => broken("invalid data, expected int"),
            },
            ("", _) => Self::Json(Arc::new(value.clone())),
            (type_, _) => broken(&format!(
                "invalid data, expected a value for the provided schema with type={type_}"
            )),
        }
    }
}

fn broken(why: &str) -> Val {
    Val::Broken(why.into())
}

/// Type and metadata, of which a rule sees the names alone.
fn implied(name: &str, value: &Value) -> Val {
    let text = |value: &Value| value.as_str().map(Val::text);
    if name != "metadata" {
        return text(value).unwrap_or(Val::Null);
    }
    let entries = ["name", "generateName"].into_iter().filter_map(|name| {
        let value = text(value.get(name)?)?;
        Some((Key::Str(name.into()), value))
    });
    Val::map(entries.collect())
}

fn string(text: &str, format: &str) -> Val {
    match format {
        "byte" => match base64::engine::general_purpose::STANDARD.decode(text) {
            Ok(bytes) => Val::Bytes(bytes.into()),
            Err(error) => broken(&format!("invalid byte formatted string: {error}")),
        },
        "duration" => match super::functions::parse_duration(text) {
            Some(duration) => Val::Duration(duration),
            None => broken(&format!("invalid duration {text}")),
        },
        "date" if formats::is_date(text) => {
            match format!("{text}T00:00:00Z").parse::<Timestamp>() {
                Ok(time) => Val::Timestamp(time),
                Err(error) => broken(&format!("invalid date formatted string {text}: {error}")),
            }
        }
        "date" => broken(&format!("invalid date formatted string {text}")),
        "date-time" => match text.parse::<Timestamp>() {
            Ok(time) => Val::Timestamp(time),
            Err(error) => broken(&format!(
                "invalid date-time formatted string {text}: {error}"
            )),
        },
        _ => Val::text(text),
    }
}

/// The order of numbers of whichever types; `None` when one is no number, `Some(None)` when one is NaN.
#[allow(clippy::cast_precision_loss, reason = "as CEL compares")]
#[allow(
    clippy::option_option,
    reason = "no numbers, and numbers without an order (NaN), are different"
)]
pub(super) fn compare_numbers(a: &Val, b: &Val) -> Option<Option<Ordering>> {
    let float = |value: &Val| match value {
        Val::Int(number) => Some(*number as f64),
        Val::Uint(number) => Some(*number as f64),
        Val::Double(number) => Some(*number),
        _ => None,
    };
    Some(match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Uint(b)) => Some(match u64::try_from(*a) {
            Ok(a) => a.cmp(b),
            Err(_) => Ordering::Less,
        }),
        (Val::Uint(a), Val::Int(b)) => Some(match u64::try_from(*b) {
            Ok(b) => a.cmp(&b),
            Err(_) => Ordering::Greater,
        }),
        (a, b) => float(a)?.partial_cmp(&float(b)?),
    })
}

impl PartialEq for Val {
    fn eq(&self, other: &Self) -> bool {
        if let Some(ordering) = compare_numbers(self, other) {
            return ordering == Some(Ordering::Equal);
        }
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::List(a), Self::List(b)) => **a == **b,
            (Self::Map(a), Self::Map(b)) => a.entries == b.entries,
            (Self::Optional(a), Self::Optional(b)) => a == b,
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            (Self::Json(a), Self::Json(b)) => a == b,
            _ => false,
        }
    }
}

impl PartialEq for List {
    /// Sets and lists with keys are equal in whichever order.
    fn eq(&self, other: &Self) -> bool {
        if self.items.len() != other.items.len() {
            return false;
        }
        match &self.kind {
            ListKind::Atomic => self.items == other.items,
            ListKind::Set => self.items.iter().all(|item| other.items.contains(item)),
            ListKind::Map(_) => self.items.iter().all(|item| other.items.contains(item)),
        }
    }
}

impl List {
    /// What tells an item of a list with keys apart.
    fn keys_of(item: &Val, keys: &[String]) -> Vec<Option<Val>> {
        let get = |key: &String| match item {
            Val::Map(map) => map.entries.get(&Key::Str(key.as_str().into())).cloned(),
            _ => None,
        };
        keys.iter().map(get).collect()
    }

    /// `self + other`: in a set what is new is appended, in a list with keys what is known is replaced.
    pub(super) fn plus(&self, other: &List) -> List {
        let mut items = self.items.clone();
        for item in &other.items {
            let place = match &self.kind {
                ListKind::Atomic => None,
                ListKind::Set => items.iter().position(|known| known == item),
                ListKind::Map(keys) => {
                    let wanted = Self::keys_of(item, keys);
                    items
                        .iter()
                        .position(|known| Self::keys_of(known, keys) == wanted)
                }
            };
            match place {
                Some(place) => items[place] = item.clone(),
                None => items.push(item.clone()),
            }
        }
        let kind = self.kind.clone();
        List { items, kind }
    }
}
