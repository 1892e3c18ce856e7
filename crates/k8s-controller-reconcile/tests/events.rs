//! Events about failures, and those of the user.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::sync::Arc;
use std::time::Duration;

use k8s_controller_events::{Event, EventRecorder, EventType, Reporter};
use k8s_controller_observe::Phase;
use k8s_controller_reconcile::{Context, Error, TraceMetadata};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::controller::Action;
use serde_json::json;
use support::*;

fn recorder(server: &Server) -> Arc<EventRecorder> {
    let reporter = Reporter {
        controller: "example.com/test".into(),
        instance: Some("test-1".into()),
    };
    Arc::new(EventRecorder::new(server.client(), reporter))
}

fn news() -> Event {
    Event {
        type_: EventType::Normal,
        reason: "News".into(),
        action: "Tell".into(),
        note: Some("all is well".into()),
        related: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_one_event_until_a_success() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let probe = Probe::<NoFinalizer>::answering(|object| {
        let touched = object
            .data
            .as_ref()
            .and_then(|data| data.get("touched").cloned());
        if touched.as_deref() == Some("3") {
            done()
        } else {
            Err(TestError::Text("no luck"))
        }
    })
    .on_error(|_, _| Action::await_change());
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_event_recorder(recorder(&server))
            .run(),
    );
    pass_time(MOMENT).await;
    for _ in 0..2 {
        server.touch(&path);
        pass_time(MOMENT).await;
    }
    let counts = |server: &Server| {
        let patches = server.seen();
        let patches = patches
            .iter()
            .filter(|seen| seen.is_patch() && seen.path.contains("/events/"));
        patches
            .map(|seen| seen.body["series"]["count"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (server.events().len(), counts(&server)),
        (1, vec![json!(2), json!(3)])
    );
    let event = &server.events()[0];
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["reason"], "ReconcileFailed");
    assert_eq!(event["action"], "Reconcile");
    assert_eq!(event["note"], "no luck");
    assert_eq!(
        event["regarding"]["uid"],
        server.get(&path).unwrap()["metadata"]["uid"]
    );

    server.touch(&path); // succeeds
    pass_time(MOMENT).await;
    server.touch(&path); // fails again
    pass_time(MOMENT).await;
    assert_eq!((server.events().len(), counts(&server).len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn events_of_the_user_survive_a_success_and_their_errors_are_warnings() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    let probe = Probe::<NoFinalizer>::new(|_, _, metadata| {
        Box::pin(async move {
            metadata.publish_event(news()).await;
            done()
        })
    });
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_event_recorder(recorder(&server))
            .run(),
    );
    pass_time(MOMENT).await;
    server.touch(&path);
    pass_time(MOMENT).await;
    assert_eq!(server.events().len(), 1, "the second is a repeat");

    server.intercept(|seen| {
        if seen.path.contains("/events") {
            Reply::status(403, "Forbidden", json!({}))
        } else {
            Reply::Normal
        }
    });
    notes.take();
    server.touch(&path);
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a apply completed"]);
    assert!(
        !logs
            .with(&["WARN", "event dropped", "event_reason=News"])
            .is_empty(),
        "{:#?}",
        logs.lines()
    );
}

#[tokio::test(start_paused = true)]
async fn publishing_takes_no_part_in_the_duration_and_cannot_fail_the_pass() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    server.intercept(|seen| {
        if seen.path.contains("/events") {
            Reply::Never
        } else {
            Reply::Normal
        }
    });
    let probe = Probe::<NoFinalizer>::answering(|_| Err(TestError::Text("no")))
        .on_error(|_, _| Action::await_change());
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_event_recorder(recorder(&server))
            .run(),
    );
    pass_time(Duration::from_millis(1)).await;
    assert_eq!(
        notes.take(),
        ["a apply failed"],
        "told before the event is published"
    );
    pass_time(Duration::from_secs(10)).await;
    assert_eq!(
        logs.with(&["duration_seconds=0.0", "reconciliation failed"])
            .len()
            + logs
                .with(&["duration_seconds=0 ", "reconciliation failed"])
                .len(),
        1,
        "{:#?}",
        logs.lines()
    );
    assert!(
        !logs.with(&["WARN", "event dropped", "5s"]).is_empty(),
        "{:#?}",
        logs.lines()
    );
}

#[test]
fn the_default_event_names_what_failed() {
    let probe = Probe::<NoFinalizer>::answering(|_| done());
    let error = Error::ControllerError(TestError::Text("no"));
    for (phase, reason, action) in [
        (Phase::Init, "ReconcileFailed", "Reconcile"),
        (Phase::Apply, "ReconcileFailed", "Reconcile"),
        (Phase::Cleanup, "CleanupFailed", "Cleanup"),
        (Phase::Delete, "CleanupFailed", "Cleanup"),
    ] {
        let event = probe
            .failure_event(&ConfigMap::default(), phase, &error)
            .unwrap();
        assert_eq!(
            (event.reason.as_str(), event.action.as_str()),
            (reason, action)
        );
        assert_eq!(
            (event.type_, event.note.as_deref()),
            (EventType::Warning, Some("no"))
        );
        let after = Duration::from_secs(90);
        let event = probe
            .failure_event(&ConfigMap::default(), phase, &Error::TimedOut { after })
            .unwrap();
        assert_eq!(
            (event.reason, event.action),
            (reason.replace("Failed", "TimedOut"), action.to_owned())
        );
        let note = "the pass did not end within 90s";
        assert_eq!(event.note.as_deref(), Some(note));
    }
}

#[tokio::test]
async fn without_a_recorder_an_event_goes_nowhere() {
    TraceMetadata::default().publish_event(news()).await;
}
