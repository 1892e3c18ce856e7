//! What became of events.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_controller_events::{EventRecorder, Stats};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, IntGauge};

use crate::family::{Families, counters_of, gauge_of};

/// The counts of an [`EventRecorder`], read from it each time that the metrics are read.
///
/// | metric | type | labels |
/// | --- | --- | --- |
/// | `k8s_controller_events_total` | counter | `controller`, `result` |
/// | `k8s_controller_events_evicted_series_total` | counter | `controller` |
/// | `k8s_controller_events_tracked_series` | gauge | `controller` |
///
/// `controller` is that of the recorder's reporter, so that the recorders of several controllers
/// fit in one registry. `result` is `created` or `patched` for an event that the API server has,
/// and `namespace_terminating`, `refused`, `timed_out`, `cancelled` or `failed` for one that is
/// lost; see [`Stats`].
///
/// ```
/// # use http::{Request, Response};
/// # use kube::client::Body;
/// use std::sync::Arc;
///
/// use k8s_controller_events::{EventRecorder, Reporter};
/// use k8s_controller_prometheus::EventRecorderMetrics;
/// use prometheus::{Registry, TextEncoder};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let cluster = tower::service_fn(|_: Request<Body>| async {
/// #     Ok::<_, std::convert::Infallible>(Response::new(Body::empty()))
/// # });
/// # let client = kube::Client::new(cluster, "default");
/// let reporter = Reporter { controller: "website".into(), instance: None };
/// let recorder = Arc::new(EventRecorder::try_new(client, reporter)?);
/// let registry = Registry::new();
/// registry.register(Box::new(EventRecorderMetrics::new(recorder)))?;
///
/// let text = TextEncoder::new().encode_to_string(&registry.gather())?;
/// let line = r#"k8s_controller_events_total{controller="website",result="created"} 0"#;
/// assert!(text.contains(line), "{text}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EventRecorderMetrics(Arc<Inner>);

struct Inner {
    recorder: Arc<EventRecorder>,
    events: IntCounterVec,
    evicted_series: IntCounterVec,
    tracked_series: IntGauge,
    /// Held while the counters are set to what the recorder has counted.
    reading: Mutex<()>,
}

impl EventRecorderMetrics {
    /// Metrics of this recorder.
    #[must_use]
    pub fn new(recorder: Arc<EventRecorder>) -> Self {
        let controller = ("controller", recorder.reporter().controller.as_str());
        let events = counters_of(
            controller,
            "k8s_controller_events_total",
            "Kubernetes events that were published, by what became of them.",
            &["result"],
        );
        let evicted_series = counters_of(
            controller,
            "k8s_controller_events_evicted_series_total",
            "Series of events that made room for others, so that a repeat was a new event.",
            &[],
        );
        let tracked_series = gauge_of(
            controller,
            "k8s_controller_events_tracked_series",
            "Series of events whose repeats are counted now.",
        );
        Self(Arc::new(Inner {
            recorder,
            events,
            evicted_series,
            tracked_series,
            reading: Mutex::default(),
        }))
    }
}

impl fmt::Debug for EventRecorderMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorderMetrics")
            .field("reporter", self.0.recorder.reporter())
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn read(&self) {
        let Stats {
            created,
            patched,
            namespace_terminating,
            refused,
            timed_out,
            cancelled,
            failed,
            evicted_series,
            ..
        } = self.recorder.stats();
        for (result, count) in [
            ("created", created),
            ("patched", patched),
            ("namespace_terminating", namespace_terminating),
            ("refused", refused),
            ("timed_out", timed_out),
            ("cancelled", cancelled),
            ("failed", failed),
        ] {
            raise(&self.events, &[result], count);
        }
        raise(&self.evicted_series, &[], evicted_series);
        let tracked = self.recorder.tracked_series();
        self.tracked_series
            .set(i64::try_from(tracked).unwrap_or(i64::MAX));
    }
}

fn raise(counters: &IntCounterVec, labels: &[&str], to: u64) {
    let counter = counters.with_label_values(labels);
    counter.inc_by(to.saturating_sub(counter.get()));
}

impl Families for EventRecorderMetrics {
    fn families(&self) -> Vec<&dyn Collector> {
        let Inner {
            events,
            evicted_series,
            tracked_series,
            ..
        } = &*self.0;
        vec![events, evicted_series, tracked_series]
    }
}

impl Collector for EventRecorderMetrics {
    fn desc(&self) -> Vec<&Desc> {
        Families::desc(self)
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let _reading = self
            .0
            .reading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.0.read();
        Families::collect(self)
    }
}
