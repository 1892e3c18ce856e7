//! Metric families whose names are constants of this crate, and collectors of several families.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Result,
};

/// The buckets of controller-runtime's reconcile time, in seconds.
pub(crate) const RECONCILE_TIME_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

pub(crate) fn counters(name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    constant(IntCounterVec::new(Opts::new(name, help), labels))
}

/// Counters that have one label more, whose value is given.
pub(crate) fn counters_of(
    (label, value): (&str, &str),
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntCounterVec {
    let opts = Opts::new(name, help).const_label(label, value);
    constant(IntCounterVec::new(opts, labels))
}

/// A gauge that has one label, whose value is given.
pub(crate) fn gauge_of((label, value): (&str, &str), name: &str, help: &str) -> IntGauge {
    constant(IntGauge::with_opts(
        Opts::new(name, help).const_label(label, value),
    ))
}

pub(crate) fn gauges(name: &str, help: &str, labels: &[&str]) -> GaugeVec {
    constant(GaugeVec::new(Opts::new(name, help), labels))
}

pub(crate) fn int_gauges(name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    constant(IntGaugeVec::new(Opts::new(name, help), labels))
}

pub(crate) fn histograms(
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: Vec<f64>,
) -> HistogramVec {
    let opts = HistogramOpts::new(name, help).buckets(buckets);
    constant(HistogramVec::new(opts, labels))
}

#[expect(
    clippy::expect_used,
    reason = "an error comes of names, labels and buckets alone, and here these are constants"
)]
fn constant<T>(made: Result<T>) -> T {
    made.expect("constants that prometheus accepts")
}

/// A collector of several.
pub(crate) trait Families {
    fn families(&self) -> Vec<&dyn Collector>;

    fn desc(&self) -> Vec<&Desc> {
        self.families()
            .into_iter()
            .flat_map(Collector::desc)
            .collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.families()
            .into_iter()
            .flat_map(Collector::collect)
            .collect()
    }
}
