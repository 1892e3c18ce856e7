//! Panics of the user's code end one pass and nothing else.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::sync::Arc;
use std::time::Duration;

use k8s_controller_events::{EventRecorder, Reporter};
use k8s_controller_observe::{ReconcileObserver, ReconcileRecord};
use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use serde_json::json;
use support::*;

fn recorder(server: &Server) -> Arc<EventRecorder> {
    let reporter = Reporter {
        controller: "example.com/test".into(),
        instance: Some("test-1".into()),
    };
    Arc::new(EventRecorder::new(server.client(), reporter))
}

fn is_bad(object: &ConfigMap) -> bool {
    object.metadata.name.as_deref() == Some("bad")
}

#[tokio::test(start_paused = true)]
async fn in_apply() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "bad");
    server.config_map("ns", "good");
    let probe = Probe::<NoFinalizer>::answering(|object| {
        assert!(!is_bad(object), "cannot do it");
        done()
    });
    let asked = probe.asked.clone();
    let recorder = recorder(&server);
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_event_recorder(recorder)
            .run(),
    );
    pass_time(MOMENT).await;
    let mut lines = notes.take();
    lines.sort();
    assert_eq!(lines, ["bad apply failed", "good apply completed"]);
    pass_time(Duration::from_secs(10)).await;
    assert!(asked.lock().unwrap().starts_with(&[0, 1]), "with backoff");
    let events = server.events();
    assert_eq!(events.len(), 1, "{events:#?}");
    assert_eq!(events[0]["note"], json!("panicked: cannot do it"));
    assert_eq!(events[0]["reason"], json!("ReconcileFailed"));
    let errors = logs.with(&["ERROR", "panicked: cannot do it", "class=\"panicked\""]);
    assert!(errors.len() >= 2, "{:#?}", logs.lines());
}

#[tokio::test(start_paused = true)]
async fn in_cleanup() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "bad");
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!([OURS]);
    });
    server.delete(&path);
    let probe = Probe::<WithFinalizer>::answering(|_| done()).cleanup(|_| panic!("no"));
    let recorder = recorder(&server);
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_event_recorder(recorder)
            .run(),
    );
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["bad cleanup failed"]);
    assert_eq!(server.finalizers(&path).unwrap(), [OURS]);
    assert_eq!(server.events()[0]["reason"], json!("CleanupFailed"));
    assert_eq!(server.events()[0]["action"], json!("Cleanup"));
}

#[tokio::test(start_paused = true)]
async fn in_success_action() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let mut probe = Probe::<NoFinalizer>::answering(|_| Ok(None));
    probe.success_action = Some(Box::new(|| panic!("no")));
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(2)).await;
    assert_eq!(notes.take(), ["a apply failed"; 2]);
}

#[tokio::test(start_paused = true)]
async fn in_error_action_and_failure_event() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    let mut probe = Probe::<NoFinalizer>::answering(|_| Err(TestError::Text("no")))
        .on_error(|_, _| panic!("error_action panics"));
    probe.failure_event = Some(Box::new(|_| panic!("failure_event panics")));
    let recorder = recorder(&server);
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_event_recorder(recorder)
            .run(),
    );
    pass_time(Duration::from_secs(100)).await;
    let gaps = notes.gaps();
    // The default backoff takes over.
    assert!(
        (1.0..2.1).contains(&gaps[0]) && (2.0..4.1).contains(&gaps[1]),
        "{gaps:?}"
    );
    assert!(server.events().is_empty());
    for method in ["error_action", "failure_event"] {
        let lines = logs.with(&[
            "ERROR",
            &format!("{method} panics"),
            &format!("method=\"{method}\""),
        ]);
        assert_eq!(lines.len(), gaps.len() + 1, "{:#?}", logs.lines());
    }
}

struct Panicking;
impl ReconcileObserver for Panicking {
    fn reconciled(&self, _: &ReconcileRecord<'_>) {
        panic!("observer panics");
    }
}

#[tokio::test(start_paused = true)]
async fn in_an_observer() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let probe =
        Probe::<NoFinalizer>::answering(|_| Ok(Some(Action::requeue(Duration::from_secs(1)))));
    let controller = k8s_controller_reconcile::Controller::namespaced(
        server.client(),
        probe,
        "ns",
        kube::runtime::watcher::Config::default(),
    );
    let controller = controller
        .with_observer(Arc::new(Panicking))
        .with_observer(notes.clone());
    tokio::spawn(controller.run());
    pass_time(Duration::from_millis(2500)).await;
    assert_eq!(notes.take(), ["a apply waiting"; 3]);
}

#[derive(Debug)]
struct Unspeakable;
impl std::fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no words")
    }
}
impl std::error::Error for Unspeakable {}

struct Speechless;
#[async_trait::async_trait]
impl Context for Speechless {
    type Resource = ConfigMap;
    type Error = Unspeakable;
    async fn apply(
        &self,
        _: Client,
        object: &ConfigMap,
        _: &mut TraceMetadata,
    ) -> Result<Option<Action>, Unspeakable> {
        if is_bad(object) {
            return Err(Unspeakable);
        }
        Ok(Some(Action::requeue(Duration::from_secs(1))))
    }
}

#[tokio::test(start_paused = true)]
async fn in_the_display_of_an_error() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "bad");
    server.config_map("ns", "good");
    let config = watcher::Config::default();
    let controller = Controller::namespaced(server.client(), Speechless, "ns", config)
        .with_observer(notes.clone())
        .with_event_recorder(recorder(&server));
    tokio::spawn(controller.run());
    pass_time(Duration::from_secs(10)).await;
    let notes = notes.take();
    let count = |line| notes.iter().filter(|note| *note == line).count();
    assert!(count("good apply waiting") >= 9, "{notes:?}");
    assert!((2..=4).contains(&count("bad apply failed")), "{notes:?}");
    assert_eq!(server.events().len(), 1);
    assert_eq!(server.events()[0]["note"], "panicked: no words");
    let lines = logs.with(&[
        "ERROR",
        "source=\"panicked: no words\"",
        "class=\"panicked\"",
    ]);
    assert_eq!(
        lines.len(),
        count("bad apply failed"),
        "{:#?}",
        logs.lines()
    );
}

/// Not the user's methods, but what is called from within a pass.
#[tokio::test(start_paused = true)]
async fn in_the_clock_of_the_recorder() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "bad");
    server.config_map("ns", "good");
    let reporter = Reporter {
        controller: "tests".into(),
        instance: None,
    };
    let recorder = EventRecorder::new(server.client(), reporter).with_clock(|| panic!("no time"));
    let probe = Probe::<NoFinalizer>::answering(|object| {
        if is_bad(object) {
            return Err(TestError::Text("no"));
        }
        Ok(Some(Action::requeue(Duration::from_secs(1))))
    });
    let controller = controller(&server, probe, &notes).with_event_recorder(Arc::new(recorder));
    tokio::spawn(controller.run());
    pass_time(Duration::from_secs(10)).await;
    let notes = notes.take();
    let count = |line| notes.iter().filter(|note| *note == line).count();
    assert!(count("good apply waiting") >= 9, "{notes:?}");
    assert!(
        count("bad apply failed") >= 2,
        "it is tried again: {notes:?}"
    );
    assert!(!logs.with(&["ERROR", "panic=\"no time\""]).is_empty());
}
