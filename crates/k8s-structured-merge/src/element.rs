//! One step of the way to a field: a name, the keys of a list item, its value, or its index.

use std::cmp::Ordering;
use std::fmt;

use k8s_api_schema::quote;
use serde_json::Value;

use crate::value::compare;

/// One step of a [`Path`].
///
/// The order is that in which the server writes them: names, keys, values, indexes.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// `f:name`: a field of an object.
    Field(String),
    /// `k:{"name":"a"}`: the item of a list of type `map` whose keys are these, sorted by name.
    Key(Vec<(String, Value)>),
    /// `v:"a"`: an item of a list of type `set`.
    Value(Value),
    /// `i:0`: an item by its place. The server reads these but never writes them.
    Index(i64),
}

/// The way from the root of an object to a field.
pub type Path = Vec<PathElement>;

/// Why the text of a path element was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElementError {
    /// Shorter than the two characters that tell its kind.
    #[error("key must be 2 characters long: {0:?}")]
    Short(String),
    /// No colon after the first character.
    #[error("missing colon: {0}")]
    Colon(String),
    /// What follows `k:` or `v:` is not the JSON that belongs there.
    #[error("{text:?} is no path element: {why}")]
    Json {
        /// The path element.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// What follows `i:` is no whole number.
    #[error("{0:?} has no index")]
    Index(String),
}

impl PathElement {
    /// A field of an object.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// Reads a path element as a key of `fieldsV1`; `None` for a kind of element that is not known, which the server
    /// leaves out.
    ///
    /// # Errors
    ///
    /// [`ElementError`] for a text that is no path element.
    pub fn parse(text: &str) -> Result<Option<Self>, ElementError> {
        let bytes = text.as_bytes();
        if bytes.len() < 2 {
            return Err(ElementError::Short(text.into()));
        }
        if bytes[1] != b':' {
            return Err(ElementError::Colon(text.into()));
        }
        let rest = &text[2..];
        let json = |why: String| ElementError::Json {
            text: text.into(),
            why,
        };
        Ok(Some(match bytes[0] {
            b'f' => Self::Field(rest.into()),
            b'v' => Self::Value(serde_json::from_str(rest).map_err(|e| json(e.to_string()))?),
            b'k' => match serde_json::from_str(rest).map_err(|e| json(e.to_string()))? {
                Value::Object(map) => {
                    let mut keys: Vec<_> = map.into_iter().collect();
                    keys.sort_by(|a, b| a.0.cmp(&b.0));
                    Self::Key(keys)
                }
                Value::Null => Self::Key(Vec::new()),
                _ => return Err(json("expected an object of keys".into())),
            },
            b'i' => Self::Index(rest.parse().map_err(|_| ElementError::Index(text.into()))?),
            _ => return Ok(None),
        }))
    }

    /// The element as a key of `fieldsV1`.
    #[must_use]
    pub fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Value(value) => {
                let mut out = String::from("v:");
                write_json(value, &mut out);
                out
            }
            Self::Key(keys) => {
                let mut out = String::from("k:{");
                for (index, (name, value)) in keys.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(&Value::from(name.as_str()).to_string());
                    out.push(':');
                    write_json(value, &mut out);
                }
                out.push('}');
                out
            }
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

/// Compact JSON with the characters escaped that Go's encoder escapes for HTML.
fn write_json(value: &Value, out: &mut String) {
    let text = match whole(value) {
        Some(number) => number.to_string(),
        None => value.to_string(),
    };
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        out.push_str(&text);
        return;
    }
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
}

/// A float without a fraction, which Go writes like a whole number.
fn whole(value: &Value) -> Option<i64> {
    /// Above this a float is written with an exponent, and may not be exact.
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    let float = value.as_f64().filter(|_| value.is_f64())?;
    if float.fract() == 0.0 && float.abs() < LARGEST {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "checked: it has no fraction and is in range"
        )]
        return Some(float as i64);
    }
    None
}

/// A value as messages show it.
pub(crate) fn print(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(_) => whole(value).map_or_else(|| value.to_string(), |n| n.to_string()),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(print).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let fields: Vec<_> = map
                .iter()
                .map(|(k, v)| format!("{k}={}", print(v)))
                .collect();
            fields.join("")
        }
        other => other.to_string(),
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (index, (name, value)) in keys.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", print(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", print(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// A path as messages show it: `.spec.ports[port=80,protocol="TCP"].name`.
#[must_use]
pub fn path_text(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

impl PathElement {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                for ((name_a, a), (name_b, b)) in a.iter().zip(b) {
                    let order = name_a.cmp(name_b).then_with(|| compare(a, b));
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                a.len().cmp(&b.len())
            }
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_are_written_and_read() {
        for (element, text, shown) in [
            (PathElement::field("a"), "f:a", ".a"),
            (PathElement::field("a:b\"c"), "f:a:b\"c", ".a:b\"c"),
            (
                PathElement::Key(vec![
                    ("port".into(), json!(80)),
                    ("protocol".into(), json!("TCP")),
                ]),
                r#"k:{"port":80,"protocol":"TCP"}"#,
                r#"[port=80,protocol="TCP"]"#,
            ),
            (
                PathElement::Key(vec![("port".into(), json!(80.0))]),
                r#"k:{"port":80}"#,
                "[port=80]",
            ),
            (
                PathElement::Value(json!("a<b")),
                r#"v:"a\u003cb""#,
                r#"[="a<b"]"#,
            ),
            (PathElement::Value(json!(1.5)), "v:1.5", "[=1.5]"),
            (PathElement::Index(3), "i:3", "[3]"),
        ] {
            assert_eq!(element.encode(), text);
            assert_eq!(element.to_string(), shown);
            assert_eq!(PathElement::parse(text), Ok(Some(element)));
        }
    }

    #[test]
    fn what_is_no_element_is_refused() {
        for text in ["", "f", "fa", "k:[1]", "k:{", "v:", "v:1 2", "i:x", "é"] {
            assert!(PathElement::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(PathElement::parse("x:whatever"), Ok(None));
    }

    #[test]
    fn the_order_is_that_of_the_server() {
        let sorted = [
            PathElement::field("a"),
            PathElement::field("b"),
            PathElement::Key(vec![("name".into(), json!(9))]),
            PathElement::Key(vec![("name".into(), json!(10))]),
            PathElement::Key(vec![("name".into(), json!("a"))]),
            PathElement::Key(vec![("name".into(), json!("a")), ("z".into(), json!(1))]),
            PathElement::Value(json!(1)),
            PathElement::Value(json!("a")),
            PathElement::Value(json!(false)),
            PathElement::Value(json!(true)),
            PathElement::Index(1),
        ];
        assert!(sorted.is_sorted_by(|a, b| a < b));
    }
}
