//! What became of one publish: counted once, and logged where no event came of it.

use std::error::Error as _;

use k8s_openapi::api::core::v1::ObjectReference;
use tracing::{debug, warn};

use crate::stats::Counters;
use crate::{Event, PublishError};

/// How many causes of an error are logged; there are three or four, as a rule.
const MAX_CAUSES: usize = 16;

/// How a publish without an error ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Created,
    Patched,
    /// Not sent: there is no use in an event that goes away with its namespace.
    NamespaceTerminating,
}

/// A publish under way. One that is dropped unfinished has been cancelled.
pub(crate) struct Attempt<'a> {
    counters: &'a Counters,
    reference: &'a ObjectReference,
    event: &'a Event,
    finished: bool,
}

/// Logs with the fields that say which event it was.
macro_rules! log {
    ($level:ident, $attempt:ident, $($rest:tt)+) => {
        $level!(
            kind = $attempt.reference.kind.as_deref(),
            namespace = $attempt.reference.namespace.as_deref(),
            name = $attempt.reference.name.as_deref(),
            event_reason = %$attempt.event.reason,
            event_action = %$attempt.event.action,
            $($rest)+
        )
    };
}

impl<'a> Attempt<'a> {
    pub(crate) fn start(
        counters: &'a Counters,
        reference: &'a ObjectReference,
        event: &'a Event,
    ) -> Self {
        Self {
            counters,
            reference,
            event,
            finished: false,
        }
    }

    pub(crate) fn finish(mut self, result: Result<Sent, PublishError>) -> Result<(), PublishError> {
        self.finished = true;
        match &result {
            Ok(Sent::Created) => self.counters.created.add_one(),
            Ok(Sent::Patched) => self.counters.patched.add_one(),
            Ok(Sent::NamespaceTerminating) => {
                self.counters.namespace_terminating.add_one();
                log!(
                    debug,
                    self,
                    cause = "namespace is terminating",
                    "event dropped"
                );
            }
            Err(error) => {
                self.count_error(error);
                let causes = causes_of(error);
                log!(warn, self, %error, causes, "event dropped");
            }
        }
        result.map(drop)
    }

    fn count_error(&self, error: &PublishError) {
        match error {
            PublishError::Kube(_) => self.counters.failed.add_one(),
            PublishError::Timeout(_) => self.counters.timed_out.add_one(),
            PublishError::Empty { .. }
            | PublishError::TooLong { .. }
            | PublishError::Malformed { .. } => self.counters.refused.add_one(),
        }
    }
}

/// What is behind an error that is not an answer of the API server, such as a connection refused.
fn causes_of(error: &PublishError) -> Option<String> {
    let PublishError::Kube(error) = error else {
        return None;
    };
    if matches!(error, kube::Error::Api(_)) {
        return None;
    }
    let causes = std::iter::successors(error.source(), |&cause| cause.source()).take(MAX_CAUSES);
    let texts: Vec<_> = causes.map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(": "))
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.counters.cancelled.add_one();
            log!(
                warn,
                self,
                cause = "cancelled by the caller",
                "event dropped"
            );
        }
    }
}
