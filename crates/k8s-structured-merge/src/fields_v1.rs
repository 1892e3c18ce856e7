//! Sets as `fieldsV1` of `managedFields`.

use serde_json::{Map, Value};

use crate::element::{ElementError, PathElement};
use crate::set::{Node, Set};

/// Why a `fieldsV1` was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldsError {
    /// A key is no path element.
    #[error("fieldsV1: {0}")]
    Element(#[from] ElementError),
    /// Something other than an object where fields were expected.
    #[error("fieldsV1: expected an object of fields, got {0}")]
    NoObject(String),
}

impl Set {
    /// The set as `fieldsV1`.
    #[must_use]
    pub fn encode(&self) -> Value {
        Value::Object(self.encode_map(false))
    }

    fn encode_map(&self, member: bool) -> Map<String, Value> {
        let mut map = Map::new();
        if member && !self.is_empty() {
            map.insert(".".into(), Value::Object(Map::new()));
        }
        for node in &self.nodes {
            let below = node.children.encode_map(node.member);
            map.insert(node.element.encode(), Value::Object(below));
        }
        map
    }

    /// Reads a `fieldsV1`.
    ///
    /// # Errors
    ///
    /// [`FieldsError`] for what no server wrote.
    pub fn decode(fields: &Value) -> Result<Self, FieldsError> {
        Ok(decode(fields)?.0)
    }
}

/// The fields below an element, and whether the element itself is a member.
fn decode(fields: &Value) -> Result<(Set, bool), FieldsError> {
    let map = match fields {
        Value::Null => return Ok((Set::new(), true)),
        Value::Object(map) => map,
        other => return Err(FieldsError::NoObject(other.to_string())),
    };
    let mut nodes = Vec::with_capacity(map.len());
    let mut member = false;
    for (key, value) in map {
        if key == "." {
            member = true;
            continue;
        }
        let Some(element) = PathElement::parse(key)? else {
            continue;
        };
        let (children, member) = decode(value)?;
        nodes.push(Node {
            element,
            member,
            children,
        });
    }
    if !nodes.is_sorted_by(|a: &Node, b| a.element < b.element) {
        let mut set = Set::new();
        for node in nodes {
            set.add(&node.element, node.member, node.children);
        }
        nodes = set.nodes;
    }
    let member = member || nodes.is_empty();
    Ok((Set { nodes }, member))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_server_writes_comes_back() {
        let fields = json!({
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:finalizers": {"v:\"a\"": {}}},
            "f:spec": {"f:ports": {
                ".": {},
                "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}},
                "k:{\"port\":9,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}},
            }},
        });
        let set = Set::decode(&fields).expect("fields");
        assert_eq!(set.encode(), fields);
        let ports = &set.nodes[1].children.nodes[0].children;
        assert!(ports.nodes.is_sorted_by(|a, b| a.element < b.element));
    }

    #[test]
    fn odd_fields() {
        for (fields, expected) in [
            (json!({}), json!({})),
            (json!(null), json!({})),
            (json!({".": {}}), json!({})),
            (json!({"x:future": {"f:a": {}}}), json!({})),
            (json!({"f:a": {"x:future": {}}}), json!({"f:a": {}})),
            (json!({"f:a": null}), json!({"f:a": {}})),
            (json!({"f:a": {".": 1}}), json!({"f:a": {}})),
        ] {
            assert_eq!(Set::decode(&fields).expect("fields").encode(), expected);
        }
        for fields in [
            json!([]),
            json!({"a": {}}),
            json!({"f:a": 1}),
            json!({"k:x": {}}),
        ] {
            assert!(Set::decode(&fields).is_err(), "{fields}");
        }
    }
}
