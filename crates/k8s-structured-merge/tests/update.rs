//! Ownership that follows from creates, updates and patches.

mod common;

use common::{Kind, empty, fields, writer};
use k8s_api_schema::ListKind;
use k8s_structured_merge::{
    Managed, Path, PathElement, Set, Writer, from_scale, keep_times, to_scale, update,
};
use serde_json::{Value, json};

#[test]
fn a_create_owns_what_it_sets() {
    let object = Kind::new().updated(
        &empty(),
        "m",
        &json!({
            "metadata": {"labels": {"a": "b"}, "finalizers": ["x/y"]},
            "spec": {"ports": [{"port": 80, "name": "http"}], "selector": {"a": "b"}, "args": ["1"], "free": {"a": [1], "b": {}}},
            "data": {},
        }),
    );
    assert_eq!(
        object["metadata"]["managedFields"],
        json!([{
            "manager": "m",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-02T03:04:05Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {
                    "f:labels": {".": {}, "f:a": {}},
                    "f:finalizers": {".": {}, "v:\"x/y\"": {}},
                },
                "f:spec": {
                    ".": {},
                    "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}}},
                    "f:selector": {},
                    "f:args": {},
                    "f:free": {".": {}, "f:a": {}, "f:b": {}},
                },
                "f:data": {},
            },
        }]),
    );
}

#[test]
fn ownership_moves_to_who_changes_a_field() {
    let kind = Kind::new();
    let one = kind.updated(
        &empty(),
        "one",
        &json!({"data": {"a": "1", "b": "1", "c": "1"}}),
    );
    let mut changed = one.clone();
    changed["data"] = json!({"a": "2", "b": "1", "d": "1"});
    let two = kind.updated(&one, "two", &changed);
    assert_eq!(fields(&two, "one"), json!({"f:data": {".": {}, "f:b": {}}}));
    assert_eq!(
        fields(&two, "two"),
        json!({"f:data": {"f:a": {}, "f:d": {}}})
    );
    let mut emptied = two.clone();
    emptied["data"] = json!({"d": "1"});
    let three = kind.updated(&two, "three", &emptied);
    assert_eq!(fields(&three, "three"), Value::Null);
    assert_eq!(fields(&three, "two"), json!({"f:data": {"f:d": {}}}));
}

#[test]
fn what_the_server_resets_is_not_owned() {
    let mut kind = Kind::new();
    kind.reset = Set::of_names(&[&["status"]]);
    let object = kind.updated(
        &empty(),
        "m",
        &json!({"status": {"phase": "x"}, "data": {"a": "1"}}),
    );
    assert_eq!(
        fields(&object, "m"),
        json!({"f:data": {".": {}, "f:a": {}}})
    );
}

#[test]
fn entries_that_are_sent() {
    let kind = Kind::new();
    let one = kind.updated(&empty(), "one", &json!({"data": {"a": "1"}}));
    let own = fields(&one, "one");
    for (sent, expected) in [
        (json!([{}]), Value::Null),
        (json!([]), Value::Null),
        (Value::Null, own.clone()),
        (
            json!([{"manager": "x", "operation": "Other", "apiVersion": "v1", "fieldsType": "FieldsV1"}]),
            own.clone(),
        ),
        (
            json!([{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2"}]),
            own.clone(),
        ),
        (
            json!([{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f": {}}}]),
            own.clone(),
        ),
    ] {
        let mut new = one.clone();
        new["metadata"]["managedFields"] = sent.clone();
        assert_eq!(
            fields(&kind.updated(&one, "two", &new), "one"),
            expected,
            "{sent}"
        );
    }
    let mut given = one.clone();
    given["metadata"]["managedFields"][0]["manager"] = "other".into();
    assert_eq!(fields(&kind.updated(&one, "two", &given), "other"), own);
    // By way of a subresource nothing can be sent.
    assert_eq!(
        fields(&kind.updated(&one, "two/status", &given), "one"),
        own
    );
}

#[test]
fn what_is_not_tracked_stays_so() {
    let live = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "uid": "u"}, "data": {"a": "1"}});
    let object = Kind::new().updated(&live, "m", &json!({"data": {"a": "2"}}));
    assert_eq!(object["metadata"].get("managedFields"), None);
}

#[test]
fn duplicates_are_one_value() {
    let kind = Kind::new();
    let twice = json!({"spec": {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}});
    let object = kind.updated(&empty(), "m", &twice);
    let port = "k:{\"port\":1,\"protocol\":\"TCP\"}";
    assert_eq!(fields(&object, "m")["f:spec"]["f:ports"][port], json!({}));
    let once =
        json!({"metadata": object["metadata"], "spec": {"ports": [{"port": 1, "name": "b"}]}});
    let object = kind.updated(&object, "n", &once);
    assert_eq!(
        fields(&object, "n")["f:spec"]["f:ports"][port],
        json!({".": {}, "f:port": {}, "f:name": {}})
    );
}

#[test]
fn the_oldest_entries_are_merged() {
    let kind = Kind::new();
    let mut object = kind.updated(&empty(), "m00", &json!({"data": {"k00": "1"}}));
    for at in 1..12 {
        let mut new = object.clone();
        new["data"][format!("k{at:02}")] = "1".into();
        let manager = format!("m{at:02}");
        let now = format!("2026-01-02T03:05:{at:02}Z");
        update(
            &kind,
            &object,
            &mut new,
            &Writer {
                now: &now,
                ..writer(&manager)
            },
        );
        object = new;
    }
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .expect("entries");
    assert_eq!(entries.len(), 10);
    assert_eq!(entries[0]["manager"], "ancient-changes");
    assert_eq!(entries[0]["time"], "2026-01-02T03:05:02Z");
    assert_eq!(
        entries[0]["fieldsV1"],
        json!({"f:data": {".": {}, "f:k00": {}, "f:k01": {}, "f:k02": {}}})
    );
    assert_eq!(entries[9]["manager"], "m11");
}

#[test]
fn entries_of_other_versions_follow() {
    let mut kind = Kind::new();
    kind.others = vec!["v2".into()];
    let mut one = kind.updated(&empty(), "one", &json!({"data": {"a": "1", "b": "1"}}));
    one["metadata"]["managedFields"][0]["apiVersion"] = "v2".into();
    let mut changed = one.clone();
    changed["data"]["a"] = "2".into();
    let two = kind.updated(&one, "two", &changed);
    assert_eq!(fields(&two, "one"), json!({"f:data": {".": {}, "f:b": {}}}));
    kind.others.clear();
    let two = kind.updated(&one, "two", &changed);
    assert_eq!(
        fields(&two, "one"),
        Value::Null,
        "the version is not served any more"
    );
}

#[test]
fn a_list_that_becomes_one_value() {
    let object = Kind::new().updated(
        &empty(),
        "m",
        &json!({"spec": {"ports": [{"port": 1}], "paused": "x"}}),
    );
    let atomic = Kind::with_ports(ListKind::Atomic);
    let mut changed = object.clone();
    changed["data"] = json!({"a": "1"});
    let object = atomic.updated(&object, "n", &changed);
    assert_eq!(
        fields(&object, "m"),
        json!({"f:spec": {".": {}, "f:ports": {}, "f:paused": {}}})
    );
}

#[test]
fn times_stay_when_nothing_else_changes() {
    let kind = Kind::new();
    let old = kind.updated(&empty(), "m", &json!({"data": {"a": "1"}}));
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = "2030-01-01T00:00:00Z".into();
    let mut other = new.clone();
    keep_times(&old, &mut new);
    assert_eq!(new, old);
    other["data"]["a"] = "2".into();
    let as_sent = other.clone();
    keep_times(&old, &mut other);
    assert_eq!(other, as_sent);
}

#[test]
fn a_scale_takes_the_replicas() {
    let kind = Kind::new();
    let object = kind.updated(
        &empty(),
        "m",
        &json!({"spec": {"replicas": 1, "paused": "x"}}),
    );
    let parent = Managed::of(&object).expect("entries");
    let path: Path = ["spec", "replicas"]
        .into_iter()
        .map(PathElement::field)
        .collect();
    let paths = [("v1".to_owned(), Some(path))].into_iter().collect();
    let scale = to_scale(&parent, &paths);
    let seen = scale.encode();
    assert_eq!(seen[0]["apiVersion"], "autoscaling/v1");
    assert_eq!(seen[0]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    let mut taken = seen.clone();
    taken[0]["manager"] = "scaler".into();
    taken[0]["subresource"] = "scale".into();
    let taken = Managed::decode(&taken).expect("entries");
    let after = from_scale(&parent, taken, "v1", &paths).encode();
    let of = |manager: &str| {
        let entries = after.as_array().expect("entries").iter();
        entries
            .filter(|entry| entry["manager"] == manager)
            .map(|entry| entry["fieldsV1"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("m"), [json!({"f:spec": {".": {}, "f:paused": {}}})]);
    assert_eq!(of("scaler"), [json!({"f:spec": {"f:replicas": {}}})]);
}

#[test]
fn a_field_that_is_always_there_may_be_left_out() {
    let kind = Kind::new();
    let port = "k:{\"port\":1,\"protocol\":\"TCP\"}";
    let with = json!({"spec": {"ports": [{"port": 1, "labels": null}]}});
    let made = kind.updated(&empty(), "m", &with);
    let owned = json!({".": {}, "f:port": {}, "f:labels": {}});
    assert_eq!(fields(&made, "m")["f:spec"]["f:ports"][port], owned);
    // Another client leaves it out, and back in: nobody changes anything.
    let mut without = made.clone();
    without["spec"] = json!({"ports": [{"port": 1}]});
    let left_out = kind.updated(&made, "n", &without);
    assert_eq!(fields(&left_out, "n"), Value::Null);
    assert_eq!(fields(&left_out, "m")["f:spec"]["f:ports"][port], owned);
    let mut back = left_out.clone();
    back["spec"] = with["spec"].clone();
    assert_eq!(
        fields(&kind.updated(&left_out, "n", &back), "n"),
        Value::Null
    );
}
