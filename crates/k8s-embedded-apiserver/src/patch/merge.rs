//! JSON merge patch (RFC 7396).

use serde_json::{Map, Value};

use k8s_api_schema::TakenApart;
use k8s_api_schema::json::Checked;

use super::{Apart, Patched, not_decoded};
use crate::status::Failure;

pub(super) fn apply(mut object: Value, text: Checked<'_>) -> Result<Patched, Failure> {
    let read = text.decode_untyped().map_err(|why| not_decoded(&why))?;
    if read.value.is_null() {
        return Err(Failure::bad_request("Invalid JSON Patch".to_owned()));
    }
    let apart = apart(Some(&object), &read.value);
    merge(&mut object, &read.value);
    Ok(Patched {
        apart: Apart::Of(apart),
        object,
        strict: read.strict,
        ..Patched::default()
    })
}

/// What `patch` takes apart of `target`: the objects that it merges into, and all that it brings.
fn apart(target: Option<&Value>, patch: &Value) -> TakenApart {
    let (Some(Value::Object(target)), Value::Object(patch)) = (target, patch) else {
        return TakenApart::Wholly;
    };
    let members = patch.iter().filter(|(_, value)| !value.is_null());
    let members = members.map(|(key, value)| (key.clone(), apart(target.get(key), value)));
    TakenApart::Members(members.collect())
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

    fn applied(object: &Value, body: &[u8]) -> Result<Patched, Failure> {
        crate::patch::apply(crate::patch::PatchKind::Merge, object.clone(), body, None)
    }

    #[test]
    fn bodies_that_are_no_patch() {
        for (body, message) in [
            (
                "[]",
                "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
            ("{", "invalid JSON patch"),
            ("null", "Invalid JSON Patch"),
        ] {
            let failure = applied(&json!({}), body.as_bytes()).unwrap_err();
            assert_eq!(
                (failure.code, failure.message.as_str()),
                (400, message),
                "{body}"
            );
        }
    }

    #[test]
    fn nulls_in_new_objects_are_dropped_and_duplicates_told() {
        let merged = applied(&json!({"a": 1}), br#"{"b":{"c":null,"d":1,"d":2}}"#).unwrap();
        assert_eq!(merged.object, json!({"a": 1, "b": {"d": 2}}));
        assert_eq!(merged.strict, [r#"duplicate field "b.d""#]);
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
