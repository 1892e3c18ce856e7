//! The metrics as a scrape sees them.
#![expect(clippy::unwrap_used, reason = "tests")]

mod client;
mod controller_runtime;
mod dashboard;
mod events;
mod everything;
mod leader;
mod promtool;
mod reconciliation;
mod recorded;

use std::collections::BTreeMap;

use k8s_controller_observe::Subject;
use prometheus::core::Collector;
use prometheus::proto::{Metric, MetricFamily, MetricType};
use prometheus::{Error, Registry, TextEncoder};

/// A registry of one collector.
fn registry_of(collector: &(impl Collector + Clone + 'static)) -> Registry {
    let registry = Registry::new();
    registry.register(Box::new(collector.clone())).unwrap();
    let again = registry.register(Box::new(collector.clone()));
    assert!(matches!(again, Err(Error::AlreadyReg)), "{again:?}");
    registry
}

fn subject(controller: &str, name: &str) -> Subject {
    Subject {
        controller: controller.into(),
        kind: "Website".into(),
        namespace: Some("team-a".into()),
        name: name.into(),
    }
}

fn text(registry: &Registry) -> String {
    TextEncoder::new()
        .encode_to_string(&registry.gather())
        .unwrap()
}

/// The line of one series.
#[track_caller]
fn assert_line(registry: &Registry, line: &str) {
    let text = text(registry);
    assert!(text.lines().any(|l| l == line), "no {line} in\n{text}");
}

fn labels(metric: &Metric) -> BTreeMap<String, String> {
    let pair = |label: &prometheus::proto::LabelPair| (label.name().into(), label.value().into());
    metric.get_label().iter().map(pair).collect()
}

/// The value, or how many were observed.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn value(family: &MetricFamily, metric: &Metric) -> f64 {
    match family.get_field_type() {
        MetricType::COUNTER => metric.get_counter().get_value(),
        MetricType::GAUGE => metric.get_gauge().get_value(),
        MetricType::HISTOGRAM => metric.get_histogram().get_sample_count() as f64,
        other => panic!("{} is a {other:?}", family.name()),
    }
}
