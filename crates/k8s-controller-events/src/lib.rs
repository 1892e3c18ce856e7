//! Kubernetes events from controllers, of which repeats count up instead of piling up.
//!
//! An event tells the user of an object what its controller did, or why it could not.
//! `kubectl describe` and `kubectl events` show it. A controller that fails publishes the same
//! event again and again; this recorder makes one event of them and counts the repeats in its
//! `series`, as the API is meant to be used.
//!
//! It needs nothing but a [`kube::Client`], and is of use without any framework.
//!
//! # Example
//!
//! The service stands in for a cluster here; a program would take its client from
//! `kube::Client::try_default()`.
//!
//! ```
//! use http::{Request, Response};
//! use k8s_controller_events::{Event, EventRecorder, EventType, Reporter};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::client::Body;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = tower::service_fn(|request: Request<Body>| async move {
//!     println!("{} {}", request.method(), request.uri());
//!     let event = r#"{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {}}"#;
//!     Ok::<_, std::convert::Infallible>(Response::new(Body::from(event.as_bytes().to_vec())))
//! });
//! let client = kube::Client::new(cluster, "default");
//!
//! let reporter = Reporter {
//!     controller: "example.com/website".into(),
//!     instance: std::env::var("POD_NAME").ok(),
//! };
//! let recorder = EventRecorder::try_new(client, reporter)?;
//!
//! let mut object = ConfigMap::default();
//! object.metadata.name = Some("front-page".into());
//! object.metadata.namespace = Some("team-a".into());
//! object.metadata.uid = Some("0b6e1f6c-6f0f-4b0e-8a53-0f6f3a3c2f55".into());
//!
//! let event = Event {
//!     type_: EventType::Warning,
//!     reason: "HostTaken".into(),
//!     action: "Register".into(),
//!     note: Some("www.example.com belongs to team-b/shop".into()),
//!     related: None,
//! };
//! recorder.publish(&object, &event).await?; // a new event
//! recorder.publish(&object, &event).await?; // a patch: its series has a count of 2
//!
//! let stats = recorder.stats();
//! assert_eq!((stats.created, stats.patched), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! # Depending on the event recorder alone
//!
//! ```toml
//! [dependencies]
//! # Not on the registry: a checkout, or a git revision of it.
//! k8s-controller-events = { path = "../k8s-controller/crates/k8s-controller-events" }
//! # The application, not a library, chooses the Kubernetes version.
//! k8s-openapi = { version = "0.29", features = ["latest"] }
//! # The recorder itself needs no TLS stack; a client for a real cluster does.
//! kube = { version = "5", features = ["runtime"] }
//! ```
//!
//! The service account needs this, in a ClusterRole, or in a Role of each namespace that the
//! objects are in (`default` for cluster-scoped objects):
//!
//! ```yaml
//! - apiGroups: ["events.k8s.io"]
//!   resources: ["events"]
//!   verbs: ["create", "patch"]
//! ```
//!
//! # What is a repeat
//!
//! An event repeats the last one that was published with the same object uid, reason, action and
//! [`Scope`], if all else is equal too (the type, the note as it is sent, the related object, the
//! rest of the reference but its resource version), and if that was less than [`SERIES_WINDOW`]
//! ago. Anything else is a new event. So keep what changes from time to time, such as a duration
//! or a number of tries, out of the note of an event that is to be counted.
//!
//! Equal events that are published at the same time wait for each other and are one event and its
//! repeats. If the server no longer has the event (it keeps them for an hour, by default), there is
//! a new one and the count starts again.
//!
//! A publish that the server refuses does not count. One whose answer never came, or could not be
//! read, may have arrived, and does: counts may run ahead by such a publish, but never go back.
//!
//! [`EventRecorder::forget`] ends the series of an object, for example when it has recovered, so
//! that its next failure is seen as a new event. [`Scope`] keeps what is forgotten together apart
//! from the rest.
//!
//! # What becomes of an event
//!
//! Every publish ends as sent, or is counted in [`Stats`] and logged with a reason; none just
//! vanishes. [`PublishError`] names the field where an API server would refuse one; such an event
//! is never sent. An event into a namespace that is being deleted is dropped quietly (a log line at
//! `debug`); all else that is lost makes a warning.
//!
//! # Memory
//!
//! The recorder tracks [`DEFAULT_MAX_SERIES`] series at most, or
//! [`with_max_series`](EventRecorder::with_max_series), the most recently published ones. A series
//! is also let go when its window is over, by a task that the first publish starts, that ends with
//! the last series, and that is aborted with the recorder. Publishing and forgetting take the same
//! time no matter how many series are tracked.
//!
//! # What it does not do
//!
//! - It has no queue and no retries of its own: a publish is one future, and its caller decides
//!   what an error means. A client made from a `kube::Config` retries on 429, 503 and 504.
//! - It does not limit the rate of events, nor merge events whose notes differ.
//! - It does not know the series of another process, or of itself before a restart: there the
//!   first repeat is a new event.
//! - It writes `events.k8s.io/v1` alone. Readers of core `v1` events see the same objects.
//! - It never reads, lists or deletes events.

use std::time::Duration;

mod attempt;
mod causes;
mod check;
mod deliver;
mod draft;
mod environment;
mod error;
mod event;
mod key;
mod name;
mod note;
mod recorder;
mod scope;
mod stats;
mod sweep;
mod table;
mod turn;

pub use kube::runtime::events::{EventType, Reporter};

pub use self::error::PublishError;
pub use self::event::Event;
pub use self::recorder::EventRecorder;
pub use self::scope::Scope;
pub use self::stats::Stats;

/// How long after the last publish of an event an equal one still counts into its series: 10
/// minutes. Once that long has passed, it is a new event.
pub const SERIES_WINDOW: Duration = Duration::from_secs(10 * 60);

/// The most bytes of a note, from the validation of `events.k8s.io/v1` in kube-apiserver. A longer
/// note is cut at a character boundary and ends in `...`, which the limit includes.
pub const MAX_NOTE_BYTES: usize = 1024;

/// How long a publish may take unless
/// [`EventRecorder::with_timeout`] says otherwise: 5 seconds.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// How many series are tracked unless [`EventRecorder::with_max_series`] says otherwise.
///
/// Enough for an operator of 100,000 objects that all fail at once with one reason each. A series
/// takes a few hundred bytes (the event itself is not kept), so at the cap it is some tens of
/// megabytes, for as long as the window.
pub const DEFAULT_MAX_SERIES: usize = 100_000;
