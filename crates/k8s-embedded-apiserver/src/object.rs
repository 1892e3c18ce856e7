//! An object as it is stored: its JSON, and what is asked of it most often.
//!
//! A tree of JSON takes several times the memory of its text, and most reads want the text anyway.

use bytes::{BufMut, Bytes};
use k8s_api_schema::print_members;
use serde_json::Value;

use crate::metadata::{self, Meta, Owner};
use crate::ordered;

/// What the text of an object begins with, and what comes between its kind and its version.
const KIND: &[u8] = b"{\"kind\":\"";
const VERSION: &[u8] = b"\",\"apiVersion\":\"";

/// A stored object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Object {
    /// The members but `apiVersion` and `kind`, from the brace on.
    bytes: Bytes,
    api_version: Box<str>,
    kind: Box<str>,
    name: Box<str>,
    namespace: Box<str>,
    uid: Box<str>,
    version: Box<str>,
    deleting: bool,
    finalizers: Box<[Box<str>]>,
    labels: Box<[(Box<str>, Box<str>)]>,
    owners: Box<[Owner]>,
}

impl Object {
    pub(crate) fn new(value: &Value) -> Self {
        let boxed = |text: &str| Box::from(text);
        let labels = metadata::at(value, "/metadata/labels")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(key, value)| (boxed(key), boxed(value.as_str().unwrap_or_default())))
            .collect();
        Self {
            bytes: members(value),
            api_version: boxed(metadata::text(value, "/apiVersion")),
            kind: boxed(metadata::text(value, "/kind")),
            name: boxed(metadata::name(value)),
            namespace: boxed(metadata::namespace(value)),
            uid: boxed(metadata::uid(value)),
            version: boxed(metadata::version(value)),
            deleting: metadata::is_deleting(value),
            finalizers: metadata::finalizers(value).into_iter().map(boxed).collect(),
            labels,
            owners: metadata::owners(value).into(),
        }
    }

    /// The object as a tree.
    pub(crate) fn value(&self) -> Value {
        let mut value: Value = serde_json::from_slice(&self.bytes).unwrap_or_default();
        let map = metadata::object_mut(&mut value);
        map.insert("apiVersion".into(), (*self.api_version).into());
        map.insert("kind".into(), (*self.kind).into());
        value
    }

    /// The object as if it had been written at a version.
    pub(crate) fn at_version(&self, version: u64) -> Self {
        let mut value = self.value();
        metadata::metadata_mut(&mut value)
            .insert("resourceVersion".into(), version.to_string().into());
        Self::new(&value)
    }

    pub(crate) fn is_of_version(&self, group: &str, version: &str) -> bool {
        match self.api_version.split_once('/') {
            Some(own) => own == (group, version),
            None => group.is_empty() && *self.api_version == *version,
        }
    }

    /// Appends the JSON text, with `apiVersion` and `kind` if it shall be `typed`.
    pub(crate) fn write(&self, typed: bool, out: &mut impl BufMut) {
        if !typed {
            out.put_slice(&self.bytes);
            return;
        }
        let members = self.bytes.get(1..).unwrap_or_default();
        out.put_slice(KIND);
        // Neither needs escapes: both are names that the registry knows.
        out.put_slice(self.kind.as_bytes());
        out.put_slice(VERSION);
        out.put_slice(self.api_version.as_bytes());
        out.put_slice(if members == b"}" { b"\"" } else { b"\"," });
        out.put_slice(members);
    }

    /// How long the text is, with its type.
    pub(crate) fn text_len(&self) -> usize {
        let head = KIND.len() + self.kind.len() + VERSION.len() + self.api_version.len();
        // The brace gives way to the end of the version, which a comma follows where there are members.
        let is_bare = self.bytes.len() == 2;
        head + self.bytes.len() + usize::from(!is_bare)
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(known, _)| **known == *key);
        found.map(|(_, value)| &**value)
    }
}

/// The JSON of an object without its type.
fn members(value: &Value) -> Bytes {
    let Some(map) = value.as_object() else {
        return Bytes::from_static(b"{}");
    };
    let type_ = ordered::type_of(
        metadata::text(value, "/apiVersion"),
        metadata::text(value, "/kind"),
    );
    let mut text = print_members(map, type_, &["apiVersion", "kind"]);
    text.shrink_to_fit();
    text.into()
}

impl Meta for Object {
    fn name(&self) -> &str {
        &self.name
    }
    fn namespace(&self) -> &str {
        &self.namespace
    }
    fn uid(&self) -> &str {
        &self.uid
    }
    fn version(&self) -> &str {
        &self.version
    }
    fn is_deleting(&self) -> bool {
        self.deleting
    }
    fn finalizers(&self) -> Vec<&str> {
        self.finalizers.iter().map(|text| &**text).collect()
    }
    fn owners(&self) -> Vec<Owner> {
        self.owners.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(object: &Object, typed: bool) -> String {
        let mut out = Vec::new();
        object.write(typed, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn what_is_stored_comes_back() {
        for value in [
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "é\n"}}),
            json!({"apiVersion": "example.com/v1", "kind": "Thing"}),
        ] {
            let object = Object::new(&value);
            assert_eq!(object.value(), value);
            assert_eq!(object.text_len(), text(&object, true).len());
            let written: Value = serde_json::from_str(&text(&object, true)).expect("JSON");
            assert_eq!(written, value);
            let bare: Value = serde_json::from_str(&text(&object, false)).expect("JSON");
            assert_eq!(bare.get("kind"), None);
        }
    }

    #[test]
    fn the_head_is_that_of_the_object() {
        let object = Object::new(&json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "a", "namespace": "b", "uid": "c", "resourceVersion": "4", "deletionTimestamp": "x",
                "finalizers": ["e/f"], "labels": {"g": "h"},
                "ownerReferences": [{"uid": "i", "name": "j", "kind": "K", "apiVersion": "l/v1"}],
            },
        }));
        assert_eq!(
            (
                object.name(),
                object.namespace(),
                object.uid(),
                object.version()
            ),
            ("a", "b", "c", "4")
        );
        assert!(object.is_deleting());
        assert_eq!(object.finalizers(), ["e/f"]);
        assert_eq!((object.label("g"), object.label("h")), (Some("h"), None));
        assert_eq!(object.owners()[0].uid, "i");
    }
}
