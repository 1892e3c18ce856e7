//! What a controller tells about its work: outcomes, phases, steps, and who listens.
//!
//! Implement [`ReconcileObserver`] to be told of each pass over an object ([`ReconcileRecord`])
//! and of each timed step within one ([`StepRecord`]): for metrics, for tests, for a status page.
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
//! This crate keeps no metrics and runs no loop. A loop uses [`Observers`], which survives an
//! observer that panics.

mod observer;
mod outcome;
mod phase;
mod record;
mod step;

pub use observer::{Observers, ReconcileObserver};
pub use outcome::Outcome;
pub use phase::Phase;
pub use record::{ReconcileRecord, StepRecord, Subject};
pub use step::Step;
