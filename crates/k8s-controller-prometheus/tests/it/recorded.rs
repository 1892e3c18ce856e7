//! Compares with what controller-runtime itself exports, as recorded by `recorded/record.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_controller_observe::{
    ControllerRecord, DequeueRecord, Failure, Outcome, Phase, QueueRecord, ReconcileObserver,
    Requeue,
};
use k8s_controller_prometheus::{ClientMetrics, ControllerRuntimeMetrics, LeaderMetrics};
use prometheus::Registry;
use prometheus::proto::MetricFamily;
use serde::Deserialize;

use crate::{labels, subject, value};

#[derive(Deserialize)]
struct Recording {
    source: String,
    families: Vec<Family>,
}

#[derive(Deserialize)]
struct Family {
    name: String,
    r#type: String,
    #[serde(default)]
    buckets: Vec<String>,
    series: Vec<Series>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Series {
    labels: BTreeMap<String, String>,
    value: f64,
}

/// What a Go operator has and this library has not: webhooks, and certificates read from files.
const ABSENT: [&str; 4] = [
    "certwatcher_read_certificate_errors_total",
    "certwatcher_read_certificate_total",
    "controller_runtime_conversion_webhook_panics_total",
    "controller_runtime_webhook_panics_total",
];

/// These count the requeues too, of which `kube::runtime` shows nothing.
const SEEN_IN_PART: [&str; 2] = ["workqueue_adds_total", "workqueue_queue_duration_seconds"];

/// As recorded, but for the label of `workqueue_depth` that is empty, and so as good as absent, for
/// a queue without priorities. `kube::runtime` has no others.
fn recording() -> Recording {
    let mut recording: Recording =
        serde_json::from_str(include_str!("recorded/controller-runtime.json")).unwrap();
    let module = "sigs.k8s.io/controller-runtime v";
    assert!(recording.source.starts_with(module));
    let mut families = recording.families.iter_mut();
    let depth = families.find(|f| f.name == "workqueue_depth").unwrap();
    for series in &mut depth.series {
        series.labels.remove("priority").unwrap();
    }
    recording
}

#[tokio::test]
async fn names_types_labels_and_buckets_are_those_of_controller_runtime() {
    let own = own(&registry().await);
    let recorded = recording();

    let own_names: BTreeSet<_> = own.keys().map(String::as_str).chain(ABSENT).collect();
    let recorded_names: BTreeSet<_> = recorded.families.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(own_names, recorded_names, "{}", recorded.source);

    for family in recorded.families {
        let Some(own) = own.get(&family.name) else {
            continue;
        };
        let name = &family.name;
        assert_eq!(
            format!("{:?}", own.get_field_type()),
            family.r#type,
            "{name}"
        );
        let recorded_labels = family.series.iter().flat_map(|s| s.labels.keys().cloned());
        assert_eq!(label_names(own), recorded_labels.collect(), "{name}");
        let own_buckets: Vec<_> = own.get_metric()[0]
            .get_histogram()
            .get_bucket()
            .iter()
            .map(prometheus::proto::Bucket::upper_bound)
            .collect();
        let recorded_buckets = family
            .buckets
            .iter()
            .map(|bound| bound.parse::<f64>().unwrap());
        assert_eq!(own_buckets, recorded_buckets.collect::<Vec<_>>(), "{name}");
    }
}

/// The passes of the recording, told to the observer.
#[tokio::test]
async fn the_same_passes_give_the_same_values() {
    let own = own(&registry().await);
    let mut compared = 0;
    for family in recording().families {
        let of_controllers = ["controller_runtime_", "workqueue_"]
            .iter()
            .any(|prefix| family.name.starts_with(prefix));
        let Some(own) = own.get(&family.name).filter(|_| of_controllers) else {
            continue;
        };
        if SEEN_IN_PART.contains(&family.name.as_str()) {
            let seen = value(own, &own.get_metric()[0]);
            assert!(seen < family.series[0].value, "{} is whole", family.name);
            continue;
        }
        let own_series: Vec<_> = own
            .get_metric()
            .iter()
            .map(|metric| Series {
                labels: labels(metric),
                value: value(own, metric),
            })
            .collect();
        assert_eq!(own_series, family.series, "{}", family.name);
        compared += 1;
    }
    assert_eq!(compared, 13);
}

fn label_names(family: &MetricFamily) -> BTreeSet<String> {
    let metrics = family.get_metric().iter();
    metrics
        .flat_map(|metric| labels(metric).into_keys())
        .collect()
}

fn own(registry: &Registry) -> BTreeMap<String, MetricFamily> {
    let families = registry.gather().into_iter();
    families
        .map(|family| (family.name().to_owned(), family))
        .collect()
}

/// What has a name of controller-runtime's, after the passes of the recording.
async fn registry() -> Registry {
    let controllers = ControllerRuntimeMetrics::new();
    run_controller(&controllers);
    let requests = ClientMetrics::new();
    let client = requests.client(&crate::client::answering(404), "127.0.0.1:6443");
    let request = http::Request::get("/api/v1").body(Vec::new()).unwrap();
    client.request_text(request).await.unwrap_err();

    let registry = Registry::new();
    registry.register(Box::new(controllers)).unwrap();
    registry.register(Box::new(requests)).unwrap();
    let leader = LeaderMetrics::new("website", || false);
    registry.register(Box::new(leader)).unwrap();
    registry
}

fn run_controller(metrics: &ControllerRuntimeMetrics) {
    metrics.controller_started(&ControllerRecord::new("website", "Website", 1));
    for depth in 1..=3 {
        metrics.enqueued(&QueueRecord::new("website", "Website", depth));
    }
    for depth in (0..3).rev() {
        metrics.dequeued(&DequeueRecord::new(
            "website",
            "Website",
            depth,
            Duration::ZERO,
        ));
    }
    let failed = |failure| (Some(failure), Requeue::None);
    let passes = [
        failed(Failure::Error),
        (None, Requeue::Now),
        (None, Requeue::After),
        failed(Failure::Panicked),
        failed(Failure::TimedOut),
        failed(Failure::Terminal),
        (None, Requeue::None),
        (None, Requeue::None),
    ];
    for (failure, requeue) in passes {
        let object = subject("website", "front");
        metrics.pass_started(&object.started());
        let record = object.reconciled(Phase::Apply, Outcome::Completed, Duration::ZERO);
        let record = record.with_requeue(requeue);
        metrics.reconciled(&failure.map_or(record, |failure| record.with_failure(failure)));
    }
}
