//! Reads a body into a typed object and writes it back as the real server does: unknown fields are dropped, a wrong
//! type is an error, and struct fields that hold nothing (no value, an empty list, map or text) are left out.

use std::fmt;

use k8s_openapi::serde::Serialize;
use k8s_openapi::serde::de::DeserializeOwned;
use serde::ser::{self, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple};
use serde_json::{Map, Value};

/// Texts that the real server keeps though they are empty, since their type is a pointer.
const KEPT_EMPTY: &[&str] = &[
    "holderIdentity",
    "ingressClassName",
    "preferredHolder",
    "storageClassName",
    "strategy",
];

/// `value` with exactly the fields of `T`.
///
/// # Errors
///
/// Text of the first field that has a wrong type.
pub(crate) fn typed<T: Serialize + DeserializeOwned>(value: Value) -> Result<Value, String> {
    let object: T = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let out = object.serialize(Compact).map_err(|error| error.0)?;
    Ok(out.value)
}

/// The fields of `sent` that `kept` has not, by path. What is empty says nothing and is no unknown field.
pub(crate) fn unknown_fields(sent: &Value, kept: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_unknown(sent, kept, "", &mut found);
    found
}

fn collect_unknown(sent: &Value, kept: &Value, path: &str, found: &mut Vec<String>) {
    match (sent, kept) {
        (Value::Object(sent), Value::Object(kept)) => {
            for (key, value) in sent {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                match kept.get(key) {
                    Some(kept) => collect_unknown(value, kept, &path, found),
                    None if is_empty(value) => {}
                    None => found.push(path),
                }
            }
        }
        (Value::Array(sent), Value::Array(kept)) => {
            for (index, (sent, kept)) in sent.iter().zip(kept).enumerate() {
                collect_unknown(sent, kept, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

struct Compact;

/// A written value, and whether a struct field that holds it is left out.
struct Out {
    value: Value,
    empty: bool,
}

impl Out {
    fn some(value: impl Into<Value>) -> Self {
        Self {
            value: value.into(),
            empty: false,
        }
    }

    fn maybe(value: impl Into<Value>, empty: bool) -> Self {
        Self {
            value: value.into(),
            empty,
        }
    }
}

#[derive(Debug)]
struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

fn unsupported(what: &str) -> Error {
    Error(format!("{what} is no JSON value"))
}

impl ser::Serializer for Compact {
    type Ok = Out;
    type Error = Error;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = ser::Impossible<Out, Error>;
    type SerializeTupleVariant = ser::Impossible<Out, Error>;
    type SerializeMap = Entries;
    type SerializeStruct = Fields;
    type SerializeStructVariant = ser::Impossible<Out, Error>;

    fn serialize_bool(self, v: bool) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_i8(self, v: i8) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_i16(self, v: i16) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_i32(self, v: i32) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_i64(self, v: i64) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_u8(self, v: u8) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_u16(self, v: u16) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_u32(self, v: u32) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_u64(self, v: u64) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_f32(self, v: f32) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_f64(self, v: f64) -> Result<Out, Error> {
        Ok(Out::some(v))
    }
    fn serialize_char(self, v: char) -> Result<Out, Error> {
        Ok(Out::some(v.to_string()))
    }
    fn serialize_str(self, v: &str) -> Result<Out, Error> {
        Ok(Out::maybe(v, v.is_empty()))
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<Out, Error> {
        Err(unsupported("a byte string"))
    }
    fn serialize_none(self) -> Result<Out, Error> {
        Ok(Out::maybe(Value::Null, true))
    }
    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Result<Out, Error> {
        v.serialize(self)
    }
    fn serialize_unit(self) -> Result<Out, Error> {
        Ok(Out::maybe(Value::Null, true))
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<Out, Error> {
        Ok(Out::maybe(Value::Null, true))
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Out, Error> {
        Ok(Out::some(variant))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        v: &T,
    ) -> Result<Out, Error> {
        // Times, quantities and free JSON: written as they are.
        Ok(Out {
            value: v.serialize(self)?.value,
            empty: false,
        })
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        v: &T,
    ) -> Result<Out, Error> {
        let mut map = Map::new();
        map.insert(variant.into(), v.serialize(self)?.value);
        Ok(Out::some(map))
    }
    fn serialize_seq(self, len: Option<usize>) -> Result<List, Error> {
        Ok(List(Vec::with_capacity(len.unwrap_or(0))))
    }
    fn serialize_tuple(self, len: usize) -> Result<List, Error> {
        Ok(List(Vec::with_capacity(len)))
    }
    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        Err(unsupported("a tuple struct"))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(unsupported("a tuple variant"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Entries, Error> {
        Ok(Entries {
            map: Map::new(),
            key: None,
        })
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields, Error> {
        Ok(Fields(Map::new()))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(unsupported("a struct variant"))
    }
}

struct List(Vec<Value>);

impl SerializeSeq for List {
    type Ok = Out;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), Error> {
        self.0.push(v.serialize(Compact)?.value);
        Ok(())
    }

    fn end(self) -> Result<Out, Error> {
        let empty = self.0.is_empty();
        Ok(Out::maybe(self.0, empty))
    }
}

impl SerializeTuple for List {
    type Ok = Out;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), Error> {
        SerializeSeq::serialize_element(self, v)
    }

    fn end(self) -> Result<Out, Error> {
        SerializeSeq::end(self)
    }
}

struct Entries {
    map: Map<String, Value>,
    key: Option<String>,
}

impl SerializeMap for Entries {
    type Ok = Out;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        match key.serialize(Compact)?.value {
            Value::String(text) => self.key = Some(text),
            _ => return Err(unsupported("a key that is no text")),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), Error> {
        let value = v.serialize(Compact)?.value;
        if let Some(key) = self.key.take() {
            self.map.insert(key, value);
        }
        Ok(())
    }

    fn end(self) -> Result<Out, Error> {
        let empty = self.map.is_empty();
        Ok(Out::maybe(self.map, empty))
    }
}

struct Fields(Map<String, Value>);

impl SerializeStruct for Fields {
    type Ok = Out;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        v: &T,
    ) -> Result<(), Error> {
        let out = v.serialize(Compact)?;
        if !out.empty || (out.value.is_string() && KEPT_EMPTY.contains(&key)) {
            self.0.insert(key.into(), out.value);
        }
        Ok(())
    }

    fn end(self) -> Result<Out, Error> {
        Ok(Out::some(self.0))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_empty_or_unknown_is_dropped() {
        let written = typed::<ConfigMap>(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"empty": ""}, "annotations": {}, "finalizers": []},
            "data": null, "binaryData": {}, "unknown": 1,
        }));
        let want = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"empty": ""}}});
        assert_eq!(written, Ok(want));
    }

    #[test]
    fn empty_structs_are_kept() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {},
            "spec": {"containers": [], "securityContext": {}, "volumes": [{"name": "v", "emptyDir": {}}]},
        });
        let written = typed::<Pod>(pod).expect("a pod");
        assert_eq!(
            written["spec"],
            json!({"securityContext": {}, "volumes": [{"name": "v", "emptyDir": {}}]})
        );
    }

    #[test]
    fn unknown_fields_are_told_by_path() {
        let sent = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "extra": 1, "labels": {}},
            "spec": {"containers": [{"name": "c", "imagePullPolic": "Always"}], "more": 2, "nothing": null},
        });
        let kept = typed::<Pod>(sent.clone()).expect("a pod");
        let want = [
            "metadata.extra",
            "spec.containers[0].imagePullPolic",
            "spec.more",
        ];
        assert_eq!(unknown_fields(&sent, &kept), want);
    }

    #[test]
    fn a_wrong_type_is_an_error() {
        let error =
            typed::<ConfigMap>(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": 5}}));
        assert!(error.expect_err("no text").contains("expected a string"));
    }
}
