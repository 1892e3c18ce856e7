//! Many at once, and for long: writers that race, watches beside them, servers that are dropped, days that pass.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use std::collections::BTreeMap;
use std::thread::JoinHandle;
use std::time::Duration;

use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use common::{Api as Raw, CONFIG_MAPS};

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn count(map: &ConfigMap) -> u64 {
    let data = map.data.as_ref().and_then(|data| data.get("count"));
    data.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Adds one, as often as it takes until nobody else was quicker.
async fn add_one(api: &Api<ConfigMap>, name: &str) {
    loop {
        let mut found = api.get(name).await.expect("the map");
        let next = count(&found) + 1;
        found.data = Some(BTreeMap::from([("count".into(), next.to_string())]));
        match api.replace(name, &PostParams::default(), &found).await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A thread with a runtime of its own, as a program may have several that share a server.
fn thread<F: Future<Output = T>, T: Send + 'static>(
    server: &EmbeddedApiServer,
    work: impl FnOnce(Client) -> F + Send + 'static,
) -> JoinHandle<T> {
    let server = server.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        runtime.block_on(async { work(Client::new(server, "default")).await })
    })
}

#[test]
fn no_write_is_lost_and_watches_see_each_in_order() {
    const WRITERS: u64 = 8;
    const ROUNDS: u64 = 25;
    let server = EmbeddedApiServer::new();
    let first = thread(&server, |client| async {
        let api = Api::<ConfigMap>::default_namespaced(client);
        let made = api.create(&PostParams::default(), &map("a")).await;
        made.expect("made").resource_version().expect("a version")
    });
    let from = first.join().expect("a thread");
    let watches: Vec<_> = (0..8)
        .map(|_| {
            let from = from.clone();
            thread(&server, |client| async move {
                let api = Api::<ConfigMap>::default_namespaced(client);
                let params = WatchParams::default();
                let mut events = api.watch(&params, &from).await.expect("a watch").boxed();
                let mut seen = Vec::new();
                for _ in 0..WRITERS * ROUNDS {
                    match events.next().await {
                        Some(Ok(WatchEvent::Modified(map))) => seen.push(count(&map)),
                        other => panic!("{other:?}"),
                    }
                }
                seen
            })
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            thread(&server, |client| async move {
                let api = Api::<ConfigMap>::default_namespaced(client);
                for _ in 0..ROUNDS {
                    add_one(&api, "a").await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().expect("a writer");
    }
    let expected: Vec<u64> = (1..=WRITERS * ROUNDS).collect();
    for watch in watches {
        assert_eq!(watch.join().expect("a watch"), expected);
    }
}

#[test]
fn nothing_is_left_of_a_namespace_that_is_filled_while_it_goes() {
    let server = EmbeddedApiServer::builder()
        .namespace_deletion_delay(Duration::ZERO)
        .controller_delay(Duration::ZERO)
        .build();
    let made = thread(&server, |client| async {
        let space = Namespace {
            metadata: map("full").metadata,
            ..Namespace::default()
        };
        let spaces = Api::<Namespace>::all(client);
        spaces
            .create(&PostParams::default(), &space)
            .await
            .map(drop)
    });
    made.join().expect("a thread").expect("made");
    let makers: Vec<_> = (0..6)
        .map(|maker| {
            thread(&server, move |client| async move {
                let api = Api::<ConfigMap>::namespaced(client, "full");
                for number in 0.. {
                    let map = map(&format!("m{maker}-{number}"));
                    match api.create(&PostParams::default(), &map).await {
                        Ok(_) => {}
                        // It is going, or gone.
                        Err(kube::Error::Api(status)) => return (number, status.code),
                        Err(error) => panic!("{error}"),
                    }
                }
                (0, 0)
            })
        })
        .collect();
    let last = thread(&server, |client| async move {
        let api = Api::<ConfigMap>::namespaced(client.clone(), "full");
        while api
            .list(&ListParams::default())
            .await
            .expect("a list")
            .items
            .len()
            < 50
        {
            tokio::task::yield_now().await;
        }
        let spaces = Api::<Namespace>::all(client);
        let deleted = spaces.delete("full", &DeleteParams::default()).await;
        deleted.expect("deleted");
        while spaces.get_opt("full").await.expect("an answer").is_some() {
            tokio::task::yield_now().await;
        }
        api.list(&ListParams::default())
            .await
            .expect("a list")
            .items
            .len()
    });
    for maker in makers {
        let (made, code) = maker.join().expect("a maker");
        assert!(matches!(code, 403 | 404), "{code} after {made}");
    }
    assert_eq!(last.join().expect("a thread"), 0);
}

#[test]
fn a_watch_hears_of_all_that_a_collection_loses() {
    const OBJECTS: usize = 500;
    let server = EmbeddedApiServer::new();
    let filled = thread(&server, |client| async {
        let api = Api::<ConfigMap>::default_namespaced(client);
        for number in 0..OBJECTS {
            let map = map(&format!("m{number:03}"));
            api.create(&PostParams::default(), &map)
                .await
                .expect("made");
        }
        let list = api.list(&ListParams::default()).await.expect("a list");
        list.metadata.resource_version.expect("a version")
    });
    let version = filled.join().expect("a thread");
    let watch = thread(&server, |client| async move {
        let api = Api::<ConfigMap>::default_namespaced(client);
        let params = WatchParams::default();
        let mut events = api.watch(&params, &version).await.expect("a watch").boxed();
        let mut gone = Vec::new();
        while gone.len() < OBJECTS {
            match events.next().await {
                Some(Ok(WatchEvent::Deleted(map))) => gone.push(map.name_any()),
                other => panic!("{other:?}"),
            }
        }
        gone
    });
    // Two at once: each object goes once.
    let deletes: Vec<_> = (0..2)
        .map(|_| {
            thread(&server, |client| async {
                let api = Api::<ConfigMap>::default_namespaced(client);
                let (all, any) = (DeleteParams::default(), ListParams::default());
                api.delete_collection(&all, &any).await.map(drop)
            })
        })
        .collect();
    for delete in deletes {
        delete.join().expect("a thread").expect("deleted");
    }
    let mut gone = watch.join().expect("a watch");
    gone.sort();
    gone.dedup();
    assert_eq!(gone.len(), OBJECTS);
}

/// What is asked of a server that shall answer the same each time.
async fn story(seed: u64) -> Vec<String> {
    let (epoch, begun) = (
        k8s_openapi::jiff::Timestamp::UNIX_EPOCH,
        tokio::time::Instant::now(),
    );
    let server = EmbeddedApiServer::builder()
        .seed(seed)
        .clock(move || epoch + begun.elapsed())
        .build();
    let api = Raw(server);
    let mut told = Vec::new();
    let map = |name: &str| json!({"metadata": {"generateName": name, "labels": {"a": "b"}}, "data": {"k": "v"}});
    for round in 0..20 {
        for (method, path, body) in [
            ("POST", CONFIG_MAPS.to_owned(), map(&format!("m{round}-"))),
            (
                "POST",
                "/api/v1/namespaces".into(),
                json!({"metadata": {"generateName": "n-"}}),
            ),
            ("GET", CONFIG_MAPS.into(), Value::Null),
            ("GET", "/api/v1/namespaces?limit=3".into(), Value::Null),
            (
                "DELETE",
                format!("{CONFIG_MAPS}?labelSelector=a%3Db"),
                Value::Null,
            ),
            ("GET", "/api/v1/serviceaccounts".into(), Value::Null),
        ] {
            let body = if body.is_null() {
                String::new()
            } else {
                body.to_string()
            };
            let answer = api.raw(method, &path, "application/json", body).await;
            let headers = format!("{:?}", answer.headers());
            let text = answer
                .into_body()
                .collect()
                .await
                .expect("a body")
                .to_bytes();
            told.push(format!("{headers}{}", String::from_utf8_lossy(&text)));
        }
        tokio::time::sleep(Duration::from_secs(3_600)).await;
    }
    told
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_tells_the_same_story() {
    let first = story(7).await;
    assert_eq!(first, story(7).await);
    assert_ne!(first, story(8).await);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_days_pass() {
    let server = EmbeddedApiServer::builder().seed(1).build();
    let api = Raw(server);
    let watch = api
        .raw(
            "GET",
            "/api/v1/events?watch=1&timeoutSeconds=864000000",
            "",
            "",
        )
        .await;
    let mut body = watch.into_body();
    let reading = tokio::spawn(async move {
        let mut frames = 0_u64;
        while body.frame().await.is_some() {
            frames += 1;
        }
        frames
    });
    for day in 0..1_000 {
        let event = json!({"metadata": {"name": format!("e{day}")}, "involvedObject": {"namespace": "default"}, "reason": "R"});
        let path = "/api/v1/namespaces/default/events";
        let made = api
            .raw("POST", path, "application/json", event.to_string())
            .await;
        assert_eq!(made.status(), 201);
        tokio::time::sleep(Duration::from_secs(24 * 3_600)).await;
    }
    // Events live for an hour, and watches for a year at most: each of its days has an event that comes and goes.
    let left = api.raw("GET", "/api/v1/events", "", "").await;
    let left = left.into_body().collect().await.expect("a body").to_bytes();
    let left: Value = serde_json::from_slice(&left).expect("a list");
    assert_eq!(left["items"], json!([]));
    let frames = reading.await.expect("the watch");
    assert_eq!(frames, 2 * 365 + 1, "with the one that comes as it ends");
}

#[tokio::test]
async fn a_server_that_is_dropped_leaves_nothing_behind() {
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();
    let api = Raw(EmbeddedApiServer::new());
    let mut watches = Vec::new();
    for _ in 0..100 {
        let path = format!("{CONFIG_MAPS}?watch=1");
        watches.push(api.raw("GET", &path, "", "").await.into_body());
    }
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "R"});
    let path = "/api/v1/namespaces/default/events";
    let made = api
        .raw("POST", path, "application/json", event.to_string())
        .await;
    assert_eq!(made.status(), 201);
    // There is something to do in an hour.
    assert!(tasks() > before);
    drop(api);
    // A watch goes on as long as it is read, and holds no task.
    watches.truncate(1);
    drop(watches);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tasks(), before);
}
