//! Passes and steps by controller, phase and outcome.

use k8s_controller_observe::{ReconcileObserver, ReconcileRecord, StepRecord};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Error, HistogramOpts, HistogramVec, IntCounterVec, Opts};

use crate::family::Families;

/// The upper bounds of the buckets of [`PrometheusMetrics::new`], in seconds.
///
/// From a pass that finds nothing to do, over one that makes a few requests, to one that waits.
pub const DEFAULT_BUCKETS: [f64; 6] = [0.01, 0.05, 0.25, 1.0, 5.0, 30.0];

/// Passes and steps, by controller, phase and outcome, under names of your own.
///
/// | metric | type | labels |
/// | --- | --- | --- |
/// | `<namespace>_reconciliations_total` | counter | `controller`, `phase`, `outcome` |
/// | `<namespace>_reconciliation_duration_seconds` | histogram | `controller`, `phase` |
/// | `<namespace>_reconciliation_steps_total` | counter | `controller`, `step`, `outcome` |
/// | `<namespace>_reconciliation_step_duration_seconds` | histogram | `controller`, `step` |
///
/// Give one clone to the registry and one to each controller, as its observer.
///
/// ```
/// use std::time::Duration;
///
/// use k8s_controller_observe::{Outcome, Phase, ReconcileObserver, Subject};
/// use k8s_controller_prometheus::PrometheusMetrics;
/// use prometheus::{Registry, TextEncoder};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let metrics = PrometheusMetrics::new("shop")?;
/// let registry = Registry::new();
/// registry.register(Box::new(metrics.clone()))?;
///
/// // A controller does this.
/// let website = Subject { controller: "website".into(), ..Subject::default() };
/// let record = website.reconciled(Phase::Apply, Outcome::Completed, Duration::from_millis(20));
/// metrics.reconciled(&record);
///
/// let text = TextEncoder::new().encode_to_string(&registry.gather())?;
/// let line =
///     r#"shop_reconciliations_total{controller="website",outcome="completed",phase="apply"} 1"#;
/// assert!(text.contains(line), "{text}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PrometheusMetrics {
    passes: IntCounterVec,
    pass_duration: HistogramVec,
    steps: IntCounterVec,
    step_duration: HistogramVec,
}

impl PrometheusMetrics {
    /// The same as [`DEFAULT_BUCKETS`].
    pub const DEFAULT_BUCKETS: [f64; 6] = DEFAULT_BUCKETS;

    /// Metrics whose names begin with `namespace` and an underscore, or with neither if it is
    /// empty.
    ///
    /// # Errors
    ///
    /// If `namespace` cannot begin the name of a metric: that takes ASCII letters, digits, `_`
    /// and `:`, and no digit at the front. `-` is a common mistake.
    pub fn new(namespace: impl Into<String>) -> Result<Self, Error> {
        Self::with_buckets(namespace, DEFAULT_BUCKETS.to_vec())
    }

    /// As [`new`](Self::new), with other upper bounds of the buckets, in seconds. None at all
    /// are [`DEFAULT_BUCKETS`]; infinity is always there.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); and if the bounds do not increase, or one of them is not a number.
    pub fn with_buckets(namespace: impl Into<String>, buckets: Vec<f64>) -> Result<Self, Error> {
        let namespace = namespace.into();
        check_namespace(&namespace)?;
        let buckets = checked_buckets(buckets)?;
        let opts = |name: &str, help: &str| Opts::new(name, help).namespace(&namespace);
        let histogram = |name: &str, help: &str, labels: &[&str]| {
            let opts = HistogramOpts::from(opts(name, help)).buckets(buckets.clone());
            HistogramVec::new(opts, labels)
        };
        Ok(Self {
            passes: IntCounterVec::new(
                opts("reconciliations_total", "Passes over objects that ended."),
                &["controller", "phase", "outcome"],
            )?,
            pass_duration: histogram(
                "reconciliation_duration_seconds",
                "How long passes over objects took, without the publishing of events.",
                &["controller", "phase"],
            )?,
            steps: IntCounterVec::new(
                opts("reconciliation_steps_total", "Steps of passes that ended."),
                &["controller", "step", "outcome"],
            )?,
            step_duration: histogram(
                "reconciliation_step_duration_seconds",
                "How long steps of passes took.",
                &["controller", "step"],
            )?,
        })
    }
}

impl ReconcileObserver for PrometheusMetrics {
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        let phase = record.phase.as_str();
        self.passes
            .with_label_values(&[record.controller, phase, record.outcome.as_str()])
            .inc();
        self.pass_duration
            .with_label_values(&[record.controller, phase])
            .observe(record.duration.as_secs_f64());
    }

    fn step_finished(&self, record: &StepRecord<'_>) {
        self.steps
            .with_label_values(&[record.controller, record.step, record.outcome.as_str()])
            .inc();
        self.step_duration
            .with_label_values(&[record.controller, record.step])
            .observe(record.duration.as_secs_f64());
    }
}

impl Families for PrometheusMetrics {
    fn families(&self) -> Vec<&dyn Collector> {
        vec![
            &self.passes,
            &self.pass_duration,
            &self.steps,
            &self.step_duration,
        ]
    }
}

impl Collector for PrometheusMetrics {
    fn desc(&self) -> Vec<&Desc> {
        Families::desc(self)
    }

    fn collect(&self) -> Vec<MetricFamily> {
        Families::collect(self)
    }
}

/// Prometheus checks the whole name; its error would not say which part of it is the caller's.
fn check_namespace(namespace: &str) -> Result<(), Error> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    if namespace.chars().all(is_good) && !namespace.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(());
    }
    Err(Error::Msg(format!(
        "namespace {namespace:?} cannot begin the name of a metric: expected ASCII letters, \
         digits, '_' and ':', and no digit at the front"
    )))
}

fn checked_buckets(buckets: Vec<f64>) -> Result<Vec<f64>, Error> {
    if buckets.is_empty() {
        return Ok(DEFAULT_BUCKETS.to_vec());
    }
    if buckets.iter().any(|bound| bound.is_nan()) || !buckets.is_sorted_by(|a, b| a < b) {
        return Err(Error::Msg(format!(
            "buckets {buckets:?} are not upper bounds in seconds: expected numbers that increase"
        )));
    }
    Ok(buckets)
}
