//! JSON text with the members of objects where the real server's types have them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::model::{Schema, Type, TypeId};

/// What of a value was taken apart, and is written with its members by name: what a patch has gone through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TakenApart {
    /// Nothing of it.
    #[default]
    Nothing,
    /// It itself, and of its members, by key or index, what is said there.
    Members(BTreeMap<String, TakenApart>),
    /// All of it.
    Wholly,
}

impl TakenApart {
    /// The members; a value of which nothing was taken apart is taken apart itself.
    pub fn members(&mut self) -> Option<&mut BTreeMap<String, TakenApart>> {
        if *self == Self::Nothing {
            *self = Self::Members(BTreeMap::new());
        }
        match self {
            Self::Members(members) => Some(members),
            _ => None,
        }
    }

    fn member(&self, key: &str) -> &Self {
        match self {
            Self::Members(members) => members.get(key).unwrap_or(&Self::Nothing),
            whole => whole,
        }
    }

    fn item(&self, index: usize) -> &Self {
        match self {
            Self::Members(_) => self.member(&index.to_string()),
            whole => whole,
        }
    }
}

/// Compact JSON of a value of a type, as Go writes it: fields in the order of the type, keys of maps by name, and `<`,
/// `>` and `&` escaped. Without a type all members come by name.
///
/// ```
/// use k8s_api_schema::{TakenApart, builtin, print_ordered};
///
/// let id = builtin().find("", "v1", "ConfigMap").expect("a built-in kind");
/// let object = serde_json::json!({"data": {"b": "<", "a": ""}, "metadata": {"uid": "u", "name": "n"}});
/// let text = print_ordered(&object, Some((builtin(), id)), &TakenApart::Nothing);
/// assert_eq!(text, r#"{"metadata":{"name":"n","uid":"u"},"data":{"a":"","b":"\u003c"}}"#);
/// ```
#[must_use]
pub fn print_ordered(
    value: &Value,
    type_: Option<(&Schema, TypeId)>,
    apart: &TakenApart,
) -> String {
    let mut out = String::with_capacity(256);
    write_value(&mut out, value, type_, apart);
    out
}

/// [`print_ordered`] of an object without some of its own members.
#[must_use]
pub fn print_members(
    object: &Map<String, Value>,
    type_: Option<(&Schema, TypeId)>,
    left_out: &[&str],
) -> String {
    let mut out = String::with_capacity(length_of_object(object));
    write_object(&mut out, object, type_, &TakenApart::Nothing, left_out);
    out
}

/// About how long the text of a value is: enough, unless many characters have to be escaped.
fn length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 20,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| length(item) + 1).sum::<usize>(),
        Value::Object(map) => length_of_object(map),
    }
}

fn length_of_object(map: &Map<String, Value>) -> usize {
    let members = map.iter().map(|(key, value)| key.len() + length(value) + 4);
    2 + members.sum::<usize>()
}

fn write_value(
    out: &mut String,
    value: &Value,
    type_: Option<(&Schema, TypeId)>,
    apart: &TakenApart,
) {
    match value {
        Value::Object(map) => write_object(out, map, type_, apart, &[]),
        Value::Array(items) => {
            let of_items = type_.and_then(|(schema, id)| match schema.get(id) {
                Type::List(list) => Some((schema, list.items)),
                // A schema in the place of a list is none, so that its items are schemas.
                Type::Any => schema.either(id).map(|either| (schema, either.schema)),
                _ => None,
            });
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item, of_items, apart.item(index));
            }
            out.push(']');
        }
        Value::String(text) => write_text(out, text),
        scalar => {
            // Writing to a String cannot fail.
            let _ = write!(out, "{scalar}");
        }
    }
}

fn write_object(
    out: &mut String,
    map: &Map<String, Value>,
    type_: Option<(&Schema, TypeId)>,
    apart: &TakenApart,
    left_out: &[&str],
) {
    let kept = map
        .iter()
        .filter(|(key, _)| !left_out.contains(&key.as_str()));
    let by_name = *apart != TakenApart::Nothing || !type_.is_some_and(has_places);
    out.push('{');
    let mut first = true;
    let mut write = |key: &str, value: &Value, member: Option<TypeId>| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        write_text(out, key);
        out.push(':');
        let member = type_.and_then(|(schema, _)| Some((schema, member?)));
        write_value(out, value, member, apart.member(key));
    };
    let member_of =
        |key: &str| type_.map_or((0, None), |(schema, id)| member_type(schema, id, key));
    if by_name {
        for (key, value) in kept {
            write(key, value, member_of(key).1);
        }
    } else {
        let mut members: Vec<(u32, &String, &Value, Option<TypeId>)> =
            Vec::with_capacity(map.len());
        members.extend(kept.map(|(key, value)| {
            let (position, member) = member_of(key);
            (position, key, value, member)
        }));
        // Members are by name already, and stay so where their places are the same.
        members.sort_by_key(|(position, ..)| *position);
        for (_, key, value, member) in members {
            write(key, value, member);
        }
    }
    out.push('}');
}

/// Whether the members of a value of a type have places other than by name.
fn has_places((schema, id): (&Schema, TypeId)) -> bool {
    match schema.get(id) {
        Type::Struct(_) => true,
        Type::Any => schema.either(id).is_some(),
        _ => false,
    }
}

/// The place and the type of a member of a value of a type.
fn member_type(schema: &Schema, id: TypeId, key: &str) -> (u32, Option<TypeId>) {
    match schema.get(id) {
        Type::Struct(struct_) => match struct_.fields.get(key) {
            Some(field) => (field.position, Some(field.type_)),
            None => (u32::MAX, struct_.rest),
        },
        Type::Map(map) => (0, Some(map.values)),
        Type::Any => schema
            .either(id)
            .map_or((0, None), |either| member_type(schema, either.schema, key)),
        _ => (0, None),
    }
}

/// A text with the escapes that Go makes.
fn write_text(out: &mut String, text: &str) {
    out.push('"');
    // What was not written yet begins here.
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let (escape, length) = match byte {
            b'"' => ("\\\"", 1),
            b'\\' => ("\\\\", 1),
            b'\n' => ("\\n", 1),
            b'\r' => ("\\r", 1),
            b'\t' => ("\\t", 1),
            0x8 => ("\\b", 1),
            0xc => ("\\f", 1),
            b'<' => ("\\u003c", 1),
            b'>' => ("\\u003e", 1),
            b'&' => ("\\u0026", 1),
            0..=0x1f => ("", 1),
            0xe2 if text[at..].starts_with('\u{2028}') => ("\\u2028", 3),
            0xe2 if text[at..].starts_with('\u{2029}') => ("\\u2029", 3),
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        out.push_str(escape);
        if escape.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{byte:04x}");
        }
        plain = at + length;
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin;

    #[test]
    fn texts_are_escaped() {
        for (text, expected) in [
            ("", ""),
            (
                "plain é \u{e2}\u{2027}\u{202a}",
                "plain é \u{e2}\u{2027}\u{202a}",
            ),
            ("\u{2028}a\u{2029}", r"\u2028a\u2029"),
            ("\"\\/\n\r\t\u{8}\u{c}", r#"\"\\/\n\r\t\b\f"#),
            (
                "<>&\0\u{1f}\u{7f}",
                "\\u003c\\u003e\\u0026\\u0000\\u001f\u{7f}",
            ),
        ] {
            let printed = print_ordered(&text.into(), None, &TakenApart::Nothing);
            assert_eq!(printed, format!("\"{expected}\""));
        }
    }

    #[test]
    fn what_is_taken_apart_comes_by_name() {
        let id = builtin().find("", "v1", "Pod").expect("a built-in kind");
        let pod = json!({
            "kind": "Pod", "apiVersion": "v1",
            "spec": {"containers": [{"image": "i", "name": "c"}], "volumes": []},
            "metadata": {"uid": "u", "name": "n"},
        });
        let mut apart = TakenApart::default();
        let mut printed = |way: &[&str]| {
            let mut at = &mut apart;
            for step in way {
                at = at
                    .members()
                    .expect("members")
                    .entry((*step).into())
                    .or_default();
            }
            let _ = at.members();
            print_ordered(&pod, Some((builtin(), id)), &apart)
        };
        assert_eq!(
            printed(&[]),
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n","uid":"u"},"spec":{"volumes":[],"containers":[{"name":"c","image":"i"}]}}"#
        );
        assert_eq!(
            printed(&["spec", "containers", "0"]),
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"n","uid":"u"},"spec":{"containers":[{"image":"i","name":"c"}],"volumes":[]}}"#
        );
        assert_eq!(
            print_ordered(&pod, Some((builtin(), id)), &TakenApart::Nothing),
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"n","uid":"u"},"spec":{"volumes":[],"containers":[{"name":"c","image":"i"}]}}"#
        );
    }
}
