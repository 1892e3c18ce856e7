//! What a controller tells about its work: outcomes, phases, steps, and who listens.
//!
//! Implement [`ReconcileObserver`] to be told of each pass over an object ([`ReconcileRecord`])
//! and of each timed step within one ([`StepRecord`]): for metrics, for tests, for a status page.
//! It may also listen to the beginning of passes, to the start of a controller, and to what
//! waits for a pass.
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! use k8s_controller_observe::{Outcome, ReconcileObserver, ReconcileRecord};
//!
//! #[derive(Default)]
//! struct Failures(AtomicUsize);
//!
//! impl ReconcileObserver for Failures {
//!     fn reconciled(&self, record: &ReconcileRecord<'_>) {
//!         if record.outcome == Outcome::Failed {
//!             self.0.fetch_add(1, Ordering::Relaxed);
//!         }
//!     }
//! }
//! ```
//!
//! # What is seen of the queue
//!
//! A loop on [`kube::runtime`] has its queue in there, and cannot look into it. What it can tell
//! is which changes the watch of its own kind brought, and which of them still wait for their
//! pass ([`ReconcileObserver::enqueued`], [`ReconcileObserver::dequeued`]). It cannot tell of
//! passes that are due for another reason: a change of a related kind (`owns`, `watches`,
//! `reconcile_on`), a retry, or a time that the user's code asked for. Those are seen only once
//! they run ([`ReconcileObserver::pass_started`]).
//!
//! # What this crate does not do
//!
//! It keeps no metrics and runs no loop. A loop uses [`Observers`], which survives an observer
//! that panics.

mod failure;
mod observer;
mod outcome;
mod phase;
mod queue;
mod record;
mod requeue;
mod step;

pub use failure::Failure;
pub use observer::{Observers, ReconcileObserver};
pub use outcome::Outcome;
pub use phase::Phase;
pub use queue::{ControllerRecord, DequeueRecord, QueueRecord};
pub use record::{ReconcileRecord, StartRecord, StepRecord, Subject};
pub use requeue::Requeue;
pub use step::Step;
