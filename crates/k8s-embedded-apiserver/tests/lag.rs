//! The watch cache, when it is behind the writes.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use std::time::Duration;

use common::*;
use k8s_embedded_apiserver::EmbeddedApiServer;
use serde_json::{Value, json};
use tokio::time::Instant;

const LAG: Duration = Duration::from_millis(500);

fn lagging(by: Duration) -> Api {
    Api(EmbeddedApiServer::builder()
        .seed(1)
        .watch_cache_lag(by)
        .build())
}

async fn names(api: &Api, query: &str) -> Vec<String> {
    let (code, list) = api.get(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(code, 200, "{query}: {list}");
    let items = list["items"].as_array().expect("items").iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap_or("?").to_owned())
        .collect()
}

/// An `Api` in which `old` is seen, and `a` was just written.
async fn written() -> (Api, Value) {
    let api = lagging(LAG);
    api.make(CONFIG_MAPS, named("old")).await;
    tokio::time::sleep(LAG).await;
    let made = api.make(CONFIG_MAPS, named("a")).await;
    (api, made)
}

#[tokio::test(start_paused = true)]
async fn only_reads_that_ask_for_the_cache_are_behind() {
    let (api, made) = written().await;
    let last = version(&made);
    for query in [
        "",
        "limit=5",
        &format!("resourceVersion={last}&resourceVersionMatch=Exact"),
    ] {
        assert_eq!(names(&api, query).await, ["a", "old"], "{query}");
    }
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/a")).await.0, 200);
    for query in [
        "resourceVersion=0",
        "resourceVersion=100001",
        "resourceVersion=0&fieldSelector=metadata.name%3Da",
    ] {
        let found = names(&api, query).await;
        assert!(!found.contains(&"a".to_owned()), "{query}: {found:?}");
    }
    assert_eq!(
        api.get(&format!("{CONFIG_MAPS}/a?resourceVersion=0"))
            .await
            .0,
        404
    );
    // A write never sees the past.
    assert_eq!(api.post(CONFIG_MAPS, named("a")).await.0, 409);
    let changed = api
        .merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"k": "v"}}))
        .await
        .1;
    assert_eq!(changed["data"]["k"], "v");
    tokio::time::sleep(LAG).await;
    let (_, seen) = api.get(&format!("{CONFIG_MAPS}/a?resourceVersion=0")).await;
    assert_eq!(seen, changed);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_is_still_seen() {
    let (api, _) = written().await;
    api.delete(&format!("{CONFIG_MAPS}/old")).await;
    assert_eq!(names(&api, "").await, ["a"]);
    assert_eq!(names(&api, "resourceVersion=0").await, ["old"]);
    assert_eq!(
        api.get(&format!("{CONFIG_MAPS}/old?resourceVersion=0"))
            .await
            .0,
        200
    );
}

#[tokio::test(start_paused = true)]
async fn a_read_of_a_version_waits_until_the_cache_has_seen_it() {
    let (api, made) = written().await;
    let begun = Instant::now();
    let query = format!("resourceVersion={}", version(&made));
    assert_eq!(names(&api, &query).await, ["a", "old"]);
    assert_eq!(begun.elapsed(), LAG);

    let slow = lagging(Duration::from_secs(10));
    let made = slow.make(CONFIG_MAPS, named("a")).await;
    let begun = Instant::now();
    let query = format!("resourceVersion={}", version(&made));
    let (code, status) = slow.get(&format!("{CONFIG_MAPS}/a?{query}")).await;
    assert_eq!((code, status["reason"].as_str()), (504, Some("Timeout")));
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_of_each_write_when_it_is_that_old() {
    let (api, _) = written().await;
    let mut watch = api
        .watch(&format!(
            "{CONFIG_MAPS}?resourceVersion=0&allowWatchBookmarks=true"
        ))
        .await;
    assert_eq!(watch.told().await, "ADDED old");
    let end = watch.next().await.expect("the end of the initial events");
    assert_eq!(end["type"], "BOOKMARK");
    let begun = Instant::now();
    tokio::time::sleep(LAG / 5).await;
    api.make(CONFIG_MAPS, named("b")).await;
    assert_eq!(watch.told().await, "ADDED a");
    assert_eq!(begun.elapsed(), LAG);
    assert_eq!(watch.told().await, "ADDED b");
    assert_eq!(begun.elapsed(), LAG + LAG / 5);
    assert!(watch.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_as_far_behind() {
    let (api, _) = written().await;
    let mut watch = api
        .watch(&format!("{CONFIG_MAPS}?allowWatchBookmarks=true"))
        .await;
    assert_eq!(watch.told().await, "ADDED a");
    assert_eq!(watch.told().await, "ADDED old");
    assert_eq!(watch.told().await, "BOOKMARK -");
    tokio::time::sleep(Duration::from_secs(60).checked_sub(LAG / 2).unwrap()).await;
    let secret = api
        .make("/api/v1/namespaces/default/secrets", named("s"))
        .await;
    let made = api.make(CONFIG_MAPS, named("b")).await;
    let bookmark = watch.next().await.expect("a bookmark");
    assert_eq!(bookmark["type"], "BOOKMARK");
    let told: u64 = version(&bookmark["object"]).parse().expect("a number");
    let unseen: u64 = version(&secret).parse().expect("a number");
    assert!(told < unseen, "{told} {unseen}");
    assert_eq!(watch.told().await, "ADDED b");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let bookmark = watch.next().await.expect("a bookmark");
    assert_eq!(version(&bookmark["object"]), version(&made));
}

#[tokio::test(start_paused = true)]
async fn initial_events_of_a_version_wait_for_it() {
    let (api, made) = written().await;
    let begun = Instant::now();
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let at = version(&made);
    let mut watch = api
        .watch(&format!("{CONFIG_MAPS}?{query}&resourceVersion={at}"))
        .await;
    assert_eq!(begun.elapsed(), LAG);
    assert_eq!(watch.told().await, "ADDED a");
    // From now on without a state: what the cache has not seen is an event to come.
    api.make(CONFIG_MAPS, named("b")).await;
    let query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    let mut any = api
        .watch(&format!("{CONFIG_MAPS}?{query}&resourceVersion=0"))
        .await;
    let mut recent = api.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(any.told().await, "ADDED b");
    assert!(recent.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn the_last_events_of_a_definition_come_before_the_end() {
    let api = lagging(LAG);
    api.define_widgets(json!({})).await;
    api.make(WIDGETS, widget("w")).await;
    let mut watch = api.watch(WIDGETS).await;
    assert_eq!(watch.told().await, "ADDED w");
    api.delete(&format!("{DEFINITIONS}/widgets.example.com"))
        .await;
    let begun = Instant::now();
    assert_eq!(watch.told().await, "DELETED w");
    assert_eq!(begun.elapsed(), LAG);
    assert_eq!(watch.next().await, None);
}
