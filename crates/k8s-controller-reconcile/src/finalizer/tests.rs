use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

use super::*;

const OURS: &str = "example.com/ours";

fn object(finalizers: &[&str], deleting: bool) -> ConfigMap {
    let mut value = json!({"metadata": {"name": "a", "uid": "u", "finalizers": finalizers}});
    if deleting {
        value["metadata"]["deletionTimestamp"] = json!("2020-01-01T00:00:00Z");
    }
    if finalizers.is_empty() {
        value["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("finalizers");
    }
    serde_json::from_value(value).unwrap()
}

#[test]
fn the_phase_follows_from_the_object() {
    let cases: [(&[&str], bool, Option<&str>, Phase); 8] = [
        (&[], false, Some(OURS), Phase::Init),
        (&["other/x"], false, Some(OURS), Phase::Init),
        (&[OURS], false, Some(OURS), Phase::Apply),
        (&["other/x", OURS], true, Some(OURS), Phase::Cleanup),
        (&["other/x"], true, Some(OURS), Phase::Delete),
        (&[], true, Some(OURS), Phase::Delete),
        (&[OURS], false, None, Phase::Apply),
        (&[OURS], true, None, Phase::Delete),
    ];
    for (finalizers, deleting, ours, phase) in cases {
        assert_eq!(
            phase_of(&object(finalizers, deleting), ours),
            phase,
            "{finalizers:?} {deleting}"
        );
    }
}

#[test]
fn an_addition_is_guarded() {
    let patch =
        |finalizers| serde_json::to_value(addition(&object(finalizers, false), OURS)).unwrap();
    assert_eq!(
        patch(&[]),
        json!([
            {"op": "test", "path": "/metadata/uid", "value": "u"},
            {"op": "test", "path": "/metadata/deletionTimestamp", "value": null},
            {"op": "test", "path": "/metadata/finalizers", "value": null},
            {"op": "add", "path": "/metadata/finalizers", "value": [OURS]},
        ])
    );
    assert_eq!(
        patch(&["other/x"]),
        json!([
            {"op": "test", "path": "/metadata/uid", "value": "u"},
            {"op": "test", "path": "/metadata/deletionTimestamp", "value": null},
            {"op": "test", "path": "/metadata/finalizers", "value": ["other/x"]},
            {"op": "add", "path": "/metadata/finalizers/-", "value": OURS},
        ])
    );
}

#[test]
fn names_as_an_api_server_takes_them() {
    let long = "a".repeat(64);
    let long_domain = format!("{}/x", "a.".repeat(127) + "a");
    for good in ["example.com/a", "foo", "a-b.c/D_e.f", &long[1..], "1/2"] {
        assert!(is_valid_name(good), "{good}");
    }
    let bad = [
        "",
        "/",
        "a/",
        "/a",
        "a/b/c",
        "Example.com/a",
        "a b",
        "a/-b",
        "a./b",
        "-a/b",
        "é",
    ];
    for bad in bad.into_iter().chain([long.as_str(), &long_domain]) {
        assert!(!is_valid_name(bad), "{bad}");
    }
}

proptest! {
    #[test]
    fn a_removal_takes_our_entries_and_no_other(
        finalizers in proptest::collection::vec(
            prop_oneof![Just(OURS.to_owned()), "[a-z]{1,3}/[a-z]{1,3}"], 1..6),
    ) {
        let names: Vec<&str> = finalizers.iter().map(String::as_str).collect();
        let mut document = json!({"metadata": {"uid": "u", "finalizers": names}});
        let patch = removal(&object(&names, true), OURS);
        json_patch::patch(&mut document, &patch).unwrap();
        let rest: Vec<&str> = names.iter().copied().filter(|name| *name != OURS).collect();
        prop_assert_eq!(&document["metadata"]["finalizers"], &json!(rest));
    }

    #[test]
    fn a_removal_fails_when_entries_moved(other in "[a-z]{1,3}/[a-z]{1,3}") {
        let mut document = json!({"metadata": {"uid": "u", "finalizers": [other, OURS]}});
        let before = document.clone();
        let patch = removal(&object(&[OURS], true), OURS);
        prop_assert!(json_patch::patch(&mut document, &patch).is_err());
        prop_assert_eq!(document, before);
    }
}
