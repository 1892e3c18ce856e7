//! What is told of a pass: span, log, observers.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use k8s_controller_error::TerminalError;
use k8s_controller_observe::Outcome;
use k8s_controller_reconcile::{Controller, Error, TraceMetadata};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use serde_json::json;
use support::*;
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn a_success_is_one_line_with_all_fields() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    let probe = Probe::<WithFinalizer>::new(|_, _, metadata| {
        Box::pin(async move {
            metadata.annotate("size", 3);
            metadata.annotate("color", "re\"d");
            metadata.annotate("size", 4);
            sleep(Duration::from_millis(250)).await;
            tracing::info!("from within");
            done()
        })
    });
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(MOMENT).await;
    let fields = [
        "INFO",
        "reconcile{",
        "reconciled",
        "resource_type=\"ConfigMap\"",
        "resource_name=\"a\"",
        "controller=\"example.com/ours\"",
        "event_type=\"apply\"",
        "outcome=\"completed\"",
        "success=true",
        "duration_seconds=0.25",
        r#"metadata="{\"color\":\"re\\\"d\",\"size\":\"4\"}""#,
    ];
    assert_eq!(logs.with(&fields).len(), 1, "{:#?}", logs.lines());
    let init = logs.with(&["reconciled", "event_type=\"init\""]);
    assert!(
        init.len() == 1 && !init[0].contains("metadata="),
        "{init:?}"
    );
    assert_eq!(
        logs.with(&["from within", "event_type=\"apply\"", "resource_name=\"a\""])
            .len(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_one_line_with_its_causes() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    let probe = Probe::<NoFinalizer>::answering(|_| Err(TestError::Text("no luck")))
        .on_error(|_, _| Action::await_change());
    tokio::spawn(controller(&server, probe, &notes).with_name("mine").run());
    pass_time(MOMENT).await;
    let fields = [
        "ERROR",
        "reconciliation failed",
        "source=\"no luck\"",
        "controller=\"mine\"",
        "outcome=\"failed\"",
        "success=false",
        "consecutive_errors=0",
    ];
    assert_eq!(logs.with(&fields).len(), 1, "{:#?}", logs.lines());
    assert!(logs.with(&["terminal"]).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failure_says_how_many_came_before_and_whether_it_is_the_last() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    let left = AtomicU32::new(2);
    let probe = Probe::<NoFinalizer>::answering(move |_| {
        Err(if left.fetch_sub(1, Ordering::Relaxed) > 0 {
            TestError::Text("no luck")
        } else {
            TerminalError::new("no hope").into()
        })
    });
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(60)).await;
    let lines = logs.with(&["ERROR", "reconciliation failed"]);
    let expected = [
        "consecutive_errors=0",
        "consecutive_errors=1",
        "consecutive_errors=2 terminal=true",
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(expected), "{line}");
    }
}

/// A write that a fence refused is no news about the object.
#[tokio::test(start_paused = true)]
async fn a_pass_that_does_not_lead_is_a_warning_without_an_event() {
    use k8s_controller_error::NotLeading;
    use k8s_controller_events::{EventRecorder, Reporter};
    let (server, notes, ledger, logs) = (
        Server::default(),
        Notes::new(),
        Ledger::new(),
        Logs::capture(),
    );
    server.config_map("ns", "a");
    let reporter = Reporter {
        controller: "example.com/test".into(),
        instance: None,
    };
    let probe = Probe::<NoFinalizer>::answering(|_| {
        Err(kube::Error::Service(NotLeading::new("ns/lease").into()).into())
    });
    let asked = probe.asked.clone();
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_observer(ledger.clone())
            .with_event_recorder(Arc::new(EventRecorder::new(server.client(), reporter)))
            .run(),
    );
    pass_time(Duration::from_secs(5)).await;
    assert!(server.events().is_empty(), "{:?}", server.events());
    let ended = ledger.take_only("ended");
    assert_eq!(ended[..2], ["ended a failed error none"; 2]);
    assert_eq!(asked.lock().unwrap()[..2], [0, 1], "tried again");
    let warnings = logs.with(&["WARN", "class=\"not_leading\"", "ns/lease"]);
    assert_eq!(warnings.len(), ended.len(), "{:#?}", logs.lines());
    assert!(logs.with(&["ERROR"]).is_empty());
}

#[tokio::test(start_paused = true)]
async fn errors_are_of_the_kind_that_the_finalizer_decides() {
    async fn kind_of<F: support::context::Flavor>(deleting: bool) -> String {
        let (server, notes) = (Server::default(), Notes::new());
        let path = server.config_map("ns", "a");
        server.change(&path, |object| {
            object["metadata"]["finalizers"] = json!([OURS]);
        });
        if deleting {
            server.delete(&path);
        }
        let kind = Arc::new(std::sync::Mutex::new(String::new()));
        let keep = kind.clone();
        let probe = Probe::<F>::answering(|_| Err(TestError::Text("no")))
            .cleanup(|_| Err(TestError::Text("no")))
            .on_error(move |error, _| {
                *keep.lock().unwrap() = match error {
                    Error::ControllerError(error) => format!("controller {error}"),
                    Error::FinalizerError(error) => format!("finalizer {error}"),
                    other => format!("other {other}"),
                };
                Action::await_change()
            });
        tokio::spawn(controller(&server, probe, &notes).run());
        pass_time(MOMENT).await;
        kind.lock().unwrap().clone()
    }
    assert_eq!(kind_of::<NoFinalizer>(false).await, "controller no");
    assert_eq!(
        kind_of::<WithFinalizer>(false).await,
        "finalizer failed to apply object: no"
    );
    assert_eq!(
        kind_of::<WithFinalizer>(true).await,
        "finalizer failed to clean up object: no"
    );
}

#[tokio::test(start_paused = true)]
async fn outcomes_and_steps_reach_the_observers() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let probe = Probe::<NoFinalizer>::new(|_, object, metadata| {
        let touched = object
            .data
            .as_ref()
            .and_then(|data| data.get("touched").cloned());
        Box::pin(async move {
            let step = metadata.step("look");
            match touched.as_deref() {
                None => {
                    metadata.set_outcome(Outcome::Skipped);
                    step.finish(Outcome::Skipped);
                    Ok(None)
                }
                Some("1") => {
                    let result = Ok(Some(Action::requeue(Duration::from_secs(9999))));
                    step.finish_with(&result);
                    result
                }
                _ => {
                    metadata.set_outcome(Outcome::Skipped);
                    Err(TestError::Text("no"))
                }
            }
        })
    });
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a step look skipped", "a apply skipped"]);
    server.touch(&path);
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a step look waiting", "a apply waiting"]);
    server.touch(&path);
    pass_time(MOMENT).await;
    assert_eq!(
        notes.take(),
        ["a step look abandoned", "a apply failed"],
        "a failure is a failure"
    );
}

#[tokio::test]
async fn a_default_metadata_takes_all_calls() {
    let mut metadata = TraceMetadata::default();
    metadata.annotate("a", 1);
    metadata.set_outcome(Outcome::Waiting);
    metadata.step("s").finish_with(&done());
    assert!(format!("{metadata:?}").contains("\"a\": \"1\""));
}

#[tokio::test(start_paused = true)]
async fn the_name_is_the_finalizer_or_the_kind() {
    let (server, logs) = (Server::default(), Logs::capture());
    server.config_map("ns", "a");
    let wc = watcher::Config::default;
    let with = Controller::namespaced_all(
        server.client(),
        Probe::<WithFinalizer>::answering(|_| done()),
        wc(),
    );
    let without = Controller::namespaced_all(
        server.client(),
        Probe::<NoFinalizer>::answering(|_| done()),
        wc(),
    );
    tokio::spawn(with.run());
    tokio::spawn(without.run());
    pass_time(MOMENT).await;
    assert!(!logs.with(&["controller=\"example.com/ours\""]).is_empty());
    assert!(!logs.with(&["controller=\"ConfigMap\""]).is_empty());
}
