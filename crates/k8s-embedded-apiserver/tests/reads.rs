//! Lists and watches.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use std::time::Duration;

use common::*;
use k8s_embedded_apiserver::EmbeddedApiServer;
use serde_json::{Value, json};

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().expect("items");
    items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().expect("a name"))
        .collect()
}

async fn filled() -> Api {
    let api = Api::new();
    for (name, label) in [("e", "2"), ("d", "1"), ("c", "2"), ("b", "1"), ("a", "1")] {
        api.make(
            CONFIG_MAPS,
            json!({"metadata": {"name": name, "labels": {"x": label}}}),
        )
        .await;
    }
    api
}

#[tokio::test]
async fn selectors() {
    let api = filled().await;
    for (query, want) in [
        ("", vec!["a", "b", "c", "d", "e"]),
        ("labelSelector=x%3D1", vec!["a", "b", "d"]),
        ("labelSelector=x+in+(2,3)", vec!["c", "e"]),
        ("labelSelector=!x", vec![]),
        ("fieldSelector=metadata.name%3Dc", vec!["c"]),
        (
            "fieldSelector=metadata.name!%3Dc&labelSelector=x%3D2",
            vec!["e"],
        ),
    ] {
        let (code, list) = api.get(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!((code, names(&list)), (200, want), "{query}");
    }
    for query in [
        "fieldSelector=data.k%3Dv",
        "labelSelector=%3D%3D",
        "resourceVersion=abc",
        "limit=many",
        "continue=garbage",
    ] {
        let (code, status) = api.get(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(
            (code, status["reason"].as_str()),
            (400, Some("BadRequest")),
            "{query}: {status}"
        );
    }
}

#[tokio::test]
async fn pages_show_one_moment() {
    let api = filled().await;
    let (_, page) = api.get(&format!("{CONFIG_MAPS}?limit=2")).await;
    assert_eq!(
        (names(&page), &page["metadata"]["remainingItemCount"]),
        (vec!["a", "b"], &json!(3))
    );
    api.delete(&format!("{CONFIG_MAPS}/c")).await;
    api.make(CONFIG_MAPS, named("cc")).await;
    let token = page["metadata"]["continue"].as_str().expect("a token");
    let (_, second) = api
        .get(&format!("{CONFIG_MAPS}?limit=2&continue={token}"))
        .await;
    assert_eq!(
        (names(&second), version(&second)),
        (vec!["c", "d"], version(&page))
    );
    let token = second["metadata"]["continue"].as_str().expect("a token");
    let (_, third) = api
        .get(&format!("{CONFIG_MAPS}?limit=2&continue={token}"))
        .await;
    assert_eq!(
        (names(&third), third["metadata"].get("continue")),
        (vec!["e"], None)
    );
}

#[tokio::test]
async fn an_old_token_expires_and_can_be_renewed() {
    let api = Api(EmbeddedApiServer::builder().history_limit(3).build());
    for name in ["a", "b", "c"] {
        api.make(CONFIG_MAPS, named(name)).await;
    }
    let (_, page) = api.get(&format!("{CONFIG_MAPS}?limit=1")).await;
    for number in 0..5 {
        api.merge(
            &format!("{CONFIG_MAPS}/c"),
            json!({"data": {"n": number.to_string()}}),
        )
        .await;
    }
    let token = page["metadata"]["continue"].as_str().expect("a token");
    let (code, status) = api
        .get(&format!("{CONFIG_MAPS}?limit=1&continue={token}"))
        .await;
    assert_eq!((code, status["reason"].as_str()), (410, Some("Expired")));
    let fresh = status["metadata"]["continue"]
        .as_str()
        .expect("a fresh token");
    let (code, list) = api.get(&format!("{CONFIG_MAPS}?continue={fresh}")).await;
    assert_eq!((code, names(&list)), (200, vec!["b", "c"]));
    let (code, _) = api
        .get(&format!(
            "{CONFIG_MAPS}?resourceVersion=1&resourceVersionMatch=Exact"
        ))
        .await;
    assert_eq!(code, 410);
}

#[tokio::test]
async fn the_past_can_be_listed() {
    let api = Api::new();
    let a = api
        .make(
            CONFIG_MAPS,
            json!({"metadata": {"name": "a"}, "data": {"k": "old"}}),
        )
        .await;
    api.make(CONFIG_MAPS, named("b")).await;
    api.merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"k": "new"}}))
        .await;
    let (_, list) = api
        .get(&format!(
            "{CONFIG_MAPS}?resourceVersionMatch=Exact&resourceVersion={}",
            version(&a)
        ))
        .await;
    assert_eq!(
        (names(&list), &list["items"][0]["data"]["k"]),
        (vec!["a"], &json!("old"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_version_to_come_is_waited_for() {
    let api = Api::new();
    let made = api.make(CONFIG_MAPS, named("a")).await;
    let next = version(&made).parse::<u64>().expect("a number") + 1;
    let path = format!("{CONFIG_MAPS}?resourceVersion={next}");
    let (code, status) = api.get(&path).await;
    assert_eq!((code, status["reason"].as_str()), (504, Some("Timeout")));
    let (answer, _) = tokio::join!(api.get(&path), api.make(CONFIG_MAPS, named("b")));
    assert_eq!((answer.0, names(&answer.1)), (200, vec!["a", "b"]));
}

#[tokio::test]
async fn lists_over_namespaces_are_in_raw_key_order() {
    let api = Api::new();
    for namespace in ["x0", "x", "x-b"] {
        api.make("/api/v1/namespaces", named(namespace)).await;
        api.make(
            &format!("/api/v1/namespaces/{namespace}/configmaps"),
            named("a"),
        )
        .await;
    }
    let (_, list) = api.get("/api/v1/configmaps").await;
    let found: Vec<&str> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["metadata"]["namespace"].as_str())
        .collect();
    assert_eq!(found, ["x-b", "x", "x0"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_from_a_version() {
    let api = Api::new();
    let first = api
        .make(
            CONFIG_MAPS,
            json!({"metadata": {"name": "a"}, "data": {"n": "1"}}),
        )
        .await;
    api.delete(&format!("{CONFIG_MAPS}/a")).await;
    api.make(CONFIG_MAPS, named("a")).await;
    api.merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"n": "2"}}))
        .await;
    let mut watch = api
        .watch(&format!(
            "{CONFIG_MAPS}?resourceVersion={}",
            version(&first)
        ))
        .await;
    let deleted = watch.next().await.expect("an event");
    assert_eq!(
        (&deleted["type"], &deleted["object"]["data"]["n"]),
        (&json!("DELETED"), &json!("1"))
    );
    assert_ne!(
        version(&deleted["object"]),
        version(&first),
        "a removal has a version of its own"
    );
    assert_eq!(
        [watch.told().await, watch.told().await],
        ["ADDED a", "MODIFIED a"]
    );
    assert!(watch.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn an_old_version_is_expired() {
    let api = Api(EmbeddedApiServer::builder().history_limit(2).build());
    let first = api.make(CONFIG_MAPS, named("a")).await;
    let mut slow = api
        .watch(&format!(
            "{CONFIG_MAPS}?resourceVersion={}",
            version(&first)
        ))
        .await;
    for number in 0..3 {
        api.merge(
            &format!("{CONFIG_MAPS}/a"),
            json!({"data": {"n": number.to_string()}}),
        )
        .await;
    }
    let mut late = api
        .watch(&format!(
            "{CONFIG_MAPS}?resourceVersion={}",
            version(&first)
        ))
        .await;
    let mut old = api.watch(&format!("{CONFIG_MAPS}?resourceVersion=1")).await;
    for watch in [&mut slow, &mut late, &mut old] {
        let error = watch.next().await.expect("an event");
        assert_eq!(
            (&error["type"], &error["object"]["code"]),
            (&json!("ERROR"), &json!(410))
        );
        assert_eq!(error["object"]["reason"], "Expired");
        assert!(
            error["object"]["message"]
                .as_str()
                .expect("a message")
                .starts_with("too old resource version: ")
        );
        assert_eq!(watch.next().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn bookmarks_tell_the_version() {
    let api = Api::new();
    let made = api.make(CONFIG_MAPS, named("a")).await;
    let query = format!(
        "resourceVersion={}&allowWatchBookmarks=true&timeoutSeconds=150",
        version(&made)
    );
    let mut watch = api.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    let (_, lease) = api.post(LEASES, named("l")).await;
    // Each minute, and two seconds before the end.
    for _ in 0..3 {
        let bookmark = watch.next().await.expect("an event");
        assert_eq!(bookmark["type"], "BOOKMARK");
        let metadata = json!({"resourceVersion": version(&lease)});
        assert_eq!(
            bookmark["object"],
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        );
    }
    assert_eq!(watch.next().await, None, "the watch ends in time");
    let mut quiet = api
        .watch(&format!(
            "{CONFIG_MAPS}?resourceVersion={}&timeoutSeconds=150",
            version(&made)
        ))
        .await;
    assert_eq!(quiet.next().await, None, "without leave there are none");
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_a_bookmark() {
    let api = filled().await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=x%3D2";
    let mut watch = api.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(
        [watch.told().await, watch.told().await],
        ["ADDED c", "ADDED e"]
    );
    let end = watch.next().await.expect("an event");
    assert_eq!(end["type"], "BOOKMARK");
    assert_eq!(
        end["object"]["metadata"]["annotations"],
        json!({"k8s.io/initial-events-end": "true"})
    );
    let mut none = api
        .watch(&format!("{CONFIG_MAPS}?sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"))
        .await;
    assert!(none.is_silent().await);
    let (code, _) = api
        .get(&format!("{CONFIG_MAPS}?watch=true&sendInitialEvents=true"))
        .await;
    assert_eq!(code, 422);
}

#[tokio::test(start_paused = true)]
async fn objects_enter_and_leave_a_selection() {
    let api = Api::new();
    let (_, list) = api.get(CONFIG_MAPS).await;
    let mut watch = api
        .watch(&format!(
            "{CONFIG_MAPS}?labelSelector=x%3D1&resourceVersion={}",
            version(&list)
        ))
        .await;
    let path = format!("{CONFIG_MAPS}/a");
    api.make(CONFIG_MAPS, named("a")).await;
    api.merge(&path, json!({"metadata": {"labels": {"x": "1"}}}))
        .await;
    api.merge(&path, json!({"data": {"n": "1"}})).await;
    let (_, left) = api
        .merge(
            &path,
            json!({"metadata": {"labels": {"x": "2"}}, "data": {"n": "2"}}),
        )
        .await;
    api.merge(&path, json!({"data": {"n": "3"}})).await;
    assert_eq!(
        [watch.told().await, watch.told().await],
        ["ADDED a", "MODIFIED a"]
    );
    let gone = watch.next().await.expect("an event");
    assert_eq!(
        (&gone["type"], &gone["object"]["data"]["n"]),
        (&json!("DELETED"), &json!("1"))
    );
    assert_eq!(version(&gone["object"]), version(&left));
    assert!(watch.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn one_object_is_watched() {
    let api = filled().await;
    let mut by_field = api
        .watch(&format!("{CONFIG_MAPS}?fieldSelector=metadata.name%3Db"))
        .await;
    let mut by_path = api
        .watch("/api/v1/watch/namespaces/default/configmaps/b")
        .await;
    api.merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"k": "v"}}))
        .await;
    api.merge(&format!("{CONFIG_MAPS}/b"), json!({"data": {"k": "v"}}))
        .await;
    for watch in [&mut by_field, &mut by_path] {
        assert_eq!(
            [watch.told().await, watch.told().await],
            ["ADDED b", "MODIFIED b"]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_to_come_is_watched_in_silence() {
    let api = Api::new();
    let mut watch = api
        .watch(&format!("{CONFIG_MAPS}?resourceVersion=999999999999"))
        .await;
    api.make(CONFIG_MAPS, named("a")).await;
    assert!(watch.is_silent().await);
    let (code, status) = api
        .get(&format!("{CONFIG_MAPS}?watch=true&resourceVersion=abc"))
        .await;
    assert_eq!(
        (code, status["message"].as_str()),
        (
            500,
            Some(
                "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax"
            )
        )
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_definition_ends_its_watches() {
    let api = Api::new();
    api.define_widgets(json!({})).await;
    let mut watch = api.watch(WIDGETS).await;
    api.make(WIDGETS, widget("w")).await;
    api.delete(&format!("{DEFINITIONS}/widgets.example.com"))
        .await;
    assert_eq!(
        [watch.told().await, watch.told().await],
        ["ADDED w", "DELETED w"]
    );
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn every_version_of_a_definition_shows_the_same_objects() {
    let api = Api::new();
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let one = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema});
    api.define(vec![one("v1", true), one("v2", false)]).await;
    let newer = "/apis/example.com/v2/namespaces/default/widgets";
    let mut watch = api.watch(newer).await;
    api.make(WIDGETS, widget("w")).await;
    assert_eq!(
        watch.next().await.expect("an event")["object"]["apiVersion"],
        "example.com/v2"
    );
    let (code, object) = api
        .merge(&format!("{newer}/w"), json!({"spec": {"n": 2}}))
        .await;
    assert_eq!(
        (code, &object["apiVersion"]),
        (200, &json!("example.com/v2"))
    );
    let (_, object) = api.get(&format!("{WIDGETS}/w")).await;
    assert_eq!(
        (&object["apiVersion"], &object["spec"]["n"]),
        (&json!("example.com/v1"), &json!(2))
    );
    let (code, _) = api.post(newer, widget("other")).await;
    assert_eq!(code, 400, "the body is of another version");
}

#[tokio::test(start_paused = true)]
async fn events_are_one_store_with_two_forms() {
    let api = Api::new();
    let mut watch = api.watch(CORE_EVENTS).await;
    api.make(EVENTS, event("e")).await;
    let (_, object) = api.get(&format!("{CORE_EVENTS}/e")).await;
    assert_eq!(
        (&object["message"], &object["involvedObject"]["name"]),
        (&json!("hello"), &json!("a"))
    );
    assert_eq!(
        (&object["reportingComponent"], &object["source"]),
        (&json!("example.com/c"), &json!({}))
    );
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}});
    let (code, object) = api.merge(&format!("{EVENTS}/e"), series.clone()).await;
    assert_eq!((code, &object["series"]), (200, &series["series"]));
    assert_eq!(
        [watch.told().await, watch.told().await],
        ["ADDED e", "MODIFIED e"]
    );
    let (_, list) = api
        .get(&format!("{EVENTS}?fieldSelector=regarding.name%3Da"))
        .await;
    assert_eq!(names(&list), ["e"]);
    let (_, list) = api
        .get(&format!(
            "{CORE_EVENTS}?fieldSelector=involvedObject.name%3Da"
        ))
        .await;
    assert_eq!(names(&list), ["e"]);
    let (code, status) = api
        .merge(&format!("{EVENTS}/e"), json!({"note": "other"}))
        .await;
    assert_eq!(
        (code, status["details"]["causes"][0]["field"].as_str()),
        (422, Some("message"))
    );
    let (code, _) = api
        .merge(&format!("{CORE_EVENTS}/e"), json!({"message": "other"}))
        .await;
    assert_eq!(code, 200, "core/v1 lets an event change");
}

#[tokio::test(start_paused = true)]
async fn events_expire_an_hour_after_their_last_write() {
    let api = Api::new();
    api.make(EVENTS, event("quiet")).await;
    api.make(EVENTS, event("counted")).await;
    tokio::time::advance(Duration::from_secs(3000)).await;
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}});
    api.merge(&format!("{EVENTS}/counted"), series).await;
    tokio::time::advance(Duration::from_secs(700)).await;
    assert_eq!(names(&api.get(EVENTS).await.1), ["counted"]);
    tokio::time::advance(Duration::from_secs(3000)).await;
    assert!(names(&api.get(EVENTS).await.1).is_empty());
}
