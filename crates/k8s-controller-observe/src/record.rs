//! What observers are told.

use std::sync::Arc;
use std::time::Duration;

use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::phase::Phase;
use crate::requeue::Requeue;

/// One pass over one object.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReconcileRecord<'a> {
    /// The name of the controller.
    pub controller: &'a str,
    /// The kind of the object.
    pub kind: &'a str,
    /// The namespace of the object; none for a cluster-scoped one.
    pub namespace: Option<&'a str>,
    /// The name of the object.
    pub name: &'a str,
    /// What the pass did.
    pub phase: Phase,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, without the publishing of events.
    pub duration: Duration,
    /// How it failed; none unless the outcome is [`Outcome::Failed`].
    pub failure: Option<Failure>,
    /// Whether the user's code asked to be run again. What a failure leads to is not in here.
    pub requeue: Requeue,
}

impl ReconcileRecord<'_> {
    /// The same record, failed in this way.
    #[must_use]
    pub const fn with_failure(mut self, failure: Failure) -> Self {
        self.outcome = Outcome::Failed;
        self.failure = Some(failure);
        self
    }

    /// The same record of a pass whose code asked to be run again like this.
    #[must_use]
    pub const fn with_requeue(mut self, requeue: Requeue) -> Self {
        self.requeue = requeue;
        self
    }
}

/// The beginning of a pass over one object.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StartRecord<'a> {
    /// The name of the controller.
    pub controller: &'a str,
    /// The kind of the object.
    pub kind: &'a str,
    /// The namespace of the object; none for a cluster-scoped one.
    pub namespace: Option<&'a str>,
    /// The name of the object.
    pub name: &'a str,
}

/// One timed step within a pass.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StepRecord<'a> {
    /// The name of the controller.
    pub controller: &'a str,
    /// The kind of the object.
    pub kind: &'a str,
    /// The namespace of the object; none for a cluster-scoped one.
    pub namespace: Option<&'a str>,
    /// The name of the object.
    pub name: &'a str,
    /// The name of the step, as the user's code gave it.
    pub step: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Duration,
}

/// Whom a pass is about: a controller and an object. Makes the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The name of the controller.
    pub controller: Arc<str>,
    /// The kind of the object.
    pub kind: Arc<str>,
    /// The namespace of the object; none for a cluster-scoped one.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
}

impl Subject {
    /// The record of the beginning of a pass over this object.
    #[must_use]
    pub fn started(&self) -> StartRecord<'_> {
        StartRecord {
            controller: &self.controller,
            kind: &self.kind,
            namespace: self.namespace.as_deref(),
            name: &self.name,
        }
    }

    /// The record of a pass over this object. One that failed did so with [`Failure::Error`],
    /// and none asked to be run again, unless [`ReconcileRecord::with_failure`] and
    /// [`ReconcileRecord::with_requeue`] say otherwise.
    #[must_use]
    pub fn reconciled(
        &self,
        phase: Phase,
        outcome: Outcome,
        duration: Duration,
    ) -> ReconcileRecord<'_> {
        ReconcileRecord {
            controller: &self.controller,
            kind: &self.kind,
            namespace: self.namespace.as_deref(),
            name: &self.name,
            phase,
            outcome,
            duration,
            failure: matches!(outcome, Outcome::Failed).then_some(Failure::Error),
            requeue: Requeue::None,
        }
    }

    /// The record of a step of a pass over this object.
    #[must_use]
    pub fn step_finished(
        &self,
        step: &'static str,
        outcome: Outcome,
        duration: Duration,
    ) -> StepRecord<'_> {
        StepRecord {
            controller: &self.controller,
            kind: &self.kind,
            namespace: self.namespace.as_deref(),
            name: &self.name,
            step,
            outcome,
            duration,
        }
    }
}
