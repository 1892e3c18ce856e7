//! Failures, conflicts, and what comes after them.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_controller_error::TerminalError;
use kube::core::{Status, response::StatusDetails};
use kube::runtime::controller::Action;
use serde_json::json;
use support::*;

fn answer_of(code: u16, reason: &str, details: serde_json::Value) -> TestError {
    let details: StatusDetails = serde_json::from_value(details).unwrap();
    let status = Status::failure("as told", reason)
        .with_code(code)
        .with_details(details);
    TestError::Kube(kube::Error::Api(status.boxed()))
}

fn conflict() -> TestError {
    answer_of(409, "Conflict", json!({"kind": "configmaps", "name": "a"}))
}

/// Answers these in turn, then `Ok(await_change)`.
fn script(answers: Vec<Answer>) -> Probe<NoFinalizer> {
    let answers = Mutex::new(answers.into_iter());
    Probe::answering(move |_| answers.lock().unwrap().next().unwrap_or_else(done))
}

fn fail() -> Answer {
    Err(TestError::Text("no"))
}

#[tokio::test(start_paused = true)]
async fn failures_count_from_zero_and_wait_longer_each_time() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let probe = Probe::<NoFinalizer>::answering(|_| fail());
    let asked = probe.asked.clone();
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(3600)).await;
    let asked = asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        (0..u32::try_from(asked.len()).unwrap()).collect::<Vec<_>>()
    );
    for (number, gap) in notes.gaps().into_iter().enumerate() {
        let longest = f64::from(2u32.pow(u32::try_from(number).unwrap().min(7) + 1));
        // The scheduler rounds up to milliseconds.
        assert!(
            gap >= longest / 2.0 && gap <= longest + 0.01,
            "{number}: {gap}"
        );
    }
    assert!(asked.len() > 15, "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_success_starts_the_count_again() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let probe = script(vec![fail(), fail(), done(), fail()]);
    let asked = probe.asked.clone();
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(60)).await;
    server.touch(&path);
    pass_time(Duration::from_secs(60)).await;
    assert_eq!(*asked.lock().unwrap(), [0, 1, 0]);
    let (failed, completed) = ("a apply failed", "a apply completed");
    assert_eq!(notes.take(), [failed, failed, completed, failed, completed]);
}

#[tokio::test(start_paused = true)]
async fn the_count_belongs_to_the_object_and_not_to_its_name() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    server.config_map("ns", "b");
    let probe = Probe::<NoFinalizer>::answering(|_| fail()).on_error(|_, _| Action::await_change());
    let asked = probe.asked.clone();
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(MOMENT).await;
    server.touch(&path);
    pass_time(MOMENT).await;
    assert_eq!(*asked.lock().unwrap(), [0, 0, 1]);
    server.delete(&path);
    server.config_map("ns", "a");
    pass_time(MOMENT).await;
    assert_eq!(*asked.lock().unwrap(), [0, 0, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_retried_quickly_and_do_not_count() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    let mut answers: Vec<Answer> = (0..4).map(|_| Err(conflict())).collect();
    answers.extend([fail(), Err(conflict()), fail()]);
    let probe = script(answers).on_error(|_, _| Action::requeue(Duration::from_secs(100)));
    let asked = probe.asked.clone();
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(*asked.lock().unwrap(), [0], "five passes within a moment");
    assert_eq!(logs.with(&["INFO", "conflict, will be retried"]).len(), 4);
    assert_eq!(logs.with(&["ERROR"]).len(), 1);
    let gets = server
        .seen()
        .iter()
        .filter(|seen| seen.path == path)
        .count();
    assert_eq!(gets, 4, "each conflict is followed by a fresh copy");
    pass_time(Duration::from_secs(101)).await;
    assert_eq!(*asked.lock().unwrap(), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_endless_conflict_is_retried_every_few_seconds() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let probe = Probe::<NoFinalizer>::answering(|_| Err(conflict()));
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(600)).await;
    let gaps = notes.gaps();
    assert!(gaps[0] <= 0.021, "{gaps:?}");
    assert!(
        gaps.iter().skip(8).all(|gap| (2.5..5.2).contains(gap)),
        "{gaps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn after_a_conflict_apply_gets_the_object_as_it_is() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    // The watch is deaf.
    server.intercept(|seen| {
        if seen.is_watch() {
            Reply::Unfinished(200, String::new())
        } else {
            Reply::Normal
        }
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (keep, other) = (seen.clone(), server.clone());
    let probe = Probe::<NoFinalizer>::answering(move |object| {
        let touched = object
            .data
            .as_ref()
            .and_then(|data| data.get("touched").cloned());
        keep.lock().unwrap().push(touched.clone());
        if touched.is_some() {
            return done();
        }
        other.touch(&path);
        Err(conflict())
    });
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(*seen.lock().unwrap(), [None, Some("1".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_time_gets_it() {
    for (code, reason) in [(429, "TooManyRequests"), (503, "ServiceUnavailable")] {
        let (server, notes) = (Server::default(), Notes::new());
        server.config_map("ns", "a");
        let error = answer_of(code, reason, json!({"retryAfterSeconds": 60}));
        tokio::spawn(controller(&server, script(vec![Err(error)]), &notes).run());
        pass_time(Duration::from_secs(100)).await;
        let gaps = notes.gaps();
        assert!(
            gaps.len() == 1 && (60.0..66.1).contains(&gaps[0]),
            "{code}: {gaps:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_terminal_error_waits_for_a_change() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let wrapped = |error: TestError| Err(TestError::Terminal(TerminalError::new(error)));
    let probe = script(vec![
        wrapped(TestError::Text("no such color")),
        wrapped(conflict()),
    ]);
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(7200)).await;
    assert_eq!(notes.take(), ["a apply failed"]);
    server.touch(&path);
    pass_time(Duration::from_secs(7200)).await;
    assert_eq!(
        notes.take(),
        ["a apply failed"],
        "also if a conflict is in it"
    );
    server.touch(&path);
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a apply completed"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_returned_means_success_action() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    tokio::spawn(
        controller(
            &server,
            Probe::<NoFinalizer>::answering(|_| Ok(None)),
            &notes,
        )
        .run(),
    );
    pass_time(Duration::from_secs(36_000)).await;
    let gaps = notes.gaps();
    assert!(
        gaps.len() >= 10 && gaps.iter().all(|gap| (2400.0..3600.1).contains(gap)),
        "{gaps:?}"
    );
    assert!(notes.take().iter().all(|line| line == "a apply completed"));

    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "a");
    let mut probe = Probe::<NoFinalizer>::answering(|_| Ok(None));
    probe.success_action = Some(Box::new(|| Action::requeue(Duration::from_secs(7))));
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(20)).await;
    assert_eq!(notes.take().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_waits_the_same_times() {
    let gaps = async |seed| {
        let (server, notes) = (Server::default(), Notes::new());
        server.config_map("ns", "a");
        let probe = Probe::<NoFinalizer>::answering(|_| fail());
        let task = tokio::spawn(controller(&server, probe, &notes).with_seed(seed).run());
        pass_time(Duration::from_secs(600)).await;
        task.abort();
        notes.gaps()
    };
    let first = gaps(7).await;
    assert_eq!(first, gaps(7).await);
    assert_ne!(first, gaps(8).await);
}

#[tokio::test(start_paused = true)]
async fn one_object_that_fails_does_not_hold_back_another() {
    let (server, notes) = (Server::default(), Notes::new());
    server.config_map("ns", "bad");
    let good = server.config_map("ns", "good");
    let count = Arc::new(AtomicU32::new(0));
    let passes = count.clone();
    let probe = Probe::<NoFinalizer>::answering(move |object| {
        if object.metadata.name.as_deref() == Some("bad") {
            return fail();
        }
        passes.fetch_add(1, Ordering::Relaxed);
        done()
    });
    tokio::spawn(controller(&server, probe, &notes).run());
    for _ in 0..50 {
        pass_time(MOMENT).await;
        server.touch(&good);
    }
    pass_time(MOMENT).await;
    assert_eq!(count.load(Ordering::Relaxed), 51);
}
