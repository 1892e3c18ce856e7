//! Applied configurations.

mod common;

use common::{Kind, empty, fields};
use k8s_structured_merge::ApplyError;
use serde_json::{Value, json};

#[test]
fn what_is_not_applied_any_more_goes() {
    let kind = Kind::new();
    let one = kind.applied(
        &empty(),
        "m",
        &json!({"data": {"a": "1", "b": "1"}, "metadata": {"labels": {"x": "y"}}}),
    );
    assert_eq!(
        fields(&one, "m"),
        json!({"f:data": {"f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {"f:x": {}}}})
    );
    let two = kind.applied(&one, "m", &json!({"data": {"a": "1"}}));
    assert_eq!(two["data"], json!({"a": "1"}));
    assert_eq!(two["metadata"].get("labels"), None);
    let three = kind.applied(&two, "m", &json!({}));
    assert_eq!(three.get("data"), None);
    assert_eq!(three["metadata"].get("managedFields"), None);
}

#[test]
fn what_others_own_stays() {
    let kind = Kind::new();
    let one = kind.applied(&empty(), "one", &json!({"data": {"a": "1", "b": "1"}}));
    let two = kind.applied(&one, "two", &json!({"data": {"a": "1"}}));
    let three = kind.applied(&two, "one", &json!({}));
    assert_eq!(three["data"], json!({"a": "1"}));
    let mut added = three.clone();
    added["data"]["c"] = "1".into();
    let four = kind.updated(&three, "updater", &added);
    let five = kind.applied(&four, "two", &json!({}));
    assert_eq!(five["data"], json!({"c": "1"}));
}

#[test]
fn items_of_lists_are_owned_apart() {
    let kind = Kind::new();
    let one = kind.applied(
        &empty(),
        "one",
        &json!({"spec": {"ports": [{"port": 1, "name": "a"}, {"port": 2}]}}),
    );
    let two = kind.applied(
        &one,
        "two",
        &json!({"spec": {"ports": [{"port": 3}, {"port": 2, "protocol": "UDP"}]}}),
    );
    assert_eq!(
        two["spec"]["ports"],
        json!([
            {"port": 1, "name": "a"}, {"port": 2}, {"port": 3}, {"port": 2, "protocol": "UDP"},
        ])
    );
    let three = kind.applied(&two, "one", &json!({"spec": {"ports": [{"port": 2}]}}));
    assert_eq!(
        three["spec"]["ports"],
        json!([{"port": 2}, {"port": 3}, {"port": 2, "protocol": "UDP"}])
    );
    let reordered = kind.applied(
        &three,
        "two",
        &json!({"spec": {"ports": [{"port": 2, "protocol": "UDP"}, {"port": 3}]}}),
    );
    assert_eq!(
        reordered["spec"]["ports"],
        json!([{"port": 2}, {"port": 2, "protocol": "UDP"}, {"port": 3}])
    );
}

#[test]
fn conflicts_name_managers_and_fields() {
    let kind = Kind::new();
    let one = kind.applied(
        &empty(),
        "one",
        &json!({"data": {"a": "1", "b": "1"}, "spec": {"ports": [{"port": 1, "name": "a"}]}}),
    );
    let conflicting = json!({"data": {"a": "2"}});
    let error = kind
        .apply(&one, "two", &conflicting, false)
        .expect_err("a conflict");
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"one\": .data.a"
    );
    let many = json!({"data": {"a": "2", "b": "2"}, "spec": {"ports": [{"port": 1, "name": "b"}]}});
    let error = kind
        .apply(&one, "two", &many, false)
        .expect_err("conflicts");
    assert_eq!(
        error.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"one\":\n- .data.a\n- .data.b\n- .spec.ports[port=1,protocol=\"TCP\"].name"
    );
    let forced = kind
        .apply(&one, "two", &conflicting, true)
        .expect("applied")
        .object;
    assert_eq!(fields(&forced, "one")["f:data"], json!({"f:b": {}}));
    assert_eq!(fields(&forced, "two"), json!({"f:data": {"f:a": {}}}));
    let mut changed = forced.clone();
    changed["data"]["b"] = "3".into();
    let changed = kind.updated(&forced, "up/status", &changed);
    let error = kind
        .apply(&changed, "one", &json!({"data": {"b": "4"}}), false)
        .expect_err("a conflict");
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"up\" with subresource \"status\" using v1: .data.b"
    );
}

#[test]
fn a_configuration_that_does_not_fit() {
    let kind = Kind::new();
    for (config, why) in [
        (
            json!({"data": {"a": true}}),
            ".data.a: expected string, got &value.valueUnstructured{Value:true}",
        ),
        (
            json!({"spec": {"replicas": "x"}}),
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (
            json!({"spec": {"other": 1}}),
            ".spec.other: field not declared in schema",
        ),
        (
            json!({"spec": {"args": {"a": 1}}}),
            ".spec.args: expected list, got &{map[a:1]}",
        ),
        (json!({"spec": []}), ".spec: expected map, got &{[]}"),
        (
            json!({"spec": {"ports": [{"port": 1}, {"port": 1}]}}),
            ".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]",
        ),
        (
            json!({"spec": {"ports": [null]}}),
            ".spec.ports: element 0: associative list with keys may not have a null element",
        ),
        (
            json!({"metadata": {"finalizers": ["a", "a"]}}),
            ".metadata.finalizers: duplicate entries for key [=\"a\"]",
        ),
        (
            json!({"spec": {"args": [1]}, "data": {"a": 1}}),
            "errors:\n  .data.a: expected string, got &value.valueUnstructured{Value:1}\n  .spec.args[0]: expected string, got &value.valueUnstructured{Value:1}",
        ),
    ] {
        let error = kind
            .apply(&empty(), "m", &config, false)
            .expect_err("a misfit");
        assert!(matches!(error, ApplyError::Misfits(_)));
        assert_eq!(error.to_string(), why);
    }
}

#[test]
fn nulls_and_empty_values() {
    let kind = Kind::new();
    let one = kind.applied(
        &empty(),
        "one",
        &json!({"data": {"a": "1"}, "spec": {"selector": {}, "args": []}}),
    );
    assert_eq!(
        fields(&one, "one"),
        json!({"f:data": {"f:a": {}}, "f:spec": {"f:selector": {}, "f:args": {}}})
    );
    let two = kind.applied(&one, "two", &json!({"data": null, "spec": {}}));
    assert_eq!(two["data"], json!({"a": "1"}));
    assert_eq!(fields(&two, "two"), json!({"f:data": {}, "f:spec": {}}));
}

#[test]
fn an_apply_that_changes_nothing() {
    let kind = Kind::new();
    let config = json!({"data": {"a": "1"}});
    let one = kind.applied(&empty(), "one", &config);
    let again = kind.apply(&one, "one", &config, false).expect("applied");
    assert!(again.is_same);
    assert_eq!(again.object, one);
    let other = kind.apply(&one, "two", &config, false).expect("applied");
    assert!(other.is_same);
    assert_eq!(fields(&other.object, "two"), json!({"f:data": {"f:a": {}}}));
}

#[test]
fn the_first_apply_to_an_object_that_was_not_tracked() {
    let kind = Kind::new();
    let live = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "uid": "u"}, "data": {"a": "1", "b": "1"}});
    let error = kind
        .apply(&live, "m", &json!({"data": {"a": "2"}}), false)
        .expect_err("a conflict");
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a"
    );
    let forced = kind
        .apply(&live, "m", &json!({"data": {"a": "2"}}), true)
        .expect("applied")
        .object;
    assert_eq!(
        fields(&forced, "before-first-apply"),
        json!({"f:data": {".": {}, "f:b": {}}})
    );
}

#[test]
fn kubectl_takes_over_what_it_applied_on_the_clients_side() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let kind = Kind::new();
    let last = common::full(&json!({"data": {"a": "1"}})).to_string();
    let one = kind.updated(
        &empty(),
        "kubectl-client-side-apply",
        &json!({
            "metadata": {"annotations": {ANNOTATION: last}}, "data": {"a": "1", "b": "1"},
        }),
    );
    let config = json!({"data": {"a": "2"}});
    assert!(kind.apply(&one, "other", &config, false).is_err());
    let two = kind
        .apply(&one, "kubectl", &config, false)
        .expect("applied")
        .object;
    assert_eq!(two["data"], json!({"a": "2", "b": "1"}));
    let kept: Value = serde_json::from_str(
        two["metadata"]["annotations"][ANNOTATION]
            .as_str()
            .expect("a text"),
    )
    .expect("JSON");
    assert_eq!(kept, common::full(&config));
    let error = kind
        .apply(
            &one,
            "kubectl",
            &json!({"data": {"a": "2", "b": "2"}}),
            false,
        )
        .expect_err("a conflict");
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: .data.b"
    );
}
