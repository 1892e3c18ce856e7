//! Strategic merge patches, as kube-apiserver 1.37.2 applies them.

#![allow(clippy::unwrap_used, reason = "tests")]

use k8s_api_schema::{TypeId, builtin, strategic};
use proptest::prelude::*;
use serde_json::{Value, json};

fn pod() -> TypeId {
    builtin().find("", "v1", "Pod").unwrap()
}

fn merged(object: &Value, patch: &Value) -> Result<Value, String> {
    strategic::merge(object, patch, builtin(), pod()).map_err(|error| error.to_string())
}

#[test]
fn directives() {
    let object = json!({
        "metadata": {"finalizers": ["a/b", "c/d"], "labels": {"x": "1", "y": "2"}},
        "spec": {
            "containers": [{"name": "c", "args": ["1"], "env": [{"name": "A", "value": "1"}]}, {"name": "d"}],
            "tolerations": [{"key": "k"}],
        },
    });
    for (patch, pointer, expected) in [
        (
            json!({"spec": {"containers": [{"name": "e"}, {"name": "c", "args": ["2"], "env": [{"name": "B"}]}]}}),
            "/spec/containers",
            json!([
                {"name": "e"},
                {"name": "c", "args": ["2"], "env": [{"name": "B"}, {"name": "A", "value": "1"}]},
                {"name": "d"},
            ]),
        ),
        (
            json!({"spec": {"containers": [{"name": "d", "$patch": "delete"}]}}),
            "/spec/containers",
            json!([{"name": "c", "args": ["1"], "env": [{"name": "A", "value": "1"}]}]),
        ),
        (
            json!({"spec": {"containers": [{"name": "z"}, {"$patch": "replace"}]}}),
            "/spec/containers",
            json!([{"name": "z"}]),
        ),
        (
            json!({"spec": {"$patch": "replace", "nodeName": "n"}}),
            "/spec",
            json!({"nodeName": "n"}),
        ),
        (json!({"spec": {"$patch": "delete"}}), "/spec", json!({})),
        (
            json!({"spec": {"tolerations": [{"key": "l"}]}}),
            "/spec/tolerations",
            json!([{"key": "l"}]),
        ),
        (
            json!({"spec": {"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}], "containers": [{"name": "d", "image": "i"}]}}),
            "/spec/containers",
            json!([{"name": "d", "image": "i"}, {"name": "c", "args": ["1"], "env": [{"name": "A", "value": "1"}]}]),
        ),
        (
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}),
            "/metadata/finalizers",
            json!(["c/d"]),
        ),
        (
            json!({"metadata": {"finalizers": ["e/f"]}}),
            "/metadata/finalizers",
            json!(["e/f", "a/b", "c/d"]),
        ),
        (
            json!({"metadata": {"labels": {"x": null, "z": "3"}}}),
            "/metadata/labels",
            json!({"y": "2", "z": "3"}),
        ),
        (
            json!({"metadata": {"annotations": {"a": null, "b": "1"}}}),
            "/metadata/annotations",
            json!({"b": "1"}),
        ),
        (
            json!({"metadata": {"labels": {"$retainKeys": ["y"]}}}),
            "/metadata/labels",
            json!({"y": "2"}),
        ),
    ] {
        let merged = merged(&object, &patch).unwrap();
        assert_eq!(merged.pointer(pointer), Some(&expected), "{patch}");
    }
}

#[test]
fn what_is_wrong() {
    let object = json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c"}], "nodeSelector": {"x": "y"}},
    });
    for (patch, expected) in [
        (
            json!({"spec": {"containers": [{"image": "i"}]}}),
            "map: map[image:i] does not contain declared merge key: name",
        ),
        (
            json!({"spec": {"$patch": "nope", "nodeName": "x"}}),
            "unknown patch type: nope in map: map[$patch:nope nodeName:x]",
        ),
        (
            json!({"spec": {"containers": [{"name": "c", "$patch": "merge"}]}}),
            "merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"metadata": {"$retainKeys": ["labels"], "annotations": {}}}),
            "invalid patch format of retainKeys",
        ),
        (
            json!({"metadata": {"$retainKeys": "labels"}}),
            "invalid patch format of retainKeys",
        ),
        (
            json!({"spec": {"$setElementOrder/containers": [{"name": "x"}], "containers": [{"name": "c"}]}}),
            "The order in patch list:\n[map[name:c]]\n doesn't match $setElementOrder list:\n[map[name:x]]\n",
        ),
        (
            json!({"spec": {"containers": ["x"]}}),
            "list element types are not identical: [[map[name:c]] [x]]",
        ),
    ] {
        assert_eq!(merged(&object, &patch).unwrap_err(), expected, "{patch}");
    }
}

#[test]
fn outcomes_of_a_wrong_type() {
    for (object, expected) in [
        (
            json!({"metadata": {"name": 5}}),
            "cannot convert int64 to string",
        ),
        (
            json!({"metadata": {"labels": 5}}),
            "cannot restore map from int64",
        ),
        (json!({"metadata": 5}), "cannot restore struct from: int64"),
        (
            json!({"spec": {"containers": "x"}}),
            "cannot restore slice from string",
        ),
        (
            json!({"spec": {"hostNetwork": "x"}}),
            "unrecognized type: bool",
        ),
        (
            json!({"spec": {"priority": 1.5}}),
            "cannot convert float64 to int32",
        ),
        (
            json!({"metadata": {"creationTimestamp": "x"}}),
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
        ),
    ] {
        let found = strategic::mismatch(&object, builtin(), pod());
        assert_eq!(found.as_deref(), Some(expected), "{object}");
    }
    let fine = json!({"metadata": {"name": "a", "generation": 1}, "spec": {"priority": null}, "unknown": 1});
    assert_eq!(strategic::mismatch(&fine, builtin(), pod()), None);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (-3i64..3).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        Just(json!("delete")),
        Just(json!("replace")),
    ];
    let keys = proptest::sample::select(vec![
        "spec",
        "containers",
        "name",
        "env",
        "metadata",
        "finalizers",
        "labels",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "$setElementOrder",
    ]);
    leaf.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(keys.clone(), inner, 0..5)
                .prop_map(|map| map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn never_panics(object in any_json(), patch in any_json()) {
        if let Ok(merged) = merged(&object, &patch) {
            let _ = strategic::mismatch(&merged, builtin(), pod());
        }
    }

    #[test]
    fn an_empty_patch_changes_nothing(object in any_json()) {
        if object.is_object() {
            prop_assert_eq!(merged(&object, &json!({})), Ok(object));
        }
    }
}
