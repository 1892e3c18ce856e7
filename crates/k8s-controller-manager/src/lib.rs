//! Runs the controllers of an operator together: one lease, signals, health, a graceful stop.
//!
//! ```
//! use async_trait::async_trait;
//! use k8s_controller_leader_election::LeaderElection;
//! use k8s_controller_manager::Manager;
//! use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kube::runtime::{controller::Action, watcher};
//! use kube::{Client, Resource, ResourceExt};
//!
//! /// Tells of the objects of a kind.
//! struct Teller<K>(std::marker::PhantomData<K>);
//!
//! #[async_trait]
//! impl<K: Resource + Send + Sync + 'static> Context for Teller<K> {
//!     type Resource = K;
//!     type Error = kube::Error;
//!
//!     async fn apply(
//!         &self,
//!         _client: Client,
//!         object: &K,
//!         _metadata: &mut TraceMetadata,
//!     ) -> Result<Option<Action>, kube::Error> {
//!         println!("{}", object.name_any());
//!         Ok(None)
//!     }
//! }
//!
//! async fn operator(client: Client, pod: &str) -> Result<(), k8s_controller_manager::Error> {
//!     let election = LeaderElection::new(client.clone(), "example", "example-operator", pod);
//!     Manager::new(client)
//!         .with_leader_election(election)
//!         .with_controller(|client| {
//!             let teller = Teller::<ConfigMap>(Default::default());
//!             Controller::namespaced_all(client, teller, watcher::Config::default())
//!         })
//!         .with_controller(|client| {
//!             let teller = Teller::<Secret>(Default::default());
//!             Controller::namespaced_all(client, teller, watcher::Config::default())
//!         })
//!         .run()
//!         .await
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #     let server = k8s_embedded_apiserver::EmbeddedApiServer::new();
//! #     let run = operator(Client::new(server, "default"), "pod-1");
//! #     let minute = std::time::Duration::from_secs(60);
//! #     assert!(tokio::time::timeout(minute, run).await.is_err(), "runs until a signal");
//! #     Ok(())
//! # }
//! ```
//!
//! What it sees to:
//!
//! - A controller that ends or panics, a [task](Manager::with_task) that fails, an admin server
//!   that breaks: the others stop gracefully, the lease is released, and [`Manager::run`] returns
//!   an [`Error`] that names who it was. Never is half of an operator left alive.
//! - SIGTERM and SIGINT: not ready, passes end, lease released, `Ok`. The second one: exit at
//!   once. [`Manager::run_until`] stops on any future instead and leaves signals alone.
//! - The lease is lost: the controllers are dropped at once, then the manager
//!   [exits or rejoins](LostLease). Their client is fenced: whatever of them is left, such as a
//!   task that a pass spawned, cannot write anymore.
//! - Probes: the checks are added to the admin server (`Manager::with_admin`), or are asked of
//!   [`Manager::health`].
//!
//! An API server that is away ends nothing: a manager that is started without one waits for the
//! lease, and for the first lists, for as long as it takes, says so in the log, and works as soon
//! as it is back. A program that would rather fail at its start sends a request of its own first,
//! such as `client.apiserver_version()`.
//!
//! Controllers and tasks are tasks of the tokio runtime that polls the manager, of either
//! flavor. Several managers can run in one process. When [`Manager::run`] has returned an error,
//! let `main` return it: an exit code other than 0 is what makes Kubernetes start the container
//! again and show why. A pass that blocks its thread keeps the runtime from ending, so where
//! that can happen end it by `Runtime::shutdown_timeout` or [`std::process::exit`].
//!
//! # Without it
//!
//! Nothing here is needed to use a controller: `Controller::run_until` runs one until a future is
//! ready, and `LeaderElection::with_fenced_lease` runs any future under the lease:
//!
//! ```
//! # use k8s_controller_leader_election::LeaderElection;
//! # use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! # use kube::{Client, runtime::{controller::Action, watcher}};
//! # struct Teller;
//! # #[async_trait::async_trait]
//! # impl Context for Teller {
//! #     type Resource = ConfigMap;
//! #     type Error = kube::Error;
//! #     async fn apply(&self, _: Client, _: &ConfigMap, _: &mut TraceMetadata)
//! #         -> Result<Option<Action>, kube::Error> { Ok(None) }
//! # }
//! # async fn run(client: Client, election: LeaderElection) {
//! let led = election
//!     .with_fenced_lease(|fence| {
//!         let client = fence.client(&client);
//!         let stop = async { tokio::signal::ctrl_c().await.unwrap_or(()) };
//!         Controller::namespaced_all(client, Teller, watcher::Config::default()).run_until(stop)
//!     })
//!     .await;
//! if led.is_none() {
//!     eprintln!("lost the lease");
//! }
//! # }
//! ```
//!
//! # What it does not do
//!
//! It does not restart a controller that failed: that is the kubelet's part, whose restarts are
//! backed off and visible. It installs no custom resource definitions, reads no command line and
//! sets up no logging. All it runs is run by the leader alone; what every replica should do, such
//! as serving a webhook, is run next to it, for example in a `tokio::select!`. It cannot drop code
//! that blocks its thread.
//!
//! # Features
//!
//! `admin`: `Manager::with_admin`, which runs a `k8s_controller_admin::AdminServer`. Off by default.

#[cfg(feature = "admin")]
mod checks;
mod crew;
mod error;
mod gate;
mod health;
mod lead;
mod manager;
mod serving;
mod signals;
mod stopped;
mod unit;

pub use error::{BoxError, Error};
pub use health::ManagerHealth;
pub use manager::{LostLease, Manager};
pub use stopped::{Abandoned, Stopped};
