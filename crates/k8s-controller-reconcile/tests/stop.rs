//! Stopping gracefully, and being dropped.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::future::{Future, pending};
use std::time::Duration;

use k8s_controller_observe::Outcome;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use serde_json::json;
use support::*;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

fn sleeping(time: Duration) -> Probe<NoFinalizer> {
    Probe::new(move |_, _, metadata| {
        Box::pin(async move {
            metadata.annotate("began", "yes");
            let step = metadata.step("sleep");
            sleep(time).await;
            step.finish(Outcome::Completed);
            done()
        })
    })
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

/// Stops after `after`; returns the names of what was abandoned, and the seconds it took.
async fn stop_after(
    controller: k8s_controller_reconcile::Controller<Probe<NoFinalizer>>,
    after: Duration,
) -> (Vec<String>, f64) {
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(is_send(controller.run_until(async { drop(stopped.await) })));
    pass_time(after).await;
    let start = Instant::now();
    drop(stop);
    let stopped = task.await.unwrap();
    let names = stopped
        .abandoned
        .into_iter()
        .map(|object| object.name)
        .collect();
    (names, start.elapsed().as_secs_f64())
}

#[tokio::test(start_paused = true)]
async fn with_nothing_to_do_it_stops_at_once() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let controller = controller(&server, sleeping(Duration::ZERO), &notes);
    let (abandoned, seconds) = stop_after(controller, MOMENT).await;
    assert!(
        abandoned.is_empty() && seconds < 0.001,
        "{abandoned:?} {seconds}"
    );
}

#[tokio::test(start_paused = true)]
async fn running_passes_may_end_and_no_new_ones_begin() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let controller = controller(&server, sleeping(Duration::from_secs(10)), &notes);
    let other = server.clone();
    tokio::spawn(async move {
        pass_time(Duration::from_secs(2)).await;
        other.touch(&path);
        other.config_map("ns", "b");
    });
    let (abandoned, seconds) = stop_after(controller, Duration::from_secs(1)).await;
    assert!(abandoned.is_empty(), "{abandoned:?}");
    assert!((8.9..9.1).contains(&seconds), "{seconds}");
    assert_eq!(
        notes.take(),
        ["a step sleep completed", "a apply completed"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_abandoned_and_told() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    server.config_map("ns", "b");
    let controller = controller(&server, sleeping(Duration::from_secs(3600)), &notes)
        .with_stop_deadline(Duration::from_secs(5));
    let (mut abandoned, seconds) = stop_after(controller, MOMENT).await;
    abandoned.sort();
    assert_eq!(abandoned, ["a", "b"]);
    assert!((4.9..5.06).contains(&seconds), "{seconds}");
    let mut told = notes.take();
    told.sort();
    let expected = [
        "a apply abandoned",
        "a step sleep abandoned",
        "b apply abandoned",
        "b step sleep abandoned",
    ];
    assert_eq!(told, expected);
    let line = logs.with(&[
        "abandoned",
        "resource_name=\"a\"",
        "outcome=\"abandoned\"",
        "success=false",
    ]);
    assert_eq!(line.len(), 1, "{:#?}", logs.lines());
    assert!(
        line[0].contains(r#"metadata="{\"began\":\"yes\"}""#),
        "{line:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_does_not_hold_it_up() {
    type Decide = fn(&support::server::Seen) -> Reply;
    let servers: [(&str, Decide); 3] = [
        ("never answers", |_| Reply::Never),
        ("never ends its answer", |_| {
            Reply::Unfinished(200, "{\"kind\":".into())
        }),
        ("forbids", |_| Reply::status(403, "Forbidden", json!({}))),
    ];
    for (name, decide) in servers {
        let (server, notes) = (Server::default(), Notes::new());
        server.config_map("ns", "a");
        server.intercept(decide);
        let controller = controller(&server, sleeping(Duration::ZERO), &notes);
        let (abandoned, seconds) = stop_after(controller, Duration::from_secs(60)).await;
        assert!(
            abandoned.is_empty() && seconds < 0.001,
            "{name}: {abandoned:?} {seconds}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_list_that_does_not_come_is_complained_about() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.intercept(|_| Reply::Never);
    tokio::spawn(controller(&server, sleeping(Duration::ZERO), &notes).run());
    pass_time(Duration::from_secs(95)).await;
    assert_eq!(
        logs.with(&["WARN", "still waiting for the first list"])
            .len(),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_hangs_in_a_request_is_abandoned() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    server.intercept(|seen| {
        if seen.is_patch() {
            Reply::Never
        } else {
            Reply::Normal
        }
    });
    let probe = Probe::<WithFinalizer>::answering(|_| done());
    let controller = controller(&server, probe, &notes);
    let stopped = controller.run_until(sleep(Duration::from_secs(1))).await;
    assert_eq!(stopped.abandoned.len(), 1);
    assert_eq!(notes.take(), ["a init abandoned"]);
}

#[tokio::test(start_paused = true)]
async fn events_are_published_before_it_ends() {
    use k8s_controller_events::{EventRecorder, Reporter};
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let reporter = Reporter {
        controller: "example.com/test".into(),
        instance: None,
    };
    let recorder = std::sync::Arc::new(EventRecorder::new(server.client(), reporter));
    let probe = Probe::<NoFinalizer>::new(|_, _, _| {
        Box::pin(async {
            sleep(Duration::from_secs(3)).await;
            Err(TestError::Text("no"))
        })
    });
    let controller = controller(&server, probe, &notes).with_event_recorder(recorder);
    let stopped = controller.run_until(sleep(Duration::from_secs(1))).await;
    assert!(stopped.abandoned.is_empty());
    assert_eq!(server.events().len(), 1);
    assert_eq!(notes.take(), ["a apply failed"]);
}

/// The API server takes a while to accept the event, and other passes are long over.
#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_an_event_that_is_being_published() {
    use k8s_controller_events::{EventRecorder, Reporter};
    for (deadline, waited, abandoned) in [(25, 8.0, 0), (2, 2.0, 1)] {
        let (server, notes) = (Server::default(), Notes::new());
        server.config_map("ns", "a");
        server.intercept(|seen| {
            if seen.path.contains("/events") {
                Reply::Never
            } else {
                Reply::Normal
            }
        });
        let reporter = Reporter {
            controller: "example.com/test".into(),
            instance: None,
        };
        let recorder = EventRecorder::new(server.client(), reporter);
        let recorder = recorder.with_timeout(Duration::from_secs(9));
        let probe = Probe::<NoFinalizer>::answering(|_| Err(TestError::Text("no")));
        let controller = controller(&server, probe, &notes)
            .with_event_recorder(std::sync::Arc::new(recorder))
            .with_stop_deadline(Duration::from_secs(deadline));
        let (left, seconds) = stop_after(controller, Duration::from_secs(1)).await;
        assert_eq!(notes.take(), ["a apply failed"], "told once");
        assert_eq!(left.len(), abandoned);
        assert!((seconds - waited).abs() < 0.1, "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_controller_abandons_its_passes() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let probe = Probe::<NoFinalizer>::new(|_, _, _| Box::pin(pending()));
    let task = tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(MOMENT).await;
    task.abort();
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a apply abandoned"]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_of_the_runtime_underneath_ends_it_too() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let controller = controller(&server, sleeping(Duration::ZERO), &notes)
        .with_controller(|controller| controller.graceful_shutdown_on(sleep(MOMENT)));
    controller.run().await;
    assert_eq!(notes.take().len(), 2);
}

/// `Stopped` can be kept and printed.
#[tokio::test(start_paused = true)]
async fn the_result_is_readable() {
    let server = Server::default();
    let controller = k8s_controller_reconcile::Controller::namespaced_all(
        server.client(),
        sleeping(Duration::ZERO),
        watcher::Config::default(),
    );
    let stopped: k8s_controller_reconcile::Stopped<ConfigMap> =
        controller.run_until(async {}).await;
    assert!(format!("{stopped:?}").contains("abandoned: []"));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_may_be_endless() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let controller = controller(&server, sleeping(Duration::from_secs(1000)), &notes)
        .with_stop_deadline(Duration::MAX);
    let stopped = controller.run_until(pass_time(MOMENT)).await;
    assert!(stopped.abandoned.is_empty(), "{stopped:?}");
    assert_eq!(
        notes.take(),
        ["a step sleep completed", "a apply completed"]
    );
}

/// Before the phase is settled, with the fresh copy that a conflict asks for.
#[tokio::test(start_paused = true)]
async fn a_pass_abandoned_early_says_its_phase() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    server.intercept(move |seen| {
        if seen.is_patch() {
            return Reply::status(409, "Conflict", serde_json::json!({}));
        }
        if seen.path == path {
            return Reply::Never;
        }
        Reply::Normal
    });
    let probe = Probe::<WithFinalizer>::answering(|_| done());
    let controller = controller(&server, probe, &notes).with_stop_deadline(MOMENT);
    let stopped = controller.run_until(pass_time(MOMENT)).await;
    assert_eq!(stopped.abandoned.len(), 1);
    assert_eq!(notes.take(), ["a init failed", "a init abandoned"]);
    let parts = ["abandoned", "event_type=\"init\" outcome=\"abandoned\""];
    assert_eq!(logs.with(&parts).len(), 1, "{:#?}", logs.lines());
}
