//! Prometheus metrics, as somebody's `main` registers them.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_controller::{Controller, PrometheusMetrics, ReconcileObserver};
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::runtime::watcher;
use prometheus::Registry;
use prometheus::core::Collector;
use prometheus::proto::{Metric, MetricFamily};

use crate::Full;

#[test]
fn signatures() {
    fn shared<T: Clone + Debug + Collector + ReconcileObserver + Send + Sync + 'static>() {}
    shared::<PrometheusMetrics>();
    let made: Result<PrometheusMetrics, prometheus::Error> = PrometheusMetrics::new("operator");
    assert!(made.is_ok());
    let made: Result<PrometheusMetrics, prometheus::Error> =
        PrometheusMetrics::with_buckets("operator", vec![0.1, 1.0]);
    assert!(made.is_ok());
    let _: &[f64] = &PrometheusMetrics::DEFAULT_BUCKETS;
}

#[test]
fn default_buckets() {
    assert_eq!(
        PrometheusMetrics::DEFAULT_BUCKETS.to_vec(),
        [0.01, 0.05, 0.25, 1.0, 5.0, 30.0]
    );
}

#[test]
fn bad_input() {
    assert!(PrometheusMetrics::new("not a name").is_err());
    assert!(PrometheusMetrics::with_buckets("operator", vec![2.0, 1.0]).is_err());
}

fn labels(metric: &Metric) -> String {
    let pairs = metric.get_label().iter();
    let pairs: Vec<_> = pairs
        .map(|pair| format!("{}={}", pair.name(), pair.value()))
        .collect();
    pairs.join(",")
}

fn family<'a>(families: &'a [MetricFamily], name: &str) -> &'a MetricFamily {
    let names: Vec<_> = families.iter().map(MetricFamily::name).collect();
    let found = families.iter().find(|family| family.name() == name);
    found.unwrap_or_else(|| panic!("{name} in {names:?}"))
}

/// A controller runs with them, and a scrape shows what it did.
#[tokio::test(start_paused = true)]
async fn scraped() {
    let metrics = PrometheusMetrics::new("my_operator").expect("a good name");
    let registry = Registry::new();
    registry
        .register(Box::new(metrics.clone()))
        .expect("registered once");
    let client = Client::new(EmbeddedApiServer::new(), "default");
    let controller = Controller::cluster(
        client.clone(),
        Full,
        watcher::Config::default().fields("metadata.name=mine"),
    )
    .with_name("full")
    .with_observer(Arc::new(metrics));
    let running = tokio::spawn(controller.run());
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some("mine".into());
    Api::<Namespace>::all(client)
        .create(&PostParams::default(), &namespace)
        .await
        .expect("created");
    tokio::time::sleep(Duration::from_secs(10)).await;
    running.abort();

    let families = registry.gather();
    let count = |name: &str, wanted: &str| -> f64 {
        let metrics = family(&families, name).get_metric();
        let found = metrics.iter().find(|metric| labels(metric) == wanted);
        let found = found.unwrap_or_else(|| panic!("{wanted} in {metrics:?}"));
        if found.get_histogram().get_sample_count() > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a few passes")]
            return found.get_histogram().get_sample_count() as f64;
        }
        found.get_counter().get_value()
    };
    for (name, labels) in [
        (
            "reconciliations_total",
            "controller=full,outcome=completed,phase=init",
        ),
        (
            "reconciliations_total",
            "controller=full,outcome=skipped,phase=apply",
        ),
        (
            "reconciliation_duration_seconds",
            "controller=full,phase=apply",
        ),
        (
            "reconciliation_steps_total",
            "controller=full,outcome=completed,step=read",
        ),
        (
            "reconciliation_step_duration_seconds",
            "controller=full,step=read",
        ),
    ] {
        assert!(
            count(&format!("my_operator_{name}"), labels) >= 1.0,
            "{name} {labels}"
        );
    }
    assert_eq!(families.len(), 4);
}
