//! An observer that keeps what it is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_controller::observe::Failure;
use k8s_controller::{Outcome, Phase, ReconcileObserver, ReconcileRecord, StepRecord};
use tokio::time::Instant;

/// A [`ReconcileRecord`] that lives longer, and when it came.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) at: Instant,
    pub(crate) controller: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) phase: Phase,
    pub(crate) outcome: Outcome,
    pub(crate) duration: Duration,
    pub(crate) failure: Option<Failure>,
}

/// Passes and steps in the order they ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    passes: Vec<Observed>,
    steps: Vec<(String, Outcome)>,
}

impl Records {
    pub(crate) fn observer(&self) -> Arc<dyn ReconcileObserver> {
        Arc::new(self.clone())
    }

    /// The passes of an object.
    pub(crate) fn of(&self, name: &str) -> Vec<Observed> {
        self.0
            .lock()
            .unwrap()
            .passes
            .iter()
            .filter(|observed| observed.name == name)
            .cloned()
            .collect()
    }

    /// Phase and outcome of the passes of an object.
    pub(crate) fn outline(&self, name: &str) -> Vec<(Phase, Outcome)> {
        self.of(name)
            .into_iter()
            .map(|observed| (observed.phase, observed.outcome))
            .collect()
    }

    pub(crate) fn steps(&self) -> Vec<(String, Outcome)> {
        self.0.lock().unwrap().steps.clone()
    }
}

impl ReconcileObserver for Records {
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        self.0.lock().unwrap().passes.push(Observed {
            at: Instant::now(),
            controller: record.controller.to_owned(),
            kind: record.kind.to_owned(),
            namespace: record.namespace.map(str::to_owned),
            name: record.name.to_owned(),
            phase: record.phase,
            outcome: record.outcome,
            duration: record.duration,
            failure: record.failure,
        });
    }

    fn step_finished(&self, record: &StepRecord<'_>) {
        self.0
            .lock()
            .unwrap()
            .steps
            .push((record.step.to_owned(), record.outcome));
    }
}
