//! The metrics of client-go's workqueue, as controller-runtime labels them.

use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};

use crate::family::{counters, gauges, histograms, int_gauges};
use crate::running::Load;

/// The name of the queue is the name of its controller.
const LABELS: &[&str] = &["name", "controller"];

#[derive(Clone, Debug)]
pub(crate) struct Workqueue {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    retries: IntCounterVec,
    queue_duration: HistogramVec,
    work_duration: HistogramVec,
    unfinished_work: GaugeVec,
    longest_running: GaugeVec,
}

impl Workqueue {
    pub(crate) fn new() -> Self {
        Self {
            depth: int_gauges(
                "workqueue_depth",
                "Objects of which the controller's own watch told and that wait for their pass.",
                LABELS,
            ),
            adds: counters(
                "workqueue_adds_total",
                "Objects of which the controller's own watch told and that did not wait yet.",
                LABELS,
            ),
            retries: counters(
                "workqueue_retries_total",
                "Passes that are followed by another one of the same object after some delay.",
                LABELS,
            ),
            queue_duration: histograms(
                "workqueue_queue_duration_seconds",
                "How long objects of which the controller's own watch told waited for their pass.",
                LABELS,
                buckets(),
            ),
            work_duration: histograms(
                "workqueue_work_duration_seconds",
                "How long passes took, with the publishing of events.",
                LABELS,
                buckets(),
            ),
            unfinished_work: gauges(
                "workqueue_unfinished_work_seconds",
                "How long the passes that run now have run, together.",
                LABELS,
            ),
            longest_running: gauges(
                "workqueue_longest_running_processor_seconds",
                "How long the longest of the passes that run now has run.",
                LABELS,
            ),
        }
    }

    /// Makes all series of a controller, and forgets what a former one of that name left waiting.
    pub(crate) fn start(&self, controller: &str) {
        let labels = &[controller, controller];
        self.depth.with_label_values(labels).set(0);
        self.adds.with_label_values(labels);
        self.retries.with_label_values(labels);
        self.queue_duration.with_label_values(labels);
        self.work_duration.with_label_values(labels);
    }

    pub(crate) fn added(&self, controller: &str, depth: usize) {
        self.adds.with_label_values(&[controller, controller]).inc();
        self.set_depth(controller, depth);
    }

    pub(crate) fn taken(&self, controller: &str, depth: usize, waited: Duration) {
        self.queue_duration
            .with_label_values(&[controller, controller])
            .observe(waited.as_secs_f64());
        self.set_depth(controller, depth);
    }

    pub(crate) fn worked(&self, controller: &str, duration: Duration) {
        self.work_duration
            .with_label_values(&[controller, controller])
            .observe(duration.as_secs_f64());
    }

    pub(crate) fn retried(&self, controller: &str) {
        self.retries
            .with_label_values(&[controller, controller])
            .inc();
    }

    pub(crate) fn show(&self, controller: &str, load: Load) {
        let labels = &[controller, controller];
        self.unfinished_work
            .with_label_values(labels)
            .set(load.total.as_secs_f64());
        self.longest_running
            .with_label_values(labels)
            .set(load.longest.as_secs_f64());
    }

    pub(crate) fn families(&self) -> [&dyn Collector; 7] {
        [
            &self.depth,
            &self.adds,
            &self.retries,
            &self.queue_duration,
            &self.work_duration,
            &self.unfinished_work,
            &self.longest_running,
        ]
    }

    fn set_depth(&self, controller: &str, depth: usize) {
        self.depth
            .with_label_values(&[controller, controller])
            .set(i64::try_from(depth).unwrap_or(i64::MAX));
    }
}

/// client-go's: 12 powers of ten from 10 ns on, in seconds, each ten times the one before, so that
/// they are the same to the last bit.
fn buckets() -> Vec<f64> {
    std::iter::successors(Some(1e-8), |bound| Some(bound * 10.0))
        .take(12)
        .collect()
}
