//! Metrics under controller-runtime's names: what happens over time.

use std::time::Duration;

use k8s_controller_observe::{
    ControllerRecord, DequeueRecord, Failure, Outcome, Phase, QueueRecord, ReconcileObserver,
    Requeue,
};
use k8s_controller_prometheus::ControllerRuntimeMetrics;
use prometheus::Registry;

use crate::{assert_line, registry_of, subject, text};

fn set_up() -> (Registry, ControllerRuntimeMetrics) {
    let metrics = ControllerRuntimeMetrics::new();
    (registry_of(&metrics), metrics)
}

fn start(metrics: &ControllerRuntimeMetrics, concurrency: u16) {
    metrics.controller_started(&ControllerRecord::new("website", "Website", concurrency));
}

const DONE: (Phase, Outcome) = (Phase::Apply, Outcome::Completed);

#[tokio::test(start_paused = true)]
async fn what_runs_is_seen_while_it_runs() {
    let (registry, metrics) = set_up();
    start(&metrics, 2);
    let (front, shop) = (subject("website", "front"), subject("website", "shop"));

    metrics.pass_started(&front.started());
    tokio::time::advance(Duration::from_secs(10)).await;
    metrics.pass_started(&shop.started());
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_line(
        &registry,
        r#"controller_runtime_active_workers{controller="website"} 2"#,
    );
    let longest = "workqueue_longest_running_processor_seconds";
    let labels = r#"{controller="website",name="website"}"#;
    assert_line(&registry, &format!("{longest}{labels} 15"));
    assert_line(
        &registry,
        &format!("workqueue_unfinished_work_seconds{labels} 20"),
    );

    // The record's duration leaves the publishing of events out; the worker's time does not.
    metrics.reconciled(&front.reconciled(DONE.0, DONE.1, Duration::from_secs(12)));
    assert_line(
        &registry,
        r#"controller_runtime_active_workers{controller="website"} 1"#,
    );
    assert_line(&registry, &format!("{longest}{labels} 5"));
    assert_line(
        &registry,
        &format!("workqueue_unfinished_work_seconds{labels} 5"),
    );
    assert_line(
        &registry,
        &format!("workqueue_work_duration_seconds_sum{labels} 15"),
    );
    let time = r#"controller_runtime_reconcile_time_seconds_sum{controller="website"}"#;
    assert_line(&registry, &format!("{time} 12"));

    let abandoned = shop.reconciled(Phase::Apply, Outcome::Abandoned, Duration::from_secs(5));
    metrics.reconciled(&abandoned);
    assert_line(
        &registry,
        r#"controller_runtime_active_workers{controller="website"} 0"#,
    );
    assert_line(&registry, &format!("{longest}{labels} 0"));
    assert_line(
        &registry,
        &format!("workqueue_work_duration_seconds_count{labels} 2"),
    );
    assert_line(&registry, &format!("{time} 12"));
    let passes = total(&registry, "controller_runtime_reconcile_total");
    assert!(
        (passes - 1.0).abs() < f64::EPSILON,
        "an abandoned pass has a result"
    );
}

#[tokio::test(start_paused = true)]
async fn objects_are_told_apart_by_kind_namespace_and_name() {
    let (registry, metrics) = set_up();
    let mut others = vec![subject("website", "front"), subject("website", "shop")];
    others.push(subject("website", "front"));
    others[2].namespace = Some("team-b".into());
    others.push(subject("website", "front"));
    others[3].namespace = None;
    others.push(subject("website", "front"));
    others[4].kind = "Blog".into();
    // Two controllers of one name may work on one object at once.
    others.push(subject("website", "front"));

    for (i, object) in others.iter().enumerate() {
        metrics.pass_started(&object.started());
        let active = r#"controller_runtime_active_workers{controller="website"}"#;
        assert_line(&registry, &format!("{active} {}", i + 1));
    }
    for object in &others {
        metrics.reconciled(&object.reconciled(DONE.0, DONE.1, Duration::ZERO));
    }
    assert_line(
        &registry,
        r#"controller_runtime_active_workers{controller="website"} 0"#,
    );
}

#[test]
fn a_controller_begins_with_zeros_and_begins_again_with_an_empty_queue() {
    let (registry, metrics) = set_up();
    assert_eq!(text(&registry), "");
    start(&metrics, 8);
    for line in [
        r#"controller_runtime_reconcile_total{controller="website",result="success"} 0"#,
        r#"controller_runtime_reconcile_total{controller="website",result="error"} 0"#,
        r#"controller_runtime_reconcile_total{controller="website",result="requeue"} 0"#,
        r#"controller_runtime_reconcile_total{controller="website",result="requeue_after"} 0"#,
        r#"controller_runtime_max_concurrent_reconciles{controller="website"} 8"#,
        r#"controller_runtime_active_workers{controller="website"} 0"#,
        r#"workqueue_depth{controller="website",name="website"} 0"#,
        r#"workqueue_unfinished_work_seconds{controller="website",name="website"} 0"#,
    ] {
        assert_line(&registry, line);
    }

    metrics.enqueued(&QueueRecord::new("website", "Website", 1));
    metrics.enqueued(&QueueRecord::new("website", "Website", 2));
    let waited = Duration::from_millis(50);
    metrics.dequeued(&DequeueRecord::new("website", "Website", 1, waited));
    let labels = r#"controller="website",name="website""#;
    assert_line(&registry, &format!("workqueue_depth{{{labels}}} 1"));
    assert_line(&registry, &format!("workqueue_adds_total{{{labels}}} 2"));
    assert_line(
        &registry,
        &format!("workqueue_queue_duration_seconds_sum{{{labels}}} 0.05"),
    );

    // The next term of leadership, and without a limit.
    start(&metrics, 0);
    assert_line(&registry, &format!("workqueue_depth{{{labels}}} 0"));
    assert_line(&registry, &format!("workqueue_adds_total{{{labels}}} 2"));
    assert_line(
        &registry,
        r#"controller_runtime_max_concurrent_reconciles{controller="website"} inf"#,
    );
}

/// How a pass ended, with the result, the counters that go up beside it, and whether it is retried.
#[test]
fn each_end_of_a_pass_is_counted_once_in_its_place() {
    let failed = |failure| (Outcome::Failed, Some(failure), Requeue::None);
    let ended = |outcome, requeue| (outcome, None, requeue);
    let cases = [
        (
            ended(Outcome::Completed, Requeue::None),
            "success",
            vec![],
            0,
        ),
        (ended(Outcome::Skipped, Requeue::None), "success", vec![], 0),
        // The library's own requeue long after a success is not the user's.
        (ended(Outcome::Waiting, Requeue::None), "success", vec![], 0),
        (ended(Outcome::Waiting, Requeue::Now), "requeue", vec![], 1),
        (
            ended(Outcome::Waiting, Requeue::After),
            "requeue_after",
            vec![],
            1,
        ),
        (
            ended(Outcome::Completed, Requeue::After),
            "requeue_after",
            vec![],
            1,
        ),
        (failed(Failure::Error), "error", vec!["reconcile_errors"], 1),
        (
            failed(Failure::Conflict),
            "error",
            vec!["reconcile_errors"],
            1,
        ),
        (
            failed(Failure::Terminal),
            "error",
            vec!["reconcile_errors", "terminal_reconcile_errors"],
            0,
        ),
        (
            failed(Failure::Panicked),
            "error",
            vec!["reconcile_errors", "reconcile_panics"],
            1,
        ),
        (
            failed(Failure::TimedOut),
            "error",
            vec!["reconcile_errors", "reconcile_timeouts"],
            1,
        ),
    ];
    for ((outcome, failure, requeue), result, counters, retries) in cases {
        let (registry, metrics) = set_up();
        start(&metrics, 1);
        let object = subject("website", "front");
        let mut record = object.reconciled(Phase::Apply, outcome, Duration::from_secs(1));
        if let Some(failure) = failure {
            record = record.with_failure(failure);
        }
        metrics.reconciled(&record.with_requeue(requeue));

        let what = format!("{outcome:?} {failure:?} {requeue:?}");
        let text = text(&registry);
        let ones: Vec<_> = text
            .lines()
            .filter(|line| !line.contains("le=") && line.ends_with(" 1"))
            .collect();
        let mut expected = vec![
            format!(
                r#"controller_runtime_reconcile_total{{controller="website",result="{result}"}} 1"#
            ),
            r#"controller_runtime_max_concurrent_reconciles{controller="website"} 1"#.into(),
        ];
        for histogram in ["sum", "count"] {
            let of = r#"{controller="website",name="website"} 1"#;
            expected.push(format!("workqueue_work_duration_seconds_{histogram}{of}"));
            let of = r#"{controller="website"} 1"#;
            expected.push(format!(
                "controller_runtime_reconcile_time_seconds_{histogram}{of}"
            ));
        }
        for counter in counters {
            let of = r#"{controller="website"}"#;
            expected.push(format!("controller_runtime_{counter}_total{of} 1"));
        }
        if retries == 1 {
            let of = r#"{controller="website",name="website"}"#;
            expected.push(format!("workqueue_retries_total{of} 1"));
        }
        expected.sort();
        let mut ones: Vec<_> = ones.into_iter().map(String::from).collect();
        ones.sort();
        assert_eq!(ones, expected, "{what}");
    }
}

#[test]
fn metrics_are_read_without_a_runtime() {
    let (registry, metrics) = set_up();
    start(&metrics, 1);
    metrics.pass_started(&subject("website", "front").started());
    let read = std::thread::spawn(move || text(&registry)).join().unwrap();
    let line = r#"controller_runtime_active_workers{controller="website"} 1"#;
    assert!(read.contains(line), "{read}");
    assert!(!read.contains("front"), "an object is in a label:\n{read}");
}

fn total(registry: &Registry, name: &str) -> f64 {
    let families = registry.gather();
    let family = families
        .iter()
        .find(|family| family.name() == name)
        .unwrap();
    let metrics = family.get_metric().iter();
    metrics.map(|metric| crate::value(family, metric)).sum()
}
