//! The reconcile loop: [`Context`] says what a controller does, [`Controller`] does it.
//!
//! Implement [`Context`] for your type and hand it to a [`Controller`]. Built on
//! [`kube::runtime`], the loop adds to each pass over an object
//!
//! - a finalizer that stays until the cleanup has really completed;
//! - a retry with backoff per object, a quick one of its own for conflicts, and
//!   `Retry-After` where the API server asks for it;
//! - a tracing span, one log line per pass, observers, and timed steps;
//! - an event about a failure, whose series ends with the next success;
//! - panics of your code as failed passes, while other objects go on;
//! - one pass at a time per object, and at most [`DEFAULT_CONCURRENCY`] at once;
//! - a limit to how long a pass may take, if you set one: [`Controller::with_pass_timeout`];
//! - a backoff of its watches that fits controllers of many kinds, see
//!   [`Controller::with_controller`];
//! - a graceful stop: [`Controller::run_until`];
//! - what a probe wants to know: [`Controller::health`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::runtime::{controller::Action, watcher};
//! use kube::{Client, ResourceExt};
//!
//! struct Greeter;
//!
//! #[async_trait]
//! impl Context for Greeter {
//!     type Resource = ConfigMap;
//!     type Error = kube::Error;
//!     const FINALIZER_NAME: Option<&'static str> = Some("example.com/greeter");
//!
//!     async fn apply(
//!         &self,
//!         _client: Client,
//!         resource: &ConfigMap,
//!         metadata: &mut TraceMetadata,
//!     ) -> Result<Option<Action>, kube::Error> {
//!         metadata.annotate("keys", resource.data.as_ref().map_or(0, |data| data.len()));
//!         println!("hello {}", resource.name_any());
//!         Ok(None)
//!     }
//! }
//!
//! # async fn main_(client: Client) {
//! Controller::namespaced(client, Greeter, "default", watcher::Config::default()).run().await;
//! # }
//! ```
//!
//! # What observers see of the queue
//!
//! The queue is that of [`kube::runtime`], which shows nothing of it. Observers are told what
//! the loop knows by itself: a change that the watch of the main kind brought waits, until a pass
//! over that object begins or the object is gone. What else waits in that queue is not seen until
//! its pass begins: requests of `owns`, `watches`, `reconcile_on` and `reconcile_all_on`, retries
//! after failures, and times that your code asked for.
//!
//! # What this crate does not do
//!
//! It elects no leader, serves no health checks or metrics, and handles no signals: pass what
//! should end the loop to [`Controller::run_until`]. It runs one kind per [`Controller`]; watch
//! related kinds through [`Controller::with_controller`]. It never writes to your objects, but
//! for the one entry in `metadata.finalizers`. Catching panics needs `panic = "unwind"`.

mod agenda;
mod backoff;
mod context;
mod controller;
mod finalizer;
mod health;
mod jitter;
mod metadata;
mod pass;
mod report;
mod run;
mod running;
mod shared;
mod tracker;
mod unwind;
mod waiting;
mod watch;
mod watch_backoff;
mod watch_log;

#[cfg(test)]
extern crate self as k8s_controller_reconcile;
#[cfg(test)]
mod memory_tests;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

pub use context::Context;
pub use controller::{Controller, DEFAULT_CONCURRENCY};
pub use health::{ControllerHealth, ControllerState, HEARTBEAT_LIMIT};
pub use k8s_controller_error::Error;
pub use k8s_controller_observe::Step;
pub use metadata::TraceMetadata;
pub use run::{DEFAULT_STOP_DEADLINE, Stopped};
