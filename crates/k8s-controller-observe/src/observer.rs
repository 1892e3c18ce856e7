//! Who is told.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::queue::{ControllerRecord, DequeueRecord, QueueRecord};
use crate::record::{ReconcileRecord, StartRecord, StepRecord};

/// Is told of passes and steps, mostly as they end. A method does nothing unless implemented.
///
/// They are called from within the pass or the loop, also while those are being dropped, so that
/// they should be quick and must not block.
pub trait ReconcileObserver: Send + Sync {
    /// A pass over an object ended or was dropped.
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        let _ = record;
    }

    /// A step within a pass ended or was dropped.
    fn step_finished(&self, record: &StepRecord<'_>) {
        let _ = record;
    }

    /// A controller begins to run. Told once, before anything else of that controller.
    fn controller_started(&self, record: &ControllerRecord<'_>) {
        let _ = record;
    }

    /// A pass over an object begins. Exactly one [`reconciled`](Self::reconciled) follows, also
    /// if the pass is dropped.
    fn pass_started(&self, record: &StartRecord<'_>) {
        let _ = record;
    }

    /// The controller's own watch told of an object that did not wait for a pass yet, and now
    /// does. Exactly one [`dequeued`](Self::dequeued) follows.
    ///
    /// See [the crate](crate#what-is-seen-of-the-queue) for what else may wait.
    fn enqueued(&self, record: &QueueRecord<'_>) {
        let _ = record;
    }

    /// An object no longer waits: its pass begins, it is gone, or the controller ends.
    fn dequeued(&self, record: &DequeueRecord<'_>) {
        let _ = record;
    }
}

/// A list of observers, each told in turn. One that panics is logged; the others are still told.
#[derive(Clone, Default)]
pub struct Observers(Option<Arc<[Arc<dyn ReconcileObserver>]>>);

impl Observers {
    /// The list with one more at its end.
    #[must_use]
    pub fn with(self, observer: Arc<dyn ReconcileObserver>) -> Self {
        let all = self.iter().cloned().chain([observer]).collect();
        Self(Some(all))
    }

    /// Whether nobody listens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Tells all of a pass.
    pub fn reconciled(&self, record: &ReconcileRecord<'_>) {
        self.each(|observer| observer.reconciled(record));
    }

    /// Tells all of a step.
    pub fn step_finished(&self, record: &StepRecord<'_>) {
        self.each(|observer| observer.step_finished(record));
    }

    /// Tells all of a controller that begins to run.
    pub fn controller_started(&self, record: &ControllerRecord<'_>) {
        self.each(|observer| observer.controller_started(record));
    }

    /// Tells all of a pass that begins.
    pub fn pass_started(&self, record: &StartRecord<'_>) {
        self.each(|observer| observer.pass_started(record));
    }

    /// Tells all of an object that waits.
    pub fn enqueued(&self, record: &QueueRecord<'_>) {
        self.each(|observer| observer.enqueued(record));
    }

    /// Tells all of an object that no longer waits.
    pub fn dequeued(&self, record: &DequeueRecord<'_>) {
        self.each(|observer| observer.dequeued(record));
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<dyn ReconcileObserver>> {
        self.0.iter().flat_map(|all| all.iter())
    }

    fn each(&self, tell: impl Fn(&dyn ReconcileObserver)) {
        for observer in self.iter() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| tell(observer.as_ref()))) {
                tracing::error!(panic = text_of(payload.as_ref()), "observer panicked");
            }
        }
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observers")
            .field("len", &self.iter().count())
            .finish()
    }
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no text)")
}
