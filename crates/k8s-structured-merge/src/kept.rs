//! Writes after which every manager owns what it owned before, as most do: whoever writes an object mostly changes what
//! it has written before. Then the entries are looked through as they are, and only the time of the writer's changes.

use serde_json::{Map, Value};

use crate::element::PathElement;
use crate::managed::Operation;
use crate::set::{Node, Set};
use crate::typed::TypeRef;
use crate::update::{MAX_UPDATE_MANAGERS, Writer};

/// What a write did to the fields of the writer's version that the server does not reset.
pub(crate) struct Change<'a> {
    /// What it changed or added.
    pub(crate) changed: &'a Set,
    pub(crate) removed: &'a Set,
    /// What it changed or added of what can be owned.
    pub(crate) own: &'a Set,
}

/// The entries of a write that may stay as they are.
pub(crate) struct Kept<'a> {
    now: &'a str,
    /// Which of them is the writer's, if it has changed something that can be owned.
    own: Option<usize>,
}

impl<'a> Kept<'a> {
    /// Looks through the entries; `None` if they have to be read, because what a manager owns changes, or because they
    /// are not as the server writes them.
    pub(crate) fn of(
        list: &Value,
        type_: TypeRef<'_>,
        change: &Change<'_>,
        writer: &Writer<'a>,
    ) -> Option<Self> {
        let entries = list.as_array()?;
        if entries.is_empty() || entries.len() > MAX_UPDATE_MANAGERS || writer.now.is_empty() {
            return None;
        }
        let mut own = None;
        for (index, entry) in entries.iter().enumerate() {
            let (entry, fields) = read(entry, writer.api_version)?;
            if !is_settled(fields, Some(type_), true) || meets(fields, change.removed) {
                return None;
            }
            let author = identity(entry);
            let is_same = |other: &Value| other.as_object().map(identity) == Some(author);
            if entries[..index].iter().any(is_same) {
                return None;
            }
            let is_own = author
                == [
                    writer.name(),
                    Operation::Update.as_str(),
                    writer.subresource,
                ];
            if is_own && !change.own.is_empty() {
                // What it changed it owns again, but for what none can own.
                let disowned = change.changed.difference(change.own);
                if !has_all(fields, change.own) || meets(fields, &disowned) {
                    return None;
                }
                own = Some(index);
            } else if meets(fields, change.changed) {
                return None;
            }
        }
        (change.own.is_empty() || own.is_some()).then_some(Self {
            now: writer.now,
            own,
        })
    }

    /// The same entries after the write.
    pub(crate) fn write(self, mut list: Value) -> Value {
        let own = self.own.and_then(|own| list.get_mut(own));
        if let Some(entry) = own.and_then(Value::as_object_mut) {
            entry.insert("time".into(), self.now.into());
        }
        if let Some(entries) = list.as_array_mut() {
            entries.sort_by(|a, b| rank(a).cmp(&rank(b)));
        }
        list
    }
}

fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

type Members = Map<String, Value>;

/// An entry of a version with all that the server writes and nothing else, and its fields.
fn read<'a>(entry: &'a Value, api_version: &str) -> Option<(&'a Members, &'a Members)> {
    let entry = entry.as_object()?;
    let mut needed = 0;
    for (key, value) in entry {
        let is_needed = match (key.as_str(), value) {
            ("fieldsV1", Value::Object(_)) => true,
            ("operation", Value::String(text)) if text == "Apply" || text == "Update" => true,
            ("apiVersion", Value::String(text)) if text == api_version => true,
            ("fieldsType", Value::String(text)) if text == "FieldsV1" => true,
            ("manager" | "time" | "subresource", Value::String(text)) if !text.is_empty() => false,
            _ => return None,
        };
        needed += usize::from(is_needed);
    }
    if needed < 4 {
        return None;
    }
    Some((entry, entry.get("fieldsV1")?.as_object()?))
}

/// Among entries of one version no two are of the same manager, operation and subresource.
fn identity(entry: &Map<String, Value>) -> [&str; 3] {
    ["manager", "operation", "subresource"].map(|key| text(entry, key))
}

/// What the entries of one version are sorted by, as [`Managed::encode`](crate::Managed::encode) sorts them.
fn rank(entry: &Value) -> (&str, Option<&str>, &str, &str) {
    let of = |key| entry.get(key).and_then(Value::as_str);
    let text = |key| of(key).unwrap_or_default();
    (
        text("operation"),
        of("time"),
        text("manager"),
        text("subresource"),
    )
}

/// Whether fields are read and written again as they are, and none of them is within what has become one value.
fn is_settled(fields: &Map<String, Value>, type_: Option<TypeRef<'_>>, is_top: bool) -> bool {
    let type_ = match type_.map(TypeRef::is_walked) {
        Some(Some(false)) => return false,
        Some(Some(true)) => type_,
        Some(None) | None => None,
    };
    let mut count = 0;
    for (key, value) in fields {
        let Some(below) = value.as_object() else {
            return false;
        };
        if key == "." {
            if is_top || !below.is_empty() {
                return false;
            }
            continue;
        }
        count += 1;
        if !is_written(key) {
            return false;
        }
        let inner = type_.and_then(|type_| type_.below(key));
        if !below.is_empty() && !is_settled(below, inner, false) {
            return false;
        }
    }
    count > 0
}

/// Whether a key is as the server writes it.
fn is_written(key: &str) -> bool {
    if key.starts_with("f:") {
        return true;
    }
    let plain = |value: &Value| match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => !number.is_f64(),
        Value::Array(_) | Value::Object(_) => false,
    };
    let Ok(Some(element)) = PathElement::parse(key) else {
        return false;
    };
    let is_plain = match &element {
        PathElement::Field(_) | PathElement::Index(_) => true,
        PathElement::Key(keys) => keys.iter().all(|(_, value)| plain(value)),
        PathElement::Value(value) => plain(value),
    };
    is_plain && element.encode() == key
}

/// Whether fields that are settled have a member in common with a set.
fn meets(fields: &Map<String, Value>, set: &Set) -> bool {
    set.nodes.iter().any(|node| {
        let below = below(fields, node);
        below.is_some_and(|below| (node.member && is_member(below)) || meets(below, &node.children))
    })
}

/// Whether fields that are settled have all members of a set.
fn has_all(fields: &Map<String, Value>, set: &Set) -> bool {
    set.nodes.iter().all(|node| {
        let below = below(fields, node);
        below.is_some_and(|below| {
            (!node.member || is_member(below)) && has_all(below, &node.children)
        })
    })
}

fn below<'a>(fields: &'a Map<String, Value>, node: &Node) -> Option<&'a Map<String, Value>> {
    fields.get(&node.element.encode())?.as_object()
}

fn is_member(below: &Map<String, Value>) -> bool {
    below.is_empty() || below.contains_key(".")
}
