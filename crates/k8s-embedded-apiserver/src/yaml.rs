//! YAML bodies, as the server reads them: the first document, in which a later key wins over an earlier one.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{DuplicateKeyPolicy, Options, Spanned};

/// Marks the words of a key that JSON has no place for.
const REFUSED_KEY: &str = "refused key: ";
/// Above this, floats have gaps of more than one.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A document, and what is told of keys that are there twice.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// `line 3: key "name" already set in map`.
    pub(crate) duplicates: Vec<String>,
}

/// Reads the first document.
///
/// # Errors
///
/// Text that says what is wrong.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, String> {
    let text = decoded(bytes)?;
    let text = first_document(&text);
    if text.trim().is_empty() {
        return Ok(Document::default());
    }
    let mut duplicates = Vec::new();
    let mut options = Options::default();
    options.duplicate_keys = DuplicateKeyPolicy::PassThrough;
    options.with_snippet = false;
    options.legacy_octal_numbers = true;
    let seed = Node(&mut duplicates);
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
        seed.deserialize(reader)
    })
    .map_err(|error| told(&error))?;
    Ok(Document { value, duplicates })
}

/// The text, which is UTF-16 where its first character says so.
fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, odd) = rest.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        match String::from_utf16(&units) {
            Ok(text) if odd.is_empty() => Ok(Cow::Owned(text)),
            _ => Err("yaml: incomplete UTF-16 character".to_owned()),
        }
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => std::str::from_utf8(bytes)
            .map(Cow::Borrowed)
            .map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned()),
    }
}

fn told(error: &serde_saphyr::Error) -> String {
    tracing::debug!(%error, "YAML not read");
    let text = error.to_string();
    if text.contains("budget breached") || text.contains("alias replay limit") {
        return "yaml: document contains excessive aliasing".into();
    }
    if let Some((_, why)) = text.split_once(REFUSED_KEY) {
        return why.split(" at line ").next().unwrap_or(why).to_owned();
    }
    let what = if text.contains("mapping values are not allowed") {
        "mapping values are not allowed in this context"
    } else {
        text.lines().next().unwrap_or_default()
    };
    match error.location() {
        Some(at) if at.line() > 1 => format!("yaml: line {}: {what}", at.line()),
        _ => format!("yaml: {what}"),
    }
}

/// The value of a text that may be JSON, which is the usual one.
pub(crate) fn to_json(bytes: &[u8]) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    Ok(read(bytes)?.value)
}

/// What is said of keys that a text has twice in one object.
pub(crate) fn duplicate_keys(bytes: &[u8]) -> Vec<String> {
    read(bytes).unwrap_or_default().duplicates
}

/// The text up to the line that begins the second document.
fn first_document(text: &str) -> &str {
    let mut length = 0;
    let (mut has_begun, mut has_content) = (false, false);
    for line in text.split_inclusive('\n') {
        let is_marker = line.starts_with("---") && line[3..].trim_start() != line[3..].trim_end()
            || line.trim_end() == "---";
        if is_marker && (has_begun || has_content) {
            return &text[..length];
        }
        has_begun |= is_marker;
        // What is before the marker may be about how the document is written.
        let is_directive = !has_begun && line.starts_with('%');
        has_content |=
            !is_marker && !is_directive && !line.trim().is_empty() && !line.trim().starts_with('#');
        length += line.len();
    }
    text
}

struct Node<'a>(&'a mut Vec<String>);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // Go writes a float that is whole as a whole number.
        #[allow(
            clippy::cast_possible_truncation,
            reason = "it is whole, and not too large"
        )]
        if value.fract() == 0.0 && value.abs() < LARGEST_WHOLE {
            return Ok((value as i64).into());
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.deserialize(reader)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Node(&mut *self.0))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<Spanned<Key>>()? {
            let line = key.referenced.line();
            let Some(key) = key.value.0 else {
                let value = entries.next_value_seed(Node(&mut *self.0))?;
                return Err(serde::de::Error::custom(format!(
                    "{REFUSED_KEY}unsupported map key of type: %!s(<nil>), key: <nil>, value: {value}"
                )));
            };
            if map.contains_key(&key) {
                let text = format!(
                    "line {line}: key {} already set in map",
                    k8s_api_schema::quote(&key)
                );
                self.0.push(text);
            }
            let value = entries.next_value_seed(Node(&mut *self.0))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// A key of JSON: the text of any single value but null.
struct Key(Option<String>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let mut duplicates = Vec::new();
        let refuse = |why: String| Err(serde::de::Error::custom(format!("{REFUSED_KEY}{why}")));
        Ok(Self(Some(
            match Node(&mut duplicates).deserialize(reader)? {
                Value::String(text) => text,
                Value::Null => return Ok(Self(None)),
                Value::Array(list) => {
                    let items: Vec<String> = list.iter().map(ToString::to_string).collect();
                    return refuse(format!(
                        "yaml: invalid map key: []interface {{}}{{{}}}",
                        items.join(", ")
                    ));
                }
                Value::Object(map) => {
                    let entry = |(key, value): (&String, &Value)| {
                        format!("{}:{value}", k8s_api_schema::quote(key))
                    };
                    let entries: Vec<String> = map.iter().map(entry).collect();
                    return refuse(format!(
                        "yaml: invalid map key: map[interface {{}}]interface {{}}{{{}}}",
                        entries.join(", ")
                    ));
                }
                other => other.to_string(),
            },
        )))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_document_with_its_last_keys() {
        let read = read(
            b"# a comment\n---\nmetadata:\n  name: a\n  name: b\ndata: {1: x, a: 'y', a: z}\nlist: [1, 1.5, null, true]\n--- \nnext: 1\n",
        )
        .expect("YAML");
        assert_eq!(
            read.value,
            json!({"metadata": {"name": "b"}, "data": {"1": "x", "a": "z"}, "list": [1, 1.5, null, true]})
        );
        assert_eq!(
            read.duplicates,
            [
                r#"line 5: key "name" already set in map"#,
                r#"line 6: key "a" already set in map"#,
            ]
        );
    }

    #[test]
    fn documents_by_their_markers() {
        for (text, expected) in [
            ("---\n---\na: 1\n", Value::Null),
            (
                "%YAML 1.1\n---\na: 0777\nb: 1e3\n",
                json!({"a": 511, "b": 1000}),
            ),
            (
                "%TAG ! tag:example.com,2000:\n---\na: 1.5\n",
                json!({"a": 1.5}),
            ),
            ("a: 1\n---\n{", json!({"a": 1})),
        ] {
            assert_eq!(
                read(text.as_bytes()).map(|read| read.value),
                Ok(expected),
                "{text}"
            );
        }
        for endian in [u16::to_le_bytes, u16::to_be_bytes] {
            let text: Vec<u8> = "\u{feff}a: ä".encode_utf16().flat_map(endian).collect();
            assert_eq!(read(&text).map(|read| read.value), Ok(json!({"a": "ä"})));
            assert!(read(&text[..text.len() - 1]).is_err());
        }
    }

    #[test]
    fn keys_and_aliases_that_are_refused() {
        for (text, why) in [
            (
                "a: {~: b}",
                "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"b\"",
            ),
            (
                "? [a, 1]\n: b",
                "yaml: invalid map key: []interface {}{\"a\", 1}",
            ),
            (
                "{a: b}: c",
                "yaml: invalid map key: map[interface {}]interface {}{\"a\":\"b\"}",
            ),
        ] {
            assert_eq!(
                read(text.as_bytes()).map(|read| read.value),
                Err(why.to_owned()),
                "{text}"
            );
        }
        let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (before, name) in ('a'..='k').zip('b'..='l') {
            let again = vec![format!("*{before}"); 9].join(", ");
            bomb.extend([format!("{name}: &{name} [{again}]\n")]);
        }
        assert_eq!(
            read(bomb.as_bytes()).map(|read| read.value),
            Err("yaml: document contains excessive aliasing".to_owned())
        );
    }

    #[test]
    fn nothing_is_null_and_errors_name_the_line() {
        assert_eq!(read(b" \n").expect("nothing").value, Value::Null);
        let error = read(b"a: 1\nb: [c\n").expect_err("no end");
        assert!(error.starts_with("yaml: line "), "{error}");
        assert!(read(b"\xff").is_err());
        assert_eq!(
            to_json(b"a: b: c"),
            Err("yaml: mapping values are not allowed in this context".into())
        );
    }

    #[test]
    fn json_is_yaml() {
        assert_eq!(to_json(b"{\"a\": 1, \"a\": [2]}"), Ok(json!({"a": [2]})));
        assert_eq!(
            duplicate_keys(b"{\"a\": {\"x\": 1,\n\"x\": 2}, \"a\": 3}"),
            [
                "line 2: key \"x\" already set in map",
                "line 2: key \"a\" already set in map",
            ]
        );
        let yaml = to_json(b"a: yes\nb: 'yes'\nc: ~");
        assert_eq!(yaml, Ok(json!({"a": true, "b": "yes", "c": null})));
    }
}
