//! What is told of a pass: span, log, observers.

use std::sync::Arc;

use k8s_controller_error::{Error, is_not_leading};
use k8s_controller_observe::{Failure, Observers, Outcome, Phase, Requeue, Subject};
use tokio::time::Instant;
use tracing::Span;
use tracing::field::Empty;

use crate::metadata::TraceMetadata;

/// A pass that is going on. Dropped without an end, it was abandoned.
pub(crate) struct Report {
    pub(crate) metadata: TraceMetadata,
    pub(crate) span: Span,
    phase: Phase,
    /// Whether the span has the phase: a field that is set twice is shown twice by some.
    settled: bool,
    subject: Arc<Subject>,
    observers: Observers,
    started: Instant,
    ended: bool,
}

impl Report {
    /// Starts the clock and opens the span.
    pub(crate) fn start(
        phase: Phase,
        subject: Arc<Subject>,
        observers: Observers,
        metadata: TraceMetadata,
    ) -> Self {
        let span = tracing::info_span!(
            "reconcile",
            resource_type = &*subject.kind,
            resource_name = subject.name,
            controller = &*subject.controller,
            event_type = Empty,
            outcome = Empty,
            success = Empty,
            duration_seconds = Empty,
            metadata = Empty,
        );
        observers.pass_started(&subject.started());
        let started = Instant::now();
        Self {
            metadata,
            span,
            phase,
            settled: false,
            subject,
            observers,
            started,
            ended: false,
        }
    }

    /// Settles what the pass does.
    pub(crate) fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.settled = true;
        self.span.record("event_type", phase.as_str());
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn succeed(mut self, outcome: Outcome, requeue: Requeue) {
        self.end(outcome, None, requeue);
        self.span.in_scope(|| tracing::info!("reconciled"));
    }

    /// `before` is how many failures in a row came before this one; for a conflict, conflicts.
    pub(crate) fn fail<E: std::error::Error + 'static>(
        mut self,
        error: &Error<E>,
        failure: Failure,
        before: u32,
    ) {
        self.end(Outcome::Failed, Some(failure), Requeue::None);
        let source = error.display_chain();
        let class = error.classify().as_str();
        self.span.in_scope(|| {
            if error.is_conflict() {
                tracing::info!(source, class, "conflict, will be retried");
            } else if is_not_leading(error) {
                tracing::warn!(source, class, "write refused, as another may lead");
            } else {
                tracing::error!(
                    source,
                    class,
                    consecutive_errors = before,
                    terminal = error.is_terminal().then_some(true),
                    "reconciliation failed"
                );
            }
        });
    }

    fn end(&mut self, outcome: Outcome, failure: Option<Failure>, requeue: Requeue) {
        self.ended = true;
        let duration = self.started.elapsed();
        if !self.settled {
            self.set_phase(self.phase);
        }
        self.span.record("outcome", outcome.as_str());
        self.span.record(
            "success",
            !matches!(outcome, Outcome::Failed | Outcome::Abandoned),
        );
        self.span.record("duration_seconds", duration.as_secs_f64());
        if !self.span.is_disabled()
            && let Some(metadata) = self.metadata.to_json()
        {
            self.span.record("metadata", metadata);
        }
        let mut record = self
            .subject
            .reconciled(self.phase, outcome, duration)
            .with_requeue(requeue);
        if let Some(failure) = failure {
            record = record.with_failure(failure);
        }
        self.observers.reconciled(&record);
    }
}

pub(crate) fn failure_of<E: std::error::Error + 'static>(error: &Error<E>) -> Failure {
    match error {
        Error::Panicked(_) => Failure::Panicked,
        Error::TimedOut { .. } => Failure::TimedOut,
        // A conflict that is marked as terminal is not retried.
        error if error.is_terminal() => Failure::Terminal,
        error if error.is_conflict() => Failure::Conflict,
        _ => Failure::Error,
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Outcome::Abandoned, None, Requeue::None);
            self.span
                .in_scope(|| tracing::info!("reconciliation abandoned"));
        }
    }
}
