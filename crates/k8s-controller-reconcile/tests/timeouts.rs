//! Passes that take too long.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_controller_error::ErrorClass;
use k8s_controller_events::{EventRecorder, Reporter};
use k8s_controller_reconcile::Error;
use kube::runtime::controller::Action;
use serde_json::json;
use support::*;
use tokio::time::sleep;

const LIMIT: Duration = Duration::from_secs(30);

fn recorder(server: &Server) -> Arc<EventRecorder> {
    let reporter = Reporter {
        controller: "example.com/test".into(),
        instance: Some("test-1".into()),
    };
    Arc::new(EventRecorder::new(server.client(), reporter))
}

/// Hangs over the object `bad`, in a step.
fn hanging<F: support::context::Flavor>() -> Probe<F> {
    Probe::new(|_, object, metadata| {
        let hangs = object.metadata.name.as_deref() == Some("bad");
        Box::pin(async move {
            let _step = metadata.step("wait");
            if hangs {
                pending::<()>().await;
            }
            done()
        })
    })
}

fn with_ours(server: &Server, name: &str) -> String {
    let path = server.config_map("ns", name);
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!([OURS]);
    });
    path
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_hangs_fails_and_is_tried_again_while_others_go_on() {
    let (server, notes, ledger, logs) = (
        Server::default(),
        Notes::new(),
        Ledger::new(),
        Logs::capture(),
    );
    server.config_map("ns", "bad");
    let good = server.config_map("ns", "good");
    let probe = hanging::<NoFinalizer>();
    let asked = probe.asked.clone();
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_observer(ledger.clone())
            .with_event_recorder(recorder(&server))
            .with_pass_timeout(LIMIT)
            .run(),
    );
    pass_time(LIMIT / 2).await;
    server.touch(&good);
    pass_time(MOMENT).await;
    let good = ["good step wait abandoned", "good apply completed"];
    assert_eq!(notes.take(), [good, good].concat());
    assert!(server.events().is_empty());

    pass_time(LIMIT / 2).await;
    assert_eq!(
        notes.take(),
        ["bad step wait abandoned", "bad apply failed"]
    );
    let ended = ledger.take_only("ended bad");
    assert_eq!(ended, ["ended bad failed timed_out none"]);
    let fields = [
        "ERROR",
        "reconciliation failed",
        "class=\"timed_out\"",
        "source=\"the pass did not end within 30s\"",
        "duration_seconds=30",
        "resource_name=\"bad\"",
    ];
    assert_eq!(logs.with(&fields).len(), 1, "{:#?}", logs.lines());
    let event = &server.events()[0];
    assert_eq!(
        [&event["type"], &event["reason"], &event["action"]],
        ["Warning", "ReconcileTimedOut", "Reconcile"]
    );
    assert_eq!(event["note"], "the pass did not end within 30s");

    // 1 to 2 s, then 2 to 4 s between passes.
    pass_time(2 * LIMIT + Duration::from_secs(7)).await;
    assert_eq!(*asked.lock().unwrap(), [0, 1, 2]);
    assert_eq!(server.events().len(), 1, "a series");
}

#[tokio::test(start_paused = true)]
async fn zero_and_forever_are_no_limit() {
    for limit in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
        let (server, notes) = (Server::default(), Notes::new());
        server.config_map("ns", "a");
        let probe = Probe::<NoFinalizer>::new(|_, _, _| {
            Box::pin(async {
                sleep(Duration::from_secs(3600)).await;
                done()
            })
        });
        let mut controller = controller(&server, probe, &notes);
        if let Some(limit) = limit {
            controller = controller.with_pass_timeout(limit);
        }
        tokio::spawn(controller.run());
        pass_time(Duration::from_secs(3601)).await;
        assert_eq!(notes.take(), ["a apply completed"], "{limit:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn publishing_the_event_of_a_failure_is_not_part_of_the_pass() {
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
    let asked = probe.asked.clone();
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_event_recorder(recorder(&server))
            .with_pass_timeout(Duration::from_secs(1))
            .run(),
    );
    pass_time(Duration::from_secs(20)).await;
    assert_eq!(notes.take(), ["a apply failed"]);
    assert_eq!(asked.lock().unwrap().len(), 1);
    // The recorder has a timeout of its own.
    assert_eq!(logs.with(&["WARN", "event dropped", "5s"]).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_that_hangs_keeps_the_finalizer() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = with_ours(&server, "a");
    let mut probe = Probe::<WithFinalizer>::answering(|_| done());
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    probe.cleanup = Some(Box::new(move |_, _, _| {
        let hangs = counter.fetch_add(1, Ordering::Relaxed) < 2;
        Box::pin(async move {
            if hangs {
                pending::<()>().await;
            }
            done()
        })
    }));
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_event_recorder(recorder(&server))
            .with_pass_timeout(LIMIT)
            .run(),
    );
    pass_time(MOMENT).await;
    notes.take();
    server.delete(&path);
    pass_time(2 * LIMIT).await;
    assert_eq!(server.finalizers(&path).unwrap(), [OURS]);
    let event = &server.events()[0];
    assert_eq!(
        [&event["reason"], &event["action"]],
        ["CleanupTimedOut", "Cleanup"]
    );
    pass_time(LIMIT).await;
    assert_eq!(server.get(&path), None);
    let failed = "a cleanup failed";
    assert_eq!(notes.take(), [failed, failed, "a cleanup completed"]);
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

/// The request may or may not have come through when the limit strikes.
#[tokio::test(start_paused = true)]
async fn a_cleanup_that_completed_is_not_run_again_if_removing_the_finalizer_hangs() {
    for arrives in [false, true] {
        let (server, notes, ledger) = (Server::default(), Notes::new(), Ledger::new());
        let path = with_ours(&server, "a");
        // Another's, so that the object is still there after ours is gone.
        server.change(&path, |object| {
            object["metadata"]["finalizers"] = json!([OURS, "other/one"]);
        });
        let mut hangs = 2;
        let (behind, object) = (server.clone(), path.clone());
        server.intercept(move |seen| {
            if !seen.is_patch() || hangs == 0 {
                return Reply::Normal;
            }
            hangs -= 1;
            if arrives {
                behind.change(&object, |object| {
                    object["metadata"]["finalizers"] = json!(["other/one"]);
                });
            }
            Reply::Never
        });
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let probe = Probe::<WithFinalizer>::answering(|_| done()).cleanup(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            done()
        });
        tokio::spawn(
            controller(&server, probe, &notes)
                .with_observer(ledger.clone())
                .with_pass_timeout(LIMIT)
                .run(),
        );
        pass_time(MOMENT).await;
        server.delete(&path);
        pass_time(4 * LIMIT).await;
        assert_eq!(
            server.finalizers(&path).unwrap(),
            ["other/one"],
            "{arrives}"
        );
        assert_eq!(calls.load(Ordering::Relaxed), 1, "{arrives}");
        let timed_out = ledger.take_only("ended a failed timed_out").len();
        assert_eq!(timed_out, if arrives { 1 } else { 2 });
    }
}

/// Requests of the loop's own: adding the finalizer, and the fresh copy after a conflict.
#[tokio::test(start_paused = true)]
async fn requests_of_the_loop_are_part_of_the_pass() {
    let (server, notes, ledger) = (Server::default(), Notes::new(), Ledger::new());
    let path = server.config_map("ns", "a");
    let mut number = 0;
    server.intercept(move |seen| {
        if !seen.is_patch() && seen.path != path {
            return Reply::Normal;
        }
        number += 1;
        match number {
            1 | 3 => Reply::Never,
            2 => Reply::status(409, "Conflict", json!({})),
            _ => Reply::Normal,
        }
    });
    let probe = Probe::<WithFinalizer>::answering(|_| done());
    tokio::spawn(
        controller(&server, probe, &notes)
            .with_observer(ledger.clone())
            .with_pass_timeout(LIMIT)
            .run(),
    );
    pass_time(3 * LIMIT).await;
    assert_eq!(
        ledger.take_only("ended"),
        [
            "ended a failed timed_out none",
            "ended a failed conflict none",
            "ended a failed timed_out none",
            "ended a completed - none",
            "ended a completed - none",
        ]
    );
}

/// Panics when it is dropped, as code that asserts its invariants may.
struct Touchy;
impl Drop for Touchy {
    fn drop(&mut self) {
        panic!("not finished");
    }
}

#[tokio::test(start_paused = true)]
async fn a_future_that_panics_when_it_is_dropped_is_a_failed_pass() {
    let (server, notes, ledger) = (Server::default(), Notes::new(), Ledger::new());
    server.config_map("ns", "a");
    let probe = Probe::<NoFinalizer>::new(|_, _, _| {
        Box::pin(async {
            let _touchy = Touchy;
            pending::<()>().await;
            done()
        })
    })
    .on_error(|_, _| Action::await_change());
    let controller = controller(&server, probe, &notes).with_observer(ledger.clone());
    tokio::spawn(controller.with_pass_timeout(LIMIT).run());
    pass_time(2 * LIMIT).await;
    let ended = ledger.take_only("ended");
    assert_eq!(ended, ["ended a failed panicked none"]);
}

#[test]
fn the_error_says_what_it_is() {
    let error = Error::<TestError>::TimedOut { after: LIMIT };
    assert_eq!(error.display_chain(), "the pass did not end within 30s");
    assert_eq!(error.classify(), ErrorClass::TimedOut);
    assert!(!error.is_conflict() && !error.is_terminal());
}
