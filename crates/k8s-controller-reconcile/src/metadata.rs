//! What the user's code says about the pass that it is in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use k8s_controller_events::{Event, EventRecorder, Scope};
use k8s_controller_observe::{Observers, Outcome, Step, Subject};
use k8s_openapi::api::core::v1::ObjectReference;

/// Lets the user's code say more about the pass that it is in: annotations for the span, timed
/// steps, another outcome, events about the object.
///
/// A default one belongs to no pass. It accepts all calls and tells nobody, for unit tests:
///
/// ```
/// use k8s_controller_observe::Outcome;
/// use k8s_controller_reconcile::TraceMetadata;
///
/// let mut metadata = TraceMetadata::default();
/// metadata.annotate("replicas", 3);
/// metadata.step("fetch").finish(Outcome::Completed);
/// metadata.set_outcome(Outcome::Skipped);
/// ```
#[derive(Default)]
pub struct TraceMetadata {
    annotations: BTreeMap<String, String>,
    outcome: Option<Outcome>,
    subject: Arc<Subject>,
    observers: Observers,
    events: Option<(Arc<EventRecorder>, Reference)>,
}

/// Makes the reference to the object of a pass. Most passes publish nothing and need none.
pub(crate) type Reference = Arc<dyn Fn() -> ObjectReference + Send + Sync>;

impl TraceMetadata {
    pub(crate) fn new(
        subject: Arc<Subject>,
        observers: Observers,
        events: Option<(Arc<EventRecorder>, Reference)>,
    ) -> Self {
        Self {
            subject,
            observers,
            events,
            ..Self::default()
        }
    }

    /// Adds to the `metadata` field of the span, which is a JSON object of all annotations. The
    /// same key again replaces its value.
    pub fn annotate(&mut self, key: impl fmt::Display, value: impl fmt::Display) {
        self.annotations.insert(key.to_string(), value.to_string());
    }

    /// Starts a timed step, of which the observers are told when it is finished or dropped.
    pub fn step(&self, name: &'static str) -> Step {
        Step::start(self.observers.clone(), Arc::clone(&self.subject), name)
    }

    /// Reports this outcome, if the pass succeeds, rather than what follows from the action
    /// that it returns.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        self.outcome = Some(outcome);
    }

    /// Publishes an event about the object, if the controller has an event recorder. An error
    /// is logged as a warning and is no reason for the pass to fail.
    pub async fn publish_event(&self, event: Event) {
        if let Some((recorder, object)) = &self.events {
            publish(recorder, &object(), Scope::Ordinary, &event).await;
        }
    }

    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// The annotations as a JSON object; none if there are none.
    pub(crate) fn to_json(&self) -> Option<String> {
        if self.annotations.is_empty() {
            return None;
        }
        serde_json::to_string(&self.annotations).ok()
    }
}

impl fmt::Debug for TraceMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceMetadata")
            .field("annotations", &self.annotations)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}

/// Publishes. The recorder logs what could not be sent, as a warning, and that is all that may
/// come of it.
pub(crate) async fn publish(
    recorder: &EventRecorder,
    object: &ObjectReference,
    scope: Scope,
    event: &Event,
) {
    let _logged = recorder.publish_to(object, scope, event).await;
}
