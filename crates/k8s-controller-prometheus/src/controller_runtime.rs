//! Passes under the names that controller-runtime gives them.

use std::sync::Arc;

use k8s_controller_observe::{
    ControllerRecord, DequeueRecord, Failure, Outcome, QueueRecord, ReconcileObserver,
    ReconcileRecord, Requeue, StartRecord,
};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};

use crate::family::{self, Families, counters, gauges, histograms, int_gauges};
use crate::running::Running;
use crate::workqueue::Workqueue;

const CONTROLLER: &[&str] = &["controller"];

const SUCCESS: &str = "success";
const ERROR: &str = "error";
const REQUEUE: &str = "requeue";
const REQUEUE_AFTER: &str = "requeue_after";

/// Passes and queues under the names and labels of Go's controller-runtime, so that dashboards and
/// alerts that were made for it work.
///
/// Give one clone to the registry and one to each controller, as its observer. The series of a
/// controller begin, at zero, when it begins to run. [The crate](crate#controller-runtime) lists
/// the metrics, and says where they mean something else.
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_controller_observe::{ControllerRecord, Observers};
/// use k8s_controller_prometheus::ControllerRuntimeMetrics;
/// use prometheus::{Registry, TextEncoder};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let metrics = ControllerRuntimeMetrics::new();
/// let registry = Registry::new();
/// registry.register(Box::new(metrics.clone()))?;
///
/// // A controller does this.
/// let observers = Observers::default().with(Arc::new(metrics));
/// observers.controller_started(&ControllerRecord::new("website", "Website", 32));
///
/// let text = TextEncoder::new().encode_to_string(&registry.gather())?;
/// let line = r#"controller_runtime_reconcile_total{controller="website",result="success"} 0"#;
/// assert!(text.contains(line), "{text}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ControllerRuntimeMetrics {
    reconciles: IntCounterVec,
    errors: IntCounterVec,
    terminal_errors: IntCounterVec,
    panics: IntCounterVec,
    timeouts: IntCounterVec,
    time: HistogramVec,
    max_concurrent: GaugeVec,
    active_workers: IntGaugeVec,
    queue: Workqueue,
    running: Arc<Running>,
}

impl ControllerRuntimeMetrics {
    /// Metrics without any series yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            reconciles: counters(
                "controller_runtime_reconcile_total",
                "Passes over objects, by how they ended.",
                &["controller", "result"],
            ),
            errors: counters(
                "controller_runtime_reconcile_errors_total",
                "Passes that failed, in any way.",
                CONTROLLER,
            ),
            terminal_errors: counters(
                "controller_runtime_terminal_reconcile_errors_total",
                "Passes that failed with an error that is not tried again until the object changes.",
                CONTROLLER,
            ),
            panics: counters(
                "controller_runtime_reconcile_panics_total",
                "Passes that panicked.",
                CONTROLLER,
            ),
            timeouts: counters(
                "controller_runtime_reconcile_timeouts_total",
                "Passes that took longer than they may.",
                CONTROLLER,
            ),
            time: histograms(
                "controller_runtime_reconcile_time_seconds",
                "How long passes took, without the publishing of events.",
                CONTROLLER,
                family::RECONCILE_TIME_BUCKETS.to_vec(),
            ),
            max_concurrent: gauges(
                "controller_runtime_max_concurrent_reconciles",
                "How many passes may run at once; infinity if there is no limit.",
                CONTROLLER,
            ),
            active_workers: int_gauges(
                "controller_runtime_active_workers",
                "Passes that run now.",
                CONTROLLER,
            ),
            queue: Workqueue::new(),
            running: Arc::default(),
        }
    }

    fn count_failure(&self, controller: &str, failure: Option<Failure>) {
        let more = match failure {
            Some(Failure::Terminal) => &self.terminal_errors,
            Some(Failure::Panicked) => &self.panics,
            Some(Failure::TimedOut) => &self.timeouts,
            _ => return,
        };
        more.with_label_values(&[controller]).inc();
    }
}

impl Default for ControllerRuntimeMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl ReconcileObserver for ControllerRuntimeMetrics {
    fn controller_started(&self, record: &ControllerRecord<'_>) {
        let controller = record.controller;
        for result in [SUCCESS, ERROR, REQUEUE, REQUEUE_AFTER] {
            self.reconciles.with_label_values(&[controller, result]);
        }
        for counter in [
            &self.errors,
            &self.terminal_errors,
            &self.panics,
            &self.timeouts,
        ] {
            counter.with_label_values(&[controller]);
        }
        self.time.with_label_values(&[controller]);
        self.max_concurrent
            .with_label_values(&[controller])
            .set(match record.concurrency {
                0 => f64::INFINITY,
                limit => f64::from(limit),
            });
        self.queue.start(controller);
        self.running.meet(controller);
    }

    fn enqueued(&self, record: &QueueRecord<'_>) {
        self.queue.added(record.controller, record.depth);
    }

    fn dequeued(&self, record: &DequeueRecord<'_>) {
        self.queue
            .taken(record.controller, record.depth, record.waited);
    }

    fn pass_started(&self, record: &StartRecord<'_>) {
        self.running.begin(record);
    }

    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        let controller = record.controller;
        let busy = self.running.end(record).unwrap_or(record.duration);
        self.queue.worked(controller, busy);
        let Some(result) = result_of(record) else {
            return;
        };
        self.reconciles
            .with_label_values(&[controller, result])
            .inc();
        self.time
            .with_label_values(&[controller])
            .observe(record.duration.as_secs_f64());
        if result == ERROR {
            self.errors.with_label_values(&[controller]).inc();
            self.count_failure(controller, record.failure);
        }
        if is_tried_again(record) {
            self.queue.retried(controller);
        }
    }
}

impl Families for ControllerRuntimeMetrics {
    fn families(&self) -> Vec<&dyn Collector> {
        let mut families: Vec<&dyn Collector> = vec![
            &self.reconciles,
            &self.errors,
            &self.terminal_errors,
            &self.panics,
            &self.timeouts,
            &self.time,
            &self.max_concurrent,
            &self.active_workers,
        ];
        families.extend(self.queue.families());
        families
    }
}

impl Collector for ControllerRuntimeMetrics {
    fn desc(&self) -> Vec<&Desc> {
        Families::desc(self)
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.running.for_each(|controller, load| {
            self.active_workers
                .with_label_values(&[controller])
                .set(load.passes);
            self.queue.show(controller, load);
        });
        Families::collect(self)
    }
}

/// None for a pass that did not end.
fn result_of(record: &ReconcileRecord<'_>) -> Option<&'static str> {
    match (record.outcome, record.requeue) {
        (Outcome::Abandoned, _) => None,
        (Outcome::Failed, _) => Some(ERROR),
        (_, Requeue::Now) => Some(REQUEUE),
        (_, Requeue::After) => Some(REQUEUE_AFTER),
        _ => Some(SUCCESS),
    }
}

/// Whether controller-runtime would count a retry: each time that it adds an object with a delay,
/// be it a backoff or what the user's code asked for.
fn is_tried_again(record: &ReconcileRecord<'_>) -> bool {
    match record.failure {
        Some(failure) => failure != Failure::Terminal,
        None => record.requeue != Requeue::None,
    }
}
