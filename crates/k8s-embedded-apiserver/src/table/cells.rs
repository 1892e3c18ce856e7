//! The cells of a row.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::age::since;
use super::columns::Column;
use super::kinds;
use crate::kinds::Kind;

/// One cell for each column.
pub(super) fn of(kind: &Kind, columns: &[Column], object: &Value, now: Timestamp) -> Vec<Value> {
    let row = Row { object, now };
    if kind.is_custom() {
        return row.custom(columns);
    }
    kinds::cells(kind, &row)
        .unwrap_or_else(|| vec![row.name(), row.cell("/metadata/creationTimestamp")])
}

/// An object that is made a row.
pub(super) struct Row<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Timestamp,
}

impl Row<'_> {
    pub(super) fn text(&self, pointer: &str) -> &str {
        self.object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(super) fn cell(&self, pointer: &str) -> Value {
        json!(self.text(pointer))
    }

    pub(super) fn name(&self) -> Value {
        self.cell("/metadata/name")
    }

    pub(super) fn age(&self) -> Value {
        json!(since(
            self.object.pointer("/metadata/creationTimestamp"),
            self.now
        ))
    }

    pub(super) fn number(&self, pointer: &str) -> i64 {
        self.object
            .pointer(pointer)
            .and_then(Value::as_i64)
            .unwrap_or(0)
    }

    pub(super) fn len(&self, pointer: &str) -> usize {
        self.object
            .pointer(pointer)
            .and_then(Value::as_object)
            .map_or(0, serde_json::Map::len)
    }

    pub(super) fn list(&self, pointer: &str) -> &[Value] {
        self.object
            .pointer(pointer)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    fn custom(&self, columns: &[Column]) -> Vec<Value> {
        columns
            .iter()
            .map(|column| match &column.path {
                None => self.name(),
                Some(path) => match path.find(self.object).first() {
                    None => Value::Null,
                    Some(value) => custom_cell(&column.kind, value, self.now),
                },
            })
            .collect()
    }

    /// Labels as `key=value`, or `<none>`.
    pub(super) fn labels(&self, pointer: &str) -> String {
        let labels = self.object.pointer(pointer).and_then(Value::as_object);
        let texts: Vec<String> = labels
            .into_iter()
            .flatten()
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect();
        or_none(texts.join(","))
    }

    /// Names and images of the containers in the template.
    pub(super) fn containers(&self) -> [Value; 2] {
        self.containers_at("/spec/template/spec/containers")
    }

    pub(super) fn containers_at(&self, pointer: &str) -> [Value; 2] {
        let containers = self.list(pointer);
        ["name", "image"].map(|field| {
            let texts: Vec<&str> = containers
                .iter()
                .map(|container| {
                    container
                        .get(field)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                })
                .collect();
            json!(texts.join(","))
        })
    }
}

pub(super) fn or_none(text: String) -> String {
    if text.is_empty() {
        "<none>".into()
    } else {
        text
    }
}

pub(super) fn pairs(labels: Option<&Value>) -> Vec<String> {
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect()
}

/// A `LabelSelector` object as the text of a label selector.
pub(super) fn selector_text(selector: Option<&Value>) -> String {
    let mut parts = pairs(selector.and_then(|selector| selector.get("matchLabels")));
    let expressions = selector
        .and_then(|selector| selector.get("matchExpressions"))
        .and_then(Value::as_array);
    for expression in expressions.into_iter().flatten() {
        let key = expression
            .get("key")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let values = expression
            .get("values")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let values: Vec<&str> = values.filter_map(Value::as_str).collect();
        let values = values.join(",");
        parts.push(
            match expression
                .get("operator")
                .and_then(Value::as_str)
                .unwrap_or_default()
            {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "DoesNotExist" => format!("!{key}"),
                _ => key.to_owned(),
            },
        );
    }
    parts.sort_unstable();
    parts.join(",")
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the real server cuts a float to an integer, too"
)]
fn custom_cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("string", Value::String(text)) => json!(text),
        ("string", Value::Null) => json!("<no value>"),
        ("string", other) => json!(other.to_string()),
        ("integer", Value::Number(number)) => number
            .as_i64()
            .or_else(|| number.as_f64().map(|float| float as i64))
            .map_or(Value::Null, Value::from),
        ("number", Value::Number(number)) => {
            // A whole number is shown without a fraction, as Go's JSON does.
            match number.as_f64() {
                Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => json!(float as i64),
                Some(float) => json!(float),
                None => Value::Null,
            }
        }
        ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(_)) => json!(since(Some(value), now)),
        _ => Value::Null,
    }
}
