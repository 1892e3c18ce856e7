//! Servers that go away and come back, and kinds that they do not serve.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_controller_reconcile::Controller;
use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use kube::Api;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher;
use serde_json::json;
use support::*;
use tokio::time::Instant;

/// Parts of a log line.
type Parts<'a> = &'a [&'a str];

/// A controller that watches four kinds.
fn with_three_owned(server: &Server, notes: &Arc<Notes>) -> Controller<Probe<NoFinalizer>> {
    let probe = Probe::<NoFinalizer>::answering(|_| done());
    let client = server.client();
    controller(server, probe, notes).with_controller(|controller| {
        let wc = watcher::Config::default;
        controller
            .owns(Api::<Secret>::namespaced(client.clone(), "ns"), wc())
            .owns(Api::<Service>::namespaced(client.clone(), "ns"), wc())
            .owns(Api::<Pod>::namespaced(client, "ns"), wc())
    })
}

/// Lets the server go away for this long: connections are cut and refused, and once it is back,
/// what each watch has seen is too old. When there were requests meanwhile.
async fn go_away(server: &Server, time: Duration) -> Vec<Duration> {
    let begin = Instant::now();
    let away = Arc::new(AtomicBool::new(true));
    let refused = Arc::new(Mutex::new(Vec::new()));
    server.intercept({
        let (away, refused) = (away.clone(), refused.clone());
        let mut expired = HashSet::new();
        move |seen| {
            if away.load(Ordering::Relaxed) {
                refused.lock().unwrap().push(begin.elapsed());
                return Reply::Refused;
            }
            if seen.is_watch() && expired.insert(seen.path.clone()) {
                return Reply::status(410, "Expired", json!({}));
            }
            Reply::Normal
        }
    });
    server.cut_watches("{\"type\":");
    pass_time(time).await;
    away.store(false, Ordering::Relaxed);
    std::mem::take(&mut *refused.lock().unwrap())
}

/// How long a change has to wait that is made when the server is back.
async fn until_pass(server: &Server, notes: &Notes, path: &str) -> Duration {
    notes.take();
    server.touch(path);
    let begin = Instant::now();
    while notes.take().is_empty() {
        pass_time(Duration::from_millis(10)).await;
    }
    begin.elapsed()
}

#[tokio::test(start_paused = true)]
async fn after_seconds_without_a_server_a_change_is_seen_within_seconds() {
    for seed in 0..20 {
        let (server, notes) = (Server::default(), Notes::new());
        let path = server.config_map("ns", "a");
        tokio::spawn(with_three_owned(&server, &notes).with_seed(seed).run());
        pass_time(MOMENT).await;
        let requests = go_away(&server, Duration::from_secs(5)).await.len();
        assert!((10..=50).contains(&requests), "{seed}: {requests}");
        let waited = until_pass(&server, &notes, &path).await;
        assert!(waited < Duration::from_secs(5), "{seed}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_day_without_a_server_is_neither_a_flood_of_requests_nor_of_lines() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    tokio::spawn(with_three_owned(&server, &notes).run());
    pass_time(MOMENT).await;
    let day = Duration::from_secs(24 * 3600);
    let requests = go_away(&server, day).await.len();
    assert!(requests < 24 * 3600 / 3, "{requests}");
    let lines = logs.with(&["watch failed"]);
    assert!(
        lines.len() < 24 * 60 + 50,
        "{} lines for {requests} requests",
        lines.len()
    );
    assert!(lines.last().unwrap().contains("left_out="), "{lines:?}");
    let waited = until_pass(&server, &notes, &path).await;
    assert!(waited < Duration::from_secs(25), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn the_seed_decides_about_the_waits() {
    let times = async |seed| {
        let (server, notes) = (Server::default(), Notes::new());
        tokio::spawn(with_three_owned(&server, &notes).with_seed(seed).run());
        pass_time(MOMENT).await;
        go_away(&server, Duration::from_secs(600)).await
    };
    let first = times(1).await;
    assert_eq!(first, times(1).await);
    assert_ne!(first, times(2).await);
}

/// The backoff of the library is set before that of its user.
#[tokio::test(start_paused = true)]
async fn another_backoff_can_be_set() {
    struct Minute;
    impl Iterator for Minute {
        type Item = Duration;
        fn next(&mut self) -> Option<Duration> {
            Some(Duration::from_secs(60))
        }
    }
    impl Backoff for Minute {
        fn reset(&mut self) {}
    }
    let (server, notes) = (Server::default(), Notes::new());
    let controller = with_three_owned(&server, &notes)
        .with_controller(|controller| controller.trigger_backoff(Minute));
    tokio::spawn(controller.run());
    pass_time(MOMENT).await;
    let requests = go_away(&server, Duration::from_secs(600)).await.len();
    assert!((1..=11).contains(&requests), "{requests}");
}

/// One of the kinds that are owned is not installed; the main one goes on.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_missing_slows_the_others_down_to_seconds() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    server.intercept(|seen| {
        if seen.path.ends_with("/secrets") {
            Reply::With(404, "404 page not found\n".into())
        } else {
            Reply::Normal
        }
    });
    tokio::spawn(with_three_owned(&server, &notes).run());
    pass_time(Duration::from_secs(3600)).await;
    let before = server.seen().len();
    // Objects that come all the time are no reason to ask more often.
    for _ in 0..100 {
        let waited = until_pass(&server, &notes, &path).await;
        assert!(waited <= Duration::from_millis(5100), "{waited:?}");
        pass_time(Duration::from_secs(1)).await;
    }
    let requests = server.seen().len() - before;
    assert!(requests <= 600 / 2, "{requests}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_says_what_is_missing() {
    const MISSING: &str = "404 page not found\n";
    const RBAC: &str = "configmaps is forbidden: User \"x\" cannot list resource \"configmaps\"";
    let forbidden =
        |message: &str| support::store::status(403, "Forbidden", message, json!({})).to_string();
    let cases: [(&str, u16, String, Parts<'_>, Parts<'_>); 5] = [
        (
            "/configmaps",
            404,
            MISSING.into(),
            &[
                "kind=\"ConfigMap\"",
                "source=\"failed to perform initial object list: ApiError: 404 page not found\"",
                "hint=\"the server does not serve this kind: is its CustomResourceDefinition \
                 installed?\"",
            ],
            &["left_out"],
        ),
        (
            "/secrets",
            404,
            MISSING.into(),
            &[
                "hint=\"the server does not serve a kind that is owned or watched: is its \
               CustomResourceDefinition installed?\"",
            ],
            &["kind=\""],
        ),
        (
            "/configmaps",
            403,
            forbidden("no"),
            &[
                "kind=\"ConfigMap\"",
                "hint=\"the permissions to list and watch this kind are needed\"",
            ],
            &[],
        ),
        (
            "/configmaps",
            403,
            forbidden(RBAC),
            &["kind=\"ConfigMap\"", "cannot list resource"],
            &["hint"],
        ),
        (
            "/configmaps",
            500,
            "boom".into(),
            &["kind=\"ConfigMap\"", "boom"],
            &["hint"],
        ),
    ];
    for (path, code, body, told, untold) in cases {
        let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
        let answer = body.clone();
        server.intercept(move |seen| {
            if seen.path.ends_with(path) {
                Reply::With(code, answer.clone())
            } else {
                Reply::Normal
            }
        });
        let running = tokio::spawn(with_three_owned(&server, &notes).run());
        pass_time(MOMENT).await;
        running.abort();
        let lines = logs.with(&["WARN", "watch failed, will be retried"]);
        assert!(!lines.is_empty(), "{path} {body}");
        for line in &lines {
            assert!(
                told.iter().all(|part| line.contains(part)),
                "{path} {code}: {line}"
            );
            assert!(
                !untold.iter().any(|part| line.contains(part)),
                "{path} {code}: {line}"
            );
        }
    }
}
