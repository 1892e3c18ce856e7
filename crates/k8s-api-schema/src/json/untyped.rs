//! JSON of no known type.

use serde_json::{Map, Value};

use super::strict::Strict;
use super::text::{Kind, Reader};
use super::{Decoded, MAX_KEPT_DEPTH, numbers};

pub(super) fn decode(bytes: &[u8]) -> Result<Decoded, String> {
    let mut strict = Strict::default();
    let mut reader = Reader::new(bytes);
    let kind = reader.kind();
    if !matches!(kind, Kind::Object | Kind::Null) {
        return Err(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            kind.word()
        ));
    }
    let mut error = None;
    let value = value(&mut reader, &mut strict, &mut error, 0)?;
    match error {
        Some(error) => Err(error),
        None => Ok(Decoded {
            value,
            strict: strict.found,
        }),
    }
}

pub(super) fn any(bytes: &[u8]) -> Result<Decoded, String> {
    let mut strict = Strict::default();
    let mut error = None;
    let value = value(&mut Reader::new(bytes), &mut strict, &mut error, 0)?;
    match error {
        Some(error) => Err(error),
        None => Ok(Decoded {
            value,
            strict: strict.found,
        }),
    }
}

/// One value. Numbers beyond all floats are the error of the whole, which is read on for others.
pub(super) fn value(
    reader: &mut Reader<'_>,
    strict: &mut Strict,
    error: &mut Option<String>,
    depth: usize,
) -> Result<Value, String> {
    if depth > MAX_KEPT_DEPTH {
        return Err(too_deep());
    }
    Ok(match reader.kind() {
        Kind::Null => {
            reader.skip();
            Value::Null
        }
        Kind::Bool => reader.bool().into(),
        Kind::String => reader.string().into_owned().into(),
        Kind::Number => {
            let text = reader.number();
            numbers::untyped(text).unwrap_or_else(|| {
                error.get_or_insert_with(|| {
                    format!("json: cannot unmarshal number {text} into Go value of type float64")
                });
                Value::Null
            })
        }
        Kind::Array => {
            let mut list = Vec::new();
            reader.open();
            while reader.next_item() {
                let outer = strict.enter_item(list.len());
                list.push(value(reader, strict, error, depth + 1)?);
                strict.leave(outer);
            }
            Value::Array(list)
        }
        Kind::Object => {
            let mut map = Map::new();
            reader.open();
            while let Some(key) = reader.next_key() {
                if map.contains_key(&*key) {
                    strict.duplicate(&key);
                }
                let outer = strict.enter(&key);
                let value = value(reader, strict, error, depth + 1)?;
                strict.leave(outer);
                map.insert(key.into_owned(), value);
            }
            Value::Object(map)
        }
    })
}

/// Says that JSON is nested too deep to be kept.
pub(super) fn too_deep() -> String {
    format!("exceeded max depth of {MAX_KEPT_DEPTH}")
}

pub(super) fn type_of(bytes: &[u8]) -> Result<(String, String), String> {
    let mut reader = Reader::new(bytes);
    let (mut version, mut kind) = (String::new(), String::new());
    match reader.kind() {
        Kind::Object => {}
        Kind::Null => return Ok((version, kind)),
        other => {
            return Err(format!(
                "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
                other.word()
            ));
        }
    }
    let mut error = None;
    reader.open();
    while let Some(key) = reader.next_key() {
        let (slot, name) = if key.eq_ignore_ascii_case("apiVersion") {
            (&mut version, "apiVersion")
        } else if key.eq_ignore_ascii_case("kind") {
            (&mut kind, "kind")
        } else {
            reader.skip();
            continue;
        };
        match reader.kind() {
            Kind::String => *slot = reader.string().into_owned(),
            Kind::Null => {
                reader.skip();
            }
            other => {
                reader.skip();
                error.get_or_insert_with(|| {
                    format!(
                        "json: cannot unmarshal {} into Go struct field .{name} of type string",
                        other.word()
                    )
                });
            }
        }
    }
    match error {
        Some(error) => Err(error),
        None => Ok((version, kind)),
    }
}
