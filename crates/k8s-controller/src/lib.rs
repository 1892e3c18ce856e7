//! Write Kubernetes controllers on [`kube`](https://docs.rs/kube): implement one trait, get the
//! rest.
//!
//! A controller makes the world as the objects of one kind say. Yours says how, in a
//! [`Context`]; the [`Controller`] sees to it that each object is worked on whenever it changes,
//! again when that failed, and one last time before it goes.
//!
//! # An example
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use async_trait::async_trait;
//! use k8s_controller::{Context, Controller, TraceMetadata};
//! use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
//! use kube::api::{Api, ObjectMeta, PostParams};
//! use kube::runtime::{controller::Action, watcher};
//! use kube::{Client, Resource, ResourceExt};
//!
//! /// Gives every namespace a ConfigMap `contact` that says whom to ask.
//! struct Contact {
//!     mail: String,
//! }
//!
//! #[async_trait]
//! impl Context for Contact {
//!     type Resource = Namespace;
//!     type Error = kube::Error;
//!
//!     async fn apply(
//!         &self,
//!         client: Client,
//!         namespace: &Namespace,
//!         metadata: &mut TraceMetadata,
//!     ) -> Result<Option<Action>, kube::Error> {
//!         let contact = ConfigMap {
//!             metadata: ObjectMeta {
//!                 name: Some("contact".into()),
//!                 owner_references: namespace.owner_ref(&()).map(|owner| vec![owner]),
//!                 ..ObjectMeta::default()
//!             },
//!             data: Some(BTreeMap::from([("mail".into(), self.mail.clone())])),
//!             ..ConfigMap::default()
//!         };
//!         metadata.annotate("mail", &self.mail);
//!         let maps: Api<ConfigMap> = Api::namespaced(client, &namespace.name_any());
//!         let params = PostParams::default();
//!         match maps.replace("contact", &params, &contact).await {
//!             Err(kube::Error::Api(status)) if status.is_not_found() => {
//!                 maps.create(&params, &contact).await?
//!             }
//!             other => other?,
//!         };
//!         Ok(None)
//!     }
//! }
//!
//! async fn run(client: Client) {
//!     let contact = Contact { mail: "ops@example.com".into() };
//!     let config_maps = Api::<ConfigMap>::all(client.clone());
//!     Controller::cluster(client, contact, watcher::Config::default())
//!         .with_name("contact")
//!         .with_controller(|controller| controller.owns(config_maps, watcher::Config::default()))
//!         .run()
//!         .await;
//! }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! #     let client = Client::new(k8s_embedded_apiserver::EmbeddedApiServer::new(), "default");
//! #     let minute = std::time::Duration::from_secs(60);
//! #     let run = tokio::time::timeout(minute, run(client.clone()));
//! #     assert!(run.await.is_err(), "runs until it is dropped");
//! #     let contact: ConfigMap = Api::default_namespaced(client).get("contact").await.unwrap();
//! #     assert_eq!(contact.data.unwrap()["mail"], "ops@example.com");
//! # }
//! ```
//!
//! # Running an operator
//!
//! That is a controller. In a cluster an operator also has replicas of which one leads, probes,
//! and a moment at which it is asked to stop. A [`Manager`] sees to these, for one controller or
//! several:
//!
//! ```
//! # use async_trait::async_trait;
//! use k8s_controller::{Controller, LeaderElection, Manager};
//! # use k8s_controller::{Context, TraceMetadata};
//! # use k8s_openapi::api::core::v1::{Namespace, Node};
//! # use kube::Resource;
//! # use kube::runtime::controller::Action;
//! use kube::Client;
//! use kube::runtime::watcher;
//!
//! # struct Contact;
//! # struct Inventory;
//! # macro_rules! context { ($context:ident, $kind:ident) => {
//! #     #[async_trait]
//! #     impl Context for $context {
//! #         type Resource = $kind;
//! #         type Error = kube::Error;
//! #         async fn apply(&self, _: Client, _: &$kind, _: &mut TraceMetadata)
//! #             -> Result<Option<Action>, kube::Error> { Ok(None) }
//! #     }
//! # } }
//! # context!(Contact, Namespace);
//! # context!(Inventory, Node);
//! async fn operator(client: Client, pod_name: &str) -> Result<(), k8s_controller::manager::Error> {
//!     let election = LeaderElection::new(client.clone(), "my-system", "my-operator", pod_name);
//!     Manager::new(client)
//!         .with_leader_election(election)
//!         .with_controller(|client| Controller::cluster(client, Contact, watcher::Config::default()))
//!         .with_controller(|client| Controller::cluster(client, Inventory, watcher::Config::default()))
//!         .run()
//!         .await
//! }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! #     let server = k8s_embedded_apiserver::EmbeddedApiServer::new();
//! #     let run = operator(Client::new(server, "default"), "pod-1");
//! #     let minute = std::time::Duration::from_secs(60);
//! #     assert!(tokio::time::timeout(minute, run).await.is_err(), "runs until a signal");
//! # }
//! ```
//!
//! The example `website` in this repository is a whole operator, with a custom resource, status,
//! cleanup and events.
//!
//! # What comes with it
//!
//! | You want | Where |
//! |---|---|
//! | to clean up before an object goes | [`Context::FINALIZER_NAME`] and [`Context::cleanup`] |
//! | to be called again later | return `Ok(Some(Action::requeue(..)))` |
//! | backoff per object; a quick retry for conflicts; `Retry-After` honoured | on by default; [`Context::error_action`] |
//! | an error that is not to be retried | [`TerminalError`](error::TerminalError) |
//! | errors that people can read, and that code can tell apart | [`Error::display_chain`], [`Error::classify`] |
//! | failures in `kubectl describe` | [`Controller::with_event_recorder`], [`Context::failure_event`] |
//! | other events | [`TraceMetadata::publish_event`], [`events::EventRecorder`] |
//! | `kubectl wait --for=condition=Ready` | [`conditions::set`] |
//! | a tracing span and one log line per pass | on by default; [`TraceMetadata::annotate`] |
//! | tests that see what happens, or metrics of your own | [`ReconcileObserver`], [`TraceMetadata::step`] |
//! | a panic not to end it all | on by default |
//! | a pass not to hang for ever | [`Controller::with_pass_timeout`] |
//! | to watch the objects that you make | [`Controller::with_controller`] |
//! | to stop without leaving half-done work | [`Controller::run_until`] |
//! | several controllers, signals, one clean end | [`Manager`] |
//! | one leader among several replicas | [`LeaderElection`] |
//! | a former leader not to write | [`Manager`], or [`LeaderElection::with_fenced_lease`] |
//! | metrics for Prometheus, also under controller-runtime's names | [`PrometheusMetrics`], [`metrics`]; feature `prometheus` |
//! | `/metrics`, `/healthz`, `/readyz` | [`admin`], [`Manager::with_admin`]; feature `admin` |
//!
//! # Features
//!
//! | Feature | What it adds |
//! |---|---|
//! | `admin` | [`admin`]: a server for `/metrics`, `/healthz` and `/readyz`, and [`Manager::with_admin`] to run it |
//! | `prometheus` | [`metrics`]: counters and times of passes, of the queue, of the client's requests, of events and of leadership; [`PrometheusMetrics`] |
//! | `tls` | the admin server over TLS; turns on `admin` |
//!
//! None is on by default. Which version of Kubernetes the types are of is your choice, by a
//! feature of `k8s-openapi`; how to connect is a choice of features of `kube`, both of which you
//! depend on yourself.
//!
//! # What it does not do
//!
//! One [`Controller`] works on one kind; a [`Manager`] runs several, and nothing here needs one.
//! The library does not install custom resource definitions, serve webhooks, read command lines
//! or set up logging.
//!
//! # Crates
//!
//! This crate has no code of its own. Its parts can be used without it:
//!
//! | Crate | What it is | Here |
//! |---|---|---|
//! | `k8s-controller-reconcile` | [`Context`], [`Controller`], the pass | root |
//! | `k8s-controller-error` | errors, their chains and classes | [`error`] |
//! | `k8s-controller-observe` | what a controller tells, and who listens | [`observe`] |
//! | `k8s-controller-events` | events that aggregate, for any program that uses `kube` | [`events`] |
//! | `k8s-controller-conditions` | status conditions; needs no more than `k8s-openapi` | [`conditions`] |
//! | `k8s-controller-leader-election` | a Lease, and a client that is fenced by it, for any program that uses `kube` | [`leader_election`] |
//! | `k8s-controller-manager` | runs controllers together | [`manager`] |
//! | `k8s-controller-prometheus` | metrics | [`metrics`] |
//! | `k8s-controller-admin` | the admin server; knows nothing of controllers | [`admin`] |

/// The admin server of an operator: metrics, liveness and readiness over HTTP.
#[cfg(feature = "admin")]
pub mod admin {
    #[doc(inline)]
    pub use k8s_controller_admin::*;
}

/// Status conditions: set, find, remove.
pub mod conditions {
    #[doc(inline)]
    pub use k8s_controller_conditions::*;
}

/// Errors of any kind: display chains, conflicts, classification, and errors that are not to be
/// retried.
pub mod error {
    #[doc(inline)]
    pub use k8s_controller_error::*;
}

/// Kubernetes events that aggregate into series.
pub mod events {
    #[doc(inline)]
    pub use k8s_controller_events::*;
}

/// One leader at a time, by a Lease, and a client that only the leader can write with.
pub mod leader_election {
    #[doc(inline)]
    pub use k8s_controller_leader_election::*;
}

/// Runs the controllers of an operator together: one lease, signals, health, a graceful stop.
pub mod manager {
    #[doc(inline)]
    pub use k8s_controller_manager::*;
}

/// Prometheus metrics of controllers, of their client and of their events.
#[cfg(feature = "prometheus")]
pub mod metrics {
    #[doc(inline)]
    pub use k8s_controller_prometheus::*;
}

/// What a controller tells about its work: outcomes, phases, steps, and who listens.
pub mod observe {
    #[doc(inline)]
    pub use k8s_controller_observe::*;
}

#[doc(inline)]
pub use k8s_controller_error::Error;
#[doc(inline)]
pub use k8s_controller_leader_election::LeaderElection;
#[doc(inline)]
pub use k8s_controller_manager::Manager;
#[doc(inline)]
pub use k8s_controller_observe::{
    Outcome, Phase, ReconcileObserver, ReconcileRecord, Step, StepRecord,
};
#[cfg(feature = "prometheus")]
#[doc(inline)]
pub use k8s_controller_prometheus::PrometheusMetrics;
#[doc(inline)]
pub use k8s_controller_reconcile::{
    Context, Controller, ControllerHealth, ControllerState, DEFAULT_CONCURRENCY,
    DEFAULT_STOP_DEADLINE, HEARTBEAT_LIMIT, Stopped, TraceMetadata,
};
