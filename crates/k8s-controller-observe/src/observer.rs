//! Who is told.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::record::{ReconcileRecord, StepRecord};

/// Is told of passes and steps as they end. Both methods do nothing unless implemented.
///
/// They are called from within the pass, also while it is being dropped, so that they should be
/// quick and must not block.
pub trait ReconcileObserver: Send + Sync {
    /// A pass over an object ended or was dropped.
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        let _ = record;
    }

    /// A step within a pass ended or was dropped.
    fn step_finished(&self, record: &StepRecord<'_>) {
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
