//! JSON merge patch (RFC 7396).

use serde_json::{Map, Value};

use super::decode;
use crate::json_error::type_name;
use crate::status::Failure;

pub(super) fn apply(object: &Value, body: &[u8]) -> Result<Value, Failure> {
    let target = "map[string]interface {}";
    let patch = decode(body, "value", target)?;
    if !patch.is_object() {
        return Err(Failure::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type {target}",
            type_name(&patch)
        )));
    }
    let mut merged = object.clone();
    merge(&mut merged, &patch);
    Ok(merged)
}

/// Merges `patch` into `target`: null removes, objects merge, everything else replaces.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else {
        return;
    };
    for (key, value) in members {
        if value.is_null() {
            map.remove(key);
        } else {
            merge(map.entry(key.as_str()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::patch::tests::any_json;

    #[test]
    fn bodies_that_are_no_patch() {
        for (body, message) in [
            (
                "[]",
                "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
            ("{", "error decoding patch: unexpected end of JSON input"),
        ] {
            let failure = apply(&json!({}), body.as_bytes()).unwrap_err();
            assert_eq!(
                (failure.code, failure.message.as_str()),
                (400, message),
                "{body}"
            );
        }
    }

    #[test]
    fn nulls_in_new_objects_are_dropped() {
        let merged = apply(&json!({"a": 1}), br#"{"b":{"c":null,"d":1}}"#).unwrap();
        assert_eq!(merged, json!({"a": 1, "b": {"d": 1}}));
    }

    proptest! {
        #[test]
        fn agrees_with_json_patch(object in any_json(), patch in any_json()) {
            let (mut ours, mut oracle) = (object.clone(), object);
            merge(&mut ours, &patch);
            json_patch::merge(&mut oracle, &patch);
            prop_assert_eq!(ours, oracle);
        }
    }
}
