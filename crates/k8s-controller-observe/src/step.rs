//! A timed step.

use std::sync::Arc;

use kube::runtime::controller::Action;
use tokio::time::Instant;

use crate::observer::Observers;
use crate::outcome::Outcome;
use crate::record::Subject;

/// A step that is being timed. Dropped without being finished, it counts as
/// [`Outcome::Abandoned`], which is what happens when the code returns early or is cancelled.
///
/// ```
/// # use std::sync::Arc;
/// # use k8s_controller_observe::{Observers, Outcome, Step, Subject};
/// let step = Step::start(Observers::default(), Arc::new(Subject::default()), "fetch");
/// // ... the work ...
/// step.finish(Outcome::Completed);
/// ```
#[must_use = "a step that is dropped at once counts as abandoned"]
#[derive(Debug)]
pub struct Step {
    observers: Observers,
    subject: Arc<Subject>,
    name: &'static str,
    started: Instant,
    finished: bool,
}

impl Step {
    /// Starts the clock.
    pub fn start(observers: Observers, subject: Arc<Subject>, name: &'static str) -> Self {
        Self {
            observers,
            subject,
            name,
            started: Instant::now(),
            finished: false,
        }
    }

    /// Stops the clock and tells the observers.
    pub fn finish(mut self, outcome: Outcome) {
        self.report(outcome);
    }

    /// Stops the clock and tells the observers the outcome that the result stands for; see
    /// [`Outcome::of_result`].
    pub fn finish_with<E>(self, result: &Result<Option<Action>, E>) {
        self.finish(Outcome::of_result(result));
    }

    fn report(&mut self, outcome: Outcome) {
        self.finished = true;
        let record = self
            .subject
            .step_finished(self.name, outcome, self.started.elapsed());
        self.observers.step_finished(&record);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if !self.finished {
            self.report(Outcome::Abandoned);
        }
    }
}
