//! The life of an object with a finalizer.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use k8s_controller_reconcile::{Context, Controller};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use serde_json::json;
use support::*;

#[tokio::test(start_paused = true)]
async fn from_creation_to_the_end() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let left = Arc::new(AtomicU32::new(2));
    let probe = Probe::<WithFinalizer>::answering(|_| done()).cleanup(move |_| {
        let wait = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        Ok(wait
            .is_ok()
            .then(|| Action::requeue(Duration::from_secs(10))))
    });
    tokio::spawn(controller(&server, probe, &notes).run());

    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a init completed", "a apply completed"]);
    assert_eq!(server.finalizers(&path).unwrap(), [OURS]);

    server.delete(&path);
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a cleanup waiting"]);
    assert_eq!(
        server.finalizers(&path).unwrap(),
        [OURS],
        "it asked to be run again"
    );
    pass_time(Duration::from_secs(10)).await;
    assert_eq!(notes.take(), ["a cleanup waiting"]);
    pass_time(Duration::from_secs(10)).await;
    assert_eq!(notes.take(), ["a cleanup completed"]);
    assert_eq!(server.get(&path), None);
    pass_time(Duration::from_secs(7200)).await;
    assert_eq!(notes.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_default_cleanup_lets_go_and_others_finalizers_stay() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!(["other/one", "other/two"]);
    });
    tokio::spawn(
        controller(
            &server,
            Probe::<WithFinalizer>::answering(|_| done()),
            &notes,
        )
        .run(),
    );
    pass_time(MOMENT).await;
    assert_eq!(
        server.finalizers(&path).unwrap(),
        ["other/one", "other/two", OURS]
    );

    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!(["other/one", OURS, "other/two"]);
    });
    server.delete(&path);
    pass_time(MOMENT).await;
    assert_eq!(
        server.finalizers(&path).unwrap(),
        ["other/one", "other/two"]
    );
    let notes = notes.take();
    assert_eq!(notes.last().unwrap(), "a delete completed", "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn an_object_deleted_while_nobody_looked_is_cleaned_up() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!([OURS]);
    });
    server.delete(&path);
    tokio::spawn(
        controller(
            &server,
            Probe::<WithFinalizer>::answering(|_| done()),
            &notes,
        )
        .run(),
    );
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a cleanup completed"]);
    assert_eq!(server.get(&path), None);
}

#[tokio::test(start_paused = true)]
async fn a_refused_finalizer_is_an_error_and_no_conflict() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    server.intercept(|seen| {
        if !seen.is_patch() {
            return Reply::Normal;
        }
        let causes = json!([{"field": "metadata.finalizers"}]);
        let details = json!({"kind": "ConfigMap", "name": "a", "causes": causes});
        Reply::status(422, "Invalid", details)
    });
    let probe = Probe::<WithFinalizer>::answering(|_| done());
    let asked = probe.asked.clone();
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(20)).await;
    let failures = asked.lock().unwrap().clone();
    assert_eq!(failures[..3], [0, 1, 2], "{failures:?}");
    assert!(
        logs.with(&["INFO", "conflict"]).is_empty(),
        "{:#?}",
        logs.lines()
    );
    assert!(
        !logs.with(&["ERROR", "class=\"invalid\""]).is_empty(),
        "{:#?}",
        logs.lines()
    );
}

struct BadName;
#[async_trait::async_trait]
impl Context for BadName {
    type Resource = ConfigMap;
    type Error = TestError;
    const FINALIZER_NAME: Option<&'static str> = Some("not a name");
    async fn apply(
        &self,
        _: kube::Client,
        _: &ConfigMap,
        _: &mut k8s_controller_reconcile::TraceMetadata,
    ) -> Answer {
        panic!("never called");
    }
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_name_that_is_none_is_named_and_never_sent() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    let controller =
        Controller::namespaced_all(server.client(), BadName, watcher::Config::default());
    tokio::spawn(controller.with_observer(notes.clone()).run());
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a init failed"]);
    assert!(!server.seen().iter().any(support::server::Seen::is_patch));
    let lines = logs.with(&[
        "ERROR",
        "invalid finalizer name \\\"not a name\\\"",
        "expected a qualified name",
    ]);
    let at_start = logs.with(&["ERROR", "no object can be worked on"]);
    assert!(
        lines.len() == 1 && at_start.len() == 1,
        "{:#?}",
        logs.lines()
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_finalizer_there_is_no_cleanup() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!(["other/one"]);
    });
    let probe = Probe::<NoFinalizer>::answering(|_| done()).cleanup(|_| panic!("never called"));
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a apply completed"]);
    server.delete(&path);
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a delete completed"]);
    assert!(!server.seen().iter().any(support::server::Seen::is_patch));
}
