//! What a controller does.

use std::sync::Arc;

use k8s_controller_error::Error;
use k8s_controller_events::{Event, EventType};
use k8s_controller_observe::Phase;
use kube::runtime::controller::Action;
use kube::{Client, Resource};

use crate::backoff;
use crate::metadata::TraceMetadata;

/// What a controller does with the objects of one kind.
///
/// Implement it with [`macro@async_trait::async_trait`]. Only [`apply`](Self::apply) has to be
/// written; a controller that keeps things outside of the cluster, or objects that owner
/// references do not reach, has a [`FINALIZER_NAME`](Self::FINALIZER_NAME) and a
/// [`cleanup`](Self::cleanup) too.
///
/// A panic in any of these methods is a failed pass with [`Error::Panicked`]; one that takes
/// longer than the [limit](crate::Controller::with_pass_timeout), if there is one, with
/// [`Error::TimedOut`].
#[cfg_attr(not(docsrs), async_trait::async_trait)]
#[cfg_attr(docsrs, allow(async_fn_in_trait))]
pub trait Context {
    /// The kind of object.
    type Resource: Resource + Send + Sync + 'static;

    /// The error of [`apply`](Self::apply) and [`cleanup`](Self::cleanup). Wrap what cannot be
    /// mended by another try in a [`TerminalError`](k8s_controller_error::TerminalError).
    type Error: std::error::Error + 'static;

    /// The entry in `metadata.finalizers` that is ours: a qualified name such as
    /// `example.com/cleanup`, different from that of any other controller. With one, an object
    /// stays until [`cleanup`](Self::cleanup) has completed; without, `cleanup` is never called.
    const FINALIZER_NAME: Option<&'static str> = None;

    /// Makes the world as the object says. Called after each change of the object or of what
    /// belongs to it, and now and then without a reason, so that it has to be idempotent.
    ///
    /// `Ok(None)` stands for [`success_action`](Self::success_action). `resource` may be a
    /// little older than what the server has; a replace that fails for it (409) is tried again
    /// at once.
    ///
    /// A change that a pass makes to its own object, be it to the status, asks for another pass as
    /// any change does, and that one is not delayed by a backoff. A pass that writes the status and
    /// then fails is thus run again at once, also after a
    /// [terminal error](Error::is_terminal), and without end if each pass writes something new: a
    /// time, a count of attempts. Write the status only when it differs from what the object has,
    /// with what follows from the object alone, and one more pass finds nothing to write: from then
    /// on the backoff holds.
    ///
    /// # Errors
    ///
    /// An error is logged, published as [`failure_event`](Self::failure_event), and retried as
    /// [`error_action`](Self::error_action) says.
    async fn apply(
        &self,
        client: Client,
        resource: &Self::Resource,
        metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, Self::Error>;

    /// Removes what would be left behind. Called when the object is being deleted and our
    /// finalizer is still on it; it has to bear that `apply` never ran or never ended.
    ///
    /// `Ok(None)` and `Ok(Some(Action::await_change()))` say that it has completed: the
    /// finalizer is removed. Any other action keeps the finalizer and calls `cleanup` again
    /// after that time. A cleanup that completed is not called again for the same object unless
    /// the process restarts before the finalizer is gone.
    ///
    /// # Errors
    ///
    /// As with [`apply`](Self::apply). The finalizer stays.
    async fn cleanup(
        &self,
        client: Client,
        resource: &Self::Resource,
        metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, Self::Error> {
        let _ = (client, resource, metadata);
        Ok(Some(Action::await_change()))
    }

    /// When to run [`apply`](Self::apply) again after it returned `Ok(None)`. The default is a
    /// random time of 2400 to 3600 s, so that a missed change is repaired within an hour.
    fn success_action(&self, resource: &Self::Resource) -> Action {
        let _ = resource;
        Action::requeue(backoff::after_success())
    }

    /// When to try again after an error. `consecutive_errors` is the number of failures of this
    /// object since its last success, so 0 at the first.
    ///
    /// The default waits a random time between 0.5 and 1.0 times 2, 4, 8, ... 256 s; at least as
    /// long as the API server asked for in a 429 or 503 (up to an hour); and for the next change
    /// of the object if the error [is terminal](Error::is_terminal). A change in the meantime, such
    /// as a status that the failed pass itself wrote, ends each of these waits; see
    /// [`apply`](Self::apply).
    ///
    /// Not asked about [conflicts](Error::is_conflict), which are no failures: they are retried
    /// after milliseconds (seconds, if there are many in a row) on a fresh copy of the object,
    /// and do not count.
    fn error_action(
        self: Arc<Self>,
        resource: Arc<Self::Resource>,
        err: &Error<Self::Error>,
        consecutive_errors: u32,
    ) -> Action {
        let _ = resource;
        default_error_action(err, consecutive_errors)
    }

    /// The event to publish about an error, if any. The default is a warning with reason
    /// `ReconcileFailed`, or `CleanupFailed` while the object is being deleted, whose note is
    /// the error with its causes. For a pass that [took too long](Error::TimedOut) the reason is
    /// `ReconcileTimedOut` or `CleanupTimedOut`.
    ///
    /// Asked about [conflicts](Error::is_conflict) too, though they are retried at once; the
    /// default makes no difference. Return `None` for those that should not show. Not asked about
    /// a [write that was refused for want of the lease](k8s_controller_error::NotLeading). Equal
    /// events in a row count up in one, which ends with the next success.
    fn failure_event(
        &self,
        resource: &Self::Resource,
        phase: Phase,
        err: &Error<Self::Error>,
    ) -> Option<Event> {
        let _ = resource;
        let cleanup = matches!(phase, Phase::Cleanup | Phase::Delete);
        let (reason, action) = match (cleanup, err) {
            (false, Error::TimedOut { .. }) => ("ReconcileTimedOut", "Reconcile"),
            (false, _) => ("ReconcileFailed", "Reconcile"),
            (true, Error::TimedOut { .. }) => ("CleanupTimedOut", "Cleanup"),
            (true, _) => ("CleanupFailed", "Cleanup"),
        };
        Some(Event {
            type_: EventType::Warning,
            reason: reason.to_owned(),
            action: action.to_owned(),
            note: Some(err.display_chain()),
            related: None,
        })
    }
}

/// What the default [`Context::error_action`] does.
pub(crate) fn default_error_action<E>(err: &Error<E>, consecutive_errors: u32) -> Action
where
    E: std::error::Error + 'static,
{
    if err.is_terminal() {
        return Action::await_change();
    }
    let backoff = backoff::after_failures(consecutive_errors);
    Action::requeue(match err.retry_after() {
        Some(retry_after) => backoff::at_least(backoff, retry_after),
        None => backoff,
    })
}
