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
//! use kube::api::{Api, ObjectMeta, Patch, PatchParams};
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
//!         Api::<ConfigMap>::namespaced(client, &namespace.name_any())
//!             .patch("contact", &PatchParams::apply("contact"), &Patch::Apply(contact))
//!             .await?;
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
//! | a tracing span and one log line per pass | on by default; [`TraceMetadata::annotate`] |
//! | metrics, or tests that see what happens | [`ReconcileObserver`], [`TraceMetadata::step`] |
//! | a panic not to end it all | on by default |
//! | to watch the objects that you make | [`Controller::with_controller`] |
//! | to stop without leaving half-done work | [`Controller::run_until`] |
//!
//! # Features
//!
//! There are none yet: all of the above is always there. Which version of Kubernetes the types
//! are of is your choice, by a feature of `k8s-openapi`; how to connect is a choice of features
//! of `kube`, both of which you depend on yourself.
//!
//! # What it does not do
//!
//! One [`Controller`] works on one kind; run several next to each other for more. It does not
//! install custom resource definitions, serve webhooks, read command lines or set up logging.
//!
//! # Crates
//!
//! This crate has no code of its own. Its parts can be used alone: `k8s-controller-events` (events
//! that aggregate, for any program that uses `kube`), `k8s-controller-error`,
//! `k8s-controller-observe` and `k8s-controller-reconcile`.

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

/// What a controller tells about its work: outcomes, phases, steps, and who listens.
pub mod observe {
    #[doc(inline)]
    pub use k8s_controller_observe::*;
}

#[doc(inline)]
pub use k8s_controller_error::Error;
#[doc(inline)]
pub use k8s_controller_observe::{
    Outcome, Phase, ReconcileObserver, ReconcileRecord, Step, StepRecord,
};
#[doc(inline)]
pub use k8s_controller_reconcile::{
    Context, Controller, DEFAULT_CONCURRENCY, DEFAULT_STOP_DEADLINE, Stopped, TraceMetadata,
};
