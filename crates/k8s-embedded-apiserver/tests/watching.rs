//! When watches tell something, and what they cost while they have nothing to tell.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use common::*;
use http_body::Body as _;
use k8s_embedded_apiserver::EmbeddedApiServer;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn bookmarks_come_each_minute_and_before_the_end() {
    let api = Api::new();
    for (seconds, expected) in [
        (150, vec![60, 120, 148]),
        (60, vec![58]),
        (3, vec![1]),
        (2, vec![]),
    ] {
        let query = format!("allowWatchBookmarks=true&timeoutSeconds={seconds}");
        let begun = Instant::now();
        let mut watch = api.watch(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(watch.told().await, "BOOKMARK -");
        let mut times = Vec::new();
        while let Some(event) = watch.next().await {
            assert_eq!(event["type"], "BOOKMARK");
            times.push(begun.elapsed().as_secs());
        }
        assert_eq!(times, expected, "{seconds}");
        assert_eq!(begun.elapsed(), Duration::from_secs(seconds));
    }
}

#[tokio::test(start_paused = true)]
async fn initial_events_of_a_version_to_come() {
    let api = Api::new();
    let made = api.make(CONFIG_MAPS, named("a")).await;
    let last: u64 = version(&made).parse().expect("a number");
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let begun = Instant::now();
    let far = format!("{CONFIG_MAPS}?{query}&resourceVersion={}", last + 5);
    let mut watch = api.watch(&far).await;
    let error = watch.next().await.expect("an error");
    assert_eq!(error["type"], "ERROR");
    assert_eq!(error["object"]["code"], 504);
    assert_eq!(watch.next().await, None);
    assert_eq!(begun.elapsed(), Duration::from_secs(3));

    // Any write, of whichever kind, reaches it.
    let begun = Instant::now();
    let near = format!("{CONFIG_MAPS}?{query}&resourceVersion={}", last + 1);
    let other = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        api.make("/api/v1/namespaces/default/secrets", named("s"))
            .await
    };
    let (mut watch, _) = tokio::join!(api.watch(&near), other);
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
    assert_eq!(watch.told().await, "ADDED a");
    assert_eq!(watch.told().await, "BOOKMARK -");
}

#[tokio::test(start_paused = true)]
async fn versions_are_compacted_after_a_while() {
    let api = Api::new();
    for name in ["a", "b", "c"] {
        api.make(CONFIG_MAPS, named(name)).await;
    }
    let (_, page) = api.get(&format!("{CONFIG_MAPS}?limit=1")).await;
    let at = version(&page).to_owned();
    let token = page["metadata"]["continue"].as_str().expect("a token");
    let next = format!("{CONFIG_MAPS}?limit=1&continue={token}");
    let exact = format!("{CONFIG_MAPS}?resourceVersion={at}&resourceVersionMatch=Exact");
    api.make(CONFIG_MAPS, named("aa")).await;
    tokio::time::sleep(Duration::from_secs(299)).await;
    assert_eq!(api.get(&next).await.0, 200);
    tokio::time::sleep(Duration::from_secs(302)).await;
    assert_eq!(api.get(&exact).await.0, 410);
    let (code, status) = api.get(&next).await;
    assert_eq!(code, 410);
    let fresh = status["metadata"]["continue"].as_str().expect("a token");
    let (_, page) = api
        .get(&format!("{CONFIG_MAPS}?limit=1&continue={fresh}"))
        .await;
    assert_eq!(page["items"][0]["metadata"]["name"], "aa");
    // Watches have a memory of their own.
    let mut watch = api
        .watch(&format!("{CONFIG_MAPS}?resourceVersion={at}"))
        .await;
    assert_eq!(watch.told().await, "ADDED aa");

    let never = Api(EmbeddedApiServer::builder()
        .etcd_compaction_interval(Duration::ZERO)
        .build());
    let old = never.make(CONFIG_MAPS, named("a")).await;
    never.make(CONFIG_MAPS, named("b")).await;
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    let exact = format!(
        "{CONFIG_MAPS}?resourceVersion={}&resourceVersionMatch=Exact",
        version(&old)
    );
    assert_eq!(
        never.get(&exact).await.1["items"].as_array().map(Vec::len),
        Some(1)
    );
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn idle_watches_do_nothing() {
    let api = Api::new();
    let woken = Arc::new(Count::default());
    let waker = Waker::from(woken.clone());
    let mut bodies = Vec::new();
    for _ in 0..1_000 {
        let query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=7200";
        let mut watch = api.watch(&format!("{CONFIG_MAPS}?{query}")).await;
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut watch.0).poll_frame(&mut cx).is_pending());
        bodies.push(watch);
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    for number in 0..100 {
        let secret = named(&format!("s{number}"));
        api.make("/api/v1/namespaces/default/secrets", secret).await;
    }
    assert_eq!(woken.0.load(Ordering::Relaxed), 0);
    api.make(CONFIG_MAPS, named("a")).await;
    assert_eq!(woken.0.load(Ordering::Relaxed), 1_000);
    for watch in &mut bodies {
        assert_eq!(watch.told().await, "ADDED a");
    }
}

#[tokio::test(start_paused = true)]
async fn a_compressed_watch_can_be_read_event_by_event() {
    use http_body_util::BodyExt as _;
    use std::io::Write as _;
    use tower::ServiceExt as _;

    let api = Api::new();
    api.make(CONFIG_MAPS, named("a")).await;
    let request = http::Request::builder()
        .uri(format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=1"))
        .header("accept-encoding", "gzip")
        .body(http_body_util::Empty::<bytes::Bytes>::new())
        .expect("a request");
    let response = api.0.clone().oneshot(request).await.expect("an answer");
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let mut body = response.into_body();
    let mut types = Vec::new();
    // One stream, of which each event can be read when it has come; decoders of clients stop at the end of the first.
    let mut decoder = flate2::write::GzDecoder::new(Vec::new());
    for _ in 0..2 {
        let frame = body.frame().await.expect("a frame").expect("a frame");
        let frame = frame.into_data().expect("data");
        decoder.write_all(&frame).expect("gzip");
        decoder.flush().expect("gzip");
        let line = std::mem::take(decoder.get_mut());
        let event: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
        types.push(event["type"].clone());
    }
    assert_eq!(types, ["ADDED", "BOOKMARK"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_lists_ends_with_the_first_event() {
    use tower::ServiceExt as _;

    let api = Api::new();
    let request = http::Request::builder()
        .uri(format!("{CONFIG_MAPS}?watch=1"))
        .header(
            "accept",
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        )
        .body(http_body_util::Empty::<bytes::Bytes>::new())
        .expect("a request");
    let response = api.0.clone().oneshot(request).await.expect("an answer");
    assert_eq!(response.status(), 200);
    let mut watch = Watch(response.into_body());
    assert!(watch.is_silent().await);
    api.make(CONFIG_MAPS, named("a")).await;
    assert_eq!(watch.next().await, None);
}
