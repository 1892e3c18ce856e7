//! The end of a pass: who is told, and what comes next.

use std::convert::Infallible;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use k8s_controller_error::{Error, Panic, is_not_leading};
use k8s_controller_events::{Event, Scope};
use k8s_controller_observe::{Failure, Outcome, Requeue};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::runtime::controller::Action;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::Instrument;

use super::{Done, Pass};
use crate::backoff;
use crate::context::{Context, default_error_action};
use crate::metadata::publish;
use crate::report::{Report, failure_of};
use crate::unwind::catch;

impl<Ctx> Pass<'_, Ctx>
where
    Ctx: Context + Send + Sync + 'static,
    Ctx::Error: Send + 'static,
    Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
    <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
{
    /// Tells of the pass and decides what comes next.
    pub(super) async fn conclude(
        &self,
        result: Result<Done, Error<Ctx::Error>>,
        report: Report,
        object: Arc<Ctx::Resource>,
    ) -> Action {
        let span = report.span.clone();
        let (action, event) = match result {
            Ok(done) => {
                self.succeeded(&done, report);
                (done.next, None)
            }
            // The error ends here: it may not be kept across the publishing.
            Err(error) => span.in_scope(|| self.failed(&error, report, &object)),
        };
        if self.shared.memory.tracker.is_known(&self.key) && !self.shared.is_stored(&object) {
            self.shared.memory.tracker.release(&self.key);
        }
        if let (Some(recorder), Some(reference), Some(event)) =
            (&self.shared.recorder, &self.events, event)
        {
            Box::pin(publish(recorder, &reference(), Scope::Failure, &event))
                .instrument(span)
                .await;
        }
        action
    }

    fn succeeded(&self, done: &Done, report: Report) {
        self.shared.memory.tracker.succeeded(&self.key);
        if let Some(recorder) = &self.shared.recorder {
            // Objects without a uid do not get here, and by their uid the recorder knows them.
            let reference = ObjectReference {
                uid: Some(self.key.to_string()),
                ..ObjectReference::default()
            };
            recorder.forget_scope(&reference, Scope::Failure);
        }
        let returned = Ok::<_, Infallible>(done.returned.clone());
        let outcome = report
            .metadata
            .outcome()
            .unwrap_or_else(|| Outcome::of_result(&returned));
        report.succeed(outcome, Requeue::of(done.returned.as_ref()));
    }

    fn failed(
        &self,
        error: &Error<Ctx::Error>,
        report: Report,
        object: &Arc<Ctx::Resource>,
    ) -> (Action, Option<Event>) {
        let phase = report.phase();
        let tracker = &self.shared.memory.tracker;
        let failure = failure_of(error);
        let conflict = failure == Failure::Conflict;
        let before = if conflict {
            tracker.conflicted(&self.key)
        } else {
            tracker.failed(&self.key)
        };
        report.fail(error, failure, before);
        let event = match self.events {
            // Whoever leads now tells how it goes.
            Some(_) if is_not_leading(error) => None,
            Some(_) => catch(|| self.shared.context.failure_event(object, phase, error))
                .unwrap_or_else(|panic| {
                    log_panic(&panic, Some("failure_event"));
                    None
                }),
            None => None,
        };
        if conflict {
            return (Action::requeue(backoff::after_conflicts(before)), event);
        }
        (self.retry(error, object, before), event)
    }

    fn retry(&self, error: &Error<Ctx::Error>, object: &Arc<Ctx::Resource>, before: u32) -> Action {
        let context = Arc::clone(&self.shared.context);
        catch(|| context.error_action(Arc::clone(object), error, before)).unwrap_or_else(|panic| {
            log_panic(&panic, Some("error_action"));
            default_error_action(error, before)
        })
    }
}

/// The error, or the panic of its own code when it is asked what it is.
pub(super) fn presentable<E: std::error::Error + 'static>(error: Error<E>) -> Error<E> {
    match catch(|| (error.display_chain(), error.classify())) {
        Ok(_) => error,
        Err(panic) => Error::Panicked(panic),
    }
}

pub(super) fn log_panic(panic: &Panic, method: Option<&str>) {
    tracing::error!(
        panic = panic.message(),
        method,
        "a pass, or a method of the context after it, panicked"
    );
}
