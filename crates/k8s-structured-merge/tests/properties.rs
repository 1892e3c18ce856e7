//! Laws of sets and of applying.

mod common;

use common::{Kind, empty, fields, full, writer};
use k8s_structured_merge::{Path, PathElement, Set, Writer, update};
use proptest::prelude::*;
use serde_json::{Value, json};

fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        "[a-c\"<é:]{1,2}".prop_map(PathElement::Field),
        (0..3_i64, "[a-b]").prop_map(|(port, protocol)| PathElement::Key(vec![
            ("port".into(), port.into()),
            ("protocol".into(), protocol.into()),
        ])),
        "[a-c&]".prop_map(|text| PathElement::Value(text.into())),
        (0..12_i64).prop_map(|number| PathElement::Value(number.into())),
        (0..3_i64).prop_map(PathElement::Index),
    ]
}

fn set() -> impl Strategy<Value = Set> {
    let path = prop::collection::vec(element(), 1..4);
    prop::collection::vec(path, 0..8).prop_map(|paths: Vec<Path>| paths.into_iter().collect())
}

/// Configurations of the kind of the tests.
fn config() -> impl Strategy<Value = Value> {
    let texts = || prop::collection::btree_map("[a-d]", "[x-z]", 0..4);
    let ports = prop::collection::btree_map(1..4_i64, proptest::option::of("[x-z]"), 0..3);
    (texts(), texts(), ports, prop::collection::vec("[a-c]", 0..3), proptest::option::of(0..3_i64)).prop_map(
        |(data, labels, ports, args, replicas)| {
            let ports: Vec<_> = ports
                .into_iter()
                .map(|(port, name)| match name {
                    Some(name) => json!({"port": port, "name": name}),
                    None => json!({"port": port}),
                })
                .collect();
            let mut config = json!({"data": data, "metadata": {"labels": labels}, "spec": {"ports": ports, "args": args}});
            if let Some(replicas) = replicas {
                config["spec"]["replicas"] = replicas.into();
            }
            config
        },
    )
}

/// The entries as no server writes them, though they say the same.
fn marked(mut object: Value) -> Value {
    let entries = object["metadata"]["managedFields"].as_array_mut();
    for entry in entries.into_iter().flatten() {
        entry["mark"] = "x".into();
    }
    object
}

/// What a write changes of an object.
fn change(live: &Value, how: u8, config: &Value) -> Value {
    let mut new = live.clone();
    match how {
        0 => {}
        1 => {
            for (_, value) in new["data"].as_object_mut().into_iter().flatten() {
                *value = "new".into();
            }
        }
        2 => new["spec"]["replicas"] = 7.into(),
        3 => {
            for port in new["spec"]["ports"].as_array_mut().into_iter().flatten() {
                port["name"] = "new".into();
            }
        }
        4 => new["metadata"]["resourceVersion"] = "2".into(),
        5 => new["spec"]["ports"] = json!([]),
        _ => {
            let fields = live["metadata"]["managedFields"].clone();
            new = full(config);
            new["metadata"]["managedFields"] = fields;
        }
    }
    new["metadata"]["uid"] = "u".into();
    new
}

proptest! {
    #[test]
    fn entries_that_stay_are_as_if_they_had_been_read(
        first in config(),
        writes in prop::collection::vec((0..7_u8, "[ab](/status)?", config(), any::<bool>()), 1..6),
    ) {
        let mut kind = Kind::new();
        kind.reset = Set::of_names(&[&["spec", "replicas"]]);
        let mut live = kind.updated(&empty(), "a", &first);
        for (number, (how, manager, config, applies)) in writes.into_iter().enumerate() {
            let now = format!("2026-01-02T03:04:{:02}Z", 6 + number);
            let new = change(&live, how, &config);
            let writer = Writer { now: &now, ..writer(&manager) };
            let mut kept = new.clone();
            update(&kind, &live, &mut kept, &writer);
            let mut read = marked(new);
            update(&kind, &marked(live.clone()), &mut read, &writer);
            prop_assert_eq!(&kept, &read);
            live = if applies {
                kind.apply(&kept, "c", &json!({"data": {"a": "c"}}), true).expect("applied").object
            } else {
                kept
            };
            live["metadata"]["uid"] = "u".into();
        }
    }

    #[test]
    fn sets_obey_their_algebra(a in set(), b in set(), c in set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b.union(&c)), a.union(&b).union(&c));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.difference(&b), a.difference(&a.intersection(&b)));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&a).is_empty());
        prop_assert!(a.recursive_difference(&b).difference(&a.difference(&b)).is_empty());
        for path in a.union(&b).paths() {
            prop_assert_eq!(a.contains(&path) || b.contains(&path), true);
            prop_assert_eq!(a.difference(&b).contains(&path), a.contains(&path) && !b.contains(&path));
            prop_assert_eq!(a.intersection(&b).contains(&path), a.contains(&path) && b.contains(&path));
        }
        prop_assert!(a.leaves().difference(&a).is_empty());
    }

    #[test]
    fn sets_come_back_from_fields_v1(a in set()) {
        prop_assert_eq!(Set::decode(&a.encode()).expect("fields"), a);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,12}") {
        let _ = PathElement::parse(&text);
        let _ = Set::decode(&json!({text: {}}));
    }

    #[test]
    fn to_apply_twice_changes_nothing(config in config(), other in config()) {
        let kind = Kind::new();
        let before = kind.updated(&empty(), "up", &other);
        let mut once = kind.apply(&before, "m", &config, true).expect("applied").object;
        once["metadata"]["uid"] = "u".into();
        let twice = kind.apply(&once, "m", &config, false).expect("applied");
        prop_assert!(twice.is_same);
        prop_assert_eq!(twice.object, once);
    }

    #[test]
    fn to_apply_less_takes_away_what_is_missing(config in config()) {
        let kind = Kind::new();
        let one = kind.applied(&empty(), "m", &config);
        let mut less = config.clone();
        let removed = less["data"].as_object_mut().and_then(|map| {
            let key = map.keys().next_back()?.clone();
            map.remove_entry(&key)
        });
        less["spec"]["ports"].as_array_mut().and_then(Vec::pop);
        let two = kind.applied(&one, "m", &less);
        if let Some((key, _)) = removed {
            prop_assert_eq!(two.pointer(&format!("/data/{key}")), None);
        }
        let ports = |object: &Value| object["spec"]["ports"].as_array().map_or(0, Vec::len);
        prop_assert_eq!(ports(&two), ports(&less));
        let fresh = kind.applied(&empty(), "m", &less);
        prop_assert_eq!(fields(&two, "m"), fields(&fresh, "m"));
    }

    #[test]
    fn no_field_has_two_updating_owners_after_a_change(first in config(), second in config()) {
        let kind = Kind::new();
        let one = kind.updated(&empty(), "one", &first);
        let mut new = common::full(&second);
        new["metadata"]["managedFields"] = one["metadata"]["managedFields"].clone();
        let two = kind.updated(&one, "two", &new);
        let of = |manager: &str| Set::decode(&fields(&two, manager)).expect("fields");
        prop_assert!(of("one").intersection(&of("two")).is_empty());
    }
}
