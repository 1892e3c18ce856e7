//! What is told of a pass: span, log, observers.

use std::sync::Arc;

use k8s_controller_error::Error;
use k8s_controller_observe::{Observers, Outcome, Phase, Subject};
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

    pub(crate) fn succeed(mut self, outcome: Outcome) {
        self.end(outcome);
        self.span.in_scope(|| tracing::info!("reconciled"));
    }

    pub(crate) fn fail<E: std::error::Error + 'static>(mut self, error: &Error<E>) {
        self.end(Outcome::Failed);
        let source = error.display_chain();
        let class = error.classify().as_str();
        self.span.in_scope(|| {
            if error.is_conflict() {
                tracing::info!(source, class, "conflict, will be retried");
            } else {
                tracing::error!(source, class, "reconciliation failed");
            }
        });
    }

    fn end(&mut self, outcome: Outcome) {
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
        self.observers
            .reconciled(&self.subject.reconciled(self.phase, outcome, duration));
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Outcome::Abandoned);
            self.span
                .in_scope(|| tracing::info!("reconciliation abandoned"));
        }
    }
}
