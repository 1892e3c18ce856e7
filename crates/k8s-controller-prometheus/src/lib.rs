//! Prometheus metrics of controllers, of their client, of their events and of their leadership.
//!
//! Each type here is a collector of the [`prometheus`] crate (0.14): register it in a
//! [`Registry`](prometheus::Registry), and serve what that gathers. Registering one twice is
//! prometheus' `AlreadyReg` error.
//!
//! | type | what of | how it learns |
//! | --- | --- | --- |
//! | [`PrometheusMetrics`] | passes and steps, by phase and outcome, under names of your own | as observer of a controller |
//! | [`ControllerRuntimeMetrics`] | passes and queues, under controller-runtime's names | as observer of a controller |
//! | [`ClientMetrics`] | requests to the API server, under client-go's name | in the client |
//! | [`LeaderMetrics`] | who leads, under client-go's name | asks the leader election |
//! | [`EventRecorderMetrics`] | Kubernetes events that were sent or lost | asks the recorder |
//!
//! # Example
//!
//! ```
//! # use http::{Request, Response};
//! # use kube::client::Body;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use k8s_controller_events::{EventRecorder, Reporter};
//! use k8s_controller_observe::{Observers, Outcome, Phase, Subject};
//! use k8s_controller_prometheus::{
//!     ClientMetrics, ControllerRuntimeMetrics, EventRecorderMetrics, PrometheusMetrics,
//! };
//! use prometheus::{Registry, TextEncoder};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let cluster = tower::service_fn(|_: Request<Body>| async {
//! #     Ok::<_, std::convert::Infallible>(Response::new(Body::empty()))
//! # });
//! # let client = kube::Client::new(cluster, "default");
//! let requests = ClientMetrics::new();
//! let client = requests.client(&client, "192.0.2.1:6443");
//! let reporter = Reporter { controller: "website".into(), instance: None };
//! let recorder = Arc::new(EventRecorder::try_new(client, reporter)?);
//! let passes = ControllerRuntimeMetrics::new();
//! let steps = PrometheusMetrics::new("shop")?;
//!
//! let registry = Registry::new();
//! registry.register(Box::new(requests))?;
//! registry.register(Box::new(EventRecorderMetrics::new(recorder)))?;
//! registry.register(Box::new(passes.clone()))?;
//! registry.register(Box::new(steps.clone()))?;
//!
//! // With `k8s-controller`: controller.with_observer(Arc::new(passes)), and so on.
//! let observers = Observers::default().with(Arc::new(passes)).with(Arc::new(steps));
//! let website = Subject { controller: "website".into(), ..Subject::default() };
//! let took = Duration::from_millis(20);
//! observers.reconciled(&website.reconciled(Phase::Apply, Outcome::Completed, took));
//!
//! let metrics = TextEncoder::new().encode_to_string(&registry.gather())?;
//! assert!(metrics.contains("controller_runtime_reconcile_total"), "{metrics}");
//! assert!(metrics.contains("shop_reconciliations_total"), "{metrics}");
//! # Ok(())
//! # }
//! ```
//!
//! # Of this library
//!
//! | metric | type | labels | what |
//! | --- | --- | --- | --- |
//! | `<namespace>_reconciliations_total` | counter | `controller`, `phase`, `outcome` | passes that ended or were dropped |
//! | `<namespace>_reconciliation_duration_seconds` | histogram | `controller`, `phase` | how long, without the publishing of events |
//! | `<namespace>_reconciliation_steps_total` | counter | `controller`, `step`, `outcome` | steps that ended or were dropped |
//! | `<namespace>_reconciliation_step_duration_seconds` | histogram | `controller`, `step` | how long |
//! | `k8s_controller_events_total` | counter | `controller`, `result` | events published, by what became of them |
//! | `k8s_controller_events_evicted_series_total` | counter | `controller` | series that made room for others |
//! | `k8s_controller_events_tracked_series` | gauge | `controller` | series whose repeats are counted now |
//!
//! # controller-runtime
//!
//! Names, types, labels and buckets are those that controller-runtime v0.25.2 was seen to export,
//! and so are the values after the same passes, except where the last column says otherwise.
//!
//! | metric | type | labels | what | otherwise |
//! | --- | --- | --- | --- | --- |
//! | `controller_runtime_reconcile_total` | counter | `controller`, `result` | passes: `success`, `error`, `requeue` or `requeue_after` | one that was dropped half-way is in none |
//! | `controller_runtime_reconcile_errors_total` | counter | `controller` | passes that failed | conflicts too, as there, though they are tried again at once here |
//! | `controller_runtime_terminal_reconcile_errors_total` | counter | `controller` | of these, not tried again until the object changes | |
//! | `controller_runtime_reconcile_panics_total` | counter | `controller` | of these, panics | |
//! | `controller_runtime_reconcile_timeouts_total` | counter | `controller` | of these, out of time | there the pass may yet succeed, here it has failed |
//! | `controller_runtime_reconcile_time_seconds` | histogram | `controller` | how long, without the publishing of events | |
//! | `controller_runtime_max_concurrent_reconciles` | gauge | `controller` | how many may run at once | infinity where there is no limit |
//! | `controller_runtime_active_workers` | gauge | `controller` | passes that run now | |
//! | `workqueue_depth` | gauge | `name`, `controller` | objects that wait for a pass | seen in part; no `priority` |
//! | `workqueue_adds_total` | counter | `name`, `controller` | times that an object began to wait | seen in part |
//! | `workqueue_queue_duration_seconds` | histogram | `name`, `controller` | how long it waited | seen in part |
//! | `workqueue_work_duration_seconds` | histogram | `name`, `controller` | how long passes took, with the publishing of events | those that were dropped too |
//! | `workqueue_retries_total` | counter | `name`, `controller` | passes after which the object waits for a delay: failures but terminal ones, and requeues that the user's code asked for | the requeue long after a success is the library's own, and not counted |
//! | `workqueue_unfinished_work_seconds` | gauge | `name`, `controller` | how long what runs now has run, together | of the moment, not of half a second ago |
//! | `workqueue_longest_running_processor_seconds` | gauge | `name`, `controller` | the longest of these | the same |
//! | `rest_client_requests_total` | counter | `code`, `method`, `host` | requests to the API server | see [`ClientMetrics`] for retries |
//! | `leader_election_master_status` | gauge | `name` | 1 while this replica leads | |
//!
//! `name` is the name of the controller, as `controller` is. A user's requeue with no delay is
//! `requeue`, any other `requeue_after`. A pass that adds the finalizer, or finds nothing to do, is
//! a `success`.
//!
//! *Seen in part*: the queue is inside `kube::runtime`, which shows nothing of it. What is seen are
//! the changes of the controller's own kind, from when its watch tells of one until a pass begins.
//! What `owns` and `watches` trigger, and what comes back after a backoff or a requeue, waits
//! unseen. An alert on a queue that only grows works; one on an exact number does not.
//!
//! Not there at all: the histograms in Prometheus' native form, which the `prometheus` crate does
//! not have, and controller-runtime's metrics of webhooks, certificates and the Go runtime. The
//! `le` of buckets under a millisecond is written in another way (`0.00000001`, not `1e-08`), which
//! `histogram_quantile` reads all the same.
//!
//! # Labels
//!
//! No label has more values than a program has controllers, steps, results, or hosts to talk to.
//! Objects and their namespaces are never in a label. A series that began stays, also of a
//! controller that has ended.
//!
//! Give each controller a name of its own: two of one name share their series, where
//! `workqueue_depth` is that of the one that was heard of last.
//!
//! # Dashboard
//!
//! `dashboards/k8s-controller.json`, in the repository of this crate, shows all of them in Grafana.
//! It expects the usual target labels `job`, `namespace` and `pod`, and works without.
//!
//! # What it does not do
//!
//! - It does not serve metrics, and keeps none in prometheus' default registry.
//! - It has no metrics of the process; the `prometheus` crate has, as its feature `process`.

mod client;
mod controller_runtime;
mod events;
mod family;
mod leader;
mod reconciliation;
mod running;
mod workqueue;

pub use client::{ClientMetrics, ClientMetricsLayer, ClientMetricsService};
pub use controller_runtime::ControllerRuntimeMetrics;
pub use events::EventRecorderMetrics;
pub use leader::LeaderMetrics;
pub use reconciliation::{DEFAULT_BUCKETS, PrometheusMetrics};
